import CoreData
import Jobs

/// Chooses jobs by their state, kind, queue, batch, tag, time, a text, or a predicate. A job is chosen if it
/// matches all that is set.
///
/// ```swift
/// import PoolClient
///
/// var filter = JobFilter()
/// filter.kind = "import"
/// filter.state = .dead
/// filter.predicate = "attempt > 3"
/// let reader = try StoreReader(poolStore: "app.sqlite")
/// try reader.jobs(filter, limit: 20) { job, _ in print(job.objectID.uriString, job.failures.last?.message ?? "") }
/// ```
///
/// States and times are found by an index; `tag`, `search` and `predicate` look at each job that the rest leaves.
public struct JobFilter: Hashable, Sendable {
  /// Only jobs in this state; nil, the default, for all. `available` includes the jobs that run: set `isRunning` to
  /// tell them apart, or use `stateName`.
  public var state: JobState?
  /// Only jobs in one of these states; nil, the default, for all. Together with `state` both have to fit.
  public var states: [JobState]?
  /// True: only jobs that a process runs now; false: only the others; nil: both. In the store a job that runs is
  /// `available`.
  public var isRunning: Bool?
  /// Only jobs of this kind, written exactly; nil, the default, for all. `StoreReader.unknownNames(in:)` tells whether
  /// a name was mistyped.
  public var kind: String?
  /// Only jobs of this queue, written exactly; nil, the default, for all.
  public var queue: String?
  /// Only jobs of this batch, written exactly; nil, the default, for all.
  public var batch: String?
  /// Only jobs with this tag, written exactly; nil, the default, for all. Tags have no index: each job that the rest of
  /// the filter leaves is looked at.
  public var tag: String?
  /// Only jobs that came at this time or later; nil, the default, for all.
  public var from: Date?
  /// Only jobs that came before this time; nil, the default, for all.
  public var to: Date?
  /// In the syntax of `NSPredicate(format:)`, over the attributes of `PoolJob`; nil, the default, for all. A text that
  /// cannot be read, or names another attribute, makes the reading throw ``ObjectQueryError``.
  public var predicate: String?
  /// Only jobs with this text in their parameters, their unique key, their output or their errors, in capitals or not;
  /// nil, the default, for all. Each job that the rest of the filter leaves is read for it.
  public var search: String?
  /// Only jobs whose last error has this ``AttemptFailure/pattern``, which `type: message` of any such error gives,
  /// too; nil, the default, for all. Each job with errors that the rest of the filter leaves is read for it.
  public var error: String? {
    didSet { error = error.map(AttemptFailure.pattern) }
  }
  /// Only jobs that wait for this reason, as far as ``StoreReader/waits`` knows; nil, the default, for all.
  public var wait: JobWait?
  /// Only jobs that came after the one with this key; nil, the default, for all. For lists that go on where the last
  /// one ended.
  public var after: Int64?

  /// Makes a filter that leaves no job out.
  public init() {}

  /// Whether it leaves no job out.
  public var isEverything: Bool { self == JobFilter() }

  /// Jobs that are searched for a text where an answer must be quick: the newest.
  package static let searched: Int64 = 50_000

  /// The names of all states by which a person chooses.
  public static let stateNames = [JobText.runningName] + JobState.allCases.map(\.name)

  /// The state by the name that a person sees: a job that runs is not `available`. Nil for all, or for a name that is
  /// none of ``stateNames``.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// var filter = JobFilter()
  /// filter.stateName = "running"
  /// print(filter.state == .available, filter.isRunning == true)  // true true
  /// ```
  public var stateName: String? {
    get { isRunning == true ? JobText.runningName : state?.name }
    set {
      state = newValue == JobText.runningName ? .available : newValue.flatMap(JobState.init(name:))
      isRunning = state == .available ? newValue == JobText.runningName : nil
    }
  }

  /// The names by which it chooses.
  var names: [(what: JobName, name: String)] {
    [(JobName.kind, kind), (.queue, queue), (.batch, batch)].compactMap { what, name in name.map { (what, $0) } }
  }

  /// Whether jobs in one of these states may be among the chosen.
  public func mayMatch(_ states: [JobState]) -> Bool { state.map(states.contains) ?? true }

  /// Whether a job that ``condition(running:waits:objectID:)`` has found is among the chosen: no statement finds the
  /// pattern of an error.
  func fits(_ job: Job) -> Bool { error == nil || job.failures.last?.pattern == error }

  /// The predicate of the filter; nil when it leaves no job out.
  ///
  /// - Parameters:
  ///   - running: the jobs that run now.
  ///   - waits: why jobs wait.
  ///   - objectID: the ID of the job with a key.
  ///   - secrets: attributes that may not be searched: each job that is found, or not, would tell of their values.
  /// - Throws: ``ObjectQueryError``, also for a predicate with the name of such an attribute.
  func condition(
    running: [NSManagedObjectID], waits: JobWaits, objectID: (JobKey) -> NSManagedObjectID?,
    besides secrets: [String] = []
  ) throws -> NSPredicate? {
    var conditions: [NSPredicate] = []
    if let after, let id = objectID(after) { conditions.append(NSPredicate(format: "self > %@", id)) }
    if let isRunning { conditions.append(NSPredicate(format: isRunning ? "self IN %@" : "NOT self IN %@", running)) }
    if let state { conditions.append(state.predicate) }
    if let wait {
      conditions.append(waits.predicate(wait))
      // A job that runs is available in the store.
      if !running.isEmpty { conditions.append(NSPredicate(format: "NOT self IN %@", running)) }
    }
    if let states { conditions.append(NSCompoundPredicate(orPredicateWithSubpredicates: states.map(\.predicate))) }
    if let from { conditions.append(NSPredicate(format: "createdAt >= %@", from as NSDate)) }
    if let to { conditions.append(NSPredicate(format: "createdAt < %@", to as NSDate)) }
    if let tag { conditions.append(JobOptions.predicate(tag: tag)) }
    for (what, name) in names { conditions.append(NSPredicate(format: "%K == %@", what.rawValue, name)) }
    if let predicate {
      if let name = secrets.first(where: { predicate.lowercased().contains($0) }) {
        throw ObjectQueryError.badPredicate(
          "it names \(name), which nobody may search here while the pool has --redact")
      }
      let query = ObjectQuery(entity: PoolJob.entityName, predicate: predicate)
      let request = try query.fetchRequest(in: JobModel.make(), as: PoolJob.self)
      if let checked = request.predicate { conditions.append(checked) }
    }
    if let error {
      conditions.append(NSPredicate(format: "errors != nil"))
      if let literal = AttemptFailure.literal(of: error) {
        conditions.append(NSPredicate(format: "errors CONTAINS %@", literal))
      }
    }
    if let search {
      let texts = ["parameters", "uniqueKey", "output", "errors"].filter { !secrets.contains($0) }.map {
        NSPredicate(format: "%K CONTAINS[c] %@", $0, search)
      }
      conditions.append(NSCompoundPredicate(orPredicateWithSubpredicates: texts))
    }
    return conditions.isEmpty ? nil : NSCompoundPredicate(andPredicateWithSubpredicates: conditions)
  }
}

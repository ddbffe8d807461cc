import CoreData
import Jobs

/// Jobs of one kind that have failed in the same way, and are dead or wait for another attempt.
///
/// ```swift
/// import PoolClient
///
/// let reader = try StoreReader(poolStore: "app.sqlite")
/// for group in try reader.failures().groups { print(group.kind, group.error, group.dead, group.retryable) }
/// ```
///
/// Numbers and quoted texts in a message do not count: `row 17 has no name` and `row 18 has no name` are one group.
/// Only the last error of each job counts. A job that has succeeded in a later attempt is in no group.
///
/// To run all dead jobs of a group again:
///
/// ```swift
/// import PoolClient
///
/// let reader = try StoreReader(poolStore: "app.sqlite")
/// let client = try StatusClient(queue: "queue/")
/// if let largest = try reader.failures().groups.first {
///   let result = try JobChange.retry.carryOut(on: largest.filter(.dead), of: reader, by: client)
///   print(result.done, "of", largest.dead, "jobs will run again")
/// }
/// ```
public struct FailureGroup: Hashable, Sendable {
  /// The jobs' kind.
  public let kind: String
  /// What their last errors have in common: ``AttemptFailure/pattern``.
  public let error: String
  /// How many are dead.
  public internal(set) var dead = 0
  /// How many wait for another attempt.
  public internal(set) var retryable = 0
  /// The earliest time at which one of them had its last failure.
  public internal(set) var first: Date
  /// The latest time at which one of them failed.
  public internal(set) var last: Date
  /// The URI of the job that failed last.
  public internal(set) var job: String
  /// The whole message of that failure.
  public internal(set) var message: String

  /// Jobs of the group, in both states.
  public var count: Int { dead + retryable }

  /// A filter for the jobs of the group in one state.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// let reader = try StoreReader(poolStore: "app.sqlite")
  /// for group in try reader.failures().groups.prefix(3) {
  ///   try reader.jobs(group.filter(.dead), limit: 5) { job, _ in print(job.objectID.uriString) }
  /// }
  /// ```
  ///
  /// No index finds the error: each failed job of the kind is read for it.
  public func filter(_ state: JobState) -> JobFilter {
    var filter = JobFilter()
    (filter.kind, filter.error, filter.state) = (kind, error, state)
    return filter
  }

  /// The group as `workerpool failures --json` shows it.
  public var json: JSONValue {
    .object([
      JSONMember("kind", .string(kind)), JSONMember("error", .string(error)), JSONMember("dead", .number(dead)),
      JSONMember("retryable", .number(retryable)), JSONMember("first", .string(Timestamp.text(first))),
      JSONMember("last", .string(Timestamp.text(last))), JSONMember("job", .string(job)),
      JSONMember("message", .string(message)),
    ])
  }
}

/// The failed jobs of a store in groups.
///
/// ```swift
/// import PoolClient
///
/// let groups = try StoreReader(poolStore: "app.sqlite").failures(kind: "import")
/// print(groups.lines(limit: 10).joined(separator: "\n"))
/// ```
///
/// It is a value that no longer reads the store: errors that come later are not in it.
public struct FailureGroups: Sendable {
  /// The largest groups first; ``most`` at most.
  public private(set) var groups: [FailureGroup] = []
  /// Failed jobs that are in no group, because there are too many groups.
  public private(set) var others = 0

  /// Groups that are kept.
  public static let most = 1000

  /// No job has failed.
  public init() {}

  private struct Name: Hashable {
    let kind: String
    let error: String
  }

  fileprivate init(_ jobs: (_ body: (Job) -> Void) throws -> Void) rethrows {
    var groups: [Name: FailureGroup] = [:]
    var others = 0
    try jobs { job in
      guard let failure = job.failures.last else { return }
      let name = Name(kind: job.kind, error: failure.pattern)
      guard groups[name] != nil || groups.count < Self.most else { return others += 1 }
      var group =
        groups[name]
        ?? FailureGroup(
          kind: name.kind, error: name.error, first: failure.date, last: .distantPast, job: "", message: "")
      if job.state == .dead { group.dead += 1 } else { group.retryable += 1 }
      group.first = min(group.first, failure.date)
      if failure.date >= group.last {
        (group.last, group.job, group.message) = (failure.date, job.objectID.uriString, failure.message)
      }
      groups[name] = group
    }
    self.groups = groups.values.sorted { ($1.count, $0.kind, $0.error) < ($0.count, $1.kind, $1.error) }
    self.others = others
  }

  /// The groups as lines for people: a table.
  ///
  /// - Parameter limit: the most groups; nil for all.
  public func lines(_ layout: TextLayout = .file, limit: Int? = nil, at now: Date = Date()) -> [String] {
    var table = TextTable([
      .text("kind"), .number("dead"), .number("retryable", worth: 3), .number("last", worth: 4),
      .text("latest job", worth: 2), .text("error"),
    ])
    let shown = groups.prefix(limit ?? groups.count)
    for group in shown {
      table.add([
        group.kind, String(group.dead), String(group.retryable),
        StatusText.age(now.timeIntervalSince(group.last)), ObjectURI(group.job)?.name ?? "", group.error,
      ])
    }
    let missing = groups.dropFirst(shown.count).reduce(others) { $0 + $1.count }
    return table.lines(layout) + (missing > 0 ? ["\(Plural.text(missing, "job")) more in other groups"] : [])
  }
}

extension StoreReader {
  /// The jobs that are dead, or wait for another attempt, in groups by kind and error.
  ///
  /// - Parameter kind: only jobs of this kind; nil, the default, for all.
  /// - Complexity: reads each of these jobs, some hundred at a time.
  /// - Returns: the groups at the time of the call. Empty if no job has failed.
  /// - Throws: what a fetch throws.
  public func failures(kind: String? = nil) throws -> FailureGroups {
    var groups = FailureGroups()
    try perform { context, _ in
      groups = try FailureGroups { body in
        for state in [JobState.dead, .retryable] {
          let request = Job.fetchRequest()
          let conditions = [state.predicate, NSPredicate(format: "errors != nil")]
          request.predicate = NSCompoundPredicate(
            andPredicateWithSubpredicates: conditions + (kind.map { [NSPredicate(format: "kind == %@", $0)] } ?? []))
          request.propertiesToFetch = ["kind", "state", "errors"]
          try context.forEach(request) { job in
            try checkTime()
            body(job)
          }
        }
      }
    }
    return groups
  }
}

extension NSManagedObjectContext {
  /// Passes each job of a request to `body`, and keeps a few hundred in memory at a time.
  package func forEach(_ request: NSFetchRequest<Job>, _ body: (Job) throws -> Void) throws {
    request.fetchBatchSize = 500
    for job in try fetch(request) {
      try body(job)
      refresh(job, mergeChanges: false)
    }
  }
}

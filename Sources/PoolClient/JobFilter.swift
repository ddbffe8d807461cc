import CoreData
import Jobs

/// Chooses jobs by their state, kind, queue, batch, or a predicate.
public struct JobFilter: Hashable, Sendable {
  /// Only jobs in this state; nil for all.
  public var state: JobState?
  /// Only jobs in one of these states; nil for all.
  public var states: [JobState]?
  /// True: only jobs that a process runs now; false: only the others; nil: both. In the store a job that runs is
  /// `available`.
  public var isRunning: Bool?
  /// Only jobs of this kind; nil for all.
  public var kind: String?
  /// Only jobs of this queue; nil for all.
  public var queue: String?
  /// Only jobs of this batch; nil for all.
  public var batch: String?
  /// In the syntax of `NSPredicate(format:)`, over the attributes of `PoolJob`.
  public var predicate: String?

  /// Makes a filter that leaves no job out.
  public init() {}

  /// Whether it leaves no job out.
  public var isEverything: Bool { self == JobFilter() }

  /// - Parameter running: the jobs that run now.
  func fetchRequest(running: [NSManagedObjectID]) throws -> NSFetchRequest<Job> {
    let request = Job.fetchRequest()
    request.predicate = try condition(running: running)
    return request
  }

  /// The predicate of the filter; nil when it leaves no job out.
  package func condition(running: [NSManagedObjectID]) throws -> NSPredicate? {
    var conditions: [NSPredicate] = []
    if let isRunning { conditions.append(NSPredicate(format: isRunning ? "self IN %@" : "NOT self IN %@", running)) }
    if let state { conditions.append(state.predicate) }
    if let states { conditions.append(NSCompoundPredicate(orPredicateWithSubpredicates: states.map(\.predicate))) }
    for (key, value) in [("kind", kind), ("queue", queue), ("batch", batch)] {
      if let value { conditions.append(NSPredicate(format: "%K == %@", key, value)) }
    }
    if let predicate {
      let query = ObjectQuery(entity: PoolJob.entityName, predicate: predicate)
      let request = try query.fetchRequest(in: JobModel.make(isShared: true), as: PoolJob.self)
      if let checked = request.predicate { conditions.append(checked) }
    }
    return conditions.isEmpty ? nil : NSCompoundPredicate(andPredicateWithSubpredicates: conditions)
  }
}

import CoreData
import Jobs

/// Which jobs a person means.
public struct JobFilter: Hashable, Sendable {
  /// nil for all.
  public var state: JobState?
  /// Only jobs in one of these states; nil for all.
  public var states: [JobState]?
  /// Only jobs that a process runs now, or only those that none runs; nil for both. In the store a job that runs is available.
  public var isRunning: Bool?
  public var kind: String?
  public var queue: String?
  public var batch: String?
  /// In the syntax of `NSPredicate(format:)`, over the attributes of `PoolJob`.
  public var predicate: String?

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
  func condition(running: [NSManagedObjectID]) throws -> NSPredicate? {
    var conditions: [NSPredicate] = []
    if let isRunning { conditions.append(NSPredicate(format: isRunning ? "self IN %@" : "NOT self IN %@", running)) }
    if let state { conditions.append(state.predicate) }
    if let states { conditions.append(NSCompoundPredicate(orPredicateWithSubpredicates: states.map(\.predicate))) }
    for (key, value) in [("kind", kind), ("queue", queue), ("batch", batch)] {
      if let value { conditions.append(NSPredicate(format: "%K == %@", key, value)) }
    }
    if let predicate {
      do {
        conditions.append(try NSPredicate.parse(format: predicate))
      } catch {
        throw ObjectQueryError.badPredicate("\(error)")
      }
    }
    return conditions.isEmpty ? nil : NSCompoundPredicate(andPredicateWithSubpredicates: conditions)
  }
}

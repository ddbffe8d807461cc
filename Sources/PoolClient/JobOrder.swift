import CoreData

/// The order in which jobs are listed; the newest come first among equals. The newest job is the one with the highest
/// key.
///
/// ```swift
/// import PoolClient
///
/// let reader = try StoreReader(poolStore: "app.sqlite")
/// try reader.jobs(JobFilter(), order: .attempts, limit: 10) { job, _ in print(job.attempt, job.kind) }
/// ```
///
/// `newest` and `oldest` follow the keys and cost nothing; each other order sorts the jobs that the filter leaves. Nil
/// dates, of jobs that have not started or finished, come last.
public enum JobOrder: String, CaseIterable, Sendable {
  case newest, oldest, priority, attempts, crashes, started, finished

  /// What the fetch request sorts by.
  package var descriptors: [NSSortDescriptor] {
    let newest = NSSortDescriptor(key: "objectID", ascending: false)
    return switch self {
    case .newest: [newest]
    case .oldest: [NSSortDescriptor(key: "objectID", ascending: true)]
    case .priority: [NSSortDescriptor(key: "priority", ascending: false), newest]
    case .attempts: [NSSortDescriptor(key: "attempt", ascending: false), newest]
    case .crashes: [NSSortDescriptor(key: "crashes", ascending: false), newest]
    case .started: [NSSortDescriptor(key: "startedAt", ascending: false), newest]
    case .finished: [NSSortDescriptor(key: "finishedAt", ascending: false), newest]
    }
  }
}

import CoreData
import Jobs
import PoolClient

/// The attempts of a store's jobs that failed in a period.
struct PeriodFailures: Sendable {
  /// Failures of one kind of job with the same error.
  struct Group: Hashable, Sendable {
    var kind: String
    /// What their errors have in common: `AttemptFailure.pattern`.
    var error: String
    var count = 0
    /// Jobs that the last of these failures made dead.
    var dead = 0
    var last = Date.distantPast
    /// Of the last one.
    var message = ""
  }

  /// One failed attempt.
  struct Failure: Sendable {
    var job: String
    var kind: String
    var state: String
    var failure: AttemptFailure
  }

  /// The most frequent first.
  private(set) var groups: [Group] = []
  /// The latest first; ``shown`` of them.
  private(set) var latest: [Failure] = []
  private(set) var count = 0

  /// Failures that ``latest`` holds at most.
  static let shown = 200

  /// Reads the failures since `start`. A job keeps the last ``AttemptFailure/kept``.
  ///
  /// - Complexity: see `JobStore.failedJobs`.
  init(since start: Date, in reader: StoreReader) throws {
    var byName: [[String]: Group] = [:]
    try reader.perform { context, _ in
      // Without an order: SQLite would read all jobs in that of their keys.
      let request = JobStore.failedJobs(since: start)
      request.propertiesToFetch = ["kind", "state", "errors"]
      try context.forEach(request) { take($0, since: start, &byName) }
    }
    keepLatest()
    groups = byName.values.sorted { (-$0.count, $0.kind, $0.error) < (-$1.count, $1.kind, $1.error) }
  }

  private mutating func take(_ job: Job, since start: Date, _ byName: inout [[String]: Group]) {
    let name = job.objectID.objectURI?.name ?? ""
    let failures = job.failures
    for (number, failure) in failures.enumerated() where failure.date >= start {
      let error = failure.pattern
      var group = byName[[job.kind, error]] ?? Group(kind: job.kind, error: error)
      group.count += 1
      if job.state == .dead, number == failures.count - 1 { group.dead += 1 }
      if failure.date >= group.last { (group.last, group.message) = (failure.date, failure.message) }
      byName[[job.kind, error]] = group
      latest.append(Failure(job: name, kind: job.kind, state: job.state.name, failure: failure))
      count += 1
    }
    if latest.count > 4 * Self.shown { keepLatest() }
  }

  private mutating func keepLatest() {
    latest.sort { $0.failure.date > $1.failure.date }
    latest = Array(latest.prefix(Self.shown))
  }
}

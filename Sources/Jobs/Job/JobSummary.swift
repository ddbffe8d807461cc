import CoreData

/// The facts that the coordinator keeps of a job that may run now.
///
/// A value of about a hundred bytes instead of a managed object: the coordinator has thousands of them in its window,
/// on a thread that no context belongs to. Everything else of a job is read by the worker that gets it.
public struct JobSummary: Hashable, Sendable {
  /// The number in the job's URI.
  public let key: Int64
  /// The job's kind.
  public let kind: String
  /// The queue that the job waits in.
  public let queue: String
  /// Jobs of a higher priority run first.
  public let priority: Int16
  /// Seconds that an attempt may take; nil is the kind's own limit.
  public let timeout: Double?
  /// Jobs of the same key run at most `limit` at a time; nil is the kind's own limit.
  public let limitKey: String?
  /// How many jobs of the same ``limitKey`` run at a time; nil is the kind's own limit.
  public let limit: Int?
  /// Since when it may run; nil if that is not known.
  public let readyAt: Date?
  /// The number of its next attempt, from 1.
  public let attempt: Int

  /// A summary of a job that may run now.
  public init(
    key: Int64, kind: String, queue: String = JobRequest.defaultQueue, priority: Int16 = 0, timeout: Double? = nil,
    limitKey: String? = nil, limit: Int? = nil, readyAt: Date? = nil, attempt: Int = 1
  ) {
    self.key = key
    self.kind = kind
    self.queue = queue
    self.priority = priority
    self.timeout = timeout
    self.limitKey = limitKey
    self.limit = limit
    self.readyAt = readyAt
    self.attempt = attempt
  }

  /// The summary of a saved job; nil for one that may not run now.
  public init?(_ job: PoolJob) {
    self.init(job, limit: job.limitKey == nil ? nil : job.options.limit)
  }

  /// The summary of a new job in this row, which may run at once.
  init(_ request: JobRequest, key: JobKey, createdAt: Date) {
    self.init(
      key: key, kind: request.kind, queue: request.queue, priority: request.priority, timeout: request.timeout,
      limitKey: request.limitKey, limit: request.limitKey == nil ? nil : request.options.limit,
      readyAt: request.runAt.map { max($0, createdAt) } ?? createdAt)
  }

  init?(_ job: PoolJob, limit: Int?) {
    guard job.state == .available, let key = job.objectID.key else { return nil }
    self.init(
      key: key, kind: job.kind, queue: job.queue, priority: job.priority, timeout: job.timeout, limitKey: job.limitKey,
      limit: limit, readyAt: job.couldBeginAt, attempt: job.attemptNumber)
  }
}

/// Where a job stands among the ready ones: a higher priority comes first, then the older job.
///
/// ```swift
/// let positions = [JobPosition(priority: 0, key: 7), JobPosition(priority: 5, key: 9)]
/// print(positions.sorted().map(\.key))  // [9, 7]
/// ```
///
/// It is also a place to read on from: of the ready jobs behind it (`ReadyQuery.after`).
public struct JobPosition: Hashable, Comparable, Sendable {
  /// The job's priority.
  public let priority: Int
  /// The number in the job's URI.
  public let key: Int64

  /// The position of the job with that key.
  public init(priority: Int, key: Int64) {
    self.priority = priority
    self.key = key
  }

  /// Whether a job at `one` runs before a job at `other`.
  public static func < (one: JobPosition, other: JobPosition) -> Bool {
    one.priority != other.priority ? one.priority > other.priority : one.key < other.key
  }
}

import Jobs

/// What a person may do with jobs: `workerpool retry`, `cancel` and `delete`, and which jobs each of them can change.
///
/// A change goes to the running pool, which alone may change jobs that it holds. Without a pool there is no change: a
/// ``StatusClient`` cannot be made (``StatusClient/Failure/notRunning(queue:)``).
///
/// ```swift
/// import PoolClient
///
/// var filter = JobFilter()
/// filter.kind = "import"
/// filter.state = .dead
/// let result = try JobChange.retry.carryOut(
///   on: filter, of: StoreReader(poolStore: "app.sqlite"), by: StatusClient(queue: "queue/"))
/// print("\(result.done) jobs \(JobChange.retry.done)")
/// ```
public enum JobChange: String, CaseIterable, Sendable {
  /// Run dead and cancelled jobs again, and jobs that wait for a time or for other jobs at once.
  case retry
  /// Cancel unfinished jobs.
  case cancel
  /// Delete jobs from the store. The pool keeps those that run, and those that unfinished jobs wait for.
  case delete

  /// The states of the jobs that can be changed so. The pool passes over a job in another state, and does not count it.
  public var states: [JobState] {
    switch self {
    case .retry: [.dead, .cancelled, .retryable, .scheduled, .pending, .blocked]
    case .cancel: JobState.allCases.filter(\.isUnfinished)
    case .delete: JobState.allCases
    }
  }

  /// The filter, narrowed to the jobs that can be changed so.
  ///
  /// A filter with states of its own keeps them: jobs that cannot be changed are then passed over by the pool. Count
  /// with the result before a person confirms:
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// let reader = try StoreReader(poolStore: "app.sqlite")
  /// let count = try reader.counts(JobChange.cancel.narrowed(JobFilter())).reduce(0) { $0 + $1.count }
  /// print("cancel \(count) jobs?")
  /// ```
  public func narrowed(_ filter: JobFilter) -> JobFilter {
    var filter = filter
    filter.states = filter.states ?? states
    return filter
  }

  /// As in "3 jobs deleted".
  public var done: String {
    switch self {
    case .retry: "will run again"
    case .cancel: "cancelled"
    case .delete: "deleted"
    }
  }

  private var command: StatusRequest.Command {
    switch self {
    case .retry: .retry
    case .cancel: .cancel
    case .delete: .delete
    }
  }
}

/// What came of a change so far, summed over the requests that were sent.
///
/// `jobs` is at least the sum of the others. The rest are jobs whose state did not allow the change, for example a job
/// that succeeded before a cancellation reached it. A refused request leaves its jobs as they were.
public struct JobChangeResult: Sendable {
  /// Jobs that the pool was asked to change.
  public var jobs = 0
  /// Those of them that are changed.
  public var done = 0
  /// Those that are not deleted because they run.
  public var running = 0
  /// Those that are not deleted because unfinished jobs wait for them.
  public var awaited = 0
  /// Those that are not deleted because they are gone, or in another state.
  public var missing = 0
  /// Why the pool has refused a request; the last reason.
  public var refusal: String?

  /// Nothing is changed yet.
  public init() {}

  fileprivate mutating func add(_ reply: StatusReply, jobs count: Int) {
    jobs += count
    if reply.ok { done += reply.count ?? count } else { refusal = reply.error ?? "it gave no reason" }
    running += reply.kept?.running ?? 0
    awaited += reply.kept?.awaited ?? 0
    missing += reply.kept?.missing ?? 0
  }
}

// MARK: - Carrying it out

extension JobChange {
  /// Jobs of one request, which is one line of bounded length and a short piece of work for the pool.
  private static let jobsOfRequest = 1000

  /// Changes jobs that a person names.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// let client = try StatusClient(queue: "queue/")
  /// let result = try JobChange.cancel.carryOut(on: ["x-coredata://A/PoolJob/p17"], by: client)
  /// print(result.done, "of", result.jobs, result.refusal ?? "")
  /// ```
  ///
  /// A thousand jobs go in one request. When a request fails, the ones before it have been carried out.
  ///
  /// - Parameters:
  ///   - jobs: their URIs.
  ///   - evenIfAwaited: whether jobs are deleted although unfinished ones wait for them.
  ///   - seconds: the time that the pool has for each request; nil for any.
  /// - Throws: ``StatusClient/Failure``.
  public func carryOut(
    on jobs: [String], by pool: StatusClient, evenIfAwaited: Bool = false, within seconds: Double? = nil
  ) throws -> JobChangeResult {
    var result = JobChangeResult()
    for start in stride(from: 0, to: jobs.count, by: Self.jobsOfRequest) {
      let part = Array(jobs[start..<min(start + Self.jobsOfRequest, jobs.count)])
      let request = StatusRequest(command, jobs: part, evenIfAwaited: evenIfAwaited ? true : nil)
      result.add(try pool.request(request, within: seconds), jobs: part.count)
    }
    return result
  }

  /// Changes the jobs that a filter chooses now, a thousand at a time.
  ///
  /// It begins with the newest jobs, which workers take last. A running pool is needed: it alone may change jobs that
  /// it holds.
  ///
  /// - Parameters:
  ///   - evenIfAwaited: whether jobs are deleted although unfinished ones wait for them.
  ///   - seconds: the time that the pool has for each request; nil for any.
  ///   - read: runs a function that reads the next jobs, with a limit of time for example.
  ///   - note: called after each request.
  /// - Throws: ``StatusClient/Failure``, ``ObjectQueryError``, and what a fetch or `read` throws.
  public func carryOut(
    on filter: JobFilter, of reader: StoreReader, by pool: StatusClient, evenIfAwaited: Bool = false,
    within seconds: Double? = nil, reading read: (() throws -> [JobKey]) throws -> [JobKey] = { try $0() },
    note: (JobChangeResult) -> Void = { _ in }
  ) throws -> JobChangeResult {
    var result = JobChangeResult()
    let filter = narrowed(filter)
    // Jobs whose state changes meanwhile are not meant.
    let states = self == .delete ? filter.state.map { [$0.name] } : nil
    // The newest jobs come first: workers take the oldest, so those would be running before the change reaches them.
    var end = try reader.newestKey()
    while true {
      let keys = try read { try reader.keys(filter, upTo: end, limit: Self.jobsOfRequest) }
      guard let last = keys.last else { return result }
      end = last - 1
      let request = StatusRequest(
        command, jobs: reader.jobURIs.texts(keys), evenIfAwaited: evenIfAwaited ? true : nil, states: states)
      result.add(try pool.request(request, within: seconds), jobs: keys.count)
      note(result)
    }
  }
}

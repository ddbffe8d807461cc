import Foundation

/// Where a job stands.
///
/// ```text
/// available ─begin─▶ running ─save─▶ succeeded
/// scheduled ─time──▶ available        ├─throws─▶ retryable ─backoff─▶ available … ─max attempts─▶ dead
/// pending ─checked──▶ blocked         ├─crash──▶ retryable … ─max crashes─▶ dead
/// blocked ─others done─▶ available    ├─snooze─▶ scheduled
///                                     └─cancel─▶ cancelled          dead ─retry (by hand)─▶ available
/// ```
///
/// `running` is not a stored state: a job that runs is still `available` in the store, and the pool's ledger lists who
/// runs it. Raw values are what the store holds.
public enum JobState: Int16, Sendable, CaseIterable {
  /// May run now.
  case available = 0
  /// Waits for a time that its producer chose.
  case scheduled = 1
  /// Failed or crashed, and waits for its next attempt.
  case retryable = 2
  /// Done; its effects are in the store.
  case succeeded = 3
  /// Given up after too many failures or crashes; `retry` brings it back.
  case dead = 4
  /// Cancelled by a person, or because a job before it was cancelled or is dead.
  case cancelled = 5
  /// Runs after other jobs, which the coordinator has not checked yet. Lasts a moment while a pool runs.
  case pending = 6
  /// Waits for other jobs: see ``PoolWait``.
  case blocked = 7

  /// Whether the pool may still run the job without a person asking for it.
  public var isUnfinished: Bool {
    switch self {
    case .available, .scheduled, .retryable, .pending, .blocked: true
    case .succeeded, .dead, .cancelled: false
    }
  }

  /// The raw values of the unfinished states, for predicates.
  static let unfinishedNumbers = allCases.filter(\.isUnfinished).map { NSNumber(value: $0.rawValue) }

  /// The name in JSON and on the command line.
  public var name: String {
    switch self {
    case .available: "available"
    case .scheduled: "scheduled"
    case .retryable: "retryable"
    case .succeeded: "succeeded"
    case .dead: "dead"
    case .cancelled: "cancelled"
    case .pending: "pending"
    case .blocked: "blocked"
    }
  }

  /// The state with this name; nil for other words, also for `running`, which no row has.
  ///
  /// ```swift
  /// let finished = Job.fetchRequest()
  /// finished.predicate = JobState(name: "dead")?.predicate
  /// ```
  public init?(name: String) {
    guard let state = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = state
  }
}

/// What can happen to a job.
public enum JobEvent: Hashable, Sendable {
  /// The time has come that a scheduled or retryable job waits for.
  case due
  /// The plugin returned and its changes are saved.
  case succeeded
  /// The plugin threw; the number of attempts that failed so far, this one included.
  case failed(attempts: Int)
  /// The worker died of it; the number of crashes so far, this one included.
  case crashed(crashes: Int)
  /// The plugin asked to be called again later.
  case snoozed
  /// One of the jobs before it is not done.
  case blocked
  /// All jobs before it are done; with whether it then waits for a time.
  case released(isEarly: Bool)
  /// A person cancelled it, or a job before it that it cannot do without.
  case cancelled
  /// A person asked for it to run again.
  case retried
}

extension JobState {
  /// The state that follows, or nil when the event means nothing to a job in this state.
  ///
  /// ```swift
  /// print(JobState.available.after(.failed(attempts: 1), policy: RetryPolicy())?.name ?? "nothing")  // retryable
  /// print(JobState.succeeded.after(.cancelled, policy: RetryPolicy())?.name ?? "nothing")  // nothing
  /// ```
  ///
  /// A pure function, and the only check of a change of state.
  public func after(_ event: JobEvent, policy: RetryPolicy) -> JobState? {
    switch (self, event) {
    case (.scheduled, .due), (.retryable, .due): .available
    case (.available, .succeeded): .succeeded
    case (.available, .failed(let attempts)): attempts < policy.maxAttempts ? .retryable : .dead
    case (.available, .crashed(let crashes)): crashes < policy.maxCrashes ? .retryable : .dead
    case (.available, .snoozed): .scheduled
    case (.pending, .blocked), (.blocked, .blocked): .blocked
    case (.pending, .released(let isEarly)), (.blocked, .released(let isEarly)): isEarly ? .scheduled : .available
    case (let state, .cancelled) where state.isUnfinished: .cancelled
    case (.dead, .retried), (.cancelled, .retried), (.retryable, .retried), (.scheduled, .retried),
      (.pending, .retried), (.blocked, .retried):
      .available
    default: nil
    }
  }
}

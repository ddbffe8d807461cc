import Jobs
import LinuxSystem

/// Jobs in the store that may run now or at a later time: takes the store's answers, and asks again in time.
final class ReadyJobs {
  /// The longest timer in seconds; after it the due times are compared with the clock again. Some kernels do not report
  /// that the clock was set.
  static let longestTimer = 3600.0

  private let core: PoolCore
  private var dueFlight = SingleFlight()
  private var dueTimer: TimerQueue.Token?
  private var retryTimer: TimerQueue.Token?

  init(_ core: PoolCore) { self.core = core }

  // MARK: Jobs that may run now

  func fetched(_ query: ReadyQuery, _ jobs: [WindowJob], isComplete: Bool, seconds: Double) {
    core.coordinator.fetched(query, jobs, isComplete: isComplete, seconds: seconds, besides: core.withheld)
  }

  func fetchFailed(_ query: ReadyQuery, _ reason: String) {
    core.coordinator.fetchFailed(query)
    refetchSoon("ready jobs of kind \(query.kind) cannot be fetched: \(reason)")
  }

  /// These dependents may run now. With a reason the store could not check all of them.
  func released(_ jobs: [WindowJob], remain: Bool, _ reason: String?) {
    core.coordinator.released(core.notWithheld(jobs), remain: remain)
    promoteDueJobs()
    if let reason { refetchSoon("dependent jobs cannot be checked: \(reason)") }
  }

  private func refetchSoon(_ message: String) {
    core.log(.trouble, message)
    guard retryTimer == nil else { return }
    retryTimer = core.loop.timers.after(PoolCore.retryDelay) { [weak self] in
      self?.retryTimer = nil
      self?.core.refetchJobs()
    }
  }

  // MARK: Jobs whose time has come

  /// Makes jobs available that are due.
  func promoteDueJobs() {
    if dueFlight.request() { core.source.promoteDueJobs() }
  }

  /// These jobs have become available. With `areMore` there are others; the next one is due in `next` seconds.
  func promoted(_ jobs: [WindowJob], areMore: Bool, next: Double?) {
    core.loop.timers.cancel(dueTimer)
    dueTimer = next.map { seconds in
      core.loop.timers.after(min(seconds, Self.longestTimer)) { [weak self] in self?.promoteDueJobs() }
    }
    if dueFlight.ended() { promoteDueJobs() }
    core.becameReady(jobs)
    if areMore { core.coordinator.refetchAll() }
  }
}

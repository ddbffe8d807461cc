import Jobs
import LinuxSystem

/// The pool's care for the store: keeps its log short, deletes old jobs, notices commits of other processes, and
/// reports when the store does not answer or its files are gone.
final class StoreUpkeep {
  /// Seconds between two deletions of finished jobs that are past their retention, and the same while nobody writes
  /// into the store: only time makes jobs old then.
  static let pruneInterval = 60.0
  static let idlePruneInterval = 300.0

  private let core: PoolCore
  let checkpoints: WALCheckpoints
  let commits: CommitWatch
  let files: StoreFileWatch
  /// The store's log at the last deletion, and when that was.
  private var lastLog: WALMoment?
  private var lastPruning = -Double.infinity
  private var delayTimer: TimerQueue.Token?

  init(_ core: PoolCore, _ ready: ReadyJobs) {
    self.core = core
    checkpoints = WALCheckpoints(core)
    commits = CommitWatch(core, ready, checkpoints)
    files = StoreFileWatch(core)
  }

  /// Deletes old jobs, now and from time to time.
  func prune() {
    guard !core.isStopping else { return }
    if mayHaveOldJobs() { core.source.prune() }
    core.loop.timers.after(Self.pruneInterval, leeway: IncomingFiles.leeway) { [weak self] in self?.prune() }
  }

  /// Whether five minutes have passed since the last deletion, or the log's time shows a write. At a server there is no
  /// log to look at: always true.
  private func mayHaveOldJobs() -> Bool {
    let log = core.configuration.place.isServer ? nil : WALMoment(ofStore: core.configuration.store)
    let now = Clock.now
    if let log, log == lastLog, log.isOld, now - lastPruning < Self.idlePruneInterval { return false }
    (lastLog, lastPruning) = (log, now)
    return true
  }

  /// While the store has work, a timer checks whether it takes too long. Called at the end of each turn.
  func watchForDelay() {
    if core.source.beginWatch() {
      check(in: StoreWatch.timeout)
    } else if delayTimer != nil, core.source.cancelWatch() {
      core.loop.timers.cancel(delayTimer)
      delayTimer = nil
    }
  }

  private func check(in seconds: Double) {
    delayTimer = core.loop.timers.after(seconds) { [weak self] in
      guard let self else { return }
      delayTimer = nil
      tellDelay()
      if let seconds = core.source.endWatch() { check(in: seconds) }
    }
  }

  private func tellDelay() {
    guard core.source.takeDelay() else { return }
    let store = core.configuration.store
    let reason = StoreLocks.named(store: store) ?? "it waits for a lock, or there is much to do"
    core.log(
      .storeWaiting, "the store has not answered for \(Clock.text(StoreWatch.timeout)): \(reason)", .path(store))
  }
}

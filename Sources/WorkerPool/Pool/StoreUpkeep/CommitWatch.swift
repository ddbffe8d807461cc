import Glibc
import Jobs
import LinuxSystem

/// Finds jobs that another process saves into the store without telling the pool, or before it can: every commit is
/// written to the write-ahead log, which is watched.
///
/// Core Data's own observation of commits (`observeCommits`) would cost more: its thread wakes at each write and takes
/// the store's write lock, past the turns in which the workers write. A pool needs neither, since a commit that it sees
/// a little later loses nothing. So it pauses between two checks, and the workers' commits do not wake it meanwhile.
/// Its checkpoints need to know of each write to the log, too.
final class CommitWatch {
  /// Seconds between two checks of a WAL that is being written. While checks find nothing new the time doubles.
  static let pauses = 0.01...0.4
  /// Seconds without a commit after which the shortest pause is used again.
  private static let quiet = 1.0

  private let core: PoolCore
  private let ready: ReadyJobs
  private let checkpoints: WALCheckpoints
  private var watch: FileWatch?
  private var lastCheck = 0.0
  private var pause = CommitWatch.pauses.lowerBound
  /// The key of the newest job that is known; 0 without any.
  private(set) var newestJob: Int64 = 0

  init(_ core: PoolCore, _ ready: ReadyJobs, _ checkpoints: WALCheckpoints) {
    self.core = core
    self.ready = ready
    self.checkpoints = checkpoints
  }

  /// Whether each commit of another process is noticed.
  var isWatching: Bool { watch != nil }

  /// Begins to watch the log. If that fails, each rescan tries again, and finds new jobs itself.
  func start() {
    guard watch == nil, !core.isStopping, let path = FileID.resolve(core.configuration.store) else { return }
    // As said above, each rescan tries again.
    guard let watch = try? FileWatch(path + "-wal") else { return }
    do throws(SystemCallError) {
      try core.loop.watch(watch.descriptor, for: .readable) { [weak self, unowned watch] in
        self?.walWasWritten(watch)
      }
    } catch {
      return
    }
    self.watch = watch
    core.source.findNewestJob()
  }

  func stop() {
    if let watch { core.loop.unwatch(watch.descriptor) }
    watch = nil
  }

  /// Checks at once, and then pauses: the workers' commits are written to the log, too.
  private func walWasWritten(_ watch: FileWatch) {
    guard watch.collect() else { return stop() }
    checkpoints.walWasWritten()
    if Clock.now - lastCheck > Self.quiet { pause = Self.pauses.lowerBound }
    lastCheck = Clock.now
    core.loop.setInterest([], of: watch.descriptor)
    core.loop.timers.after(pause) { [weak self, weak watch] in
      guard let self, let watch, watch === self.watch else { return }
      core.loop.setInterest(.readable, of: watch.descriptor)
    }
    core.source.findNewestJob()
  }

  /// The pool's own intake has saved jobs, and tells of them itself. If no other keys lie between them and the newest
  /// job, nobody else has saved any.
  func tookJobs(_ keys: ClosedRange<JobKey>) {
    if keys.lowerBound == newestJob + 1 { newestJob = keys.upperBound }
  }

  /// The key of the newest job in the store; jobs that came with the last commits have higher ones than those before.
  func foundNewest(_ key: Int64) {
    guard key > newestJob else {
      pause = min(Self.pauses.upperBound, pause * 2)
      return
    }
    newestJob = key
    pause = Self.pauses.lowerBound
    core.refetchJobs()
    ready.promoteDueJobs()
  }
}

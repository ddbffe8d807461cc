import Foundation
import Glibc
import Jobs
import LinuxSystem
import WorkerProtocol

/// Jobs that another process saves into the store without telling the pool, or before it can: every commit is written to the
/// write-ahead log, which is watched.
extension PoolServer {
  /// Seconds between two looks at a log that is being written. While looks find nothing new the time doubles.
  static let commitPauses = 0.01...0.4
  /// Seconds without a commit after which the next one begins anew with the shortest pause.
  private static let commitQuiet = 1.0

  /// Begins to watch the log. Where that is not possible it is tried again with each rescan, which finds new jobs by itself.
  func watchCommits() {
    guard commitWatch == nil, !isStopping, let path = realpath(configuration.store, nil) else { return }
    defer { free(path) }
    guard let watch = try? FileWatch(String(cString: path) + "-wal") else { return }
    do throws(SystemCallError) {
      try loop.watch(watch.descriptor, for: .readable) { [weak self, unowned watch] in self?.somebodyCommitted(watch) }
    } catch {
      return
    }
    commitWatch = watch
    source.findNewestJob()
  }

  func endWatchingCommits() {
    if let watch = commitWatch { loop.unwatch(watch.descriptor) }
    commitWatch = nil
  }

  /// Looks at once, and then not for a while: the workers' commits are written there, too.
  private func somebodyCommitted(_ watch: FileWatch) {
    guard watch.collect() else { return endWatchingCommits() }
    logWasWritten()
    if Clock.now - lastCommitLook > Self.commitQuiet { commitPause = Self.commitPauses.lowerBound }
    lastCommitLook = Clock.now
    loop.setInterest([], of: watch.descriptor)
    loop.timers.after(commitPause) { [weak self, weak watch] in
      guard let self, let watch, watch === commitWatch else { return }
      loop.setInterest(.readable, of: watch.descriptor)
    }
    source.findNewestJob()
  }

  /// The key of the newest job in the store; jobs that came with the last commits have higher ones than those before.
  func foundNewest(_ key: Int64) {
    guard key > newestJob else {
      commitPause = min(Self.commitPauses.upperBound, commitPause * 2)
      return
    }
    newestJob = key
    commitPause = Self.commitPauses.lowerBound
    coordinator.lookForNewJobs()
    coordinator.lookForWaitingJobs()
    lookForDueJobs()
  }
}

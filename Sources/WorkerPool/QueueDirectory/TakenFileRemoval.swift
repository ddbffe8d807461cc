import CoreData
import Jobs
import LinuxSystem
import StoreTools
import Synchronization

/// Removes taken files when their jobs are on disk, and says which of their rows may be deleted.
///
/// It has a queue of its own, so that no job waits for the disk. The files of all transactions in ``pause`` share one
/// fsync, or those of ``manyJobs``: while the kernel writes for an fsync, commits of other processes are slow.
///
/// `@unchecked Sendable`: `work` is locked. `recover` and `start` set the other variables before the queue is used, and
/// from then on they are touched on `queue` only.
final class TakenFileRemoval: @unchecked Sendable {
  /// A file whose jobs are committed, and the row that says so; nil if the row belongs to another directory, which may
  /// have a file of that name, too: one of them is a copy.
  struct Item: Sendable {
    let file: TakenJobFile
    let row: NSManagedObjectID?
  }

  private struct Work {
    var pending: [Item] = []
    /// How many jobs came with the pending files.
    var jobs = 0
    /// When a few files were removed last, in seconds of the monotonic clock.
    var lastSmallRemoval = -Double.infinity
    /// Whether there are files to remove or rows to delete, here or on the queue.
    var isThere = false
  }

  /// Seconds from a commit to the removal of its files, unless others were removed just before or very many jobs come.
  static let pause = 0.1
  /// Seconds between two removals while files trickle in. Each makes the disk busy, which the jobs feel that come
  /// meanwhile: with ten removals a second these were more than half of the slowest 2 % of a trickle's jobs.
  static let spacing = 1.0
  /// More files than this in ``pause`` are a stream, whose producer may wait for the removal.
  static let mostTrickling = 300
  /// The number of jobs whose files are removed at once, without waiting for further files.
  static let manyJobs = 1000
  /// How many rows of removed files are gathered before one transaction deletes them.
  static let rowsToForget = 10_000
  /// With more files than this the intake waits for the disk.
  static let mostPending = 50_000

  private let queue = DispatchQueue(label: "removal of job files")
  private static let helpers = (1...4).map { DispatchQueue(label: "removal of job files \($0)") }
  private let wal: WALSynchronizer?
  private let store: JobStore
  private let work = Mutex(Work())
  private var report: @Sendable (IntakeReport) -> Void = { _ in }
  private var forget: @Sendable ([NSManagedObjectID]) -> Void = { _ in }
  /// Files to remove, and the rows of those that are gone, each with the directory that must be synchronised before it
  /// is forgotten.
  private var committed: [Item] = []
  private var gone: [(row: NSManagedObjectID, directory: OpenDirectory?)] = []
  private var lastFailure: String?

  /// - Parameters:
  ///   - wal: brings commits to the disk; nil for a store at a server.
  ///   - store: where the jobs are committed.
  init(wal: WALSynchronizer?, store: JobStore) {
    self.wal = wal
    self.store = store
  }

  /// Takes over what an earlier process left: files whose jobs are committed, and rows of files that are gone. Called
  /// before `start`.
  func recover(taken: [Item], gone: [NSManagedObjectID], in directory: OpenDirectory?) {
    committed = taken
    self.gone = gone.map { ($0, directory) }
    work.withLock { $0.isThere = true }
    // That process may have ended because it could not synchronise the log.
    if !taken.isEmpty { wal?.distrust() }
  }

  /// - Parameters:
  ///   - report: called on the queue with failures.
  ///   - forget: called on the queue with rows that may be deleted.
  func start(
    reporting report: @escaping @Sendable (IntakeReport) -> Void,
    forgetting forget: @escaping @Sendable ([NSManagedObjectID]) -> Void
  ) {
    self.report = report
    self.forget = forget
  }

  /// Removes files whose jobs have just been committed.
  ///
  /// - Parameter jobs: how many jobs there are in all of them.
  func add(_ items: [Item], jobs: Int = 0) {
    guard !items.isEmpty else { return }
    let (count, isFull, delay) = work.withLock { work in
      work.pending += items
      work.isThere = true
      let wasFull = work.jobs >= Self.manyJobs
      work.jobs += jobs
      let delay = Self.delay(sinceSmallRemoval: Clock.now - work.lastSmallRemoval)
      return (work.pending.count, !wasFull && work.jobs >= Self.manyJobs, delay)
    }
    if isFull {
      queue.async { [self] in removePending() }
    } else if count == items.count {
      queue.asyncAfter(deadline: .now() + delay) { [self] in
        // They may be gone already. Files that could not be removed are left to the next call.
        if work.withLock({ !$0.pending.isEmpty }) { removePending() }
      }
    }
    if count > Self.mostPending { queue.sync { removePending() } }
  }

  /// Seconds until files are removed that come this many seconds after the last removal of a few files.
  static func delay(sinceSmallRemoval seconds: Double) -> Double { max(pause, spacing - seconds) }

  /// Tries again to remove the files that are left, and forgets all files that are gone.
  func flush() {
    // An idle pool does not wake a thread to find nothing.
    guard work.withLock({ $0.isThere }) else { return }
    queue.async { [self] in
      removePending()
      forgetGone()
      work.withLock { $0.isThere = !($0.pending.isEmpty && committed.isEmpty && gone.isEmpty) }
    }
  }

  /// Removes all files at once, and calls back on the queue.
  func afterAll(_ completion: @escaping @Sendable () -> Void) {
    queue.async { [self] in
      removePending()
      completion()
    }
  }

  // MARK: On the queue

  private func removePending() {
    committed += work.withLock { work in
      defer { (work.pending, work.jobs) = ([], 0) }
      return work.pending
    }
    guard !committed.isEmpty else { return }
    if committed.count <= Self.mostTrickling { work.withLock { $0.lastSmallRemoval = Clock.now } }
    do {
      // The names come first: a file that came back under its old name would be taken again.
      try synchronize(committed.flatMap { [$0.file.directory, $0.file.source] })
      try wal?.synchronize()
      try store.synchronizeCommits()
      // If the store's path leads elsewhere, its jobs are lost.
      try store.files.check()
    } catch {
      return fail("\(committed.count) job files stay in taken/: \(ErrorText.text(error))")
    }
    removeCommitted()
    if gone.count >= Self.rowsToForget { forgetGone() }
  }

  private func removeCommitted() {
    let failures = Self.remove(committed.map(\.file))
    var unremoved: [Item] = []
    for (item, failure) in zip(committed, failures) {
      if failure != nil {
        unremoved.append(item)
      } else if let row = item.row {
        gone.append((row, item.file.directory))
      }
    }
    committed = unremoved
    if let failure = failures.lazy.compactMap(\.self).first {
      fail("\(unremoved.count) job files stay in taken/: \(failure)")
    } else {
      lastFailure = nil
    }
  }

  /// Removes files; returns for each the reason if it could not be removed.
  ///
  /// Many files are removed on several threads: a file system that gives freed blocks back to the disk at once
  /// (ext4's `discard`) lets each removal wait for the disk.
  private static func remove(_ files: [TakenJobFile]) -> [FileError?] {
    var failures = [FileError?](repeating: nil, count: files.count)
    let share = 64
    let shares = (files.count + share - 1) / share
    guard shares > 1 else { return files.map(removalError) }
    failures.withUnsafeMutableBufferPointer { buffer in
      // `nonisolated(unsafe)`: each iteration writes elements of its own.
      nonisolated(unsafe) let buffer = buffer
      // Not `concurrentPerform`, whose global queue would wake the pool once a second from then on: DispatchTimers.
      let group = DispatchGroup()
      let lanes = Array(helpers.prefix(shares))
      for (lane, helper) in lanes.enumerated() {
        helper.async(group: group) {
          for start in stride(from: lane * share, to: files.count, by: lanes.count * share) {
            for index in start..<min(start + share, files.count) { buffer[index] = removalError(files[index]) }
          }
        }
      }
      group.wait()
    }
    return failures
  }

  private static func removalError(_ file: TakenJobFile) -> FileError? {
    do {
      try file.remove()
      return nil
    } catch {
      return error
    }
  }

  private func forgetGone() {
    guard !gone.isEmpty else { return }
    do {
      // Otherwise a loss of power could bring a file back whose row is gone already.
      try synchronize(gone.map(\.directory))
    } catch {
      return fail("taken files cannot be forgotten: \(error)")
    }
    forget(gone.map(\.row))
    gone = []
  }

  private func synchronize(_ directories: [OpenDirectory?]) throws {
    var done: Set<ObjectIdentifier> = []
    for case let directory? in directories where done.insert(ObjectIdentifier(directory)).inserted {
      try directory.synchronize()
    }
  }

  /// Says once why something could not be done; it is tried again with the next scan.
  private func fail(_ reason: String) {
    var outcome = IntakeReport()
    outcome.postponed = 1
    if reason != lastFailure { outcome.fail(reason) }
    lastFailure = reason
    report(outcome)
  }
}

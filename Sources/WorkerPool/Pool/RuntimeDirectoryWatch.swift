import Foundation
import Glibc
import Jobs
import LinuxSystem

/// Puts back files of `run/` that are removed while the pool runs. Without its socket no command would reach the pool;
/// without its ledger the next pool would not know who holds which job.
final class RuntimeDirectoryWatch {
  private let core: PoolCore
  private let status: StatusService
  private let layout: QueueLayout
  /// The queue directory that the pool has locked. After it was moved, another pool may use its path, so that
  /// nothing is written there.
  private let queue: FileID?
  private var events: FileEvents?
  private var retry: TimerQueue.Token?
  private var trouble = RepeatedTrouble()

  init(_ core: PoolCore, _ status: StatusService) {
    self.core = core
    self.status = status
    layout = QueueLayout(root: core.configuration.queue)
    queue = FileID(path: layout.root)
  }

  deinit { unwatch() }

  /// Watches from now on: the socket and all files are there.
  func start() { check() }

  /// Puts back what is missing, and watches the directory that is there now. Done twice after a new watch: something
  /// may have been removed before it.
  private func check() {
    guard !core.isFinishing, queue == FileID(path: layout.root) else { return }
    do {
      var restored = try restore()
      if events == nil {
        try watch()
        restored += try restore()
      }
      guard !restored.isEmpty else { return }
      core.log(
        .runRestored, "\(layout.run) had lost \(restored.joined(separator: ", ")), which the pool has made again",
        .path(layout.run))
    } catch {
      let record = LogRecord(event: .trouble, text: "\(layout.run) cannot be put in order now: \(error)", fields: [])
      if trouble.isNews(record, now: Clock.now) { core.log(record) }
      retryLater()
    }
  }

  private func restore() throws -> [String] {
    var restored = try RuntimeDirectory(queue: layout.root).restore(identity: core.configuration.identity)
    if try status.listenAgainIfNeeded() { restored.append("the status socket") }
    if try core.coordinator.ledger?.restoreIfNeeded() == true { restored.append("the ledger") }
    return restored
  }

  private func retryLater() {
    core.loop.timers.cancel(retry)
    retry = core.loop.timers.after(PoolCore.retryDelay) { [weak self] in self?.check() }
  }

  private static let gone = UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF) | UInt32(IN_IGNORED) | UInt32(IN_UNMOUNT)

  private func watch() throws(SystemCallError) {
    let events = try FileEvents(capacity: 4096)
    // A file that is truncated is modified. The pool itself writes to the ledger through memory, which is no event.
    try events.add(
      layout.run, mask: FileEvents.mask(IN_DELETE, IN_MOVED_FROM, IN_MODIFY, IN_DELETE_SELF, IN_MOVE_SELF, IN_ONLYDIR))
    try core.loop.watch(events.descriptor, for: .readable) { [weak self] in self?.changed() }
    self.events = events
  }

  private func changed() {
    let isGone = events?.takeAll().contains { $0.mask & Self.gone != 0 } == true
    if isGone { unwatch() }
    check()
  }

  private func unwatch() {
    if let events { core.loop.unwatch(events.descriptor) }
    events = nil
  }
}

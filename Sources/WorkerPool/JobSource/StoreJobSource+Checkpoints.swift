import CSystem
import CoreData
import Foundation
import LinuxSystem
import StoreTools

/// The store's write-ahead log, as a status shows it.
struct WALStatus: Equatable, Sendable {
  /// The size of its file; nil when there is none.
  var bytes: Int?
  /// Processes that keep it from being copied into the store because they read an older state, each with the monotonic
  /// time since which it reads.
  var readers: [Int32: Double] = [:]
  /// Whether it is too long although no such reader is known.
  var isHeldByOthers = false
}

/// WAL checkpoints: they copy the write-ahead log into the store, and keep it short.
extension StoreJobSource {
  func checkpoint(_ effort: WALCheckpointer.Effort, ticket: Int?) {
    checkpointQueue.async { [self] in
      guard let checkpointer else { return noCheckpoint(effort, ticket: ticket) }
      do {
        let now = walMoment
        let wasWritten = now != lastWALMoment
        let outcome = try checkpointer.checkpoint(effort)
        // Cutting the log off changes the file, too.
        let after = walMoment
        lastWALMoment = after.bytes < now.bytes ? after : now
        note(outcome)
        let isHeld = outcome.pagesLeft > 0 || outcome.isTooLong
        report(.checkpointed(wasWritten ? .written : isHeld ? .held : .quiet))
        if effort == .inPause { releaseMemory() }
        if let ticket { report(.replied(ticket: ticket, count: outcome.pagesLeft, error: nil)) }
      } catch {
        let reason = ErrorText.text(error)
        report(.trouble("the write-ahead log cannot be copied into the store: \(reason)"))
        // The next write leads to the next try.
        report(.checkpointed(.quiet))
        if let ticket { report(.replied(ticket: ticket, count: 0, error: reason)) }
      }
    }
  }

  private func releaseMemory() {
    store.coordinator.releaseMemory()
    // A burst of jobs leaves much free memory, spread over the arenas of many threads.
    csystem_trim_heap()
  }

  /// A server copies its log by itself.
  private func noCheckpoint(_ effort: WALCheckpointer.Effort, ticket: Int?) {
    report(.checkpointed(.quiet))
    if effort == .inPause { releaseMemory() }
    if let ticket { report(.replied(ticket: ticket, count: 0, error: nil)) }
  }

  private var walMoment: WALMoment {
    store.isShared ? WALMoment() : WALMoment(ofStore: store.url.path) ?? WALMoment()
  }

  private func note(_ outcome: WALCheckpointer.Outcome) {
    let readers = WALReaders.readers(store: store.url.path, at: outcome.pins)
    walReaders.withLock {
      $0.pins.note(readers, now: Clock.now)
      $0.isTooLong = outcome.isTooLong
    }
  }

  var walStatus: WALStatus {
    var status = stat()
    let bytes = !store.isShared && stat(store.url.path + "-wal", &status) == 0 ? Int(status.st_size) : nil
    let (readers, isTooLong) = walReaders.withLock { ($0.pins.since, $0.isTooLong) }
    return WALStatus(bytes: bytes, readers: readers, isHeldByOthers: isTooLong && readers.isEmpty)
  }
}

/// The log's file at a moment: it has others when it is written.
struct WALMoment: Equatable {
  var bytes: off_t = 0
  var nanoseconds: Int64 = 0

  init() {}

  /// Nil if there is no such file.
  init?(ofStore path: String) {
    var status = stat()
    guard stat(path + "-wal", &status) == 0 else { return nil }
    bytes = status.st_size
    nanoseconds = OpenDirectory.nanoseconds(status.st_mtim)
  }

  /// Whether a later write surely gives the file another time.
  var isOld: Bool { OpenDirectory.isOld(nanoseconds) }
}

/// Who keeps the log from being copied, as the last checkpoints have found.
struct WALHolders: Sendable {
  var pins = PinnedWAL()
  var isTooLong = false
}

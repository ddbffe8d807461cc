import CoreData
import Foundation
import LinuxSystem

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
      do {
        let outcome = try checkpointer.checkpoint(effort)
        note(outcome)
        report(.checkpointed(isDone: outcome.pagesLeft == 0 && !outcome.isTooLong))
        if let ticket { report(.replied(ticket: ticket, count: outcome.pagesLeft, error: nil)) }
      } catch {
        let reason = ErrorText.text(error)
        report(.trouble("the write-ahead log cannot be copied into the store: \(reason)"))
        // The next write leads to the next try.
        report(.checkpointed(isDone: true))
        if let ticket { report(.replied(ticket: ticket, count: 0, error: reason)) }
      }
    }
  }

  private func note(_ outcome: WALCheckpointer.Outcome) {
    let readers = WALReaders.readers(store: store.url.path, at: outcome.pins)
    walState.withLock {
      $0.pins.note(readers, now: Clock.now)
      $0.isTooLong = outcome.isTooLong
    }
  }

  var walStatus: WALStatus {
    var status = stat()
    let bytes = stat(store.url.path + "-wal", &status) == 0 ? Int(status.st_size) : nil
    let (readers, isTooLong) = walState.withLock { ($0.pins.since, $0.isTooLong) }
    return WALStatus(bytes: bytes, readers: readers, isHeldByOthers: isTooLong && readers.isEmpty)
  }
}

/// What the last checkpoints have found.
struct WALState: Sendable {
  var pins = PinnedWAL()
  var isTooLong = false
}

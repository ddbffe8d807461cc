import CoreData
import Foundation
import LinuxSystem

/// The store's write-ahead log, as a status shows it.
struct LogStatus: Equatable, Sendable {
  /// Size of its file.
  var bytes: Int?
  /// Processes that keep it from being brought into the store by reading an older state, with the monotonic time since when.
  var readers: [Int32: Double] = [:]
  /// Whether it is longer than it may be, though no such reader is known.
  var isHeldByOthers = false
}

/// The write-ahead log is brought into the store, and kept short.
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
        report(.trouble("the log cannot be brought into the store: \(reason)"))
        // The next write is the next occasion.
        report(.checkpointed(isDone: true))
        if let ticket { report(.replied(ticket: ticket, count: 0, error: reason)) }
      }
    }
  }

  private func note(_ outcome: WALCheckpointer.Outcome) {
    let readers = WALReaders.readers(store: store.url.path, at: outcome.pins)
    logCare.withLock {
      $0.pins.note(readers, now: Clock.now)
      $0.isTooLong = outcome.isTooLong
    }
  }

  var logStatus: LogStatus {
    var status = stat()
    let bytes = stat(store.url.path + "-wal", &status) == 0 ? Int(status.st_size) : nil
    let (readers, isTooLong) = logCare.withLock { ($0.pins.since, $0.isTooLong) }
    return LogStatus(bytes: bytes, readers: readers, isHeldByOthers: isTooLong && readers.isEmpty)
  }

  func finish() {
    // All that was asked for before is done before this.
    intake.finish { [self] in
      work { [self] _ in
        checkpointQueue.async { [self] in
          // The app's store is left without a long log beside it.
          _ = try? checkpointer.checkpoint(.completely)
          report(.finished)
        }
      }
    }
  }
}

/// What the checkpoints have found so far.
struct LogCare: Sendable {
  var pins = PinnedLog()
  var isTooLong = false
}

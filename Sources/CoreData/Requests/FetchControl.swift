internal import Synchronization

/// Lets other threads cancel a running fetch and follow its progress.
///
/// Three threads meet here: the one that reads, the context's queue, and the one that cancels. No lock is held while a
/// row is read; the counters are atomic words.
///
/// A cancellation must reach a server's statement whichever comes first, the statement or the cancellation:
///
/// ```text
/// thread that reads                     thread that cancels
/// whenCancelled { connection.cancel() }
///   lock, ending = …, unlock
///   isCancelled? no                     cancel(): isStopped = true
///   statement runs                        lock, ending(), unlock
/// whenCancelled(nil)
///
///                                       cancel(): isStopped = true
///                                         lock, ending is nil, unlock
/// whenCancelled { … }
///   lock, ending = …, unlock
///   isCancelled? yes: it ends at once
/// ```
///
/// The lock orders the two: either `cancel()` finds `ending`, or the reader's question comes after the unlock and finds
/// `isStopped`. Both may happen, so `ending` may run twice and must allow it.
///
/// A SQLite store needs no `ending`: its statements ask `isCancelled` themselves (`SQLiteConnection.listening`).
package final class FetchControl: Sendable {
  private let isStopped = Atomic(false)
  private let rowsRead = Atomic(0)
  private let isReporting = Atomic(false)

  /// Asked by SQLite's progress handler on the reading thread. `relaxed` is enough: a cancellation that is seen a
  /// little later is no error.
  var isCancelled: Bool { isStopped.load(ordering: .relaxed) }
  var count: Int { rowsRead.load(ordering: .relaxed) }

  /// Any thread, any number of times; also before the fetch begins and after it has ended. It waits only for a running
  /// `ending`.
  func cancel() {
    isStopped.store(true, ordering: .sequentiallyConsistent)
    ending.withLock { $0?() }
  }

  /// Called under the lock, so that after `whenCancelled(nil)` it neither runs nor will: the connection may then be
  /// used for something else.
  private let ending = Mutex<(@Sendable () -> Void)?>(nil)

  /// Sets what a cancellation ends, as long as it runs; it is ended at once if the fetch is cancelled already.
  ///
  /// Call it with nil before the connection is given back: a late cancellation would end another fetch's statement.
  package func whenCancelled(_ end: (@Sendable () -> Void)?) {
    ending.withLock { $0 = end }
    if isCancelled { end?() }
  }

  /// The thread that reads calls it once in 256 rows, because a block on a queue costs more than reading a row.
  ///
  /// `nonisolated(unsafe)`: set before reading begins and removed after it has ended.
  nonisolated(unsafe) var report: (@Sendable () -> Void)?

  /// Counts one row. The reader of each store calls it, on the thread that reads.
  package func countRow() {
    if rowsRead.wrappingAdd(1, ordering: .relaxed).newValue % 256 == 0 { report?() }
  }

  /// Whether the caller may report, because no other thread is reporting. After true, call `endReport()`.
  ///
  /// So at most one report waits on the context's queue, even if the queue is busy for a second.
  func beginReport() -> Bool { !isReporting.exchange(true, ordering: .relaxed) }
  func endReport() { isReporting.store(false, ordering: .relaxed) }
}

internal import Synchronization

/// Lets other threads cancel a running fetch and follow its progress.
package final class FetchControl: Sendable {
  private let isStopped = Atomic(false)
  private let rowsRead = Atomic(0)
  private let isReporting = Atomic(false)

  var isCancelled: Bool { isStopped.load(ordering: .relaxed) }
  var count: Int { rowsRead.load(ordering: .relaxed) }

  func cancel() {
    isStopped.store(true, ordering: .sequentiallyConsistent)
    ending.withLock { $0?() }
  }

  private let ending = Mutex<(@Sendable () -> Void)?>(nil)

  /// Sets what a cancellation ends, as long as it runs; it is ended at once if the fetch is cancelled already.
  package func whenCancelled(_ end: (@Sendable () -> Void)?) {
    ending.withLock { $0 = end }
    if isCancelled { end?() }
  }

  /// The thread that reads calls it once in 256 rows.
  ///
  /// `nonisolated(unsafe)`: set before reading begins and removed after it has ended.
  nonisolated(unsafe) var report: (@Sendable () -> Void)?

  /// Counts one row; called by the thread that reads.
  package func countRow() {
    if rowsRead.wrappingAdd(1, ordering: .relaxed).newValue % 256 == 0 { report?() }
  }

  /// Whether the caller may report, because no other thread is reporting. After true, call `endReport()`.
  func beginReport() -> Bool { !isReporting.exchange(true, ordering: .relaxed) }
  func endReport() { isReporting.store(false, ordering: .relaxed) }
}

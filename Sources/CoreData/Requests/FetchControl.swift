internal import Synchronization

/// The hand that others keep on a running fetch: to stop it, and to see how far it is.
final class FetchControl: Sendable {
  private let isStopped = Atomic(false)
  private let rowsRead = Atomic(0)
  private let isReporting = Atomic(false)

  var isCancelled: Bool { isStopped.load(ordering: .relaxed) }
  var count: Int { rowsRead.load(ordering: .relaxed) }

  func cancel() { isStopped.store(true, ordering: .relaxed) }

  /// Called now and then by the thread that reads.
  ///
  /// `nonisolated(unsafe)`: set before reading begins, and taken away after it has ended.
  nonisolated(unsafe) var report: (@Sendable () -> Void)?

  /// Called by the thread that reads, with each row.
  func countRow() {
    if rowsRead.wrappingAdd(1, ordering: .relaxed).newValue % 256 == 0 { report?() }
  }

  /// Whether nobody else is about to report; followed by `endReport()`.
  func beginReport() -> Bool { !isReporting.exchange(true, ordering: .relaxed) }
  func endReport() { isReporting.store(false, ordering: .relaxed) }
}

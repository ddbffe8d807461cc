internal import CSQLite
internal import Synchronization

extension SQLiteConnection {
  /// Runs the body. Its statements end with SQLITE_INTERRUPT soon after the fetch is cancelled.
  ///
  /// SQLite asks at intervals of its instructions (https://www.sqlite.org/c3ref/progress_handler.html), so a
  /// cancellation meets a statement at any point, even before its first step.
  ///
  /// It asks every 4,096 instructions. `sqlite3_interrupt` alone would not do: it ends what runs at that moment, and
  /// nothing if the statement has not begun.
  func listening<T>(to control: FetchControl?, _ body: (SQLiteConnection) throws -> T) rethrows -> T {
    guard let control else { return try body(self) }
    let isCancelled: @convention(c) (UnsafeMutableRawPointer?) -> Int32 = { pointer in
      guard let pointer else { return 0 }
      return Unmanaged<FetchControl>.fromOpaque(pointer).takeUnretainedValue().isCancelled ? 1 : 0
    }
    sqlite3_progress_handler(handle, 4096, isCancelled, Unmanaged.passUnretained(control).toOpaque())
    interruption.listen(to: control)
    defer {
      interruption.listen(to: nil)
      sqlite3_progress_handler(handle, 0, nil, nil)
    }
    return try withExtendedLifetime(control) { try body(self) }
  }
}

/// Tells a function that works on one row for long that its statement should end.
final class StatementInterruption: Sendable {
  private let requests = Atomic(0)
  private let control = Mutex<FetchControl?>(nil)

  /// From any thread.
  func request() { requests.wrappingAdd(1, ordering: .relaxed) }

  /// Also a cancelled fetch ends its statement.
  func listen(to control: FetchControl?) { self.control.withLock { $0 = control } }

  /// How often it was asked for until now; see ``isRequested(since:)``.
  var count: Int { requests.load(ordering: .relaxed) }

  func isRequested(since count: Int) -> Bool {
    self.count != count || control.withLock { $0?.isCancelled ?? false }
  }
}

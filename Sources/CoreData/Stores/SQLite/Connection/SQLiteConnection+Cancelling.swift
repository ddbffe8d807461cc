internal import CSQLite

extension SQLiteConnection {
  /// Runs the body. Its statements end with SQLITE_INTERRUPT soon after the fetch is cancelled.
  ///
  /// SQLite asks at intervals of its instructions (https://www.sqlite.org/c3ref/progress_handler.html), so a
  /// cancellation meets a statement at any point, even before its first step.
  func listening<T>(to control: FetchControl?, _ body: (SQLiteConnection) throws -> T) rethrows -> T {
    guard let control else { return try body(self) }
    let isCancelled: @convention(c) (UnsafeMutableRawPointer?) -> Int32 = { pointer in
      guard let pointer else { return 0 }
      return Unmanaged<FetchControl>.fromOpaque(pointer).takeUnretainedValue().isCancelled ? 1 : 0
    }
    sqlite3_progress_handler(handle, 4096, isCancelled, Unmanaged.passUnretained(control).toOpaque())
    defer { sqlite3_progress_handler(handle, 0, nil, nil) }
    return try withExtendedLifetime(control) { try body(self) }
  }
}

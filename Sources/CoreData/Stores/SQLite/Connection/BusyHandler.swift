internal import CSQLite

/// The time that a connection waits for a lock, and the pauses between its attempts.
///
/// SQLite's own handler sleeps up to 100 ms between attempts, far longer than a commit takes. This one begins at 50
/// µs. Source: https://www.sqlite.org/c3ref/busy_handler.html
///
/// ```text
/// attempt    0    1    2    3    4     5     6     7     8 …
/// pause µs   50   100  200  400  800   1600  3200  5000  5000
/// waited     0    50   150  350  750   1550  3150  6350  11350
/// ```
///
/// A save of a few rows commits in well under a millisecond, and the second writer has its lock soon after. Who waits
/// for seconds tries 200 times a second, which costs nothing noticeable.
///
/// SQLite does not call the handler where waiting would be a deadlock; the statement fails at once then.
enum BusyHandler {
  static func install(on connection: OpaquePointer, timeout: TimeInterval) {
    // The limit is passed as the context pointer's value, so that no memory has to be owned.
    let milliseconds = milliseconds(timeout)
    sqlite3_busy_handler(
      connection,
      { context, attempt in
        let limit = Int(bitPattern: context) * 1000
        guard BusyHandler.elapsed(before: Int(attempt)) < limit else { return 0 }
        usleep(UInt32(BusyHandler.pause(Int(attempt))))
        return 1
      }, UnsafeMutableRawPointer(bitPattern: milliseconds))
  }

  /// The milliseconds of a time in seconds: 1 for a negative one, and 24 days for all that are longer.
  static func milliseconds(_ timeout: TimeInterval) -> Int {
    timeout > 0 ? Int(min(timeout * 1000, Double(Int32.max)).rounded(.up)) : 1
  }

  /// The microseconds to wait before attempt number `attempt`: 50, 100, 200, … up to 5,000.
  private static func pause(_ attempt: Int) -> Int { attempt >= 7 ? 5000 : 50 << attempt }

  /// The microseconds waited before attempt number `attempt`.
  private static func elapsed(before attempt: Int) -> Int {
    attempt <= 7 ? 50 * ((1 << attempt) - 1) : 50 * 127 + (attempt - 7) * 5000
  }
}

extension SQLiteConnection {
  /// - Parameter seconds: the time that later statements wait for a lock.
  package func setBusyTimeout(_ seconds: TimeInterval) { BusyHandler.install(on: handle, timeout: seconds) }
}

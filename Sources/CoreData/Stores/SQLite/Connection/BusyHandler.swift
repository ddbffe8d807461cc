internal import CSQLite

/// How long a connection waits for a lock, and how often it looks.
///
/// SQLite's own handler sleeps up to 100 ms between looks, far longer than our commits last; this one starts at 50 µs.
/// Source: https://www.sqlite.org/c3ref/busy_handler.html
enum BusyHandler {
  static func install(on connection: OpaquePointer, timeout: TimeInterval) {
    // The limit travels as the context pointer's value: no memory to own.
    let milliseconds = max(1, min(Int(timeout * 1000), Int(Int32.max)))
    sqlite3_busy_handler(
      connection,
      { context, attempt in
        let limit = Int(bitPattern: context) * 1000
        guard BusyHandler.elapsed(before: Int(attempt)) < limit else { return 0 }
        usleep(UInt32(BusyHandler.pause(Int(attempt))))
        return 1
      }, UnsafeMutableRawPointer(bitPattern: milliseconds))
  }

  /// Microseconds to wait before look number `attempt`: 50, 100, 200, … up to 5,000.
  private static func pause(_ attempt: Int) -> Int { attempt >= 7 ? 5000 : 50 << attempt }

  /// Microseconds waited before look number `attempt`.
  private static func elapsed(before attempt: Int) -> Int {
    attempt <= 7 ? 50 * ((1 << attempt) - 1) : 50 * 127 + (attempt - 7) * 5000
  }
}

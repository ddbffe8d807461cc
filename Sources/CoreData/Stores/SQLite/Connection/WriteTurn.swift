package import LinuxSystem

/// The turn to write of `NSPersistentStoreWriteTurnOption`: a lock that processes pass on in the order in which they
/// ask. SQLite's busy handler may keep a process waiting arbitrarily long behind faster ones.
///
/// It has a file of its own. Closing any descriptor of the database file would drop SQLite's own locks
/// (https://www.sqlite.org/howtocorrupt.html, 2.2).
///
/// ```text
/// Process A           Process B            Process C             without turns
/// ------------------  -------------------  --------------------  --------------------------------------
/// takes the turn      asks, waits at door  asks, waits behind B  all poll SQLite's lock; the one that
/// writes, commits                                                happens to try at the right moment
/// releases            takes the turn                             has it, and A, which is awake,
/// asks again,         writes, commits                            tries first
/// waits behind C      releases             takes the turn
/// ```
extension FairFileLock {
  /// - Parameter path: the option's value.
  /// - Throws: SQLITE_CANTOPEN.
  package static func writeTurn(_ path: String) throws(SQLiteError) -> FairFileLock {
    do {
      return try FairFileLock(path: path)
    } catch {
      throw SQLiteError(
        code: 14, message: "cannot open the write-turn file \(path): \(String(cString: strerror(error.errno)))",
        sql: nil)
    }
  }

  /// Waits for the turn, for as many seconds at most.
  ///
  /// - Throws: SQLITE_BUSY if another process keeps the turn, or the place at the door, for longer.
  func take(within timeout: TimeInterval) throws(SQLiteError) {
    do {
      try take(withinMilliseconds: BusyHandler.milliseconds(timeout))
    } catch {
      guard error.number == EAGAIN else {
        throw SQLiteError(
          code: 5, message: "cannot lock the write-turn file: \(String(cString: strerror(error.number)))", sql: nil)
      }
      throw SQLiteError(
        code: 5,
        message: "another process has kept the turn to write for \(timeout) s (NSPersistentStoreTimeoutOption)",
        sql: nil)
    }
  }
}

internal import CSystem

/// A fair turn at writing between the processes of one pool: an open-file-description lock on a file of its own.
///
/// SQLite's busy handler may keep a process waiting arbitrarily long behind faster ones. So would a single lock: the
/// kernel wakes a waiter, but gives the lock to the first process that asks, often the last holder. Therefore there are
/// two locks: a writer first waits for the place at the door, and leaves it when it has the turn. The kernel releases
/// both when their holder dies. Never use the database file itself: closing any descriptor of it would drop SQLite's
/// own locks (https://www.sqlite.org/howtocorrupt.html, 2.2).
final class WriteTurn: Sendable {
  private let descriptor: Int32

  init(path: String) throws {
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw SQLiteError(
        code: 14, message: "cannot open the write-turn file \(path): \(String(cString: strerror(errno)))", sql: nil)
    }
  }

  deinit { close(descriptor) }

  /// The bytes of the file that are locked.
  enum Part: Int {
    case turn, door
  }

  /// Waits for the turn, runs the body and passes the turn on. The writer at the door is next, even if others ask.
  func take<T>(_ body: () throws -> T) rethrows -> T {
    // Without a limit of time there is no error.
    _ = lock(.door, until: -1)
    _ = lock(.turn, until: -1)
    unlock(.door)
    defer { unlock(.turn) }
    return try body()
  }

  /// Waits for the turn, for as many seconds at most.
  ///
  /// - Throws: SQLITE_BUSY if another process keeps the turn, or the place at the door, for longer.
  func take<T>(within timeout: TimeInterval, _ body: () throws -> T) throws -> T {
    let until = csystem_nanoseconds() + Int64(BusyHandler.milliseconds(timeout)) * 1_000_000
    guard lock(.door, until: until) else { throw failure(timeout) }
    let isMine = lock(.turn, until: until)
    let error = isMine ? nil : failure(timeout)
    unlock(.door)
    if let error { throw error }
    defer { unlock(.turn) }
    return try body()
  }

  private func failure(_ timeout: TimeInterval) -> SQLiteError {
    guard errno == EAGAIN else {
      return SQLiteError(
        code: 5, message: "cannot lock the write-turn file: \(String(cString: strerror(errno)))", sql: nil)
    }
    return SQLiteError(
      code: 5,
      message: "another process has kept the turn to write for \(timeout) s (NSPersistentStoreTimeoutOption)", sql: nil)
  }

  private func lock(_ part: Part, until time: Int64) -> Bool {
    csystem_lock_byte(descriptor, Int64(part.rawValue), time) == 0
  }

  private func unlock(_ part: Part) {
    var lock = flock(
      l_type: Int16(F_UNLCK), l_whence: Int16(SEEK_SET), l_start: part.rawValue, l_len: 1, l_pid: 0)
    while fcntl(descriptor, F_OFD_SETLKW, &lock) == -1 && errno == EINTR {}
  }
}

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
    apply(Int16(F_WRLCK), to: .door)
    apply(Int16(F_WRLCK), to: .turn)
    apply(Int16(F_UNLCK), to: .door)
    defer { apply(Int16(F_UNLCK), to: .turn) }
    return try body()
  }

  private func apply(_ type: Int16, to part: Part) {
    var lock = flock(l_type: type, l_whence: Int16(SEEK_SET), l_start: part.rawValue, l_len: 1, l_pid: 0)
    while fcntl(descriptor, F_OFD_SETLKW, &lock) == -1 && errno == EINTR {}
  }
}

internal import CSystem

/// A fair turn at writing between the processes of one pool: an open-file-description lock on a file of its own.
///
/// SQLite's busy handler lets a process wait arbitrarily long behind faster ones; the kernel's lock queue does not, and the
/// kernel gives the lock back when its holder dies. Never on the database file itself: closing any descriptor of that
/// would drop SQLite's own locks (https://www.sqlite.org/howtocorrupt.html, 2.2).
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

  /// Waits for the turn, runs the body and passes the turn on.
  func take<T>(_ body: () throws -> T) rethrows -> T {
    apply(Int16(F_WRLCK))
    defer { apply(Int16(F_UNLCK)) }
    return try body()
  }

  private func apply(_ type: Int16) {
    var lock = flock(l_type: type, l_whence: Int16(SEEK_SET), l_start: 0, l_len: 0, l_pid: 0)
    while fcntl(descriptor, F_OFD_SETLKW, &lock) == -1 && errno == EINTR {}
  }
}

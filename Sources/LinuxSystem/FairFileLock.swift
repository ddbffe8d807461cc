import CSystem
import Glibc

/// A lock for processes that name the same file, which goes to the one that has waited longest: open-file-description
/// locks on two of the file's bytes.
///
/// With a single lock a process could wait arbitrarily long: the kernel wakes a waiter, but gives the lock to the first
/// process that asks, often the last holder. So there is a second lock, the door: a process takes the door, waits for
/// the lock, takes it, and releases the door to the next process. The kernel releases both locks when their holder dies
/// (fcntl(2), "Open file description locks").
package final class FairFileLock: Sendable {
  private let file: Descriptor

  /// The bytes of the file that are locked.
  package enum Part: Int64, Sendable {
    case lock, door
  }

  /// Opens the file, and makes it if it is missing. Nothing else may use the file.
  package init(path: String) throws(FileError) {
    do {
      file = try Descriptor(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600), "open")
    } catch {
      throw FileError(path: path, action: "be opened", errno: error.number)
    }
  }

  /// Waits for the lock, runs the body and releases the lock. The process at the door is next, even if others ask.
  package func hold<T>(_ body: () throws -> T) rethrows -> T {
    // Without a limit of time there is no error.
    _ = lock(.door, until: -1)
    _ = lock(.lock, until: -1)
    unlock(.door)
    defer { release() }
    return try body()
  }

  /// Waits for the lock, which the caller has to release.
  ///
  /// - Throws: EAGAIN if another process keeps the lock, or the place at the door, for longer.
  package func take(withinMilliseconds limit: Int) throws(SystemCallError) {
    let until = csystem_monotonic_nanoseconds() + Int64(limit) * 1_000_000
    guard lock(.door, until: until) else { throw SystemCallError("fcntl") }
    let failure = lock(.lock, until: until) ? nil : SystemCallError("fcntl")
    unlock(.door)
    if let failure { throw failure }
  }

  /// Passes the lock on.
  package func release() { unlock(.lock) }

  private func lock(_ part: Part, until time: Int64) -> Bool {
    csystem_lock_byte(file.number, part.rawValue, time) == 0
  }

  private func unlock(_ part: Part) {
    var lock = flock(
      l_type: Int16(F_UNLCK), l_whence: Int16(SEEK_SET), l_start: Int(part.rawValue), l_len: 1, l_pid: 0)
    while fcntl(file.number, F_OFD_SETLKW, &lock) == -1 && errno == EINTR {}
  }
}

import Glibc
import LinuxSystem
import Synchronization

/// The lock that makes one pool the only one of a store.
///
/// It is on the database file itself, so symbolic links, hard links and bind mounts lead to the same lock, and the
/// kernel releases it when the process ends. On local file systems flock(2) does not affect SQLite's own locks (fcntl),
/// and WAL needs a local one (https://www.sqlite.org/wal.html).
///
/// The descriptor is never closed: closing any descriptor of the file drops all locks that SQLite holds on it in this
/// process (https://www.sqlite.org/howtocorrupt.html, 2.2). A later pool of this process uses it again.
package final class StoreLock: Sendable {
  /// The path of the file without symbolic links, beside which SQLite keeps its log.
  package let path: String
  package let file: FileID
  package let descriptor: Int32

  /// Another pool has the lock.
  package struct Taken: Error {
    package let file: FileID
  }

  /// The files that this process has opened to lock them.
  private static let opened = Mutex<[FileID: (descriptor: Int32, isTaken: Bool)]>([:])

  private init(path: String, file: FileID, descriptor: Int32) {
    self.path = path
    self.file = file
    self.descriptor = descriptor
  }

  /// Locks the file at the path, and makes an empty one where there is none. Never waits.
  ///
  /// - Throws: ``Taken``, or `FileError`.
  package static func take(_ path: String) throws -> StoreLock {
    while true {
      let lock = try opened.withLock { opened -> StoreLock? in
        let (file, descriptor) = try open(path, &opened)
        guard opened[file]?.isTaken == false else { throw Taken(file: file) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
          if errno == EWOULDBLOCK { throw Taken(file: file) }
          throw FileError(path: path, action: "be locked", errno: errno)
        }
        // The file may have been replaced since it was opened.
        guard let resolved = FileID.resolve(path), FileID(path: resolved) == file else {
          flock(descriptor, LOCK_UN)
          return nil
        }
        opened[file]?.isTaken = true
        return StoreLock(path: resolved, file: file, descriptor: descriptor)
      }
      if let lock { return lock }
    }
  }

  /// Notes the descriptor by which the program before this one in the process has locked a file: ``take(_:)`` uses it.
  package static func inherit(_ descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return }
    opened.withLock { $0[FileID(status)] = (descriptor, false) }
  }

  /// Whether another process has the lock of the file, because its pool runs there. The lock of a pool that was killed
  /// is free, and a lock that this process has taken is no other's. Never waits.
  ///
  /// The kernel lists no locks of processes in other containers, so the lock is asked for. It is shared for that
  /// moment: processes that ask at the same time do not see each other.
  static func isTakenByAnotherProcess(_ path: String) -> Bool {
    opened.withLock { opened in
      // A file that this process cannot open for writing cannot be upgraded by it either; the opening says so.
      guard let (file, descriptor) = try? open(path, &opened), opened[file]?.isTaken == false else { return false }
      guard flock(descriptor, LOCK_SH | LOCK_NB) == 0 else { return errno == EWOULDBLOCK }
      flock(descriptor, LOCK_UN)
      return false
    }
  }

  /// Lets other pools have the store.
  package func release() {
    Self.opened.withLock { opened in
      flock(descriptor, LOCK_UN)
      opened[file]?.isTaken = false
    }
  }

  private static func open(
    _ path: String, _ opened: inout [FileID: (descriptor: Int32, isTaken: Bool)]
  ) throws(FileError) -> (FileID, Int32) {
    if let file = FileID(path: path), let openFile = opened[file] { return (file, openFile.descriptor) }
    // The mode is SQLite's own.
    let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw FileError(path: path, action: "be opened for writing", errno: errno) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw FileError(path: path, action: "be examined", errno: errno) }
    let file = FileID(status)
    opened[file] = (descriptor, false)
    return (file, descriptor)
  }
}

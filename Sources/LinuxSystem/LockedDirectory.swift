import Foundation
import Glibc

/// A new directory whose process holds its lock, as that of a ``LockedFile``: so others tell a directory that is in use
/// from one that a killed process has left.
package final class LockedDirectory {
  package let path: String
  private let lock: Descriptor

  /// Makes the directory, empty, and locks it.
  ///
  /// - Parameter path: called for a path, again if the directory is gone before it is locked.
  /// - Throws: ``FileError``
  package init(mode: mode_t, path: () -> String) throws(FileError) {
    while true {
      let path = path()
      guard mkdir(path, mode) == 0 else { throw FileError(path: path, action: "be made a directory", errno: errno) }
      let lock: Descriptor
      do {
        lock = try Descriptor(open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), "open")
      } catch {
        // Another process has taken it for abandoned before it was locked.
        if error.number == ENOENT { continue }
        throw FileError(path: path, action: "be opened", errno: error.number)
      }
      // Where a file system knows no locks, nobody gets one, and nothing is removed.
      let isLocked = flock(lock.number, LOCK_EX | LOCK_NB) == 0
      if isLocked || errno != EWOULDBLOCK, FileID(path: path) != nil {
        self.path = path
        self.lock = lock
        return
      }
    }
  }

  deinit { remove() }

  /// Removes the directory with what is in it.
  package func remove() { Self.remove(path) }

  // What cannot be removed stays, and is tried again by the next `removeAbandoned`.
  private static func remove(_ path: String) { try? FileManager.default.removeItem(atPath: path) }

  /// Removes this user's directories that no process has locked, with what is in them.
  ///
  /// - Parameter isLockedDirectory: whether a name is one of those that are made in this way; others are left alone.
  package static func removeAbandoned(in directory: String, where isLockedDirectory: (_ name: String) -> Bool) {
    LockedFile.removeAbandoned(in: directory, where: isLockedDirectory) { path in
      var status = stat()
      guard lstat(path, &status) == 0, FileKind(status) == .directory, status.st_uid == geteuid() else { return }
      remove(path)
    }
  }
}

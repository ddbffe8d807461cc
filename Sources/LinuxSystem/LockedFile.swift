import Foundation
import Glibc

/// A new file whose process holds its lock, flock(2), which ends with the process: so others tell a file that is being
/// written from one that a killed process has left.
package final class LockedFile {
  package let path: String
  package let descriptor: Descriptor

  /// Makes the file, empty, and locks it.
  ///
  /// - Parameter path: called for a path, again if the file is gone before it is locked.
  /// - Throws: ``FileError``
  package init(mode: mode_t, path: () -> String) throws(FileError) {
    while true {
      let path = path()
      let descriptor: Descriptor
      do {
        descriptor = try Descriptor(open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode), "open")
      } catch {
        throw FileError(path: path, action: "be created", errno: error.number)
      }
      // Another process may have taken it for abandoned before it was locked. Where a file system knows no locks,
      // nobody gets one, and nothing is removed.
      let isLocked = flock(descriptor.number, LOCK_EX | LOCK_NB) == 0
      if isLocked || errno != EWOULDBLOCK, Self.hasName(descriptor) {
        self.path = path
        self.descriptor = descriptor
        return
      }
    }
  }

  private static func hasName(_ descriptor: Descriptor) -> Bool {
    var status = stat()
    return fstat(descriptor.number, &status) == 0 && status.st_nlink > 0
  }

  /// Removes the files of a directory that no process has locked.
  ///
  /// - Parameters:
  ///   - isLockedFile: whether a name is one of those that are made in this way; others are left alone.
  ///   - remove: removes the file at a path, and what belongs to it.
  package static func removeAbandoned(
    in directory: String, where isLockedFile: (_ name: String) -> Bool, remove: (_ path: String) -> Void
  ) {
    // A directory that cannot be read is told when a file is made there.
    for name in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] where isLockedFile(name) {
      let path = "\(directory)/\(name)"
      // Without following a link, which others could lay there. A file that is gone already needs no more.
      guard let file = try? Descriptor(open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), "open")
      else { continue }
      if flock(file.number, LOCK_EX | LOCK_NB) == 0 { remove(path) }
    }
  }
}

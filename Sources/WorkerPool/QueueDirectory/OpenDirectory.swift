import CSystem
import Foundation
import Jobs
import Synchronization

/// A directory that is held open: all work in it is done in that very directory, even if its path leads elsewhere.
final class OpenDirectory: Sendable {
  let path: String
  let descriptor: Int32
  let owner: uid_t
  private let file: FileID
  private let hasFailedToSynchronize = Atomic(false)
  private let knownIdentity = Mutex<String?>(nil)

  init(_ path: String) throws(FileError) {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileError(path: path, action: "be opened", errno: errno) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      let reason = errno
      close(descriptor)
      throw FileError(path: path, action: "be examined", errno: reason)
    }
    self.path = path
    self.descriptor = descriptor
    (owner, file) = (status.st_uid, FileID(status))
  }

  deinit { close(descriptor) }

  /// Whether this is the directory with that status. The inode's number is not used again while the directory is held.
  func isSame(as status: stat) -> Bool { FileID(status) == file }

  /// Calls `body` with the name of each entry, `.` and `..` included.
  func forEachName(_ body: (UnsafePointer<CChar>) -> Void) throws(FileError) {
    // A new description: `fdopendir` takes its descriptor over, and a duplicate would share the reading position.
    let listed = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard listed >= 0, let directory = fdopendir(listed) else {
      let reason = errno
      if listed >= 0 { close(listed) }
      throw FileError(path: path, action: "be listed", errno: reason)
    }
    defer { closedir(directory) }
    while let entry = readdir(directory) {
      withUnsafePointer(to: &entry.pointee.d_name) { name in
        name.withMemoryRebound(to: CChar.self, capacity: 256) { body($0) }
      }
    }
  }

  /// The status of an entry itself, also of a symbolic link; `nil` when it is not there or cannot be examined.
  func status(of name: String) -> stat? {
    var status = stat()
    return fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status : nil
  }

  /// Makes the entries that came and went outlast a loss of power.
  ///
  /// After a failure no later call succeeds: the kernel reports a failed write once and may have dropped the data
  /// (https://www.postgresql.org/docs/current/runtime-config-error-handling.html, `data_sync_retry`).
  func synchronize() throws(FileError) {
    guard !hasFailedToSynchronize.load(ordering: .relaxed) else { throw failure(EIO) }
    guard fsync(descriptor) == 0 else {
      let reason = errno
      hasFailedToSynchronize.store(true, ordering: .relaxed)
      throw failure(reason)
    }
  }

  private func failure(_ reason: Int32) -> FileError {
    FileError(
      path: path, action: "be synchronised, and is not trusted again before the pool is restarted", errno: reason)
  }

  /// The directory's identity: see ``DirectoryIdentity``. It is read, or made, once.
  func identity() throws(FileError) -> String {
    try knownIdentity.withLock { cached throws(FileError) in
      if let cached { return cached }
      let identity = try DirectoryIdentity.of(self, place: place)
      cached = identity
      return identity
    }
  }

  /// What no copy of the directory has in common with it: the number of its inode, and when that was made. Where the
  /// file system does not know when, the device; its number may be another one after a restart.
  private var place: String {
    let birth = csystem_birth_time(descriptor)
    return birth > 0 ? "\(file.inode)@\(birth)" : "\(file)"
  }

  /// Whether a file with this time would get another one if it were changed now. The kernel's times advance in steps of
  /// milliseconds, so a time of this second does not tell.
  static func isOld(_ nanoseconds: Int64) -> Bool {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Self.nanoseconds(now) - nanoseconds > 1_000_000_000
  }

  static func nanoseconds(_ time: timespec) -> Int64 { Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec) }
}

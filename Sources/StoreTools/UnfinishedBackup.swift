import Foundation
internal import LinuxSystem

/// The file of a backup until it is complete: `.STORE.backup.UUID.tmp` in the directory of the backup.
///
/// Its process holds its lock, which ends with the process: flock(2). So the next backup of the store into the
/// directory tells what a killed process has left, and removes it.
final class UnfinishedBackup {
  let path: String
  private let descriptor: Descriptor

  /// Makes the file, empty.
  ///
  /// - Throws: `FileError` when no file can be made in the directory.
  init(of store: URL, in directory: String) throws(FileError) {
    let prefix = ".\(store.lastPathComponent).backup."
    Self.removeAbandoned(prefix, directory)
    while true {
      let path = "\(directory)/\(prefix)\(UUID().uuidString).tmp"
      let descriptor: Descriptor
      do {
        descriptor = try Descriptor(open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o666), "open")
      } catch {
        throw FileError(path: path, action: "be created", errno: error.number)
      }
      // Another backup may have taken it for abandoned before it was locked.
      if flock(descriptor.number, LOCK_EX | LOCK_NB) == 0, Self.links(descriptor) > 0 {
        self.path = path
        self.descriptor = descriptor
        return
      }
    }
  }

  /// Removes the file, unless it got another name.
  deinit { for suffix in ["", "-journal", "-wal", "-shm"] { unlink(path + suffix) } }

  private static func links(_ descriptor: Descriptor) -> Int {
    var status = stat()
    return fstat(descriptor.number, &status) == 0 ? Int(status.st_nlink) : 0
  }

  private static func removeAbandoned(_ prefix: String, _ directory: String) {
    // A directory that cannot be read is told when the file is made there.
    for name in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    where name.hasPrefix(prefix) && name.hasSuffix(".tmp") {
      let path = "\(directory)/\(name)"
      // Without following a link, which others could lay there. A file that is gone already needs no more.
      guard let file = try? Descriptor(open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), "open")
      else { continue }
      if flock(file.number, LOCK_EX | LOCK_NB) == 0 {
        for suffix in ["", "-journal", "-wal", "-shm"] { unlink(path + suffix) }
      }
    }
  }
}

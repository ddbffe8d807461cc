import Foundation
import Glibc
import Jobs
import LinuxSystem

/// Who has the lock of a store, as the kernel tells.
struct StoreLockHolder: Hashable, Sendable {
  let pid: Int32
  /// The path of its queue directory, if it can be seen.
  let queue: String?

  /// Nil when the kernel lists no process: one of another container is not listed.
  ///
  /// - Parameter path: a path of the file.
  static func of(_ file: FileID, at path: String) -> StoreLockHolder? {
    guard let text = KernelLock.list(), let locked = LockedInode(path: path) else { return nil }
    let locks = KernelLock.all(in: text, ofWholeFiles: true)
    let candidates = locks.filter(locked.has).map(\.pid)
    // Where the file systems cannot be told apart, the files that a process has open can.
    guard let pid = candidates.first(where: { files(of: $0)?.contains { $0.file == file } ?? true }) else { return nil }
    // A pool locks its queue directory in the same way.
    let lockedInodes = Set(locks.filter { $0.pid == pid }.map(\.inode))
    let queue = files(of: pid)?.first { $0.isDirectory && lockedInodes.contains($0.file.inode) }
    return StoreLockHolder(pid: pid, queue: queue?.path)
  }

  /// The command of `workerpool` that the process runs instead of a pool, such as "copy"; nil for a pool, and for what
  /// cannot be told.
  var command: String? {
    guard queue == nil, let line = FileManager.default.contents(atPath: "/proc/\(pid)/cmdline") else { return nil }
    let words = line.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    guard words.count > 1 else { return nil }
    return ["copy", "migrate"].contains(words[1]) ? words[1] : nil
  }

  private struct OpenFile {
    let path: String
    let file: FileID
    let isDirectory: Bool
  }

  /// What a process has open; nil for a process of another user.
  private static func files(of pid: Int32) -> [OpenFile]? {
    let directory = "/proc/\(pid)/fd"
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: directory) else { return nil }
    return names.compactMap { name in
      var status = stat()
      guard stat("\(directory)/\(name)", &status) == 0,
        let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(directory)/\(name)")
      else { return nil }
      return OpenFile(path: path, file: FileID(status), isDirectory: FileKind(status) == .directory)
    }
  }
}

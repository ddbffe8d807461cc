import Foundation
import Glibc

/// Who reads a store at the moment, and so may keep its write-ahead log from being brought into the file.
///
/// A reader holds a shared lock on one of the bytes 123 to 127 of the `-shm` file (https://www.sqlite.org/walformat.html, "WAL
/// Locks"); the kernel lists such locks with their owners. Nothing of SQLite's is touched: opening the `-shm` file here and closing it
/// would drop the locks that this process holds on it (https://www.sqlite.org/howtocorrupt.html, 2.2).
enum WALReaders {
  private static let readLocks = 123...127

  /// The process IDs of the readers of the store at `path`.
  static func processes(store path: String) -> Set<Int32> {
    var status = stat()
    guard stat(path + "-shm", &status) == 0,
      let locks = try? String(contentsOfFile: "/proc/locks", encoding: .utf8)
    else { return [] }
    return processes(locks: locks, inode: UInt64(status.st_ino))
  }

  /// The owners of read locks on the bytes of readers, out of the text of `/proc/locks`.
  static func processes(locks: String, inode: UInt64) -> Set<Int32> {
    let readers = KernelLock.all(in: locks).filter { $0.inode == inode && !$0.isWrite && readLocks.contains($0.first) }
    return Set(readers.map(\.pid))
  }
}

/// Who keeps others from using a store at all: a process that has it for itself, or writes.
enum StoreLocks {
  /// The process IDs of those that hold a write lock on the store at `path` or on its index, without this process.
  static func holders(store path: String) -> Set<Int32> {
    guard let locks = try? String(contentsOfFile: "/proc/locks", encoding: .utf8) else { return [] }
    let inodes = Set(
      ["", "-shm"].compactMap { suffix in
        var status = stat()
        return stat(path + suffix, &status) == 0 ? UInt64(status.st_ino) : nil
      })
    let held = KernelLock.all(in: locks).filter { $0.isWrite && $0.pid != getpid() && inodes.contains($0.inode) }
    return Set(held.map(\.pid))
  }

  /// The same in words; `nil` when nobody holds one.
  static func named(store path: String) -> String? {
    let names = holders(store: path).sorted().map { "process \($0) (\(ProcFile.command($0)))" }
    return names.isEmpty ? nil : "\(names.joined(separator: ", ")) has it locked"
  }
}

/// A lock that a process holds on a file or on a part of it.
struct KernelLock {
  let pid: Int32
  let inode: UInt64
  let isWrite: Bool
  let first: Int

  /// The locks of processes, out of the text of `/proc/locks`; those that are waited for are not among them.
  ///
  /// - Parameter ofWholeFiles: locks of flock(2) instead of those of fcntl(2).
  ///
  /// Source: proc_locks(5): `1: POSIX  ADVISORY  READ 1234 08:01:131073 123 123`.
  static func all(in text: String, ofWholeFiles: Bool = false) -> [KernelLock] {
    let type = ofWholeFiles ? "FLOCK" : "POSIX"
    return text.split(separator: "\n").compactMap { line in
      let fields = line.split(separator: " ", omittingEmptySubsequences: true)
      guard fields.count >= 8, fields[1] == type, let pid = Int32(fields[4]), pid > 0,
        let inode = fields[5].split(separator: ":").last.flatMap({ UInt64($0) }), let first = Int(fields[6])
      else { return nil }
      return KernelLock(pid: pid, inode: inode, isWrite: fields[3] == "WRITE", first: first)
    }
  }
}

/// Since when readers have been keeping the log from being brought into the file: seen at each look, in all that time.
struct PinnedLog: Sendable {
  /// Monotonic seconds of the first look that found the process, by process ID.
  private(set) var since: [Int32: Double] = [:]

  /// Notes who reads now, when a checkpoint has left something.
  mutating func note(_ processes: Set<Int32>, now: Double) {
    since = since.filter { processes.contains($0.key) }
    for pid in processes where since[pid] == nil { since[pid] = now }
  }

  /// A checkpoint has brought all of it into the file: nobody is in its way.
  mutating func clear() { since = [:] }
}

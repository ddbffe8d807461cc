import CSystem
import Glibc
import LinuxSystem

/// A lock that a process holds on a file or on a part of it.
struct KernelLock {
  let pid: Int32
  let device: KernelDevice
  let inode: UInt64
  let isWrite: Bool
  let first: Int
  let last: Int

  func covers(_ byte: Int) -> Bool { first <= byte && byte <= last }

  /// The text of `/proc/locks`.
  static func list() -> String? { KernelFile.text("/proc/locks") }

  /// The locks of processes, out of the text of `/proc/locks`; those that are waited for are not among them.
  ///
  /// - Parameter ofWholeFiles: locks of flock(2) instead of those of fcntl(2).
  ///
  /// Source: proc_locks(5): `1: POSIX  ADVISORY  READ 1234 08:01:131073 123 123`.
  static func all(in text: String, ofWholeFiles: Bool = false) -> [KernelLock] {
    let type = ofWholeFiles ? "FLOCK" : "POSIX"
    return text.split(separator: "\n").compactMap { line in
      let fields = line.split(separator: " ", omittingEmptySubsequences: true)
      guard fields.count >= 8, fields[1] == type, let pid = Int32(fields[4]), pid > 0 else { return nil }
      let place = fields[5].split(separator: ":")
      guard place.count == 3, let major = UInt32(place[0], radix: 16), let minor = UInt32(place[1], radix: 16),
        let inode = UInt64(place[2]), let first = Int(fields[6])
      else { return nil }
      // "EOF" for a lock without end.
      return KernelLock(
        pid: pid, device: KernelDevice(major: major, minor: minor), inode: inode, isWrite: fields[3] == "WRITE",
        first: first, last: Int(fields[7]) ?? Int.max)
    }
  }
}

/// The number by which the kernel's lists name a file system.
struct KernelDevice: Hashable, Sendable {
  let major: UInt32
  let minor: UInt32
}

/// A file as the list of locks names it: by its file system and its inode. Another file system has inodes of the same
/// numbers.
struct LockedInode: Hashable, Sendable {
  let device: KernelDevice
  let inode: UInt64

  init(device: KernelDevice, inode: UInt64) {
    self.device = device
    self.inode = inode
  }

  /// The file to which a path leads; nil when it leads to none.
  ///
  /// A file's status may give another device than the list of locks does, as on Btrfs, where each subvolume has one.
  /// The list of mounts has the same as the list of locks (proc_pid_mountinfo(5)). A process in a chroot may not see
  /// the mount there: the status has to do, and on Btrfs the file seems to be locked by nobody then.
  init?(path: String) {
    var status = csystem_mounted_file()
    guard csystem_find_mounted_file(path, &status) == 0 else { return nil }
    inode = status.inode
    let mount = String(status.mount)
    let line = (KernelFile.text("/proc/self/mountinfo") ?? "").split(separator: "\n")
      .first { $0.prefix { $0 != " " } == mount }
    let numbers = line?.split(separator: " ").dropFirst(2).first?.split(separator: ":").compactMap { UInt32($0) }
    device =
      numbers.flatMap { $0.count == 2 ? KernelDevice(major: $0[0], minor: $0[1]) : nil }
      ?? KernelDevice(major: status.device_major, minor: status.device_minor)
  }

  /// Whether the lock is one on this file.
  func has(_ lock: KernelLock) -> Bool { lock.inode == inode && lock.device == device }
}

import CoreData
import Foundation
import Glibc
import LinuxSystem
import StoreTools

/// A process that holds a read lock in the index of a store's write-ahead log, and sees an older state than the newest.
struct PinnedReader: Hashable, Sendable {
  let pid: Int32
  let pin: WALCheckpointer.Pin
}

/// Finds the processes that read an older state of a store, and so keep its WAL from being copied into the file.
///
/// A reader holds a shared lock on one of the bytes 123 to 127 of the `-shm` file
/// (https://www.sqlite.org/walformat.html, "WAL Locks"); the kernel lists such locks with their owners. This must not
/// open SQLite's files: opening and closing the `-shm` file would drop the locks that this process holds on it
/// (https://www.sqlite.org/howtocorrupt.html, 2.2).
enum WALReaders {
  private static let firstReadLock = 123

  /// The processes that hold these read locks of the store at `path`.
  static func readers(store path: String, at pins: [WALCheckpointer.Pin]) -> Set<PinnedReader> {
    guard !pins.isEmpty, let file = LockedInode(path: path + "-shm"), let locks = KernelLock.list() else { return [] }
    return readers(locks: locks, of: file, at: pins)
  }

  /// The owners of these read locks, out of the text of `/proc/locks`.
  static func readers(locks: String, of file: LockedInode, at pins: [WALCheckpointer.Pin]) -> Set<PinnedReader> {
    let held = KernelLock.all(in: locks).filter { file.has($0) && !$0.isWrite }
    return Set(
      held.flatMap { lock in
        pins.filter { lock.covers(firstReadLock + $0.readLock) }.map { PinnedReader(pid: lock.pid, pin: $0) }
      })
  }
}

/// Finds the processes that keep others from using a store at all: they have it for themselves, or write.
enum StoreLocks {
  /// The process IDs of those that hold a write lock on the store at `path` or on its index, without this process.
  static func holders(store path: String) -> Set<Int32> {
    let files = ["", "-shm"].compactMap { LockedInode(path: path + $0) }
    for _ in 0..<reads {
      guard let locks = KernelLock.list() else { return [] }
      let held = KernelLock.all(in: locks).filter { lock in
        lock.isWrite && lock.pid != getpid() && files.contains { $0.has(lock) }
      }
      if !held.isEmpty { return Set(held.map(\.pid)) }
    }
    return []
  }

  /// The number of times that the list is read before an absent lock is believed: the kernel returns it one page at a
  /// time, and a lock that goes between two pages can hide one that stays.
  private static let reads = 3

  /// The holders in words: "process 4711 (sqlite3) has it locked"; `nil` if no other process holds a lock.
  static func named(store path: String) -> String? {
    let names = holders(store: path).sorted().map { "process \($0) (\(ProcFile.command($0)))" }
    return names.isEmpty ? nil : "\(names.joined(separator: ", ")) has it locked"
  }
}

/// Since when readers have kept the WAL from being copied into the file.
///
/// Processes that only read for a moment appear in single checks. A reader that holds the same lock at the same mark
/// in checks that are ``minimumAge`` apart has held it all the time.
struct PinnedWAL: Sendable {
  static let minimumAge = 0.5

  /// Monotonic seconds of the first check that found each.
  private var firstSeen: [PinnedReader: Double] = [:]
  private var lastCheck = 0.0

  /// Notes what a check has found.
  mutating func note(_ readers: Set<PinnedReader>, now: Double) {
    lastCheck = now
    firstSeen = firstSeen.filter { readers.contains($0.key) }
    for reader in readers where firstSeen[reader] == nil { firstSeen[reader] = now }
  }

  /// The processes that read for long, with the monotonic time since when.
  var since: [Int32: Double] {
    let lasting = firstSeen.filter { lastCheck - $0.value >= Self.minimumAge }
    return Dictionary(lasting.map { ($0.key.pid, $0.value) }, uniquingKeysWith: min)
  }
}

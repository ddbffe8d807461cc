import CSystem
import Foundation
import Glibc
import Jobs
import LinuxSystem

/// A process for good: a process ID is used again, the time of its start is not.
struct ProcessIdentity: Hashable, Sendable {
  let pid: Int32
  /// Clock ticks since boot at which it started.
  let start: Int64

  init(pid: Int32, start: Int64) {
    self.pid = pid
    self.start = start
  }

  /// Nil when there is no such process.
  init?(of pid: Int32) {
    guard let start = ProcessStart.ticks(of: pid) else { return nil }
    self.init(pid: pid, start: start)
  }

  /// Whether it runs; a dead process that nobody has waited for does not.
  var isAlive: Bool { ProcessStart.ticks(of: pid) == start && StrayProcesses.isAlive(pid) }
}

/// One run of the machine, from boot to boot.
enum Boot {
  /// The kernel's random ID of this boot; empty where it does not tell.
  ///
  /// Source: proc_sys_kernel(5), `random/boot_id`.
  static func id() -> String {
    (KernelFile.text("/proc/sys/kernel/random/boot_id") ?? "").trimmingCharacters(in: .whitespacesAndNewlines)
  }
}

/// How the file of a ledger is laid out: a page about the pool, then slots of one size, in the byte order of the machine.
///
/// A slot counts by its state, which is written last when the slot is filled. So whenever the pool is killed, the file lists what
/// workers hold, or more, and never less.
enum LedgerLayout {
  static let magic: UInt64 = 0x5750_4C45_4447_4552
  static let version: UInt32 = 1
  static let headerSize = 4096
  static let slotSize = 32

  enum Header {
    static let magic = 0
    static let version = 8
    static let slotSize = 12
    static let flags = 16
    /// Texts with their greatest length.
    static let boot = (offset: 64, length: 64)
    static let name = (offset: 128, length: 64)
    static let pool = (offset: 192, length: 64)
    static let store = (offset: 256, length: 64)
  }

  enum Slot {
    static let job = 0
    static let processStart = 8
    static let begunAt = 16
    static let pid = 24
    static let state = 28
  }

  struct Flags: OptionSet {
    let rawValue: UInt32
    /// The pool ends its workers: that their jobs do not finish is not the jobs' fault.
    static let stopping = Flags(rawValue: 1)
    /// There was no room for all that workers hold.
    static let incomplete = Flags(rawValue: 2)
  }

  enum State: UInt32 {
    case free = 0
    /// Handed out; the worker has not said that it began.
    case handedOut = 1
    case begun = 2
    /// Begun together with others by a worker that died: any of them may be the reason.
    case suspect = 3
    /// Begun alone by a worker that died, which is not in the job's row yet.
    case crashed = 4
  }

  static func offset(ofSlot index: Int) -> Int { headerSize + index * slotSize }
}

/// What a ledger says of one job.
struct LedgerEntry: Hashable, Sendable {
  /// The key of the job; 0 where it is not known which job the process runs.
  var job: Int64
  var process: ProcessIdentity
  var state: LedgerLayout.State
  /// When the worker said that it began.
  var begunAt: Date
}

extension LedgerEntry {
  fileprivate init(_ slot: UnsafeRawBufferPointer, _ state: LedgerLayout.State) {
    self.init(
      job: slot.load(fromByteOffset: LedgerLayout.Slot.job, as: Int64.self),
      process: ProcessIdentity(
        pid: slot.load(fromByteOffset: LedgerLayout.Slot.pid, as: Int32.self),
        start: slot.load(fromByteOffset: LedgerLayout.Slot.processStart, as: Int64.self)),
      state: state,
      begunAt: Date(
        timeIntervalSinceReferenceDate: slot.load(fromByteOffset: LedgerLayout.Slot.begunAt, as: Double.self)))
  }
}

/// A ledger as it stands in its file.
struct LedgerContents: Sendable {
  var boot: String
  var name: String
  var pool: String
  /// The identifier of the pool's store to which the keys belong.
  var store: String
  var flags: LedgerLayout.Flags
  var entries: [LedgerEntry]

  /// Why a ledger cannot be read.
  struct Unreadable: Error, CustomStringConvertible {
    let path: String
    let reason: String
    var description: String { "the ledger \(path) of the pool before this one cannot be used: \(reason)" }
  }

  /// Reads a file that a pool may be writing.
  init(path: String) throws(Unreadable) {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw Unreadable(path: path, reason: String(cString: strerror(errno)))
    }
    let contents: LedgerContents? = data.withUnsafeBytes { bytes in
      // A new ledger has its whole size before it has its first bytes.
      guard bytes.count >= LedgerLayout.offset(ofSlot: JobLedger.firstCapacity),
        (bytes.count - LedgerLayout.headerSize) % LedgerLayout.slotSize == 0,
        bytes.load(fromByteOffset: LedgerLayout.Header.magic, as: UInt64.self) == LedgerLayout.magic,
        bytes.load(fromByteOffset: LedgerLayout.Header.version, as: UInt32.self) == LedgerLayout.version,
        bytes.load(fromByteOffset: LedgerLayout.Header.slotSize, as: UInt32.self) == UInt32(LedgerLayout.slotSize)
      else { return nil }
      return LedgerContents(bytes)
    }
    guard let contents else { throw Unreadable(path: path, reason: "it is damaged, or from another version") }
    self = contents
  }

  /// Nil when a slot holds what no pool writes.
  private init?(_ bytes: UnsafeRawBufferPointer) {
    func text(_ place: (offset: Int, length: Int)) -> String {
      String(decoding: bytes[place.offset..<place.offset + place.length].prefix { $0 != 0 }, as: UTF8.self)
    }
    boot = text(LedgerLayout.Header.boot)
    name = text(LedgerLayout.Header.name)
    pool = text(LedgerLayout.Header.pool)
    store = text(LedgerLayout.Header.store)
    flags = .init(rawValue: bytes.load(fromByteOffset: LedgerLayout.Header.flags, as: UInt32.self))
    entries = []
    for index in 0..<(bytes.count - LedgerLayout.headerSize) / LedgerLayout.slotSize {
      let slot = LedgerLayout.offset(ofSlot: index)
      let raw = bytes.load(fromByteOffset: slot + LedgerLayout.Slot.state, as: UInt32.self)
      guard let state = LedgerLayout.State(rawValue: raw) else { return nil }
      if state == .free { continue }
      entries.append(LedgerEntry(UnsafeRawBufferPointer(rebasing: bytes[slot...]), state))
    }
  }
}

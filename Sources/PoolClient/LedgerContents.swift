import Foundation
import Glibc
import LinuxSystem

/// The layout of a ledger's file: a page about the pool, then entries of one size, in the byte order of the machine.
///
/// The pool maps the file and writes an entry when a worker gets a job, begins it and ends it. A pool that starts reads
/// what the one before it has left; `StoreReader` and the commands read it while the pool writes.
///
/// ```text
/// byte     0   magic                     64   boot ID of the machine
///          8   version                  128   name of the ledger
///         12   size of an entry         192   the pool
///         16   flags                    256   identifier of the pool's store
///       4096   entry 0: job (8 bytes)   start of the process (8)   begun at (8)   pid (4)   attempt and state (4)
///       4128   entry 1
/// ```
///
/// An entry counts by its state, which is written last when the entry is filled. So no matter when the pool is killed,
/// the file lists what workers hold, or more, and never less.
package enum LedgerLayout {
  package static let magic: UInt64 = 0x5750_4C45_4447_4552
  /// The version of the layout. The pool before this one may be another release: a file of another version is not read,
  /// and the reader says which version it has.
  package static let version: UInt32 = 3
  package static let headerSize = 4096
  package static let entrySize = 32
  /// How many jobs a new ledger has room for.
  package static let firstCapacity = 4096

  /// The places of the header's members. Texts end with a byte 0, or fill their length.
  package enum Header {
    package static let magic = 0
    package static let version = 8
    package static let entrySize = 12
    package static let flags = 16
    /// Texts with their greatest length.
    package static let boot = (offset: 64, length: 64)
    package static let name = (offset: 128, length: 64)
    package static let pool = (offset: 192, length: 64)
    package static let store = (offset: 256, length: 64)
  }

  /// The places of an entry's members, from its beginning.
  package enum Entry {
    package static let job = 0
    package static let processStart = 8
    package static let begunAt = 16
    package static let pid = 24
    /// The state in the lowest byte, and above it the number of the attempt: written in one step.
    package static let state = 28
    package static let stateMask: UInt32 = 0xFF
    package static let attemptShift: UInt32 = 8
  }

  package struct Flags: OptionSet {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The pool ends its workers: it is not the jobs' fault that they do not finish.
    package static let stopping = Flags(rawValue: 1)
    /// There was no room for all that workers hold.
    package static let incomplete = Flags(rawValue: 2)
  }

  /// What the pool knows of the job in an entry.
  ///
  /// ```text
  /// free ──▶ handedOut ──▶ begun ──▶ free              the attempt has ended, and the job's row says how
  ///                          ├──▶ suspect ──▶ free    its worker died with several jobs begun: one may have killed it
  ///                          └──▶ crashed ──▶ free    its worker died with only this job begun; until the row says so
  /// free ──▶ cancelled ──▶ free                        beside the worker's entry; until the row says so
  /// ```
  package enum State: UInt32 {
    case free = 0
    /// Handed out; the worker has not said that it began.
    case handedOut = 1
    case begun = 2
    /// Begun together with others by a worker that died: any of them may be the reason.
    case suspect = 3
    /// Begun alone by a worker that died, which is not in the job's row yet.
    case crashed = 4
    /// Cancelled while a worker held it, which is not in the job's row yet. It is an entry of its own, of no process,
    /// beside that of the worker.
    case cancelled = 5
  }

  package static func offset(ofEntry index: Int) -> Int { headerSize + index * entrySize }
}

/// What a ledger says of one job.
package struct LedgerEntry: Hashable, Sendable {
  /// The key of the job; 0 where it is not known which job the process runs.
  package var job: Int64
  package var process: ProcessIdentity
  package var state: LedgerLayout.State
  /// When the worker said that it began.
  package var begunAt: Date
  /// The number of the attempt: that of the job's row as long as the row shows no end of it.
  package var attempt: Int

  package init(job: Int64, process: ProcessIdentity, state: LedgerLayout.State, begunAt: Date, attempt: Int = 0) {
    self.job = job
    self.process = process
    self.state = state
    self.begunAt = begunAt
    self.attempt = attempt
  }
}

extension LedgerEntry {
  fileprivate init(_ bytes: UnsafeRawBufferPointer, _ state: LedgerLayout.State, attempt: Int) {
    self.init(
      job: bytes.load(fromByteOffset: LedgerLayout.Entry.job, as: Int64.self),
      process: ProcessIdentity(
        pid: bytes.load(fromByteOffset: LedgerLayout.Entry.pid, as: Int32.self),
        start: bytes.load(fromByteOffset: LedgerLayout.Entry.processStart, as: Int64.self)),
      state: state,
      begunAt: Date(
        timeIntervalSinceReferenceDate: bytes.load(fromByteOffset: LedgerLayout.Entry.begunAt, as: Double.self)),
      attempt: attempt)
  }
}

/// What a ledger's file contained when it was read.
///
/// A pool may write the file meanwhile. Each entry is consistent, since its state is written last; two entries may be
/// of different moments.
package struct LedgerContents: Sendable {
  package var boot: String
  package var name: String
  package var pool: String
  /// The identifier of the pool's store to which the keys belong.
  package var store: String
  package var flags: LedgerLayout.Flags
  package var entries: [LedgerEntry]

  /// Why a ledger cannot be read.
  package struct Unreadable: Error, CustomStringConvertible {
    let path: String
    let reason: String
    package var description: String { "the ledger \(path) of the pool before this one cannot be used: \(reason)" }
  }

  /// Reads a file that a pool may be writing. It reads the whole file: 132 KiB for up to 4,096 jobs in hand, twice as
  /// much each time that the ledger was full.
  ///
  /// - Throws: `Unreadable` for a file that does not exist, is not a regular file, may not be read, is damaged, or is
  ///   of another version.
  package init(path: String) throws(Unreadable) {
    let data: [UInt8]
    do throws(GuardedFile.Refusal) {
      data = try Self.read(path)
    } catch {
      throw Unreadable(path: path, reason: "it \(error)")
    }
    var version = LedgerLayout.version
    let contents: LedgerContents? = data.withUnsafeBytes { bytes in
      // A new ledger has its whole size before it has its first bytes.
      guard bytes.count >= LedgerLayout.offset(ofEntry: LedgerLayout.firstCapacity),
        (bytes.count - LedgerLayout.headerSize) % LedgerLayout.entrySize == 0,
        bytes.load(fromByteOffset: LedgerLayout.Header.magic, as: UInt64.self) == LedgerLayout.magic
      else { return nil }
      version = bytes.load(fromByteOffset: LedgerLayout.Header.version, as: UInt32.self)
      guard version == LedgerLayout.version,
        bytes.load(fromByteOffset: LedgerLayout.Header.entrySize, as: UInt32.self) == UInt32(LedgerLayout.entrySize)
      else { return nil }
      return LedgerContents(bytes)
    }
    guard let contents else {
      throw Unreadable(
        path: path,
        reason: version == LedgerLayout.version
          ? "it is damaged"
          : "it is of version \(version), and this pool reads version \(LedgerLayout.version)")
    }
    self = contents
  }

  /// More than a ledger of 30 million jobs in hand has.
  private static let mostBytes = 1 << 30

  private static func read(_ path: String) throws(GuardedFile.Refusal) -> [UInt8] {
    do throws(GuardedFile.Refusal) {
      return try GuardedFile(path, path: path).bytes(atMost: mostBytes)
    } catch {
      // The pool was enlarging the file. It doubles the size each time, so it will not do so again during this reading.
      guard case .changing = error else { throw error }
      return try GuardedFile(path, path: path).bytes(atMost: mostBytes)
    }
  }

  /// Nil if an entry has a state that no pool writes: then the whole file counts as damaged.
  private init?(_ bytes: UnsafeRawBufferPointer) {
    func text(_ field: (offset: Int, length: Int)) -> String {
      String(decoding: bytes[field.offset..<field.offset + field.length].prefix { $0 != 0 }, as: UTF8.self)
    }
    boot = text(LedgerLayout.Header.boot)
    name = text(LedgerLayout.Header.name)
    pool = text(LedgerLayout.Header.pool)
    store = text(LedgerLayout.Header.store)
    flags = .init(rawValue: bytes.load(fromByteOffset: LedgerLayout.Header.flags, as: UInt32.self))
    entries = []
    for index in 0..<(bytes.count - LedgerLayout.headerSize) / LedgerLayout.entrySize {
      let offset = LedgerLayout.offset(ofEntry: index)
      let raw = bytes.load(fromByteOffset: offset + LedgerLayout.Entry.state, as: UInt32.self)
      guard let state = LedgerLayout.State(rawValue: raw & LedgerLayout.Entry.stateMask) else { return nil }
      if state == .free { continue }
      let attempt = Int(raw >> LedgerLayout.Entry.attemptShift)
      entries.append(LedgerEntry(UnsafeRawBufferPointer(rebasing: bytes[offset...]), state, attempt: attempt))
    }
  }
}

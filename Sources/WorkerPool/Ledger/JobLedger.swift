import CSystem
import Foundation
import Glibc
import Jobs
import LinuxSystem
import WorkerProtocol

/// Lists who holds which job, in a file that is mapped into memory. It outlives a `kill -9` of the pool and of all its
/// workers at once, and writing costs no system call.
///
/// The next pool reads it before it hands anything out (``Succession``). `workerpool jobs` reads it to show what runs.
///
/// `@unchecked Sendable`: made on the thread that opens the store, then used on the loop only.
final class JobLedger: @unchecked Sendable, Equatable {
  let path: String
  private let descriptor: Int32
  private var bytes: UnsafeMutableRawPointer
  private var capacity: Int
  /// The indices of free entries, the next one last.
  private var free: [Int]
  /// Workers that may get jobs, by the number of their ``WorkerID``.
  private var processes: [Int: ProcessIdentity] = [:]
  /// The entries of jobs whose worker died, until their rows are written: the next pool must know of them.
  private var kept: [JobKey: Int] = [:]
  /// The entries of processes of earlier pools.
  private var inherited: [Int32: [Int]] = [:]

  static func == (one: JobLedger, other: JobLedger) -> Bool { one === other }

  /// Makes the file. There must be none at the path.
  ///
  /// - Parameters:
  ///   - pool: the identity of the pool.
  ///   - store: the identifier of the pool's store.
  /// - Throws: `FileError`.
  init(path: String, name: String, pool: String, store: String) throws(FileError) {
    self.path = path
    capacity = LedgerLayout.firstCapacity
    free = Array((0..<LedgerLayout.firstCapacity).reversed())
    descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw FileError(path: path, action: "be made", errno: errno) }
    do {
      bytes = try Self.map(descriptor, path, size: LedgerLayout.offset(ofEntry: capacity))
    } catch {
      close(descriptor)
      unlink(path)
      throw error
    }
    for (field, text) in [
      (LedgerLayout.Header.boot, Boot.id()), (LedgerLayout.Header.name, name), (LedgerLayout.Header.pool, pool),
      (LedgerLayout.Header.store, store),
    ] {
      for (index, byte) in text.utf8.prefix(field.length).enumerated() {
        bytes.storeBytes(of: byte, toByteOffset: field.offset + index, as: UInt8.self)
      }
    }
    bytes.storeBytes(of: LedgerLayout.version, toByteOffset: LedgerLayout.Header.version, as: UInt32.self)
    let entrySize = UInt32(LedgerLayout.entrySize)
    bytes.storeBytes(of: entrySize, toByteOffset: LedgerLayout.Header.entrySize, as: UInt32.self)
    bytes.storeBytes(of: LedgerLayout.magic, toByteOffset: LedgerLayout.Header.magic, as: UInt64.self)
  }

  deinit {
    munmap(bytes, LedgerLayout.offset(ofEntry: capacity))
    close(descriptor)
  }

  // MARK: Workers and their jobs

  /// A worker came up, and may get jobs.
  ///
  /// - Parameter process: nil when it cannot be found out, for lack of descriptors. The ledger then says that it is
  ///   incomplete.
  func add(worker number: Int, _ process: ProcessIdentity?) {
    processes[number] = process
    if process == nil { raise(.incomplete) }
  }

  func remove(worker number: Int) { processes[number] = nil }

  /// Notes that the worker gets the job. Called before the job is sent. Returns the index of its entry; nil for
  /// a worker that is not known.
  func handOut(_ job: JobKey, to number: Int) -> Int? {
    guard let process = processes[number] else { return nil }
    let index = fill(key: job, process, .handedOut)
    // Last, so that the job has an entry at every moment.
    if !kept.isEmpty { forget([job]) }
    return index
  }

  /// Notes that the worker has begun the jobs of these entries.
  func begin(_ indices: [Int]) {
    let now = Date().timeIntervalSinceReferenceDate
    for index in indices {
      let offset = LedgerLayout.offset(ofEntry: index)
      bytes.storeBytes(of: now, toByteOffset: offset + LedgerLayout.Entry.begunAt, as: Double.self)
      set(.begun, index)
    }
  }

  /// Frees the entry: the attempt has ended and its row says how, or the job goes back as it was.
  func end(_ index: Int) {
    set(.free, index)
    free.append(index)
  }

  /// Keeps the entry of a job whose worker died, until ``forget(_:)``, or until the job is handed out again.
  func keep(_ index: Int, of job: JobKey, isSuspect: Bool) {
    set(isSuspect ? .suspect : .crashed, index)
    kept[job] = index
  }

  /// Frees the entries of jobs whose rows are written, or that were deleted.
  func forget(_ jobs: some Sequence<JobKey>) {
    if kept.isEmpty { return }
    for job in jobs {
      if let index = kept.removeValue(forKey: job) { end(index) }
    }
  }

  /// Notes that the pool ends its workers: jobs that do not finish are not to blame.
  func stop() { raise(.stopping) }

  // MARK: What earlier pools have left

  /// Takes over what an earlier ledger said of a process that is still alive.
  func inherit(_ entry: LedgerEntry) {
    guard let index = fill(entry) else { return }
    inherited[entry.process.pid, default: []].append(index)
  }

  /// Takes over what an earlier ledger said of a job whose worker is dead.
  func inheritDead(_ entry: LedgerEntry) {
    if let index = fill(entry) { kept[entry.job] = index }
  }

  /// A process of an earlier pool has ended.
  func endInherited(_ pid: Int32) {
    for index in inherited.removeValue(forKey: pid) ?? [] { end(index) }
  }

  // MARK: Entries

  private func fill(_ entry: LedgerEntry) -> Int? {
    fill(key: entry.job, entry.process, entry.state, begunAt: entry.begunAt.timeIntervalSinceReferenceDate)
  }

  private func fill(key: Int64, _ process: ProcessIdentity, _ state: LedgerLayout.State, begunAt: Double = 0) -> Int? {
    if free.isEmpty { grow() }
    guard let index = free.popLast() else { return nil }
    let offset = LedgerLayout.offset(ofEntry: index)
    bytes.storeBytes(of: key, toByteOffset: offset + LedgerLayout.Entry.job, as: Int64.self)
    bytes.storeBytes(of: process.start, toByteOffset: offset + LedgerLayout.Entry.processStart, as: Int64.self)
    bytes.storeBytes(of: begunAt, toByteOffset: offset + LedgerLayout.Entry.begunAt, as: Double.self)
    bytes.storeBytes(of: process.pid, toByteOffset: offset + LedgerLayout.Entry.pid, as: Int32.self)
    set(state, index)
    return index
  }

  private func set(_ state: LedgerLayout.State, _ index: Int) {
    csystem_store_in_order(bytes + LedgerLayout.offset(ofEntry: index) + LedgerLayout.Entry.state, state.rawValue)
  }

  private func raise(_ flag: LedgerLayout.Flags) {
    let flags = bytes + LedgerLayout.Header.flags
    csystem_store_in_order(flags, flags.load(as: UInt32.self) | flag.rawValue)
  }

  /// Doubles the number of entries. Without room on the disk the ledger says that it is incomplete.
  private func grow() {
    let larger = 2 * capacity
    guard let mapped = try? Self.map(descriptor, path, size: LedgerLayout.offset(ofEntry: larger)) else {
      return raise(.incomplete)
    }
    munmap(bytes, LedgerLayout.offset(ofEntry: capacity))
    bytes = mapped
    free += (capacity..<larger).reversed()
    capacity = larger
  }

  /// Maps a file of this size after allocating its blocks: writing to a page without a block raises SIGBUS when the
  /// disk is full (mmap(2)).
  private static func map(_ descriptor: Int32, _ path: String, size: Int) throws(FileError) -> UnsafeMutableRawPointer {
    let error = posix_fallocate(descriptor, 0, size)
    guard error == 0 else { throw FileError(path: path, action: "get \(size) bytes", errno: error) }
    guard let mapped = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), mapped != MAP_FAILED else {
      throw FileError(path: path, action: "be mapped", errno: errno)
    }
    return mapped
  }
}

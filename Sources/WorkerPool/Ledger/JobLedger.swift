import Foundation
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
  private let file: LedgerFile
  private var capacity: Int
  /// The indices of free entries, the next one last.
  private var free: [Int]
  /// Workers that may get jobs, by the number of their ``WorkerID``.
  private var processes: [Int: ProcessIdentity] = [:]
  /// The entries of jobs whose worker died, until their rows are written: the next pool must know of them.
  private var kept: [JobKey: Int] = [:]
  /// The entries of cancelled jobs, until their rows say so.
  private var cancelled: [JobKey: Int] = [:]
  /// The entries of processes of earlier pools.
  private var inherited: [Int32: [(job: JobKey, index: Int)]] = [:]

  static func == (one: JobLedger, other: JobLedger) -> Bool { one === other }

  /// Makes the file. There must be none at the path.
  ///
  /// - Parameters:
  ///   - pool: the identity of the pool.
  ///   - store: the identifier of the pool's store.
  /// - Throws: `FileError`.
  init(path: String, name: String, pool: String, store: String) throws(FileError) {
    capacity = LedgerLayout.firstCapacity
    free = Array((0..<LedgerLayout.firstCapacity).reversed())
    file = try LedgerFile(path: path, size: LedgerLayout.offset(ofEntry: capacity))
    for (field, text) in [
      (LedgerLayout.Header.boot, Boot.id()), (LedgerLayout.Header.name, name), (LedgerLayout.Header.pool, pool),
      (LedgerLayout.Header.store, store),
    ] {
      for (index, byte) in text.utf8.prefix(field.length).enumerated() {
        file.store(byte, at: field.offset + index)
      }
    }
    file.store(LedgerLayout.version, at: LedgerLayout.Header.version)
    file.store(UInt32(LedgerLayout.entrySize), at: LedgerLayout.Header.entrySize)
    file.store(LedgerLayout.magic, at: LedgerLayout.Header.magic)
  }

  /// Writes the file again if it was removed or truncated. Returns whether it was.
  ///
  /// - Throws: `FileError`.
  func restoreIfNeeded() throws(FileError) -> Bool {
    if file.isIntact { return false }
    try file.makeAgain()
    return true
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
  ///
  /// - Parameter attempt: the number of the attempt.
  func handOut(_ job: JobKey, attempt: Int, to number: Int) -> Int? {
    guard let process = processes[number] else { return nil }
    let index = fill(key: job, process, .handedOut, attempt: attempt)
    // Last, so that the job has an entry at every moment.
    if !kept.isEmpty { forget([job]) }
    return index
  }

  /// Notes that the worker has begun the jobs of these entries.
  func begin(_ indices: [Int]) {
    let now = Date().timeIntervalSinceReferenceDate
    for index in indices {
      let offset = LedgerLayout.offset(ofEntry: index)
      file.store(now, at: offset + LedgerLayout.Entry.begunAt)
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

  /// Notes that a job which a worker holds is cancelled. The pool calls this before it confirms the cancellation: if
  /// the pool is killed, the next pool writes the cancellation into the job's row.
  func cancel(_ job: JobKey) {
    if cancelled[job] == nil { cancelled[job] = fill(key: job, Self.noProcess, .cancelled) }
  }

  /// The rows of these jobs say how they ended.
  func settled(_ jobs: some Sequence<JobKey>) {
    forget(jobs)
    if cancelled.isEmpty { return }
    for job in jobs {
      if let index = cancelled.removeValue(forKey: job) { end(index) }
    }
  }

  /// Frees the entries of jobs whose worker died, once their rows are written or another pool is about to write them.
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
    inherited[entry.process.pid, default: []].append((entry.job, index))
  }

  /// Takes over what an earlier ledger said of a job whose worker is dead.
  func inheritDead(_ entry: LedgerEntry) {
    if let index = fill(entry) { kept[entry.job] = index }
  }

  /// A process of the program before this one is a worker of this one. Returns the indices of the entries of its jobs.
  func adopt(worker number: Int, _ process: ProcessIdentity) -> [JobKey: Int] {
    processes[number] = process
    let entries = inherited.removeValue(forKey: process.pid) ?? []
    return Dictionary(entries.map { ($0.job, $0.index) }, uniquingKeysWith: { first, _ in first })
  }

  /// A process of an earlier pool has ended.
  func endInherited(_ pid: Int32) {
    for (_, index) in inherited.removeValue(forKey: pid) ?? [] { end(index) }
  }

  // MARK: Entries

  /// The process of entries that belong to none.
  private static let noProcess = ProcessIdentity(pid: 0, start: 0)

  private func fill(_ entry: LedgerEntry) -> Int? {
    fill(
      key: entry.job, entry.process, entry.state, begunAt: entry.begunAt.timeIntervalSinceReferenceDate,
      attempt: entry.attempt)
  }

  private func fill(
    key: Int64, _ process: ProcessIdentity, _ state: LedgerLayout.State, begunAt: Double = 0, attempt: Int = 0
  ) -> Int? {
    if free.isEmpty { grow() }
    guard let index = free.popLast() else { return nil }
    let offset = LedgerLayout.offset(ofEntry: index)
    file.store(key, at: offset + LedgerLayout.Entry.job)
    file.store(process.start, at: offset + LedgerLayout.Entry.processStart)
    file.store(begunAt, at: offset + LedgerLayout.Entry.begunAt)
    file.store(process.pid, at: offset + LedgerLayout.Entry.pid)
    let number = UInt32(clamping: attempt) << LedgerLayout.Entry.attemptShift
    file.storeInOrder(number | state.rawValue, at: offset + LedgerLayout.Entry.state)
    return index
  }

  private func set(_ state: LedgerLayout.State, _ index: Int) {
    let offset = LedgerLayout.offset(ofEntry: index) + LedgerLayout.Entry.state
    let number = file.load(at: offset) & ~LedgerLayout.Entry.stateMask
    file.storeInOrder(number | state.rawValue, at: offset)
  }

  private func raise(_ flag: LedgerLayout.Flags) {
    let flags = file.load(at: LedgerLayout.Header.flags)
    file.storeInOrder(flags | flag.rawValue, at: LedgerLayout.Header.flags)
  }

  /// Doubles the number of entries. Without room on the disk the ledger says that it is incomplete.
  private func grow() {
    let larger = 2 * capacity
    do throws(FileError) {
      try file.grow(to: LedgerLayout.offset(ofEntry: larger))
    } catch {
      return raise(.incomplete)
    }
    free += (capacity..<larger).reversed()
    capacity = larger
  }
}

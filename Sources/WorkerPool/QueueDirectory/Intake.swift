import CoreData
import Jobs
import PoolClient
import StoreTools
import Synchronization

/// Brings job files into the store, many in one transaction. A file is removed when that transaction is durable.
///
/// A file is first renamed into `taken/` under a private name, which the transaction notes together with the file's
/// jobs. A crash at any point loses no job and doubles none: at the start a file in `taken/` whose name is noted is
/// only removed, and any other is taken. Jobs may start as soon as they are committed, before the commit is on disk:
/// what they write follows it in the same log, so a loss of power never keeps the effect and loses the job.
///
/// `@unchecked Sendable`: the mutable state is only touched inside `perform` of `context`, a serial queue; `report` is
/// set once, before anything else.
final class Intake: @unchecked Sendable {
  /// Nanoseconds for which a file that no event announced must be unchanged before it is read.
  static let restingTime: Int64 = 1_000_000_000

  /// Jobs that even a slow machine takes in a second. A transaction that takes longer waits for something.
  static let slowestPace = 2000.0

  let directory: IncomingDirectory
  let rejected: RejectedDirectory
  let watchedPeriodic: HeldDirectory
  private let owners: FileOwnerRule
  private let store: JobStore
  private let context: NSManagedObjectContext
  private let watch: StoreWatch
  private let removal: TakenFileRemoval
  private let inbox = Mutex(IntakeInbox())
  private var report: @Sendable (IntakeReport) -> Void = { _ in }

  /// Names that are not examined yet: announced ones, and those that the last scan found.
  private var announced: ArraySlice<String> = []
  private var scannedNames: ArraySlice<String> = []
  /// Files in `taken/`: to be read now, and postponed to the next scan.
  private var unread: ArraySlice<TakenJobFile> = []
  private var postponed: [TakenJobFile] = []

  /// - Parameter writeTurn: the file by whose lock the pool's processes take turns at writing.
  init(
    layout: QueueLayout, store: JobStore, writeTurn: String? = nil, owners: FileOwnerRule = FileOwnerRule(),
    watch: StoreWatch = StoreWatch()
  ) throws {
    directory = try IncomingDirectory(layout: layout)
    rejected = try RejectedDirectory(layout: layout)
    watchedPeriodic = try HeldDirectory(layout.periodic, madeBy: .person)
    self.owners = owners
    self.store = store
    self.watch = watch
    context = store.makeContext(name: "queue directory")
    let wal = store.isShared ? nil : try WALSynchronizer(url: store.url, writeTurn: writeTurn)
    removal = TakenFileRemoval(wal: wal, store: store)
  }

  /// Finds what an earlier process left unfinished. Called first. It blocks, and may be called again after an error.
  func recover() throws {
    try context.performAndWait {
      defer { context.reset() }
      let left = try LeftOverFiles(directory, store.takenFiles(in: context))
      unread = left.unread[...]
      removal.recover(taken: left.taken, gone: left.gone, in: directory.taken.current)
    }
  }

  /// Begins to report, on any thread.
  func start(reporting report: @escaping @Sendable (IntakeReport) -> Void) {
    self.report = report
    removal.start(reporting: report) { [self] rows in ask { $0.rowsToForget += rows } }
  }

  /// Takes the named files, which an event announced as complete.
  func take(_ names: [String]) { ask { $0.announce(names) } }

  /// Scans `incoming/`, and takes every file that has rested. A call during a scan leads to one more scan.
  func takeAll() { ask { $0.mustScan = true } }

  /// Does the same as one of these two on the caller's thread, so that no other one has to be woken, unless files are
  /// being taken now.
  func takeHere(_ names: [String]?) {
    guard begin({ if let names { $0.announce(names) } else { $0.mustScan = true } }) else { return }
    // The loop knows nothing of this work. It looks for work that takes long when something wakes it.
    if watch.expect(isUnseen: true) { report(IntakeReport()) }
    context.performAndWait { work() }
    watch.finish()
  }

  private func ask(_ change: (inout IntakeInbox) -> Void) {
    guard begin(change) else { return }
    watch.expect()
    context.perform { [self] in
      work()
      watch.finish()
    }
  }

  /// Whether the caller has to begin the work; otherwise it is under way, and goes on with what is new.
  private func begin(_ change: (inout IntakeInbox) -> Void) -> Bool {
    inbox.withLock { inbox in
      change(&inbox)
      defer { inbox.isWorking = true }
      return !inbox.isWorking
    }
  }

  /// Ends after the transaction that is under way; then calls back on any thread.
  func finish(_ completion: @escaping @Sendable () -> Void) {
    inbox.withLock { $0.isClosed = true }
    context.perform { [self] in removal.flush() }
    afterAll { [self] in
      forget(inbox.withLock { $0.takeRowsToForget() })
      completion()
    }
  }

  /// Calls back on the context's queue when all work that was asked for is done, and the files are removed.
  func afterAll(_ completion: @escaping @Sendable () -> Void) {
    context.perform { [self] in
      removal.afterAll { [self] in context.perform(completion) }
    }
  }
}

// MARK: - Inside the context's queue

extension Intake {
  /// Handles the inbox, one transaction after the other. Announced files take turns with those that a scan found.
  private func work() {
    while true {
      let isAsked = inbox.withLock { inbox in
        if inbox.isClosed { return false }
        if announced.isEmpty { announced = inbox.takeNames()[...] }
        let isIdle = announced.isEmpty && scannedNames.isEmpty && unread.isEmpty && !inbox.mustScan
        if isIdle, inbox.rowsToForget.isEmpty {
          inbox.isWorking = false
          return false
        }
        return true
      }
      guard isAsked else { return }
      forget(inbox.withLock { $0.takeRowsToForget() })
      if scannedNames.isEmpty, inbox.withLock({ $0.takeScan() }) { scan() }
      if !unread.isEmpty { readSome() }
      if !announced.isEmpty { takeSome(from: &announced, minimumAge: 0) }
      if !scannedNames.isEmpty {
        takeSome(from: &scannedNames, minimumAge: Self.restingTime)
        if scannedNames.isEmpty { removal.flush() }
      }
    }
  }

  /// Checks the directories, and lists `incoming/`.
  private func scan() {
    var outcome = IntakeReport()
    for (part, directory) in [
      (QueuePart.incoming, directory.incoming), (.taken, directory.taken), (.rejected, rejected.held),
      (.periodic, watchedPeriodic),
    ] { check(directory, part, &outcome) }
    do {
      let (names, unusable) = try directory.names()
      scannedNames = names[...]
      for file in unusable.prefix(IntakeBatch.mostFiles) { reject(file, &outcome) }
      outcome.postponed += max(0, unusable.count - IntakeBatch.mostFiles)
    } catch {
      outcome.postponed += 1
      outcome.fail("\(error)")
    }
    unread += postponed
    postponed = []
    if scannedNames.isEmpty { removal.flush() }
    report(outcome)
  }

  private func check(_ directory: HeldDirectory, _ part: QueuePart, _ outcome: inout IntakeReport) {
    switch directory.check() {
    case .none: return
    case .replaced: outcome.replaced.append(part)
    case .unusable: outcome.postponed += 1
    case .missing:
      outcome.postponed += 1
      outcome.fail("\(directory.path) is missing: make the directory again; the pool goes on as soon as it is there")
    case .failed(let error):
      outcome.postponed += 1
      outcome.fail("\(error)")
    }
  }

  // MARK: One transaction

  /// Takes the files with the first of these names, and removes the names.
  private func takeSome(from names: inout ArraySlice<String>, minimumAge: Int64) {
    var batch = IntakeBatch()
    var outcome = IntakeReport()
    while !batch.isFull, let name = names.popFirst() {
      batch.examined += 1
      guard IncomingDirectory.isJobFileName(name) else { continue }
      switch directory.take(name, minimumAge: minimumAge) {
      case .taken(let file): read(file, minimumAge: minimumAge, &batch, &outcome)
      case .gone: continue
      case .fresh: outcome.postponed += 1
      case .failed(let error):
        outcome.postponed += 1
        outcome.fail("\(error)")
      }
    }
    commit(batch, outcome)
  }

  /// Reads the first of the files that are in `taken/` already. A commit that failed may have reached the store all the
  /// same: files whose names it holds are only removed.
  private func readSome() {
    var batch = IntakeBatch()
    var outcome = IntakeReport()
    var committed: [TakenFileRemoval.Item] = []
    do {
      let rows = Dictionary(try store.takenFiles(in: context).map { ($0.key.name, $0) }) { first, _ in first }
      while !batch.isFull, let file = unread.popFirst() {
        batch.examined += 1
        if let row = rows[file.name] {
          committed.append(try file.item(row))
        } else {
          read(file, minimumAge: Self.restingTime, &batch, &outcome)
        }
      }
    } catch {
      postponed += unread
      outcome.postponed += unread.count
      let files = Plural.text(unread.count, "job file")
      outcome.fail("\(files) in taken/ cannot be compared with the store: \(ErrorText.text(error))")
      unread = []
    }
    commit(batch, outcome)
    removal.add(committed)
  }

  private func read(_ file: TakenJobFile, minimumAge: Int64, _ batch: inout IntakeBatch, _ outcome: inout IntakeReport)
  {
    switch file.read(minimumAge: minimumAge, owners: owners) {
    case .jobs(let jobs, let size): batch.add(file, jobs, size: size, isPlain: store.isPlain(jobs))
    case .bad(let reason): reject(file, reason, &outcome)
    case .gone: return
    case .fresh: postpone(file, nil, &outcome)
    case .unreadable(let error): postpone(file, "\(error)", &outcome)
    }
  }

  private func postpone(_ file: TakenJobFile, _ reason: String?, _ outcome: inout IntakeReport) {
    postponed.append(file)
    outcome.postponed += 1
    if let reason { outcome.fail(reason) }
  }

  /// Commits the jobs, reports them, and only then lets the files be removed: a job need not wait for that.
  private func commit(_ batch: IntakeBatch, _ outcome: IntakeReport) {
    var batch = batch
    var outcome = outcome
    var rows: [NSManagedObjectID] = []
    do {
      rows = try save(&batch, &outcome)
      outcome.files = batch.files.count
    } catch {
      context.rollback()
      postponed += batch.files
      outcome.postponed += batch.files.count
      let files = Plural.text(batch.files.count, "job file")
      outcome.fail("\(files) cannot be taken into the store: \(ErrorText.text(error))")
    }
    report(outcome)
    // The jobs that new ones wait for were read. No job waits until they are forgotten.
    context.reset()
    removal.add(zip(batch.files, rows).map { TakenFileRemoval.Item(file: $0, row: $1) }, jobs: batch.jobs)
  }

  /// Saves the files of the batch, and rejects those whose jobs wait for jobs that are gone. Tries again, and says
  /// nothing of it, when another process has taken a unique key, or has deleted the job that had one: the next try sees
  /// that.
  private func save(_ batch: inout IntakeBatch, _ outcome: inout IntakeReport) throws -> [NSManagedObjectID] {
    if batch.files.isEmpty { return [] }
    return try store.retryingConflicts(in: context, resetsAtEnd: false) {
      var rows: [NSManagedObjectID] = []
      try watch.during(size: Double(batch.jobs) / Self.slowestPace) {
        for (file, reason) in try batch.takeUnfit(for: store, in: context) { reject(file, reason, &outcome) }
        if !batch.files.isEmpty { rows = try batch.commit(to: store, context, &outcome) }
      }
      return rows
    }
  }

  /// Deletes the rows of files that are gone for good; those that cannot be deleted now are left to the next pool.
  private func forget(_ rows: [NSManagedObjectID]) {
    guard !rows.isEmpty else { return }
    do {
      try store.forgetTakenFiles(rows, in: context)
    } catch {
      context.rollback()
      let files = Plural.text(rows.count, "taken file")
      report(IntakeReport(failure: "\(files) cannot be forgotten: \(ErrorText.text(error))"))
    }
    context.reset()
  }

  // MARK: Bad files

  private func reject(_ file: TakenJobFile, _ reason: String, _ outcome: inout IntakeReport) {
    do {
      let name = file.originalName
      try rejected.reject(Array(file.name.utf8CString), in: file.directory, as: name, reason: reason)
      outcome.rejected.append((name, reason))
    } catch {
      postpone(file, "\(error)", &outcome)
    }
  }

  private func reject(_ file: IncomingDirectory.Unusable, _ outcome: inout IntakeReport) {
    guard let incoming = directory.incoming.current else { return }
    do {
      let name = try rejected.reject(file.bytes, in: incoming, as: file.legibleName, reason: file.reason)
      outcome.rejected.append((name, file.reason))
    } catch {
      outcome.postponed += 1
      outcome.fail("\(error)")
    }
  }
}

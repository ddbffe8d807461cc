import CoreData
import Foundation
import Jobs
import LinuxSystem
import Synchronization
import WorkerProtocol

/// The pool that takes a store over.
struct Successor: Sendable {
  /// The path of its queue directory, absolute.
  let queue: String
  let identity: String
  /// Processes left by earlier pools of the same identity.
  var strays = StrayProcesses()
  /// Workers that the program before this one in the process had started, and this one goes on with.
  var adopted: Set<Int32> = []
  /// Those of their jobs that have sheets, with the numbers of their handing out.
  var sheets: [JobKey: Int] = [:]
  /// What this process has claimed at a server.
  var claims = ClaimMemory()
}

/// What a pool's process has claimed at a server, so that the pool which begins again after it was cut off, or after it
/// ended while the server was away, can give it back as one that has not died.
final class ClaimMemory: Sendable {
  private struct Claims: Codable {
    /// The identifier of the pool's store.
    var store: String
    var member: Int64
    var jobs: [String: [JobKey]] = [:]
  }

  private let state: Mutex<(opened: String?, claims: Claims?)>
  /// Where they are kept between two processes of a queue directory; nil for nowhere.
  private let file: String?

  /// - Parameter file: where an earlier process may have left its claims.
  init(file: String? = nil) {
    self.file = file
    let bytes = file.flatMap { KernelFile.bytes($0) }
    // Without claims that can be read the earlier process counts as one that died.
    state = Mutex((nil, bytes.flatMap { try? JSONDecoder().decode(Claims.self, from: Data($0)) }))
  }

  /// The identifier of the pool's store that this process has had open; nil before that.
  var store: String? { state.withLock(\.opened) }

  /// Notes that the store is open. Returns the identity under which its jobs are claimed, and their keys; nil before
  /// the first session. Only the first call returns the claims that an earlier process has left.
  func take(in store: String) -> (member: Int64, jobs: [JobKey])? {
    if let file { unlink(file) }
    return state.withLock { state in
      state.opened = store
      guard let claims = state.claims, claims.store == store else { return nil }
      return (claims.member, claims.jobs.values.flatMap(\.self))
    }
  }

  func begin(_ member: Int64, in store: String) {
    state.withLock { $0 = (store, Claims(store: store, member: member)) }
  }

  /// - Parameter isAll: whether these are all jobs of the kind, or more.
  func note(_ jobs: [JobKey], of kind: String, isAll: Bool) {
    state.withLock { state in
      guard let notedJobs = state.claims?.jobs[kind, default: []] else { return }
      state.claims?.jobs[kind] = isAll ? jobs : Array(Set(notedJobs).union(jobs))
    }
  }

  /// They are given back.
  func end() { state.withLock { $0.claims = nil } }

  /// Keeps what could not be given back, since the server is away, for the next process of the queue directory.
  func keep() {
    guard let file, let claims = state.withLock(\.claims) else { return }
    // Without the file the next process takes this one for dead: then a death too much is counted, and no job is lost.
    guard let bytes = try? JSONEncoder().encode(claims) else { return }
    try? ReplacingFile.write(bytes, to: file, mode: 0o600, surviving: .power)
  }
}

/// Taking over a store from the pools before.
extension StoreJobSource {
  /// Finds what earlier pools have left, begins a ledger that lists it, and makes this pool the owner of the store.
  ///
  /// The owner's row names the ledger that counts. It changes in one transaction, after the new ledger is complete: a
  /// pool that is killed before that leaves the old one in force.
  func takeOver(_ context: NSManagedObjectContext) throws -> JobSourceStart {
    var start = JobSourceStart(
      jobURIs: store.jobURIs, pauses: try store.pauses(in: context), files: store.isShared ? nil : store.files,
      isShared: store.isShared)
    lastPauses = start.pauses
    let previous = try PoolOwner.find(store.isShared ? successor.identity : nil, in: context)
    let succession = succession(of: previous, &start.messages)
    let entries = succession.held + succession.crashed + succession.suspects
    let jobs = Dictionary(
      try store.jobs(keys: entries.map(\.job), in: context).map { ($0.objectID.key ?? 0, $0) },
      uniquingKeysWith: { first, _ in first })
    let crashed = succession.crashed.filter { isUnfinished($0, jobs[$0.job]) }
    let suspects = succession.suspects.filter { isUnfinished($0, jobs[$0.job]) }
    start.survivorJobs = succession.held.map { inherited($0, jobs[$0.job]) }
    start.crashed = crashed.map { inherited($0, jobs[$0.job]) }
    start.suspects = Set(suspects.map(\.job))
    start.unlisted = succession.unlisted
    start.cancelled = succession.cancelled

    let name = RandomName.make()
    let path = QueueLayout(root: successor.queue).ledger(name)
    let ledger = try JobLedger(path: path, name: name, pool: successor.identity, store: store.poolIdentifier)
    for entry in succession.held { ledger.inherit(entry) }
    for process in succession.unlisted {
      ledger.inherit(LedgerEntry(job: 0, process: process, state: .handedOut, begunAt: Date()))
    }
    for var entry in crashed + suspects {
      entry.state = suspects.contains(entry) ? .suspect : .crashed
      ledger.inheritDead(entry)
    }
    for job in succession.cancelled { ledger.cancel(job) }
    do {
      if store.isShared {
        // This process lives, and so has not died under its former identity.
        let former = successor.claims.take(in: store.poolIdentifier)
        if let former { try store.takeBack(claimsOf: former.member, former.jobs, in: context) }
        // An earlier process of this queue directory has.
        membership = try StoreMembership(
          store, queue: successor.queue, dead: former == nil ? previous?.member : nil)
        if let member = membership?.member { store.insert(member, into: context) }
      }
      try PoolOwner(
        pid: getpid(), queue: successor.queue, pool: successor.identity, ledger: name,
        member: membership?.member.identity
      ).write(isShared: store.isShared, in: context)
      try store.setRedaction(published.redaction, in: context)
      let hasOtherHooks = try store.setHooks(published.hooks, in: context)
      // A worker in another language writes the failure alone, and the pool that would have told of it was killed.
      for job in jobs.values { try job.tellOfFailure(at: store.now) }
      // New hooks are told of what comes.
      if !hasOtherHooks { try store.tellOfDeadJobs(at: store.now, in: context) }
      try context.save()
      if let member = membership?.member { successor.claims.begin(member.identity, in: store.poolIdentifier) }
    } catch {
      membership = nil
      unlink(path)
      throw error
    }
    removeLedgers(but: name)
    start.ledger = ledger
    return start
  }

  private func succession(of owner: PoolOwner?, _ messages: inout [String]) -> Succession {
    var strays = successor.strays
    if let owner, owner.pool != successor.identity {
      strays.formUnion(StrayProcesses.end(pool: owner.pool, store: StorePlace(store.url).text))
    }
    var contents: LedgerContents?
    if let owner {
      do {
        // The queue directory may have been renamed since.
        let queue = owner.pool == successor.identity ? successor.queue : owner.queue
        let ledger = try LedgerContents(path: QueueLayout(root: queue).ledger(owner.ledger))
        if ledger.name == owner.ledger, ledger.store == store.poolIdentifier { contents = ledger }
      } catch {
        // It is not known what was running, so no job begins before the processes that live have ended.
        messages.append("\(error)")
      }
    }
    return Succession(
      ledger: contents, boot: Boot.id(), orphans: strays.finishing.filter { !successor.adopted.contains($0.pid) },
      dying: strays.killed,
      // A child that was not waited for keeps its ID. What its end means is found out as for any worker.
      isAlive: { successor.adopted.contains($0.pid) || $0.isAlive })
  }

  /// Whether the row does not show an end of the attempt: it is ready, and its next attempt has the same number. Times
  /// say nothing: a clock may have gone back since.
  private func isUnfinished(_ entry: LedgerEntry, _ job: Job?) -> Bool {
    guard let job, job.state == .available else { return false }
    // Another pool has claimed it since, or may: that one counts its crashes.
    if store.isShared { return false }
    return job.attemptNumber == entry.attempt
  }

  private func inherited(_ entry: LedgerEntry, _ job: Job?) -> InheritedJob {
    InheritedJob(
      key: entry.job, process: entry.process, kind: job?.kind, queue: job?.queue, limitKey: job?.limitKey)
  }

  private func removeLedgers(but name: String) {
    let run = successor.queue + "/run"
    // Ledgers that cannot be listed stay until the next start.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: run)) ?? []
    for file in names where file.hasPrefix(QueueLayout.ledgerPrefix) && file != QueueLayout.ledgerPrefix + name {
      unlink(run + "/" + file)
    }
  }
}

import CoreData
import Foundation
import Jobs
import Synchronization
import WorkerProtocol

/// The coordinator's jobs in the store: everything is done on a private-queue context, and reported back.
///
/// `@unchecked Sendable`: `report` is set once, before anything else; what changes is under `kinds`' lock or used on the context's
/// queue only.
final class StoreJobSource: JobSource, @unchecked Sendable {
  let store: JobStore
  let context: NSManagedObjectContext
  /// Counting a long backlog takes its time, which must not keep jobs waiting.
  private let countingContext: NSManagedObjectContext
  private let intake: Intake
  let layout: QueueLayout
  /// Makes checkpoints on a queue of its own: they may take long, and nobody waits for them.
  private let checkpointQueue = DispatchQueue(label: "checkpoint")
  private let checkpointer: WALCheckpointer
  private var report: @Sendable (JobSourceEvent) -> Void = { _ in }
  /// What `prepare` found, for `start` to tell. On the context's queue.
  private var found: (pauses: JobPauses, elsewhere: [JobSourceClaim]) = (JobPauses(), [])
  private let kinds = Mutex<[String: PluginDescription.Kind]>([:])
  private let retention: JobRetention
  private let periodic: PeriodicDirectory
  private let pinnedLog = Mutex(PinnedLog())
  private let storeWatch = StoreWatch()
  /// Ends of jobs may have been missed: all jobs that wait are looked at. On the context's queue.
  private var looksAtAll = true

  /// - Parameters:
  ///   - store: for all but the intake.
  ///   - writeTurn: the file by whose lock the pool's processes take turns at writing.
  ///   - retention: how long finished jobs are kept.
  init(store: JobStore, layout: QueueLayout, writeTurn: String, retention: JobRetention = JobRetention()) throws {
    self.store = store
    self.layout = layout
    self.retention = retention
    periodic = PeriodicDirectory(path: layout.periodic)
    context = store.makeContext(name: "coordinator")
    countingContext = store.makeContext(name: "status")
    intake = try Intake(layout: layout, store: store, watch: storeWatch)
    checkpointer = try WALCheckpointer(url: store.url, writeTurn: writeTurn)
  }

  func setKinds(_ kinds: [PluginDescription.Kind]) {
    self.kinds.withLock { $0 = Dictionary(kinds.map { ($0.kind, $0) }, uniquingKeysWith: { first, _ in first }) }
  }

  private func kind(_ name: String) -> PluginDescription.Kind? { kinds.withLock { $0[name] } }

  // MARK: Start

  /// Puts things in order after an earlier process. Called once, before `start`; it blocks, and may be tried again when it has thrown.
  func prepare() throws {
    try intake.recover()
    try context.performAndWait {
      do {
        try store.upgrade(in: context)
        found = (try store.pauses(in: context), try takeStock(context))
      } catch {
        context.rollback()
        throw error
      }
      context.reset()
    }
  }

  func start(reporting report: @escaping @Sendable (JobSourceEvent) -> Void) {
    self.report = report
    storeWatch.tell { [path = store.url.path] in
      let holders = StoreLocks.named(store: path) ?? "it waits for a lock, or there is much to do"
      report(.waiting("the store has not answered for \(Int(StoreWatch.patience)) s: \(holders)"))
    }
    context.perform { [self] in report(.started(pauses: found.pauses, elsewhere: found.elsewhere)) }
  }

  /// The claims of processes that are still alive; the others are deleted.
  private func takeStock(_ context: NSManagedObjectContext) throws -> [JobSourceClaim] {
    var alive: [(job: Int64, pid: Int32)] = []
    for claim in try store.claims(in: context) {
      if ProcessStart.ticks(of: claim.pid) == claim.processStart {
        alive.append((claim.job, claim.pid))
      } else {
        context.delete(claim)
      }
    }
    try context.save()
    let jobs = Dictionary(
      try store.jobs(keys: alive.map(\.job), in: context).map { ($0.objectID.key ?? 0, $0) },
      uniquingKeysWith: { first, _ in first })
    return alive.compactMap { key, pid in
      ObjectURI(store.uri(job: key)).map {
        JobSourceClaim(job: $0, pid: pid, kind: jobs[key]?.kind, limitKey: jobs[key]?.limitKey)
      }
    }
  }

  // MARK: Ready jobs

  func findQueues(kind: String) {
    work { [self] context in
      report(.foundQueues(kind: kind, try store.readyQueues(kind: kind, in: context), reason: nil))
    } onFailure: { [report] error in
      report(.foundQueues(kind: kind, [], reason: ErrorText.text(error)))
    }
  }

  func fetchReady(_ query: ReadyQuery) {
    work { [self] context in
      let jobs = try store.readyJobs(query, in: context)
      report(.fetched(query, windowJobs(jobs), isComplete: jobs.count < query.limit))
    } onFailure: { [report] error in
      report(.fetchFailed(query, reason: ErrorText.text(error)))
    }
  }

  private func windowJobs(_ jobs: [JobSummary]) -> [WindowJob] {
    let kinds = kinds.withLock { $0 }
    return jobs.compactMap { job in
      ObjectURI(store.uri(job: job.key)).map {
        WindowJob(
          uri: $0, kind: job.kind, queue: job.queue, priority: Int(job.priority), order: job.key,
          timeout: job.timeout ?? kinds[job.kind]?.timeout, limitKey: job.limitKey,
          limit: job.limit ?? kinds[job.kind]?.limitPerKey ?? 1)
      }
    }
  }

  // MARK: Jobs that wait for others

  func release(after ended: [ObjectURI]) {
    work { [self] context in
      var ready = try adoptPending(context)
      let keys = looksAtAll ? try store.blockers(in: context) : ended.compactMap { store.key(jobURI: $0.description) }
      ready += try release(after: keys, context)
      looksAtAll = false
      report(.released(windowJobs(ready), remain: try store.hasWaitingJobs(in: context), reason: nil))
    } onFailure: { [self] error in
      looksAtAll = true
      report(.released([], remain: true, reason: ErrorText.text(error)))
    }
  }

  private func adoptPending(_ context: NSManagedObjectContext) throws -> [JobSummary] {
    var ready: [JobSummary] = []
    while true {
      let found = try store.adoptPending(in: context)
      guard found.count > 0 else { return ready }
      try context.save()
      context.reset()
      ready += found.ready + (try release(after: found.cancelled, context))
    }
  }

  /// Looks at the jobs that wait for these, then at those that wait for the ones that were cancelled by that, and so on.
  private func release(after keys: [Int64], _ context: NSManagedObjectContext) throws -> [JobSummary] {
    var ready: [JobSummary] = []
    var rest = keys[...]
    while !rest.isEmpty {
      let round = rest.prefix(500)
      rest = rest.dropFirst(500)
      let found = try store.release(after: Array(round), in: context)
      try context.save()
      context.reset()
      ready += found.ready
      rest += found.cancelled
    }
    return ready
  }

  func promoteDueJobs() {
    work { [self] context in
      var promoted = 0
      while true {
        let count = try store.promoteDue(limit: 1000, in: context)
        try context.save()
        promoted += count
        if count < 1000 { break }
        context.reset()
      }
      // A job that is due by then is found with the next look; the timer must not fire a moment too early.
      let next = try store.nextDue(in: context).map { max(0.001, $0.timeIntervalSinceNow) }
      report(.promoted(count: promoted, next: next))
    } onFailure: { [report] error in
      // A worker may have written one of the rows meanwhile.
      report(.trouble("jobs whose time has come cannot be made available: \(ErrorText.text(error))"))
      report(.promoted(count: 0, next: 1))
    }
  }

  // MARK: Rows

  func settle(_ uris: [ObjectURI], _ settlement: Settlement) {
    work { [self] context in
      for job in try existing(uris, context) where job.state == .available {
        let kind = kind(job.kind)
        let policy = RetryPolicy(
          maxAttempts: kind?.maxAttempts, maxCrashes: kind?.maxCrashes, backoff: kind?.backoff,
          maxBackoff: kind?.maxBackoff
        ).applied(to: job)
        switch settlement {
        case .crashed(let obituary):
          try job.markCrashed(failure(obituary, "crash", obituary.reason, job), policy: policy)
        case .timedOut(let obituary, let seconds):
          let message = "took longer than \(seconds) seconds, and did not stop when asked"
          try job.markFailed(failure(obituary, "timeout", message, job), policy: policy)
        case .cancelled: try job.markCancelled()
        }
      }
      try context.save()
      report(.settled(uris, reason: nil))
    } onFailure: { [report] error in
      // The worker's commit came through before it died: then the row needs nothing.
      let isConflict = (error as NSError).code == CocoaError.Code.managedObjectMerge.rawValue
      report(.settled(uris, reason: isConflict ? nil : ErrorText.text(error)))
    }
  }

  private func failure(_ obituary: Obituary, _ type: String, _ message: String, _ job: Job) -> AttemptFailure {
    var signal: Int32?
    if case .signalled(let number) = obituary.death { signal = number }
    return AttemptFailure(
      attempt: job.attempt + job.crashes + 1, date: Date(), type: type, message: message,
      host: ProcessInfo.processInfo.hostName, pid: obituary.pid, signal: signal, standardError: obituary.lastLines)
  }

  func cancel(_ jobs: [ObjectURI], ticket: Int?) {
    change(jobs, ticket) {
      try $0.markCancelled()
    } done: { [report] in
      report(.cancelled($0))
    }
  }

  func retry(_ jobs: [ObjectURI], ticket: Int) {
    change(jobs, ticket) {
      try $0.markRetried()
    } done: { _ in
    }
  }

  /// Changes rows that no worker writes at the moment, many in one save; if that fails each in one of its own, so that one that
  /// cannot be changed keeps none of the others from it.
  private func change(
    _ uris: [ObjectURI], _ ticket: Int?, _ body: @escaping @Sendable (Job) throws -> Void,
    done: @escaping @Sendable ([ObjectURI]) -> Void
  ) {
    work { [self] context in
      var changed: [ObjectURI] = []
      var problem: String?
      for start in stride(from: 0, to: uris.count, by: 200) {
        let group = Array(uris[start..<min(start + 200, uris.count)])
        do {
          guard try existing(group, context).count == group.count else { throw JobSourceError.noJob("one of these") }
          for job in try existing(group, context) { try body(job) }
          try context.save()
          changed += group
        } catch {
          context.rollback()
          for uri in group {
            do {
              guard let job = try existing([uri], context).first else { throw JobSourceError.noJob(uri.description) }
              try body(job)
              try context.save()
              changed.append(uri)
            } catch {
              context.rollback()
              let isKeyTaken = (error as NSError).code == CocoaError.Code.managedObjectConstraintMerge.rawValue
              problem = ErrorText.text(isKeyTaken ? JobSourceError.keyTaken(uri.description) : error)
            }
          }
        }
        context.reset()
      }
      done(changed)
      if let ticket {
        report(.replied(ticket: ticket, count: changed.count, error: changed.isEmpty ? problem : nil))
      }
    }
  }

  private func existing(_ uris: [ObjectURI], _ context: NSManagedObjectContext) throws -> [Job] {
    let ids = uris.compactMap { store.coordinator.objectID(forURI: $0.description) }
    let request = Job.fetchRequest()
    request.predicate = NSPredicate(format: "self IN %@", ids)
    request.returnsObjectsAsFaults = false
    return try context.fetch(request)
  }

  func write(claims: [JobSourceClaim], endedClaims: [ObjectURI]) {
    guard !claims.isEmpty || !endedClaims.isEmpty else { return }
    work { [self] context in
      let now = Date()
      for (pid, claims) in Dictionary(grouping: claims, by: \.pid) {
        guard let start = ProcessStart.ticks(of: pid) else { continue }
        let keys = claims.compactMap { store.key(jobURI: $0.job.description) }
        store.insertClaims(jobs: keys, pid: pid, processStart: start, since: now, into: context)
      }
      let ended = Set(endedClaims.compactMap { store.key(jobURI: $0.description) })
      if !ended.isEmpty {
        for claim in try store.claims(in: context) where ended.contains(claim.job) { context.delete(claim) }
      }
      try context.save()
    }
  }

  func savePauses(_ pauses: JobPauses) {
    work { [self] context in
      try store.setPauses(pauses, in: context)
      try context.save()
    }
  }

  // MARK: What comes with time

  func submitPeriodic() {
    work { [self] context in
      let (entries, problems) = try periodic.entries()
      let round = try store.insertPeriodic(entries, keeping: Set(problems.keys), into: context)
      try context.save()
      let ready = round.jobs.compactMap(JobSummary.init)
      // Not a moment too early: what is due then is found with that look.
      let next = round.next.map { max(0.001, $0.timeIntervalSinceNow + 0.001) }
      report(.periodic(windowJobs(ready), next: next, messages: problems.values.sorted()))
    } onFailure: { [report] error in
      report(.periodic([], next: 1, messages: ["periodic jobs cannot be submitted: \(ErrorText.text(error))"]))
    }
  }

  func prune() {
    let context = countingContext
    work(on: context) { [self] _ in
      while true {
        let count = try store.prune(retention, in: context)
        guard count > 0 else { return }
        try context.save()
        context.reset()
      }
    } onFailure: { [report] error in
      report(.trouble("finished jobs cannot be deleted: \(ErrorText.text(error))"))
    }
  }

  func count(ticket: Int) {
    work(on: countingContext) { [self] context in
      let counts = try store.counts(in: context)
      let named = Dictionary(uniqueKeysWithValues: counts.map { ($0.name, $1) })
      report(.counted(ticket: ticket, jobs: named, walBytes: walBytes))
    } onFailure: { [self] _ in
      report(.counted(ticket: ticket, jobs: nil, walBytes: walBytes))
    }
  }

  private var walBytes: Int? {
    var status = stat()
    return stat(store.url.path + "-wal", &status) == 0 ? Int(status.st_size) : nil
  }

  // MARK: Files and the log

  func takeFiles(_ names: [String]?) {
    let took: @Sendable (Intake.Report) -> Void = { [self] round in
      let messages =
        round.rejected.map {
          LogRecord(event: .fileRejected, text: "\($0.name) is rejected: \($0.reason)", fields: [.path($0.name)])
        } + round.failures.map { LogRecord(event: .trouble, text: $0) }
      report(
        .took(
          jobs: round.jobs, ready: windowJobs(round.ready), someWait: round.someWait, postponed: round.postponed,
          messages: messages))
    }
    if let names { intake.take(names, report: took) } else { intake.takeAll(report: took) }
  }

  func checkpoint(ticket: Int?) {
    checkpointQueue.async { [self] in
      do {
        let left = try checkpointer.checkpoint()
        noteReaders(left: left)
        if let ticket { report(.replied(ticket: ticket, count: left, error: nil)) }
      } catch {
        let reason = ErrorText.text(error)
        report(.trouble("the log cannot be brought into the store: \(reason)"))
        if let ticket { report(.replied(ticket: ticket, count: 0, error: reason)) }
      }
    }
  }

  /// Who keeps the rest of the log from being brought into the store: a reader that began before it was written.
  private func noteReaders(left: Int) {
    let readers = left > 0 ? WALReaders.processes(store: store.url.path) : []
    pinnedLog.withLock { left > 0 ? $0.note(readers, now: Clock.now) : $0.clear() }
  }

  var logReaders: [Int32: Double] { pinnedLog.withLock { $0.since } }

  func finish() {
    // All that was asked for before is done before this.
    work { [self] _ in
      checkpointQueue.async { [self] in
        _ = try? checkpointer.checkpoint()
        report(.finished)
      }
    }
  }

  // MARK: The context's queue

  /// Runs `body` on the context's queue with a context that knows nothing yet, so that it sees what is on disk.
  private func work(_ body: @escaping @Sendable (NSManagedObjectContext) throws -> Void) {
    work(body) { [self] error in report(.trouble("the store: \(ErrorText.text(error))")) }
  }

  private func work(
    on other: NSManagedObjectContext? = nil, _ body: @escaping @Sendable (NSManagedObjectContext) throws -> Void,
    onFailure: @escaping @Sendable (any Error) -> Void
  ) {
    // Counting and pruning may take long, and nobody waits for them.
    let watch = other == nil ? storeWatch : nil
    let context = other ?? context
    context.perform {
      do {
        if let watch { try watch.during { try body(context) } } else { try body(context) }
      } catch {
        context.rollback()
        onFailure(error)
      }
      context.reset()
    }
  }
}

/// Why a job cannot be changed.
private enum JobSourceError: Error, CustomStringConvertible {
  case noJob(String)
  case keyTaken(String)

  var description: String {
    switch self {
    case .noJob(let uri): "\(uri) is no job of this pool"
    case .keyTaken(let uri): "\(uri) cannot run: another job has its unique key and is not finished"
    }
  }
}

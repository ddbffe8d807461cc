import Jobs
import WorkerProtocol

/// Who holds which job: the workers and the jobs in their hands, with the notes of both in the ledger.
///
/// A job has an entry here exactly while its worker's hand lists it, and a worker's deadline is the first of its
/// running jobs. A worker that has died is removed first, and its jobs are released after that.
struct Hands: Codable {
  private(set) var workers = HandTable()
  private(set) var jobs: [JobKey: HeldJob] = [:]
  /// Jobs that have left a hand, and of which the pool writes how they ended; each takes its worker's credit until
  /// then.
  private var unsettled: [JobKey: WorkerID] = [:]
  /// The number of the last handing out.
  private var run = 0
  /// Notes for the next pool who holds what. Nil in tests that need none.
  var ledger: JobLedger?
  /// Seconds that a worker may hold jobs without beginning one, outside store waits. It is replaced then, and killed
  /// when it still holds them after as many seconds more.
  var beginTimeout = 60.0
  /// When to check the hands of slow workers.
  private var slowCheck: Double?
  /// When to look for workers that begin nothing.
  private var beginCheck: Double?

  /// What the program that takes this one's place goes on with: all but what it finds out by itself.
  private enum CodingKeys: CodingKey { case workers, jobs, run, slowCheck, beginCheck }

  /// How many workers run a job that takes long.
  func slowWorkers(now: Double) -> Int { workers.busy.count { isSlow($0, now: now) } }

  private func isSlow(_ id: WorkerID, now: Double) -> Bool { workers[id]?.isSlow(now: now) == true }

  // MARK: Workers

  init() {}

  /// Goes on with what workers hold that the program before this one had started.
  ///
  /// - Parameter indices: those of the jobs' entries in the ledger, for each worker that goes on; the others, and their
  ///   jobs, are left out.
  mutating func adopt(_ former: Hands, _ indices: [WorkerID: [JobKey: Int]]) {
    workers = HandTable(former.workers.all.filter { indices[$0.key] != nil })
    jobs = former.jobs.filter { indices[$0.value.worker] != nil }
    for (key, held) in jobs {
      var index = indices[held.worker]?[key]
      // The former ledger could not be read.
      if index == nil {
        index = ledger?.handOut(key, attempt: held.job.attempt, to: held.worker.number)
        if let index, held.begunAt != nil { ledger?.begin([index]) }
      }
      jobs[key]?.ledgerIndex = index
    }
    (run, slowCheck, beginCheck) = (former.run, former.slowCheck, former.beginCheck)
  }

  mutating func add(_ id: WorkerID, kinds: [String]) { workers.add(id, WorkerHand(kinds: Set(kinds))) }

  /// The worker's process has ended. Its jobs stay until ``release(_:now:)``.
  mutating func remove(_ id: WorkerID) -> WorkerHand? { workers.remove(id) }

  /// Sets how many jobs a worker may hold; returns how many it should give back.
  mutating func setCredit(_ count: Int, of id: WorkerID) -> Int {
    workers.change(id) { $0.setCredit(count) } ?? 0
  }

  mutating func drain(_ id: WorkerID) { workers.change(id) { $0.drain() } }
  mutating func recall(_ id: WorkerID) { workers.change(id) { $0.recall() } }
  mutating func endRecall(_ id: WorkerID) { workers.change(id) { $0.endRecall() } }
  mutating func noteWork(by id: WorkerID) { workers.change(id) { $0.noteWork() } }
  mutating func noteRefusal(by id: WorkerID, now: Double) { workers.change(id) { $0.noteRefusal(now: now) } }

  /// Ends a recall to which the worker will not answer: it has begun or ended all of its jobs. Returns whether there
  /// was one.
  mutating func endUnansweredRecall(_ id: WorkerID) -> Bool {
    guard let worker = workers[id], worker.isRecalling, worker.notBegun == 0 else { return false }
    endRecall(id)
    return true
  }

  // MARK: Workers that take jobs

  /// The worker that gets the next job of a kind: the one that holds least of those that take further ones. A slow one
  /// takes none.
  ///
  /// - Parameter isWanted: false for workers that do not get it for another reason.
  /// - Complexity: the number of plugins, and of slow workers that have credit.
  func idlest(for kind: String, now: Double, where isWanted: (WorkerID) -> Bool = { _ in true }) -> HandTable.Taker? {
    var idlest: HandTable.Taker?
    for group in workers.groups where !group.takers.isEmpty && group.kinds.contains(kind) {
      guard let first = group.takers.first(where: { !isSlow($0.id, now: now) && isWanted($0.id) }) else { continue }
      if idlest.map({ first < $0 }) ?? true { idlest = first }
    }
    return idlest
  }

  /// How many further jobs of a kind workers take, counted up to a limit.
  func credit(for kind: String, upTo limit: Int, now: Double, where isWanted: (WorkerID) -> Bool) -> Int {
    var credit = 0
    for group in workers.groups where !group.takers.isEmpty && group.kinds.contains(kind) {
      for taker in group.takers where !isSlow(taker.id, now: now) && isWanted(taker.id) {
        credit += workers[taker.id]?.freeCredit ?? 0
        if credit >= limit { return limit }
      }
    }
    return credit
  }

  // MARK: Jobs

  /// The worker gets a job.
  ///
  /// - Parameters:
  ///   - lanes: those among which the job's lane was picked.
  ///   - alone: whether it gets no other job meanwhile.
  mutating func take(
    _ job: WindowJob, by id: WorkerID, pickedAmong lanes: Set<String>, alone: Bool, now: Double
  ) {
    let index = ledger?.handOut(job.key, attempt: job.attempt, to: id.number)
    run = run == ProtocolLimit.counter ? 1 : run + 1
    jobs[job.key] = HeldJob(job, worker: id, run: run, pickedAmong: lanes, ledgerIndex: index, now: now)
    workers.change(id) { $0.take(job.key, alone: alone) }
    watchBeginning(id, now: now)
  }

  /// The worker begins jobs of its hand. A job that begins again was in a group whose jobs are now run one by one: the
  /// others of the group begin again later.
  mutating func begin(_ beginning: [JobKey], by id: WorkerID, withOthers: Bool, now: Double) {
    if beginning.contains(where: { jobs[$0]?.begunAt != nil }) {
      for job in workers[id]?.begun ?? [] { jobs[job]?.stopClock() }
    }
    var indices: [Int] = []
    for job in beginning {
      jobs[job]?.begin(withOthers: withOthers, now: now)
      if let index = jobs[job]?.ledgerIndex { indices.append(index) }
    }
    ledger?.begin(indices)
    workers.change(id) { $0.begin(beginning, now: now) }
    setDeadline(id)
  }

  /// A job in hand has used more processor time than it may.
  mutating func noteOverrun(of job: JobKey) { jobs[job]?.hasOverrun = true }

  mutating func setProgress(of job: JobKey, done: Int, total: Int) {
    jobs[job]?.progress = .init(done: done, total: total)
  }

  /// A store wait uses up none of a job's time. A cancelled job still has to end in time.
  mutating func wait(_ waiting: [JobKey], _ reason: StoreWait, by id: WorkerID, now: Double) {
    for job in waiting { jobs[job]?.storeWait = reason == .over ? nil : reason }
    workers.change(id) { $0.setHesitation(since: now) }
    guard !waiting.contains(where: { jobs[$0]?.isCancelled == true }) else { return }
    for job in waiting {
      if reason == .over { jobs[job]?.resumeClock(now: now) } else { jobs[job]?.holdClock(now: now) }
    }
    setDeadline(id)
  }

  /// Notes that a job in hand is cancelled. Returns its worker.
  mutating func cancel(_ job: JobKey, now: Double) -> WorkerID? {
    guard let worker = jobs[job]?.worker else { return nil }
    jobs[job]?.cancel(now: now)
    ledger?.cancel(job)
    if jobs[job]?.begunAt != nil { setDeadline(worker) }
    return worker
  }

  /// Jobs whose worker died stay in the ledger until their rows are written, or until they are handed out again.
  mutating func keepLedgerEntries(of begun: Set<JobKey>) {
    for job in begun {
      guard let index = jobs[job]?.ledgerIndex else { continue }
      ledger?.keep(index, of: job, isSuspect: begun.count > 1)
      jobs[job]?.ledgerIndex = nil
    }
  }

  /// Takes a job out of its worker's hand. ``watch(_:now:)`` follows when all have been taken out.
  mutating func release(_ job: JobKey, now: Double) -> HeldJob? {
    guard let entry = jobs.removeValue(forKey: job) else { return nil }
    if let index = entry.ledgerIndex { ledger?.end(index) }
    workers.change(entry.worker) { $0.release(job, hasBegun: entry.begunAt != nil, now: now) }
    return entry
  }

  /// Jobs have left the worker's hand.
  mutating func watch(_ id: WorkerID, now: Double) {
    setDeadline(id)
    watchBeginning(id, now: now)
  }

  // MARK: Jobs that the pool settles

  /// A job has left the worker's hand, and its row does not say yet how it ended. Without a bound on such jobs a pool
  /// that cannot write would let all jobs have their effects, and the next pool would run them again.
  mutating func awaitSettlement(of job: JobKey, by id: WorkerID) {
    unsettled[job] = id
    workers.change(id) { $0.addUnsettled(1) }
  }

  /// The rows of these jobs are written. Returns whether a worker may get other jobs for one of them.
  mutating func noteSettled(_ settled: [JobKey]) -> Bool {
    if unsettled.isEmpty { return false }
    var isAny = false
    for job in settled {
      guard let id = unsettled.removeValue(forKey: job) else { continue }
      workers.change(id) { $0.addUnsettled(-1) }
      isAny = true
    }
    return isAny
  }

  // MARK: Time

  /// When something has to be done although nothing happens: a job is out of time, a hand has to be checked, or a rest
  /// ends.
  var nextTime: Double {
    var next = slowCheck ?? .infinity
    if !jobs.isEmpty { next = min(next, beginCheck ?? .infinity) }
    for id in workers.busy { next = min(next, workers[id]?.deadline ?? .infinity) }
    for id in workers.resting { next = min(next, workers[id]?.restsUntil ?? .infinity) }
    return next
  }

  /// The workers whose jobs are out of time, each told once.
  mutating func takeOutOfTime(now: Double) -> Set<WorkerID> {
    let late = workers.busy.filter { workers[$0]?.deadline.map { $0 <= now } ?? false }
    for id in late { workers.change(id) { $0.deadline = nil } }
    return late
  }

  mutating func endRests(now: Double) {
    for id in workers.resting where workers[id]?.restsUntil.map({ $0 <= now }) == true {
      workers.change(id) { $0.endRest() }
    }
  }

  /// Notes when the first of a worker's running jobs must have ended.
  private mutating func setDeadline(_ id: WorkerID) {
    guard let begun = workers[id]?.begun else { return }
    let first = begun.compactMap { jobs[$0]?.deadline }.min()
    workers.change(id) { $0.deadline = first }
  }

  /// Sets the time of the next check of slow workers' hands, if any worker could give jobs back. It stays until it
  /// comes: short jobs set no timer each.
  ///
  /// - Parameter hasClaims: whether claimed jobs wait, which the pool could give back.
  mutating func watchSlow(now: Double, hasClaims: Bool) {
    guard slowCheck == nil else { return }
    let isAny = workers.busy.contains { id in
      guard let worker = workers[id] else { return false }
      return (worker.notBegun > 0 || hasClaims) && !worker.begun.isEmpty && !worker.isDraining
    }
    if isAny { slowCheck = now + WorkerHand.slowAfter }
  }

  /// Whether a check of slow workers' hands is due at some time.
  var hasSlowCheck: Bool { slowCheck != nil }

  /// Whether it is time to check slow workers' hands; true once.
  mutating func takeSlowCheck(now: Double) -> Bool {
    guard let time = slowCheck, time <= now else { return false }
    slowCheck = nil
    return true
  }

  // MARK: Workers that hold jobs and begin none

  /// A check that is set stays until its time comes: short jobs set no timer each.
  private mutating func watchBeginning(_ id: WorkerID, now: Double) {
    guard workers.change(id, { $0.watchBeginning(now: now) }) == true else { return }
    if beginCheck == nil { beginCheck = now + beginTimeout }
  }

  /// The workers that have begun nothing for too long, with the number of jobs that they hold, and whether they were
  /// told before. Sets the time of the next check. Empty before its time.
  mutating func takeHesitant(now: Double) -> [(id: WorkerID, jobs: Int, wasTold: Bool)] {
    guard let time = beginCheck, time <= now else { return [] }
    beginCheck = nil
    var hesitant: [(WorkerID, Int, Bool)] = []
    for id in workers.busy {
      guard let worker = workers[id], var since = worker.hesitatesSince else { continue }
      // The store keeps it from beginning, and will not always do so.
      if worker.held.contains(where: { jobs[$0]?.storeWait != nil }) { since = now }
      if since + beginTimeout <= now {
        hesitant.append((id, worker.held.count, worker.isGivenUp))
        workers.change(id) { $0.giveUp() }
        since = now
      }
      workers.change(id) { $0.setHesitation(since: since) }
      beginCheck = min(beginCheck ?? .infinity, since + beginTimeout)
    }
    return hesitant
  }
}

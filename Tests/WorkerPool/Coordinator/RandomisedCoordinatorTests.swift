import Foundation
import Jobs
import LinuxSystem
import TestFiles
import Testing
import WorkerProtocol

@testable import WorkerPool

/// Everything that can happen to a coordinator, in any order.
///
/// `WORKERPOOL_COORDINATOR_SEEDS=1000` tries that many orders.
@Suite struct RandomisedCoordinatorTests {
  private static let seeds =
    ProcessInfo.processInfo.environment["WORKERPOOL_COORDINATOR_SEEDS"].flatMap(UInt64.init) ?? 8

  @Test(arguments: 1...Self.seeds, [false, true])
  func everyJobEndsAndIsInOneHandAtATime(seed: UInt64, isShared: Bool) {
    var pool = RandomPool(seed: seed, isShared: isShared)
    for step in 0..<40_000 where !pool.isDone { pool.step(isCalm: step > 4000) }
    pool.checkEnd()
  }
}

/// A coordinator whose store, workers and people do what a seed says.
///
/// Workers come, run, fail, return, drain, die and lose their answers. The store answers late and with old news; other
/// pools claim its jobs when it is shared. People pause, resume, cancel, and change limits. Workers of an earlier pool
/// still have jobs in hand.
private struct RandomPool {
  private enum Statement {
    case fetch(ReadyQuery)
    case release(Set<String>, keeping: Set<JobKey>)
    /// Of jobs whose worker died.
    case settle([JobKey], isCancelled: Bool)
    case cancel(JobKey)
    case takePlaces(Int, kind: String)
  }

  private enum Answer {
    case fetched(ReadyQuery, [WindowJob], isComplete: Bool)
    case settled([JobKey])
    case tookPlaces(Int, kind: String, retryAfter: Double?)
    case ready(WindowJob)
  }

  private enum Owner { case this, other }

  private struct Worker {
    var hand: [JobKey] = []
    var begun: [JobKey] = []
    /// What it was asked for and has not answered.
    var recalled = 0
    var cancelled: [JobKey] = []
    var isDraining = false

    var notBegun: [JobKey] { hand.filter { !begun.contains($0) } }
  }

  private static let rate = JobRate(jobs: 3, period: 0.3)
  private static let scopes: [PauseScope] = [.everything, .queue("mail"), .kind("index"), .kind("report")]

  private let seed: UInt64
  private let isShared: Bool
  private var random: SeededGenerator
  private var coordinator = Coordinator()
  // The store: jobs that may run, and those that wait for their next attempt. It handles one statement after the other.
  private var available: [JobKey: WindowJob] = [:]
  private var waiting: [WindowJob] = []
  private var owners: [JobKey: Owner] = [:]
  private var statements: [Statement] = []
  private var answers: [Answer] = []
  private var workers: [WorkerID: Worker] = [:]
  private var lastWorker = 0
  private var survivors: [InheritedJob] = []
  private var survivorsMayRunAny = false
  private var cancelled: Set<JobKey> = []
  private var suspects: Set<JobKey> = []
  private var paused: [PauseScope] = []
  private var indexLimit: Int?
  /// When jobs of the kind with a rate began.
  private var beginnings: [(job: JobKey, time: Double)] = []
  /// Places of the rate that the store keeps, and no job has begun in.
  private var keptPlaces = 0

  init(seed: UInt64, isShared: Bool) {
    self.seed = seed
    self.isShared = isShared
    random = SeededGenerator(seed: seed)
    coordinator.jobURIs = JobURIs(store: "POOL")
    // Two queues, one of them with a weight, and a few limit keys, of which some have very many jobs.
    for number in 1...240 {
      available[JobKey(number)] = job(
        number, kind: number % 6 == 0 ? "report" : "index", queue: number % 5 == 0 ? "mail" : "default",
        priority: number % 3, key: number % 2 == 0 ? "key \(number % 4 == 0 ? 0 : number % 7)" : nil, limit: 2)
    }
    coordinator.weights = QueueWeights(["mail": 3])
    coordinator.groups = GroupLimits(queues: QueueLimits(["m*": 4]))
    if isShared {
      coordinator.claims = Claims()
      coordinator.workersWanted(3)
    } else {
      if seed % 4 == 0 { leaveSurvivors() }
      if seed % 3 == 0 {
        coordinator.keepsRatePlaces = true
        beginnings = [(0, -0.2), (0, -0.1)]
      }
    }
    setKinds()
  }

  var isDone: Bool { available.isEmpty && waiting.isEmpty && survivors.isEmpty }

  private mutating func leaveSurvivors() {
    survivors = available.values.filter { $0.key % 40 == 0 }.map {
      var inherited = InheritedJob(key: $0.key, process: ProcessIdentity(pid: 7, start: 1))
      (inherited.kind, inherited.queue, inherited.limitKey) = ($0.kind, $0.queue, $0.limitKey)
      return inherited
    }
    coordinator.setSurvivorJobs(survivors)
    survivorsMayRunAny = seed % 8 == 0
    coordinator.setWaitsForSurvivors(survivorsMayRunAny)
  }

  private mutating func setKinds(without removed: String? = nil) {
    var rules = ["index": KindRules(limit: indexLimit), "report": KindRules(rate: Self.rate)]
    if let removed { rules[removed] = nil }
    coordinator.setKinds(rules)
  }

  private func uri(_ key: JobKey) -> ObjectURI { coordinator.jobURIs[key] }

  private func check(_ holds: Bool, _ complaint: @autoclosure () -> String) {
    if !holds { Issue.record("seed \(seed)\(isShared ? ", shared" : ""): \(complaint())") }
  }

  private mutating func happens(once times: Int) -> Bool { Int.random(in: 0..<times, using: &random) == 0 }

  // MARK: A step

  /// - Parameter isCalm: whether people and kinds leave the pool alone, so that all jobs can end.
  mutating func step(isCalm: Bool) {
    coordinator.now += 0.01
    if let deadline = coordinator.nextDeadline, deadline <= coordinator.now { coordinator.deadlinePassed() }
    performAll()
    switch Int.random(in: 0..<16, using: &random) {
    case 0 where workers.count < 3: addWorker()
    case 1 where happens(once: 4): kill()
    case 2, 3, 4: runStatement()
    case 5, 6, 7: deliverAnswer()
    case 8 where happens(once: 10): coordinator.refetchAll()
    case 9: endWaitOrSurvivor()
    case 10 where isShared: actOfOtherPool()
    case 11 where isCalm || happens(once: 8): if isCalm { resumeAll() } else { steer() }
    default: if let id = workers.keys.sorted(by: { $0.number < $1.number }).randomElement(using: &random) { work(id) }
    }
    performAll()
  }

  private mutating func performAll() {
    while true {
      let effects = coordinator.takeEffects()
      if effects.isEmpty { return }
      for effect in effects { perform(effect) }
    }
  }

  private mutating func perform(_ effect: CoordinatorEffect) {
    switch effect {
    case .send(.run(let uris), let id): for uri in uris { takeInHand(uri, id) }
    case .send(.recall(let count), let id): workers[id]?.recalled = count
    case .send(.cancel(let uri), let id): workers[id]?.cancelled += [coordinator.jobURIs.key(uri)].compactMap(\.self)
    case .send(.drain, let id): workers[id]?.isDraining = true
    case .emptied(let id): if workers.removeValue(forKey: id) != nil { coordinator.workerDied(id, obituary(.stopped)) }
    case .killTimedOut(let id): kill(id, cause: .timedOut)
    case .fetchReady(let query): statements.append(.fetch(query))
    case .releaseClaims(let kinds, let kept): statements.append(.release(kinds, keeping: Set(kept)))
    case .settle(let jobs, let settlement): statements.append(.settle(jobs, isCancelled: settlement == .cancelled))
    case .cancelStored(let job): statements.append(.cancel(job))
    case .takePlaces(let count, let kind, _): statements.append(.takePlaces(count, kind: kind))
    case .noteBeginnings(let jobs, _): keptPlaces -= jobs.count
    case .takeBackBeginning: keptPlaces += 1
    default: break
    }
  }

  /// Every promise about what is handed out.
  private mutating func takeInHand(_ uri: ObjectURI, _ id: WorkerID) {
    guard let key = coordinator.jobURIs.key(uri) else { return }
    let inHand = workers.values.flatMap(\.hand)
    check(!inHand.contains(key), "\(key) is in two hands")
    check(!cancelled.contains(key), "\(key) is cancelled, and handed out")
    check(!survivorsMayRunAny && !survivors.contains { $0.key == key }, "\(key) may be in the hand of a survivor")
    check(!isShared || available[key] == nil || owners[key] == .this, "\(key) is not claimed")
    check(workers[id]?.isDraining == false, "a worker that drains gets \(key)")
    let hand = workers[id]?.hand ?? []
    check(suspects.isDisjoint(with: hand), "\(key) comes to a suspect's worker")
    check(!suspects.contains(key) || hand.isEmpty, "the suspect \(key) is not alone")
    workers[id]?.hand.append(key)
    // A job that has ended is known to the coordinator a little longer: its worker sees that in the store.
    guard let job = available[key] else { return }
    check(!paused.contains { isAbout($0, job) }, "\(key) is paused, and handed out")
    let jobs = inHand.compactMap { available[$0] }
    if job.kind == "index", let indexLimit {
      let others = jobs.count { $0.kind == "index" } + survivors.count { $0.kind == "index" }
      check(others < indexLimit, "too many jobs of a kind: \(others)")
    }
    if let limitKey = job.limitKey {
      let others = jobs.count { $0.limitKey == limitKey } + survivors.count { $0.limitKey == limitKey }
      check(others < job.limit, "\(limitKey) has too many jobs in hand")
    }
    if job.queue == "mail" {
      let others = jobs.count { $0.queue == "mail" } + survivors.count { $0.queue == "mail" }
      check(others < 4, "a queue has too many jobs in hand")
    }
  }

  private func isAbout(_ scope: PauseScope, _ job: WindowJob) -> Bool {
    switch scope {
    case .everything: true
    case .queue(let queue): job.queue == queue
    case .kind(let kind): job.kind == kind
    }
  }

  // MARK: Workers

  private mutating func addWorker() {
    lastWorker += 1
    let id = WorkerID(number: lastWorker)
    workers[id] = Worker()
    coordinator.workerCameUp(id, kinds: lastWorker % 4 == 0 ? ["index"] : ["index", "report"])
    coordinator.workerSaid(.credit(Int.random(in: 1...8, using: &random)), id)
  }

  private mutating func kill() {
    guard let id = workers.keys.sorted(by: { $0.number < $1.number }).randomElement(using: &random) else { return }
    if happens(once: 3) { coordinator.drain(id) } else { kill(id, cause: .itself) }
  }

  private mutating func kill(_ id: WorkerID, cause: Obituary.Cause) {
    guard let worker = workers.removeValue(forKey: id) else { return }
    suspects.subtract(worker.hand)
    // It may have committed what it had begun, and died before it could say so.
    if happens(once: 2) { for key in worker.begun { end(key) } }
    if worker.begun.count > 1 { suspects.formUnion(worker.begun.filter { !cancelled.contains($0) }) }
    coordinator.workerDied(id, obituary(cause))
  }

  /// The worker does the next thing that it has to do.
  private mutating func work(_ id: WorkerID) {
    guard let worker = workers[id] else { return }
    let stopped = worker.cancelled.filter(worker.notBegun.contains)
    workers[id]?.cancelled = []
    if !stopped.isEmpty { return giveBack(stopped, id) }
    if worker.recalled > 0 || worker.isDraining {
      let idle = worker.isDraining ? worker.notBegun : Array(worker.notBegun.suffix(worker.recalled))
      workers[id]?.recalled = 0
      if !idle.isEmpty { return giveBack(idle, id) }
    }
    guard worker.begun.isEmpty else { return endBegun(worker.begun, id) }
    if happens(once: 20) { coordinator.workerSaid(.credit(Int.random(in: 1...8, using: &random)), id) }
    let group = Array(worker.hand.prefix(Int.random(in: 1...3, using: &random)))
    if !group.isEmpty { begin(group, id) }
  }

  private mutating func begin(_ group: [JobKey], _ id: WorkerID) {
    workers[id]?.begun = group
    for key in group where available[key]?.kind == "report" {
      let now = coordinator.now
      beginnings.removeAll { $0.time + Self.rate.period <= now }
      beginnings.append((key, now))
      check(beginnings.count <= Self.rate.jobs, "\(beginnings.count) jobs began in one period")
    }
    coordinator.workerSaid(.begin(group.map(uri)), id)
  }

  private mutating func endBegun(_ begun: [JobKey], _ id: WorkerID) {
    switch Int.random(in: 0..<20, using: &random) {
    case 0: giveBack(begun, id)
    case 1, 2:
      leaveHand([begun[0]], id)
      wait(begun[0])
      coordinator.workerSaid(.failed(uri(begun[0])), id)
    default:
      for key in begun { end(key) }
      leaveHand(begun, id)
      coordinator.workerSaid(.done(begun.map(uri)), id)
    }
  }

  private mutating func giveBack(_ jobs: [JobKey], _ id: WorkerID) {
    let begun = workers[id]?.begun ?? []
    // The coordinator forgets that they began; one that is cancelled counts, which is no less safe.
    beginnings.removeAll { begin in jobs.contains(begin.job) && begun.contains(begin.job) }
    leaveHand(jobs, id)
    coordinator.workerSaid(.returned(jobs.map(uri)), id)
  }

  private mutating func leaveHand(_ jobs: [JobKey], _ id: WorkerID) {
    workers[id]?.hand.removeAll(where: jobs.contains)
    workers[id]?.begun.removeAll(where: jobs.contains)
    suspects.subtract(jobs)
  }

  // MARK: The store

  private mutating func end(_ key: JobKey) {
    available[key] = nil
    waiting.removeAll { $0.key == key }
    owners[key] = nil
  }

  /// It has failed, and runs again later.
  private mutating func wait(_ key: JobKey) {
    guard let job = available.removeValue(forKey: key) else { return }
    owners[key] = nil
    waiting.append(job)
  }

  private mutating func runStatement() {
    guard !statements.isEmpty else { return }
    switch statements.removeFirst() {
    case .fetch(let query): answers.append(answer(to: query))
    case .release(let kinds, let kept):
      for (key, job) in available where kinds.contains(job.kind) && !kept.contains(key) && owners[key] == .this {
        owners[key] = nil
      }
    case .settle(let jobs, let isCancelled):
      for key in jobs { if isCancelled { end(key) } else { wait(key) } }
      answers.append(.settled(jobs))
    case .cancel(let key):
      // What another pool runs meanwhile is cancelled there.
      if owners[key] == .other { cancelled.remove(key) } else { end(key) }
      answers.append(.settled([key]))
    case .takePlaces(let count, let kind): answers.append(takePlaces(count, kind))
    }
  }

  private mutating func takePlaces(_ count: Int, _ kind: String) -> Answer {
    let past = beginnings.filter { $0.time + Self.rate.period > coordinator.now }
    let taken = min(count, max(0, Self.rate.jobs - keptPlaces - past.count))
    keptPlaces += taken
    let isFull = keptPlaces + past.count >= Self.rate.jobs
    let wait = past.first.map { $0.time + Self.rate.period - coordinator.now }
    return .tookPlaces(taken, kind: kind, retryAfter: isFull ? wait ?? Self.rate.period : nil)
  }

  private mutating func answer(to query: ReadyQuery) -> Answer {
    let ready = available.values.filter { job in
      job.kind == query.kind && owners[job.key] != .other && query.groups.isSubset(of: job.groups)
        && query.without.isDisjoint(with: job.groups) && query.after.map { $0 < job.position } ?? true
    }
    .sorted { $0.precedes($1) }
    guard isShared else {
      return .fetched(query, Array(ready.prefix(query.limit)), isComplete: ready.count < query.limit)
    }
    let new = ready.filter { owners[$0.key] == nil }.prefix(query.claims)
    for job in new { owners[job.key] = .this }
    let claimed = ready.filter { owners[$0.key] == .this }.prefix(query.limit)
    let areMore = new.count == query.claims || claimed.count >= query.limit
    return .fetched(query, Array(claimed), isComplete: !areMore)
  }

  private mutating func deliverAnswer() {
    guard !answers.isEmpty else { return }
    switch answers.removeFirst() {
    case .fetched(let query, let jobs, let isComplete): coordinator.fetched(query, jobs, isComplete: isComplete)
    case .settled(let jobs): coordinator.settled(jobs)
    case .tookPlaces(let count, let kind, let seconds):
      coordinator.tookPlaces(count, of: kind, retryAfter: seconds)
    case .ready(let job): coordinator.becameReady([job])
    }
  }

  private mutating func endWaitOrSurvivor() {
    if survivorsMayRunAny, happens(once: 10) {
      survivorsMayRunAny = false
      coordinator.setWaitsForSurvivors(false)
    } else if !survivors.isEmpty, happens(once: 10) {
      let survivor = survivors.removeFirst()
      // It has committed its job, or was killed before.
      if happens(once: 2) { end(survivor.key) }
      coordinator.setSurvivorJobs(survivors)
    } else if !waiting.isEmpty {
      let job = waiting.removeFirst()
      available[job.key] = job
      if isShared { coordinator.refetchAll() } else { answers.append(.ready(job)) }
    }
  }

  /// Another pool claims a job, and runs it or gives it back.
  private mutating func actOfOtherPool() {
    guard let key = available.keys.sorted().randomElement(using: &random) else { return }
    switch owners[key] {
    case .this: break
    case nil: if happens(once: 4) { owners[key] = .other }
    case .other:
      if happens(once: 2) { return end(key) }
      owners[key] = nil
      coordinator.refetchAll()
    }
  }

  // MARK: People

  private mutating func steer() {
    switch Int.random(in: 0..<6, using: &random) {
    case 0, 1:
      guard let scope = Self.scopes.randomElement(using: &random), !paused.contains(scope) else { return }
      paused.append(scope)
      coordinator.pause(scope)
    case 2: if !paused.isEmpty { resume() }
    case 3, 4:
      let jobs = available.keys.filter { owners[$0] != .other } + waiting.map(\.key)
      guard let key = jobs.sorted().randomElement(using: &random), !survivors.contains(where: { $0.key == key }) else {
        return
      }
      cancelled.insert(key)
      suspects.remove(key)
      coordinator.cancel(key)
    default:
      indexLimit = [nil, 5, 7, 12].randomElement(using: &random) ?? nil
      // The plugin of a kind goes, and comes again.
      if happens(once: 3) {
        suspects = suspects.filter { available[$0]?.kind != "index" }
        setKinds(without: "index")
      }
      setKinds()
    }
  }

  private mutating func resume() {
    let scope = paused.removeFirst()
    coordinator.resume(scope)
  }

  private mutating func resumeAll() { while !paused.isEmpty { resume() } }

  // MARK: The end

  /// All jobs have ended: by a worker, or cancelled. Nothing of them is left in the coordinator's counts.
  mutating func checkEnd() {
    check(isDone, "\(available.count + waiting.count) jobs are lost")
    for id in Array(workers.keys) {
      for _ in 0..<8 {
        performAll()
        work(id)
      }
    }
    performAll()
    check(workers.values.allSatisfy(\.hand.isEmpty), "workers have jobs in hand")
    check(coordinator.hands.jobs.isEmpty && coordinator.groups.inHand.isEmpty, "the coordinator holds jobs")
    check(coordinator.kinds.states.values.allSatisfy { $0.inHand == 0 && $0.begun == 0 }, "kinds count jobs in hand")
  }
}

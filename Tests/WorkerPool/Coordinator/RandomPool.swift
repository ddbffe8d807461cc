import Foundation
import Jobs
import LinuxSystem
import TestFiles
import Testing
import WorkerProtocol

@testable import WorkerPool

/// A coordinator whose store, workers and people do what a seed says.
///
/// Workers come, run, fail, return, drain, die and lose their answers. The store answers late and with old news; other
/// pools claim its jobs when it is shared. People pause, resume, cancel, and change limits. Workers of an earlier pool
/// still have jobs in hand.
struct RandomPool {
  enum Statement {
    case fetch(ReadyQuery)
    case release(Set<String>, keeping: Set<JobKey>)
    /// Of jobs whose worker died.
    case settle([JobKey], isCancelled: Bool)
    case cancel(JobKey)
    case takePlaces(Int, kind: String)
  }

  enum Answer {
    case fetched(ReadyQuery, [WindowJob], isComplete: Bool)
    case settled([JobKey])
    case tookPlaces(Int, kind: String, retryAfter: Double?)
    case ready(WindowJob)
    case roomMayBe(String)
  }

  enum Owner { case this, other }

  struct Worker {
    var hand: [JobKey] = []
    var begun: [JobKey] = []
    /// What it was asked for and has not answered.
    var recalled = 0
    var cancelled: [JobKey] = []
    var isDraining = false

    var notBegun: [JobKey] { hand.filter { !begun.contains($0) } }
  }

  static let rate = JobRate(jobs: 3, period: 0.3)
  static let scopes: [PauseScope] = [.everything, .queue("mail"), .kind("index"), .kind("report")]

  let seed: UInt64
  let isShared: Bool
  var random: SeededGenerator
  var coordinator = Coordinator()
  // The store: jobs that may run, and those that wait for their next attempt. It handles one statement after the other.
  var available: [JobKey: WindowJob] = [:]
  var waiting: [WindowJob] = []
  var owners: [JobKey: Owner] = [:]
  var statements: [Statement] = []
  var answers: [Answer] = []
  var workers: [WorkerID: Worker] = [:]
  var lastWorker = 0
  var survivors: [InheritedJob] = []
  var survivorsMayRunAny = false
  var cancelled: Set<JobKey> = []
  var suspects: Set<JobKey> = []
  var paused: [PauseScope] = []
  var indexLimit: Int?
  /// When jobs of the kind with a rate began.
  var beginnings: [(job: JobKey, time: Double)] = []
  /// Places of the rate that the store keeps, and no job has begun in.
  var keptPlaces = 0
  /// Claimed jobs, of this pool or another one, that have a place of the rate and have not begun in it.
  var placed: Set<JobKey> = []

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

  mutating func leaveSurvivors() {
    survivors = available.values.filter { $0.key % 40 == 0 }.map {
      var inherited = InheritedJob(key: $0.key, process: ProcessIdentity(pid: 7, start: 1))
      (inherited.kind, inherited.queue, inherited.limitKey) = ($0.kind, $0.queue, $0.limitKey)
      return inherited
    }
    coordinator.setSurvivorJobs(survivors)
    survivorsMayRunAny = seed % 8 == 0
    coordinator.setWaitsForSurvivors(survivorsMayRunAny)
  }

  mutating func setKinds(without removed: String? = nil) {
    var rules = ["index": KindRules(limit: indexLimit), "report": KindRules(rate: Self.rate)]
    if let removed { rules[removed] = nil }
    coordinator.setKinds(rules)
  }

  func uri(_ key: JobKey) -> ObjectURI { coordinator.jobURIs[key] }

  func check(_ holds: Bool, _ complaint: @autoclosure () -> String) {
    if !holds { Issue.record("seed \(seed)\(isShared ? ", shared" : ""): \(complaint())") }
  }

  mutating func happens(once times: Int) -> Bool { Int.random(in: 0..<times, using: &random) == 0 }

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

  mutating func performAll() {
    while true {
      let effects = coordinator.takeEffects()
      if effects.isEmpty { return }
      for effect in effects { perform(effect) }
    }
  }

  mutating func perform(_ effect: CoordinatorEffect) {
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
  mutating func takeInHand(_ uri: ObjectURI, _ id: WorkerID) {
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

  func isAbout(_ scope: PauseScope, _ job: WindowJob) -> Bool {
    switch scope {
    case .everything: true
    case .queue(let queue): job.queue == queue
    case .kind(let kind): job.kind == kind
    }
  }

  /// The index of the hands is what a pass over all of them finds.
  func checkIndex() {
    let table = coordinator.hands.workers
    check(table.busy == Set(table.all.filter { !$0.value.held.isEmpty }.keys), "the busy workers are others")
    check(table.resting == Set(table.all.filter { $0.value.restsUntil != nil }.keys), "the resting workers are others")
    for group in table.groups {
      let takers = table.all.filter { $0.value.kinds == group.kinds && $0.value.freeCredit > 0 }
        .map { HandTable.Taker(held: $0.value.held.count, id: $0.key) }
      check(group.takers == takers.sorted(), "the workers that take jobs are others, or in another order")
    }
    check(table.all.values.allSatisfy { hand in table.groups.count { $0.kinds == hand.kinds } == 1 }, "wrong groups")
    let deadlines = table.all.values.flatMap { [$0.deadline, $0.restsUntil] }.compactMap(\.self)
    check(deadlines.allSatisfy { $0 >= coordinator.hands.nextTime }, "a worker's deadline is passed over")
  }

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

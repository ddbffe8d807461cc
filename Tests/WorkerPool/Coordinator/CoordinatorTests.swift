import CSystem
import Foundation
import Jobs
import LinuxSystem
import TestFiles
import Testing
import WorkerProtocol

@testable import WorkerPool

/// A coordinator with workers of its own, and its effects since the last call.
struct Scene {
  var coordinator = Coordinator()
  private var lastWorker = 0

  /// The store has no jobs yet, and the coordinator knows that.
  init(
    kinds: [String: Int?] = ["index": nil], rate: JobRate? = nil, weights: [String: Int] = [:],
    queueLimits: [String: Int] = [:]
  ) {
    coordinator.jobURIs = JobURIs(store: "POOL")
    coordinator.weights = QueueWeights(weights)
    coordinator.groups = GroupLimits(queues: QueueLimits(queueLimits))
    coordinator.setKinds(kinds.mapValues { KindRules(limit: $0, rate: rate) })
    while let query = queries().first { coordinator.fetched(query, [], isComplete: true) }
    _ = coordinator.takeEffects()
  }

  /// What the store is asked for and has not answered.
  func queries() -> [ReadyQuery] { coordinator.windows.fetching.compactMap { coordinator.windows[$0]?.query } }

  /// The store's answer to what it is asked for about a kind.
  mutating func fetched(_ kind: String, _ jobs: [WindowJob], isComplete: Bool = true) {
    guard let query = queries().first(where: { $0.kind == kind }) else {
      Issue.record("the store is not asked for jobs of kind \(kind)")
      return
    }
    coordinator.fetched(query, jobs, isComplete: isComplete)
  }

  /// Lets the coordinator refetch its windows.
  mutating func refetch() { coordinator.refetchAll() }

  mutating func worker(credit: Int, kinds: [String] = ["index"]) -> WorkerID {
    lastWorker += 1
    let id = WorkerID(number: lastWorker)
    coordinator.workerCameUp(id, kinds: kinds)
    coordinator.workerSaid(.credit(credit), id)
    coordinator.dispatchIfNeeded()
    return id
  }

  /// The jobs sent with RUN to each worker since the last call of this or `effects`.
  mutating func runs() -> [WorkerID: [ObjectURI]] {
    var runs: [WorkerID: [ObjectURI]] = [:]
    for case .send(.run(let uris), let id) in coordinator.takeEffects() { runs[id, default: []] += uris }
    return runs
  }

  /// What was wanted since the last call, without the notices that demand has changed.
  mutating func effects() -> [CoordinatorEffect] {
    coordinator.takeEffects().filter { $0 != .demandChanged }
  }
}

extension Scene {
  /// The worker begins the jobs, and ends them at once.
  mutating func end(_ jobs: [ObjectURI], _ worker: WorkerID) {
    if jobs.isEmpty { return }
    coordinator.workerSaid(.begin(jobs), worker)
    coordinator.workerSaid(.done(jobs), worker)
    coordinator.dispatchIfNeeded()
  }

  func window(_ kind: String = "index", lane: String = QueueWeights.unweighted) -> JobWindow? {
    coordinator.windows[WindowKey(kind: kind, lane: lane)]
  }
}

func uri(_ number: Int) -> ObjectURI {
  JobURIs(store: "POOL")[Int64(number)]
}

func job(
  _ number: Int, kind: String = "index", queue: String = "default", priority: Int = 0, timeout: Double? = nil,
  key: String? = nil, limit: Int = 1
) -> WindowJob {
  WindowJob(
    key: Int64(number), kind: kind, queue: queue, priority: priority, timeout: timeout, limitKey: key, limit: limit)
}

func obituary(_ cause: Obituary.Cause = .itself) -> Obituary {
  Obituary(pid: 7, death: .signalled(9), cause: cause, lastLines: ["out of luck"])
}

@Suite struct CoordinatorTests {
  @Test func jobsAreHandedOutByPriorityThenAge() {
    var scene = Scene()
    scene.coordinator.becameReady([job(3), job(1), job(2, priority: 5), job(4, priority: -1)])
    let worker = scene.worker(credit: 10)
    #expect(scene.runs() == [worker: [uri(2), uri(1), uri(3), uri(4)]])
  }

  @Test func aWorkerNeverHoldsMoreThanItsCredit() {
    var scene = Scene()
    let worker = scene.worker(credit: 2)
    scene.coordinator.becameReady((1...5).map { job($0) })
    #expect(scene.runs() == [worker: [uri(1), uri(2)]])
    scene.coordinator.workerSaid(.begin([uri(1)]), worker)
    #expect(scene.runs() == [:])
    scene.coordinator.workerSaid(.done([uri(1)]), worker)
    #expect(scene.runs() == [worker: [uri(3)]])
    scene.coordinator.workerSaid(.credit(0), worker)
    scene.coordinator.workerSaid(.done([uri(2), uri(3)]), worker)
    #expect(scene.runs() == [:])
  }

  @Test func manyJobsAreSharedOutBetweenWorkers() {
    var scene = Scene()
    let one = scene.worker(credit: 64)
    let two = scene.worker(credit: 64)
    scene.coordinator.becameReady((1...10).map { job($0) })
    let runs = scene.runs()
    #expect(runs[one]?.count == 5)
    #expect(runs[two]?.count == 5)
  }

  @Test func aWorkerGetsOnlyKindsThatItRuns() {
    var scene = Scene(kinds: ["index": nil, "export": nil])
    let indexer = scene.worker(credit: 10, kinds: ["index"])
    scene.coordinator.becameReady([job(1, kind: "export"), job(2)])
    #expect(scene.runs() == [indexer: [uri(2)]])
    #expect(scene.coordinator.notBegunByKind == ["index": 1, "export": 1])
  }

  @Test func aKindsLimitHoldsForTheWholePool() {
    var scene = Scene(kinds: ["index": 2])
    let one = scene.worker(credit: 5)
    let two = scene.worker(credit: 5)
    scene.coordinator.becameReady((1...5).map { job($0) })
    #expect(scene.runs().values.reduce(0) { $0 + $1.count } == 2)
    scene.coordinator.workerSaid(.done([uri(1)]), one)
    #expect(scene.runs().values.reduce(0) { $0 + $1.count } == 1)
    scene.coordinator.workerSaid(.done([uri(1)]), two)
    #expect(scene.runs() == [:], "a second DONE of the same job frees nothing")
  }

  @Test func jobsNotBegunByADeadWorkerGoToAnotherAsTheyWere() {
    var scene = Scene()
    let one = scene.worker(credit: 3)
    scene.coordinator.becameReady((1...3).map { job($0) })
    scene.coordinator.workerSaid(.begin([uri(1)]), one)
    let two = scene.worker(credit: 3)
    _ = scene.effects()
    scene.coordinator.workerDied(one, obituary())
    let effects = scene.effects()
    #expect(effects.contains(.settle([1], .crashed(obituary()))))
    #expect(effects.contains(.send(.run([uri(2), uri(3)]), to: two)))
    #expect(scene.coordinator.statistics.counters.crashed == 1)
  }

  @Test func aJobBeingSettledIsNotHandedOutByARefill() {
    var scene = Scene()
    let one = scene.worker(credit: 1)
    scene.coordinator.becameReady([job(1)])
    scene.coordinator.workerSaid(.begin([uri(1)]), one)
    scene.coordinator.workerDied(one, obituary())
    _ = scene.effects()
    _ = scene.worker(credit: 1)
    scene.refetch()
    scene.fetched("index", [job(1)])
    #expect(scene.runs() == [:])
    scene.coordinator.settled([1])
    #expect(scene.effects().contains(.promoteDueJobs))
  }

  @Test func jobsBegunInAGroupThatDiedAreTriedOneByOneAndNotBlamed() {
    var scene = Scene()
    let one = scene.worker(credit: 4)
    scene.coordinator.becameReady((1...4).map { job($0) })
    scene.coordinator.workerSaid(.begin([uri(1), uri(2), uri(3)]), one)
    scene.coordinator.workerDied(one, obituary())
    #expect(scene.coordinator.statistics.counters.crashed == 0)
    _ = scene.effects()

    let two = scene.worker(credit: 4)
    let first = scene.runs()[two] ?? []
    #expect(first.count == 1, "a suspect is alone in its worker's hand")
    scene.coordinator.workerSaid(.begin(first), two)
    scene.coordinator.workerDied(two, obituary())
    #expect(scene.coordinator.statistics.counters.crashed == 1)
    #expect(scene.coordinator.settling == Set(first.map(\.key)))
  }

  @Test func aStopCostsNoAttempt() {
    var scene = Scene()
    let one = scene.worker(credit: 2)
    scene.coordinator.becameReady([job(1), job(2)])
    scene.coordinator.workerSaid(.begin([uri(1)]), one)
    _ = scene.effects()
    scene.coordinator.workerDied(one, obituary(.stopped))
    #expect(scene.effects().isEmpty)
    let two = scene.worker(credit: 2)
    #expect(scene.runs() == [two: [uri(1), uri(2)]])
  }

  @Test func aJobThatEndedDuringAFetchIsNotHandedOutAgain() {
    // Loop                         Store
    // fetchReady ───────────────▶  reads p1 as ready
    // DONE p1
    // fetched [p1] ◀─────────────
    var scene = Scene()
    let worker = scene.worker(credit: 1)
    scene.coordinator.becameReady([job(1)])
    scene.refetch()
    scene.coordinator.workerSaid(.done([uri(1)]), worker)
    _ = scene.effects()
    scene.fetched("index", [job(1), job(2)])
    #expect(scene.runs() == [worker: [uri(2)]])
  }

  @Test func aReturnedJobIsHandedOutAgainAndACancelledOneIsNot() {
    var scene = Scene()
    let one = scene.worker(credit: 2)
    scene.coordinator.becameReady([job(1), job(2)])
    scene.coordinator.cancel(2)
    #expect(scene.effects().contains(.send(.cancel(uri(2)), to: one)))
    scene.coordinator.workerSaid(.credit(0), one)
    scene.coordinator.workerSaid(.returned([uri(1), uri(2)]), one)
    #expect(scene.effects().contains(.cancelStored(2)))
    let two = scene.worker(credit: 2)
    #expect(scene.runs() == [two: [uri(1)]])
  }

  @Test func aWaitingJobIsCancelledInTheStore() {
    var scene = Scene()
    scene.coordinator.becameReady([job(1)])
    scene.coordinator.cancel(1)
    #expect(scene.effects() == [.cancelStored(1)])
    _ = scene.worker(credit: 1)
    #expect(scene.runs() == [:])
  }

  @Test func pausedQueuesAndKindsGetNoWorker() {
    var scene = Scene(kinds: ["index": nil, "export": nil])
    scene.coordinator.pause(.queue("slow"))
    scene.coordinator.pause(.kind("export"))
    let worker = scene.worker(credit: 10, kinds: ["index", "export"])
    scene.coordinator.becameReady([job(1, queue: "slow"), job(2, kind: "export"), job(3)])
    #expect(scene.runs() == [worker: [uri(3)]])
    scene.coordinator.resume(.kind("export"))
    #expect(scene.runs() == [worker: [uri(2)]])
    scene.coordinator.resume(.queue("slow"))
    #expect(scene.runs() == [worker: [uri(1)]])
  }

  @Test func pausingEverythingStopsAtTheNextJob() {
    var scene = Scene()
    let worker = scene.worker(credit: 1)
    scene.coordinator.becameReady([job(1), job(2)])
    #expect(scene.runs() == [worker: [uri(1)]])
    scene.coordinator.pause(.everything)
    scene.coordinator.workerSaid(.done([uri(1)]), worker)
    #expect(scene.runs() == [:])
  }

  @Test func anIdleWorkerGetsHalfOfWhatABusyOneHoards() {
    var scene = Scene()
    let one = scene.worker(credit: 8)
    scene.coordinator.becameReady((1...8).map { job($0) })
    scene.coordinator.workerSaid(.begin([uri(1)]), one)
    _ = scene.effects()
    let two = scene.worker(credit: 8)
    #expect(scene.effects().contains(.send(.recall(4), to: one)))
    scene.coordinator.workerSaid(.returned([uri(5), uri(6), uri(7), uri(8)]), one)
    #expect(scene.runs() == [two: [uri(5), uri(6), uri(7), uri(8)]])
  }

  @Test func jobsGoToTheWorkerThatHoldsLessUntilItsCreditIsUsedUp() {
    var scene = Scene()
    let one = scene.worker(credit: 64)
    scene.coordinator.becameReady((1...10).map { job($0) })
    let two = scene.worker(credit: 2)
    _ = scene.effects()
    scene.coordinator.becameReady((11...30).map { job($0) })
    let runs = scene.runs()
    #expect(runs[two]?.count == 2)
    #expect(runs[one]?.count == 18)
  }

  @Test func savesArePassedOnToTheOthers() throws {
    var scene = Scene()
    let one = scene.worker(credit: 1)
    let two = scene.worker(credit: 1)
    _ = scene.effects()
    let object = try #require(ObjectURI("x-coredata://APP/Document/p4"))
    scene.coordinator.workerSaid(.saved(.updated, [object]), one)
    #expect(scene.effects() == [.send(.saved(.updated, [object]), to: two), .saved(.updated, [object])])
  }

  @Test func aJobPastItsTimeIsKilledAndSettledAsTimedOut() {
    var scene = Scene()
    let worker = scene.worker(credit: 1)
    scene.coordinator.now = 100
    scene.coordinator.becameReady([job(1, timeout: 10)])
    scene.coordinator.workerSaid(.begin([uri(1)]), worker)
    #expect(scene.coordinator.nextDeadline == 110 + Coordinator.stopGrace)
    scene.coordinator.now = 111
    scene.coordinator.deadlinePassed()
    #expect(!scene.effects().contains(.killTimedOut(worker)))
    scene.coordinator.now = 116
    scene.coordinator.deadlinePassed()
    #expect(scene.effects().contains(.killTimedOut(worker)))
    scene.coordinator.workerDied(worker, obituary(.timedOut))
    #expect(scene.effects().contains(.settle([1], .timedOut(obituary(.timedOut), seconds: 10))))
  }

  /// While a worker prints its stacks, the job that took too long may end, and the next one begin.
  @Test func aJobThatBeginsWhileItsWorkerIsBeingKilledIsNotToBlame() {
    var scene = Scene()
    let worker = scene.worker(credit: 2)
    scene.coordinator.becameReady([job(1, timeout: 10), job(2, timeout: 10)])
    scene.coordinator.workerSaid(.begin([uri(1)]), worker)
    scene.coordinator.now += 10 + Coordinator.stopGrace
    scene.coordinator.deadlinePassed()
    #expect(scene.effects().contains(.killTimedOut(worker)))
    scene.coordinator.workerSaid(.done([uri(1)]), worker)
    scene.coordinator.workerSaid(.begin([uri(2)]), worker)
    scene.coordinator.workerDied(worker, obituary(.timedOut))
    let settled = scene.effects().contains { if case .settle = $0 { true } else { false } }
    #expect(!settled)
    let next = scene.worker(credit: 1)
    #expect(scene.runs() == [next: [uri(2)]])
  }

  @Test func aJobThatUsedTooMuchProcessorTimeIsSettledSo() {
    var scene = Scene()
    let worker = scene.worker(credit: 1)
    scene.coordinator.becameReady([job(1)])
    scene.coordinator.workerSaid(.begin([uri(1)]), worker)
    scene.coordinator.hands.noteOverrun(of: 1)
    let end = obituary(.usedTooMuch(seconds: 3))
    scene.coordinator.workerDied(worker, end)
    #expect(scene.effects().contains(.settle([1], .timedOut(end, seconds: 0))))
    #expect(scene.coordinator.statistics.counters.timedOut == 1)
  }

  /// What the next pool would find, at each step.
  @Test func theLedgerFollowsEachJob() throws {
    let path = temporaryURL("ledger").path
    defer { unlink(path) }
    let ledger = try JobLedger(path: path, name: "name", pool: "pool", store: "STORE")
    func states() throws -> [Int64: LedgerLayout.State] {
      let entries = try LedgerContents(path: path).entries
      return Dictionary(entries.map { ($0.job, $0.state) }, uniquingKeysWith: { first, _ in first })
    }
    var scene = Scene()
    scene.coordinator.ledger = ledger
    for number in 1...3 { ledger.add(worker: number, ProcessIdentity(pid: Int32(number), start: 70)) }
    let worker = scene.worker(credit: 3)
    scene.coordinator.becameReady([job(1), job(2), job(3)])
    #expect(try states() == [1: .handedOut, 2: .handedOut, 3: .handedOut])
    scene.coordinator.workerSaid(.begin([uri(1)]), worker)
    #expect(try states() == [1: .begun, 2: .handedOut, 3: .handedOut])
    scene.coordinator.workerSaid(.done([uri(1)]), worker)
    scene.coordinator.workerSaid(.begin([uri(2)]), worker)
    scene.coordinator.workerDied(worker, obituary())
    #expect(try states() == [2: .crashed], "a crash is there until it is in the row")
    scene.coordinator.settled([2])
    #expect(try states().isEmpty)

    let other = scene.worker(credit: 2)
    scene.coordinator.becameReady([job(4)])
    #expect(try states() == [3: .handedOut, 4: .handedOut])
    scene.coordinator.workerSaid(.begin([uri(3), uri(4)]), other)
    scene.coordinator.workerDied(other, obituary())
    #expect(try states() == [3: .suspect, 4: .suspect])
    let last = scene.worker(credit: 1)
    let rawStates = try states().values.map(\.rawValue).sorted()
    #expect(rawStates == [LedgerLayout.State.handedOut, .suspect].map(\.rawValue).sorted())
    scene.coordinator.workerDied(last, obituary(.stopped))
    let left = try Array(states().values)
    #expect(left == [.suspect], "what was not begun is given back")
  }

  /// What earlier pools have left keeps jobs back, and makes some of them run alone.
  @Test func whatEarlierPoolsHaveLeftIsHeeded() {
    var scene = Scene()
    scene.coordinator.setWaitsForSurvivors(true)
    let worker = scene.worker(credit: 5)
    scene.coordinator.becameReady([job(1)])
    #expect(scene.runs().isEmpty)
    scene.coordinator.inherit(suspects: [1])
    scene.coordinator.setWaitsForSurvivors(false)
    scene.fetched("index", [job(1), job(2)])
    #expect(scene.runs() == [worker: [uri(1)]], "a suspect runs alone")
    scene.coordinator.workerSaid(.begin([uri(1)]), worker)
    scene.coordinator.workerDied(worker, obituary())
    #expect(scene.effects().contains(.settle([1], .crashed(obituary()))))
  }

  @Test func theWindowHoldsTheBestOfALongBacklog() {
    var scene = Scene()
    scene.refetch()
    _ = scene.effects()
    scene.fetched("index", (1...JobWindow.size).map { job($0) }, isComplete: false)
    scene.coordinator.becameReady([job(999_999)])
    #expect(scene.window()?.count == JobWindow.size, "the worst stays on disk")
    scene.coordinator.becameReady([job(1_000_000, priority: 9)])
    let worker = scene.worker(credit: 1)
    #expect(scene.runs() == [worker: [uri(1_000_000)]])

    var next = 1
    var effects = scene.effects()
    scene.coordinator.workerSaid(.done([uri(1_000_000)]), worker)
    effects += scene.effects()
    while next <= JobWindow.size / 2 + 1 {
      scene.coordinator.workerSaid(.done([uri(next)]), worker)
      next += 1
      effects += scene.effects()
    }
    let refills = effects.filter { if case .fetchReady = $0 { true } else { false } }
    #expect(refills.count == 1, "one refill is asked for when the window runs low")
  }

  @Test func jobsOfWorkersThatOutlivedTheirSupervisorAreLeftAlone() {
    var scene = Scene()
    scene.coordinator.setSurvivorJobs([InheritedJob(key: 1, process: ProcessIdentity(pid: 7, start: 1))])
    let worker = scene.worker(credit: 2)
    scene.coordinator.becameReady([job(1), job(2)])
    #expect(scene.runs() == [worker: [uri(2)]])
    scene.coordinator.setSurvivorJobs([])
    scene.fetched("index", [job(1)])
    #expect(scene.runs() == [worker: [uri(1)]])
  }

  @Test func aDrainingWorkerGetsNothingMore() {
    var scene = Scene()
    let worker = scene.worker(credit: 2)
    scene.coordinator.drain(worker)
    #expect(scene.effects().contains(.send(.drain, to: worker)))
    scene.coordinator.becameReady([job(1)])
    #expect(scene.runs() == [:])
  }
}

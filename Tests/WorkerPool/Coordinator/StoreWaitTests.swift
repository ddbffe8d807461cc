import Jobs
import TestFiles
import Testing
import WorkerProtocol

@testable import WorkerPool

/// Jobs that wait until the store can be written are not late.
@Suite(.ownThreads) struct StoreWaitTests {
  private let worker = WorkerID(number: 1)
  private let uri = JobURIs(store: "POOL")[1]

  /// A job that may take 10 seconds and has begun at 0.
  private func running() -> Coordinator {
    var coordinator = Coordinator()
    coordinator.jobURIs = JobURIs(store: "POOL")
    coordinator.setKinds(["index": KindRules()])
    for case .fetchReady(let query) in coordinator.takeEffects() { coordinator.fetched(query, [], isComplete: true) }
    coordinator.workerCameUp(worker, kinds: ["index"])
    coordinator.workerSaid(.credit(1), worker)
    coordinator.becameReady([
      WindowJob(key: 1, kind: "index", queue: "default", priority: 0, timeout: 10)
    ])
    coordinator.workerSaid(.begin([uri]), worker)
    return coordinator
  }

  @Test func theTimeOfAWaitDoesNotCount() {
    var coordinator = running()
    #expect(coordinator.hands.workers[worker]?.deadline == 10 + Coordinator.stopGrace)
    coordinator.now = 4
    coordinator.workerSaid(.waiting(.full, [uri]), worker)
    #expect(coordinator.hands.workers[worker]?.deadline == nil && coordinator.hands.jobs[1]?.storeWait == .full)
    coordinator.now = 500
    coordinator.workerSaid(.waiting(.locked, [uri]), worker)
    coordinator.workerSaid(.waiting(.over, [uri]), worker)
    #expect(
      coordinator.hands.workers[worker]?.deadline == 500 + 6 + Coordinator.stopGrace
        && coordinator.hands.jobs[1]?.storeWait == nil)
    coordinator.workerSaid(.done([uri]), worker)
    #expect(coordinator.hands.workers[worker]?.deadline == nil)
  }

  @Test func aCancelledJobHasToEndThoughItWaits() {
    var coordinator = running()
    coordinator.workerSaid(.waiting(.full, [uri]), worker)
    coordinator.now = 20
    coordinator.cancel(1)
    coordinator.workerSaid(.waiting(.failing, [uri]), worker)
    coordinator.workerSaid(.waiting(.over, [uri]), worker)
    #expect(coordinator.hands.workers[worker]?.deadline == 20 + Coordinator.stopGrace)
  }

  @Test func aJobThatWaitsToBeginIsOfItsWorkerAlone() {
    var coordinator = running()
    coordinator.workerSaid(.done([uri]), worker)
    coordinator.workerSaid(.waiting(.full, [uri]), worker)
    #expect(coordinator.hands.jobs[1] == nil && coordinator.hands.workers[worker]?.deadline == nil)
  }

  @Test func aWaitOfAStrangersJobStopsNoClock() throws {
    var coordinator = running()
    coordinator.workerSaid(.waiting(.locked, [try #require(ObjectURI("x-coredata://X/Nope/p9"))]), worker)
    #expect(coordinator.hands.workers[worker]?.deadline == 10 + Coordinator.stopGrace)
  }
}

import Jobs
import Testing
import WorkerProtocol

@testable import WorkerPool

/// Which job is next: priorities between kinds and queues, and the weights of queues.
@Suite struct CoordinatorChoiceTests {
  @Test func priorityHoldsBetweenKindsAndQueues() {
    var scene = Scene(kinds: ["index": nil, "export": nil])
    scene.coordinator.becameReady([
      job(1, priority: 5), job(2), job(3, kind: "export", priority: 3), job(4, queue: "slow", priority: 4),
      job(5, kind: "export", queue: "slow"),
    ])
    let worker = scene.worker(credit: 10, kinds: ["index", "export"])
    #expect(scene.runs() == [worker: [uri(1), uri(4), uri(3), uri(2), uri(5)]])
  }

  @Test func queuesShareThePicksByTheirWeights() {
    var scene = Scene(weights: ["mail": 3])
    // `other` has no weight, and shares one with `default`.
    scene.coordinator.becameReady(
      (1...40).map { job($0, queue: "mail") } + (41...60).map { job($0) }
        + (61...80).map { job($0, queue: "other", priority: 1) })
    let worker = scene.worker(credit: 16)
    let first = scene.runs()[worker] ?? []
    #expect(first.count { $0.key <= 40 } == 12, "three of four")
    #expect(first.filter { $0.key > 40 } == (61...64).map(uri), "in a lane priority decides")
  }

  /// A worker that takes one job at a time gives each queue its share, too.
  @Test func weightsHoldWhereJobsAreHandedOutOneByOne() {
    var scene = Scene(weights: ["mail": 3])
    scene.coordinator.becameReady((1...40).map { job($0, queue: "mail") } + (41...80).map { job($0) })
    let worker = scene.worker(credit: 1)
    var started: [ObjectURI] = []
    for _ in 0..<40 {
      guard let next = scene.runs()[worker]?.first else { break }
      started.append(next)
      scene.coordinator.workerSaid(.begin([next]), worker)
      scene.coordinator.workerSaid(.done([next]), worker)
    }
    #expect(started.count == 40 && started.count { $0.key <= 40 } == 30, "three of four")
  }

  /// A worker that begins one job of each hand and gives the others back leaves the shares as they are: only what
  /// begins is charged.
  @Test func aJobThatComesBackIsNotChargedToItsQueueTwice() {
    var scene = Scene(weights: ["mail": 3])
    scene.coordinator.becameReady((1...40).map { job($0, queue: "mail") } + (41...80).map { job($0) })
    let worker = scene.worker(credit: 2)
    var started: [ObjectURI] = []
    for _ in 0..<40 {
      guard let hand = scene.runs()[worker], let next = hand.first else { break }
      started.append(next)
      scene.coordinator.workerSaid(.begin([next]), worker)
      scene.coordinator.workerSaid(.credit(0), worker)
      for job in hand.dropFirst() { scene.coordinator.workerSaid(.returned([job]), worker) }
      scene.coordinator.workerSaid(.done([next]), worker)
      scene.coordinator.workerSaid(.credit(2), worker)
      scene.coordinator.dispatchIfNeeded()
    }
    #expect(started.count == 40 && started.count { $0.key <= 40 } == 30, "three of four")
  }

  /// While the workers of one kind are busy, what is picked for others costs its queues nothing.
  @Test func weightsHoldBetweenKindsWithWorkersOfTheirOwn() {
    var scene = Scene(kinds: ["index": nil, "export": nil], weights: ["mail": 3])
    scene.coordinator.becameReady(
      (1...40).map { job($0, queue: "mail") } + (41...80).map { job($0) }
        + (81...120).map { job($0, kind: "export", queue: "mail") })
    let indexer = scene.worker(credit: 1)
    let exporter = scene.worker(credit: 1, kinds: ["export"])
    var started: [ObjectURI] = []
    for _ in 0..<20 {
      guard let next = scene.runs()[indexer]?.first else { break }
      started.append(next)
      scene.coordinator.workerSaid(.done([next]), indexer)
    }
    #expect(started.count == 20 && started.count { $0.key <= 40 } == 15, "three of four")
    _ = exporter
  }

  /// The store answers for one window after the other. What it tells last may be what should run first.
  @Test func nothingStartsBeforeTheFirstJobsOfAllWindowsAreKnown() throws {
    var scene = Scene(weights: ["mail": 3])
    scene.coordinator.setKinds(["index": KindRules(), "export": KindRules()])
    let worker = scene.worker(credit: 4, kinds: ["export"])
    let mail = try #require(scene.queries().first { $0.groups == [.queue("mail")] })
    let others = try #require(scene.queries().first { $0.groups.isEmpty })
    scene.coordinator.fetched(others, (11...20).map { job($0, kind: "export") }, isComplete: true)
    #expect(scene.runs() == [:])
    scene.coordinator.fetched(mail, (1...10).map { job($0, kind: "export", queue: "mail") }, isComplete: true)
    #expect(scene.runs()[worker]?.map(\.key).count { $0 <= 10 } == 3, "three of four")
  }

  @Test func aQueueWithoutJobsGivesItsShareToTheOthers() {
    var scene = Scene(weights: ["mail": 3])
    scene.coordinator.becameReady((1...8).map { job($0) })
    let worker = scene.worker(credit: 8)
    #expect(scene.runs() == [worker: (1...8).map(uri)])
  }

  @Test func aKindThatNobodyKnewIsFilledFromTheStoreFirst() {
    var scene = Scene()
    let worker = scene.worker(credit: 2, kinds: ["index", "new"])
    scene.coordinator.setKinds(["index": KindRules(), "new": KindRules()])
    scene.coordinator.becameReady([job(7, kind: "new")])
    #expect(scene.runs() == [:], "there may be better ones in the store")
    scene.fetched("new", [job(6, kind: "new")])
    #expect(scene.runs() == [worker: [uri(6), uri(7)]], "the store was asked before the job was there")
  }
}

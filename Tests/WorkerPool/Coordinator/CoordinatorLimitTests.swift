import Jobs
import LinuxSystem
import Testing
import WorkerProtocol

@testable import WorkerPool

/// Limits of kinds and of limit keys: how many jobs are in hand at a time.
@Suite struct CoordinatorLimitTests {
  @Test func jobsOfOneKeyRunAFewAtATimeAndTheOthersPassThem() {
    var scene = Scene()
    scene.coordinator.becameReady(
      (1...4).map { job($0, priority: 9, key: "customer 7", limit: 2) } + [job(5), job(6, key: "customer 8")])
    let worker = scene.worker(credit: 10)
    #expect(scene.runs() == [worker: [uri(1), uri(2), uri(5), uri(6)]])
    scene.coordinator.workerSaid(.begin([uri(1)]), worker)
    scene.coordinator.workerSaid(.done([uri(1)]), worker)
    #expect(scene.runs() == [worker: [uri(3)]])
    scene.coordinator.workerDied(worker, obituary(.stopped))
    _ = scene.effects()
    #expect(scene.coordinator.groups.inHand.isEmpty)
  }

  /// What a worker of an earlier pool still runs counts against the limits of its kind and its key.
  @Test func limitsHoldAcrossPools() {
    let ours = InheritedJob(key: 1, process: ProcessIdentity(pid: 7, start: 1), kind: "index", limitKey: "customer 7")
    var scene = Scene(kinds: ["index": 2, "export": nil])
    scene.coordinator.setSurvivorJobs([ours])
    scene.coordinator.becameReady(
      [job(2, key: "customer 7"), job(3), job(4)] + [job(5, kind: "export", key: "customer 7")])
    let worker = scene.worker(credit: 10, kinds: ["index", "export"])
    #expect(scene.runs() == [worker: [uri(3)]])
    scene.coordinator.setSurvivorJobs([])
    #expect(scene.runs() == [worker: [uri(2)]])
    // Known before the plugins are.
    var later = Coordinator()
    later.setSurvivorJobs([ours])
    later.setKinds(["index": KindRules(limit: 1)])
    #expect(later.kinds["index"]?.isBelowLimit == false)
  }

  /// The limit counts what is in hand, so what one worker has not begun is taken back for another that has nothing to
  /// do.
  @Test func aLimitIsUsedByAsManyWorkersAsItAllows() {
    var scene = Scene(kinds: ["index": 2])
    let one = scene.worker(credit: 2)
    scene.coordinator.becameReady((1...3).map { job($0) })
    #expect(scene.runs() == [one: [uri(1), uri(2)]])
    scene.coordinator.workerSaid(.begin([uri(1)]), one)
    let two = scene.worker(credit: 2)
    #expect(scene.effects().contains(.send(.recall(1), to: one)))
    scene.coordinator.workerSaid(.returned([uri(2)]), one)
    #expect(scene.runs() == [two: [uri(2)]])
  }

  @Test func aKeyOfManyJobsDoesNotKeepTheOthersOutOfTheWindow() {
    var scene = Scene()
    scene.refetch()
    scene.fetched("index", (1...JobWindow.size).map { job($0, key: "big") }, isComplete: false)
    // Only a few of them are kept; the store is asked for others.
    let worker = scene.worker(credit: 100)
    #expect(scene.runs() == [worker: [uri(1)]])
    #expect(scene.window()?.parkedCount == JobWindow.mostOfGroup)
    #expect(scene.queries().first?.without == [.key("big")])
    scene.fetched("index", [job(5000)])
    #expect(scene.runs() == [worker: [uri(5000)]])
    // When few are left, more of that key are asked for.
    var next = 1
    while scene.queries().isEmpty, next <= JobWindow.mostOfGroup {
      scene.coordinator.workerSaid(.done([uri(next)]), worker)
      next += 1
      _ = scene.effects()
    }
    let query = scene.queries().first
    #expect(query?.groups == [.key("big")] && query?.limit ?? 0 >= JobWindow.mostOfGroup && next > 40)
    // Those that are known already come with them, and count once.
    scene.fetched("index", (next...next + 80).map { job($0, key: "big") }, isComplete: false)
    #expect(scene.runs() == [:], "the one in hand is not done yet")
    #expect(scene.window()?.parkedCount == JobWindow.mostOfGroup)
  }

  @Test func fullKeysDoNotHideWhatIsBehindThem() {
    // Twenty keys fill the window, none of them too long, and none of their jobs may run.
    var scene = Scene()
    scene.refetch()
    _ = scene.effects()
    let hidden = (1...JobWindow.size).map { job($0, key: "key \($0 % 20)") }
    scene.fetched("index", hidden, isComplete: false)
    let worker = scene.worker(credit: 100)
    #expect(scene.runs()[worker]?.count == 20)
    scene.fetched("index", [job(5000)])
    #expect(scene.runs() == [worker: [uri(5000)]])
  }

  /// What a limit holds back needs no process.
  @Test func jobsThatMayNotBeginAreNoDemand() {
    var scene = Scene(kinds: ["index": 2, "export": nil])
    scene.coordinator.becameReady((1...9).map { job($0) } + [job(10, kind: "export"), job(11, kind: "export")])
    #expect(scene.coordinator.demandByKind() == ["index": 2, "export": 2])
    let worker = scene.worker(credit: 1)
    #expect(scene.coordinator.demandByKind() == ["index": 2, "export": 2], "in hand, and not begun")
    scene.coordinator.workerSaid(.begin([uri(1)]), worker)
    #expect(scene.coordinator.demandByKind() == ["index": 1, "export": 2])
    scene.coordinator.pause(.kind("export"))
    #expect(scene.coordinator.demandByKind()["export"] == 0)
  }
}

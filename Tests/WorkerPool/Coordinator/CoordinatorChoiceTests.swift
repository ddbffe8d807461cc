import Jobs
import LinuxSystem
import Testing
import WorkerProtocol

@testable import WorkerPool

/// Which job is next: priorities, weights, limits and rates. The clock is the coordinator's own.
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
    #expect(scene.coordinator.inHandByGroup.isEmpty)
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

  @Test func aRateLetsSoManyJobsBeginInItsTime() {
    var scene = Scene(rate: JobRate(jobs: 2, period: 10))
    scene.coordinator.beginTimeout = .infinity
    scene.coordinator.becameReady([job(1)])
    let worker = scene.worker(credit: 10)
    #expect(scene.runs() == [worker: [uri(1)]])
    scene.end([uri(1)], worker)
    scene.coordinator.now = 4
    scene.coordinator.becameReady((2...7).map { job($0) })
    #expect(scene.runs() == [worker: [uri(2)]])
    scene.end([uri(2)], worker)
    #expect(scene.coordinator.nextDeadline == 10)
    scene.coordinator.now = 9.9
    scene.coordinator.deadlinePassed()
    #expect(scene.runs() == [:])
    // In no ten seconds are there more than two.
    scene.coordinator.now = 10
    scene.coordinator.deadlinePassed()
    #expect(scene.runs() == [worker: [uri(3)]])
    scene.end([uri(3)], worker)
    #expect(scene.coordinator.nextDeadline == 14)
    // Long rest makes no larger crowd than one period's.
    scene.coordinator.now = 1000
    scene.coordinator.deadlinePassed()
    #expect(scene.runs() == [worker: [uri(4), uri(5)]])
    scene.end([uri(4), uri(5)], worker)
    scene.coordinator.now = 1010
    scene.coordinator.deadlinePassed()
    #expect(scene.runs() == [worker: [uri(6), uri(7)]])
    #expect(scene.coordinator.nextDeadline == nil)
  }

  /// People see when jobs begin, and a worker may begin late what it was handed:
  ///
  ///      0     two jobs are handed out
  ///      9     one of them begins
  ///     11     no third job is handed out: the other may begin at any time
  ///     12     the other begins
  ///     19     one more, ten seconds after the first began
  ///     22     one more, ten seconds after the second began
  @Test func aRateHoldsForBeginningsHoweverLateTheyAre() {
    let rate = JobRate(jobs: 2, period: 10)
    var scene = Scene(rate: rate)
    scene.coordinator.beginTimeout = .infinity
    scene.coordinator.becameReady((1...5).map { job($0) })
    let worker = scene.worker(credit: 5)
    #expect(scene.runs() == [worker: [uri(1), uri(2)]])
    #expect(scene.coordinator.obstacle(to: job(3)) == .rate(rate, until: nil))
    #expect(scene.coordinator.nextDeadline == nil, "nothing happens before a job begins")
    scene.coordinator.now = 9
    scene.end([uri(1)], worker)
    for (time, jobs) in [(11, []), (12, []), (18.9, []), (19, [uri(3)]), (21.9, []), (22, [uri(4)])] {
      scene.coordinator.now = time
      scene.coordinator.deadlinePassed()
      #expect(scene.runs()[worker] ?? [] == jobs, "at \(time) s")
      if time == 12 {
        scene.end([uri(2)], worker)
        #expect(scene.coordinator.nextDeadline == 19)
      }
      scene.end(jobs, worker)
    }
  }

  /// A worker dies with a job that it has not begun: the place is free, and the job gets it.
  @Test func aJobThatHasNotBegunGivesItsPlaceBackWhenItsWorkerDies() {
    var scene = Scene(rate: JobRate(jobs: 2, period: 10))
    scene.coordinator.becameReady((1...4).map { job($0) })
    let one = scene.worker(credit: 4)
    #expect(scene.runs() == [one: [uri(1), uri(2)]])
    scene.coordinator.workerSaid(.begin([uri(1)]), one)
    let two = scene.worker(credit: 4)
    scene.coordinator.workerDied(one, obituary(.itself))
    #expect(scene.runs() == [two: [uri(2)]])
  }

  /// Jobs that began together and run one by one afterwards begin then.
  @Test func aJobThatBeginsAgainIsDatedAnew() {
    var scene = Scene(rate: JobRate(jobs: 2, period: 10))
    scene.coordinator.beginTimeout = .infinity
    scene.coordinator.becameReady((1...4).map { job($0) })
    let worker = scene.worker(credit: 4)
    #expect(scene.runs() == [worker: [uri(1), uri(2)]])
    scene.coordinator.workerSaid(.begin([uri(1), uri(2)]), worker)
    scene.coordinator.now = 6
    scene.end([uri(1)], worker)
    scene.coordinator.now = 9
    scene.end([uri(2)], worker)
    for (time, jobs) in [(10, []), (15.9, []), (16, [uri(3)]), (19, [uri(4)])] {
      scene.coordinator.now = time
      scene.coordinator.deadlinePassed()
      #expect(scene.runs()[worker] ?? [] == jobs, "at \(time) s")
    }
  }

  /// A rate that changes while the pool runs gives nothing away.
  @Test func aNewRateCountsWhatHasBegunUnderTheOld() {
    var scene = Scene(rate: JobRate(jobs: 1, period: 10))
    scene.coordinator.becameReady((1...4).map { job($0) })
    let worker = scene.worker(credit: 4)
    _ = scene.runs()
    scene.end([uri(1)], worker)
    scene.coordinator.now = 5
    scene.coordinator.setKinds(["index": KindRules(rate: JobRate(jobs: 2, period: 10))])
    scene.coordinator.dispatch()
    #expect(scene.runs() == [worker: [uri(2)]])
  }

  /// Nothing is left to be done at a time that has passed: the loop would turn for ever.
  @Test func aRateWakesNobodyWhileNothingIsHandedOut() {
    for stops in [{ $0.pause(.everything) }, { $0.close() }] as [(inout Coordinator) -> Void] {
      var scene = Scene(rate: JobRate(jobs: 1, period: 10))
      scene.coordinator.beginTimeout = .infinity
      scene.coordinator.becameReady([job(1), job(2)])
      let worker = scene.worker(credit: 10)
      #expect(scene.runs() == [worker: [uri(1)]])
      scene.end([uri(1)], worker)
      #expect(scene.coordinator.nextDeadline == 10)
      stops(&scene.coordinator)
      scene.coordinator.now = 10
      scene.coordinator.deadlinePassed()
      #expect(scene.coordinator.nextDeadline == nil)
    }
  }

  /// A plugin that has given its process away is thought of when its rate lets the next job begin.
  @Test func aRateWakesThePoolThoughNoWorkerIsThere() {
    var scene = Scene(rate: JobRate(jobs: 1, period: 10))
    scene.coordinator.becameReady([job(1), job(2)])
    let worker = scene.worker(credit: 1)
    scene.coordinator.workerSaid(.begin([uri(1)]), worker)
    scene.coordinator.workerSaid(.done([uri(1)]), worker)
    scene.coordinator.workerDied(worker, obituary(.itself))
    #expect(scene.coordinator.demandByKind()["index"] == 0 && scene.coordinator.notBegunByKind["index"] == 1)
    #expect(scene.coordinator.nextDeadline == 10)
    scene.coordinator.now = 10
    _ = scene.coordinator.takeEffects()
    scene.coordinator.deadlinePassed()
    #expect(scene.coordinator.demandByKind()["index"] == 1)
    #expect(scene.coordinator.takeEffects().contains(.demandChanged))
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

  /// Any stretch of one period has as many starts as the rate says at most, and a steady demand gets nearly all of
  /// them.
  @Test func aRateIsKeptAndUsedHoweverTheJobsCome() {
    var window = RateWindow(JobRate(jobs: 5000, period: 60))
    var times: [Double] = []
    for step in 0..<60_000 {
      let now = Double(step) * 0.006
      if window.room(now: now) > 0 {
        window.take(now: now)
        times.append(now)
      }
    }
    for (index, time) in times.enumerated() where index >= 5000 { #expect(time - times[index - 5000] >= 60) }
    #expect(times.count > 29_000, "of 30,000 in six minutes")
  }

  @Test func aJobThatIsGivenBackCostsNoRate() {
    var scene = Scene(rate: JobRate(jobs: 2, period: 10))
    scene.coordinator.becameReady([job(1), job(2), job(3)])
    let one = scene.worker(credit: 3)
    #expect(scene.runs() == [one: [uri(1), uri(2)]])
    scene.coordinator.drain(one)
    scene.coordinator.workerSaid(.returned([uri(1), uri(2)]), one)
    let two = scene.worker(credit: 3)
    #expect(scene.runs() == [two: [uri(1), uri(2)]])
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

  /// Otherwise a worker that says the same again and again would never be out of time.
  @Test func aRepeatedBeginPutsOffNoDeadline() {
    var scene = Scene()
    let worker = scene.worker(credit: 2)
    scene.coordinator.becameReady([job(1, timeout: 10), job(2, timeout: 10)])
    scene.coordinator.workerSaid(.begin([uri(1), uri(2)]), worker)
    let first = scene.coordinator.nextDeadline
    scene.coordinator.now = 3
    scene.coordinator.workerSaid(.begin([uri(1), uri(2)]), worker)
    #expect(scene.coordinator.nextDeadline == first)
    // The group failed, so the job begins once more, alone.
    scene.coordinator.workerSaid(.begin([uri(1)]), worker)
    #expect(scene.coordinator.nextDeadline == first.map { $0 + 3 })
    scene.coordinator.now = 6
    scene.coordinator.workerSaid(.begin([uri(1)]), worker)
    #expect(scene.coordinator.nextDeadline == first.map { $0 + 3 })
  }

  @Test func aRunningJobThatIgnoresItsCancellationIsStoppedWithItsProcess() {
    var scene = Scene()
    let worker = scene.worker(credit: 1)
    scene.coordinator.becameReady([job(1)])
    scene.coordinator.workerSaid(.begin([uri(1)]), worker)
    scene.coordinator.now = 50
    scene.coordinator.cancel(1)
    #expect(scene.coordinator.nextDeadline == 50 + Coordinator.stopGrace)
    scene.coordinator.now = 50 + Coordinator.stopGrace
    scene.coordinator.deadlinePassed()
    #expect(scene.effects().contains(.killTimedOut(worker)))
    scene.coordinator.workerDied(worker, obituary(.timedOut))
    #expect(scene.effects().contains(.settle([1], .cancelled)))
  }

  /// A queue that was paused by its name was paused for a reason of its own.
  @Test func aPauseByNameOutlivesThatOfTheWholePool() {
    var scene = Scene()
    let worker = scene.worker(credit: 2)
    scene.coordinator.pause(.queue("mail"))
    scene.coordinator.pause(.everything)
    scene.coordinator.resume(.everything)
    scene.fetched("index", [job(1, queue: "mail"), job(2)])
    #expect(scene.runs() == [worker: [uri(2)]])
    #expect(!scene.coordinator.pauses.all && scene.coordinator.pauses.queues == ["mail"])
  }

  @Test func closingIsNoPause() {
    var scene = Scene()
    let worker = scene.worker(credit: 1)
    scene.coordinator.close()
    scene.coordinator.resume(.everything)
    scene.coordinator.becameReady([job(1)])
    #expect(scene.runs() == [:] && scene.coordinator.pauses == JobPauses())
    _ = worker
  }

  // MARK: Jobs that wait for others

  @Test func endsAreOfInterestOnlyWhileAJobWaits() {
    var scene = Scene()
    let worker = scene.worker(credit: 3)
    scene.coordinator.becameReady([job(1), job(2), job(3)])
    _ = scene.effects()
    scene.coordinator.workerSaid(.done([uri(1)]), worker)
    #expect(!scene.releases().contains { _ in true })
    scene.coordinator.checkDependents()
    #expect(scene.releases() == [[]])
    // What ends during a check is checked next.
    scene.coordinator.workerSaid(.done([uri(2)]), worker)
    #expect(scene.releases() == [])
    scene.coordinator.released([], remain: true)
    #expect(scene.releases() == [[2]])
    scene.coordinator.released([job(9)], remain: false)
    #expect(scene.runs() == [worker: [uri(9)]])
    scene.coordinator.workerSaid(.done([uri(3)]), worker)
    #expect(scene.releases() == [])
    // Where no job waits, a job that ends during a check is no reason for the next one: checks would never end.
    scene.coordinator.checkDependents()
    #expect(scene.releases() == [[]])
    scene.coordinator.workerSaid(.done([uri(9)]), worker)
    scene.coordinator.released([], remain: false)
    #expect(scene.releases() == [])
  }
}

extension Scene {
  /// The checks of dependents since the last call.
  fileprivate mutating func releases() -> [[JobKey]] {
    effects().compactMap { if case .release(let ended) = $0 { ended } else { nil } }
  }
}

import Jobs
import Testing
import WorkerProtocol

@testable import WorkerPool

/// What workers hold and have not begun: it comes back when something better arrives, or when others could run it.
@Suite struct CoordinatorHandTests {
  private let slowAfter = WorkerHand.slowAfter

  /// A worker that has a hand of ten jobs, of which one has begun.
  private func scene(credit: Int = 10) -> (Scene, WorkerID) {
    var scene = Scene()
    scene.coordinator.becameReady((1...10).map { job($0) })
    let worker = scene.worker(credit: credit)
    scene.coordinator.workerSaid(.begin([uri(1)]), worker)
    _ = scene.effects()
    return (scene, worker)
  }

  private func pass(_ seconds: Double, _ scene: inout Scene) {
    scene.coordinator.now += seconds
    if let deadline = scene.coordinator.nextDeadline, deadline <= scene.coordinator.now {
      scene.coordinator.deadlinePassed()
    }
  }

  @Test func aBetterJobGoesBeforeWhatASlowWorkerHasNotBegun() {
    var (scene, worker) = scene()
    pass(slowAfter, &scene)
    #expect(scene.effects().isEmpty, "nobody could do better")
    // When: a better job comes.
    scene.coordinator.becameReady([job(99, priority: 100)])
    pass(slowAfter, &scene)
    #expect(scene.effects() == [.send(.recall(9), to: worker)])
    scene.coordinator.workerSaid(.returned((2...10).map(uri)), worker)
    #expect(scene.runs() == [:], "the slow worker gets nothing more meanwhile")
    // Then: it is the first where a worker becomes free.
    let other = scene.worker(credit: 2)
    #expect(scene.runs() == [other: [uri(99), uri(2)]])
    scene.coordinator.workerSaid(.done([uri(1)]), worker)
    #expect(scene.runs() == [worker: (3...10).map(uri)])
  }

  @Test func theBetterJobIsFirstWhereTheSlowWorkerItselfBecomesFree() {
    var (scene, worker) = scene()
    scene.coordinator.becameReady([job(99, priority: 100)])
    pass(slowAfter, &scene)
    #expect(scene.effects() == [.send(.recall(9), to: worker)])
    scene.coordinator.workerSaid(.returned((2...10).map(uri)), worker)
    scene.coordinator.workerSaid(.done([uri(1)]), worker)
    #expect(scene.runs()[worker]?.first == uri(99))
  }

  /// The better job came before it was known that the worker is slow, and is the last in its hand.
  @Test func aBetterJobInTheHandOfASlowWorkerComesBackToo() {
    var (scene, worker) = scene(credit: 20)
    scene.coordinator.becameReady([job(99, priority: 100)])
    #expect(scene.runs() == [worker: [uri(99)]])
    pass(slowAfter, &scene)
    #expect(scene.effects() == [.send(.recall(10), to: worker)])
    scene.coordinator.workerSaid(.returned((2...10).map(uri) + [uri(99)]), worker)
    scene.coordinator.workerSaid(.done([uri(1)]), worker)
    #expect(scene.runs()[worker]?.first == uri(99))
  }

  /// It gets the same jobs again, and returned them 11,000 times in a second.
  @Test(arguments: [false, true]) func aWorkerThatReturnsAllThatItGetsGetsItAfterPauses(beginsThem: Bool) {
    var scene = Scene()
    scene.coordinator.becameReady([job(1), job(2)])
    let worker = scene.worker(credit: 1)
    var runs = 0
    func answerAll() {
      while let jobs = scene.runs()[worker], runs < 1000 {
        runs += 1
        if beginsThem { scene.coordinator.workerSaid(.begin(jobs), worker) }
        scene.coordinator.workerSaid(.returned(jobs), worker)
      }
    }
    answerAll()
    for _ in 0..<200 {
      pass(0.1, &scene)
      answerAll()
    }
    #expect((8...16).contains(runs), "\(runs) times in 20 seconds")
    // What it does for others is not kept from them.
    let other = scene.worker(credit: 1)
    #expect(scene.runs() == [other: [uri(1)]])
    // A job that it ends makes up for all.
    pass(5, &scene)
    #expect(scene.runs() == [worker: [uri(2)]])
    scene.coordinator.workerSaid(.done([uri(2)]), worker)
    scene.coordinator.becameReady([job(3)])
    #expect(scene.runs() == [worker: [uri(3)]])
    scene.coordinator.workerSaid(.returned([uri(3)]), worker)
    #expect(scene.runs() == [worker: [uri(3)]], "once is no habit")
  }

  @Test func shortJobsAreLeftInTheHandThatHasThem() {
    var (scene, worker) = scene()
    scene.coordinator.becameReady([job(99, priority: 100)])
    for number in 1...9 {
      pass(slowAfter / 3, &scene)
      #expect(!scene.effects().contains { if case .send(.recall, _) = $0 { true } else { false } }, "job \(number)")
      scene.coordinator.workerSaid(.done([uri(number)]), worker)
      scene.coordinator.workerSaid(.begin([uri(number + 1)]), worker)
    }
  }

  @Test func whatOthersCouldRunComesBackFromASlowWorker() {
    var (scene, worker) = scene()
    let other = scene.worker(credit: 3)
    // Half of it at once, since the other has nothing to do.
    #expect(scene.effects().contains(.send(.recall(5), to: worker)))
    scene.coordinator.workerSaid(.returned((6...10).map(uri)), worker)
    #expect(scene.runs() == [other: [uri(6), uri(7), uri(8)], worker: [uri(9), uri(10)]])
    // It has credit again, and the slow one still holds six that it has not begun.
    scene.coordinator.workerSaid(.credit(9), other)
    pass(slowAfter, &scene)
    #expect(scene.effects() == [.send(.recall(6), to: worker)])
  }

  /// Its average was wrong: what it holds beyond its new credit comes back at once.
  @Test func aHandThatIsFarTooLargeForItsNewCreditComesBack() {
    var (scene, worker) = scene()
    scene.coordinator.workerSaid(.done([uri(1)]), worker)
    scene.coordinator.workerSaid(.credit(1), worker)
    scene.coordinator.workerSaid(.begin([uri(2)]), worker)
    #expect(scene.effects().contains(.send(.recall(8), to: worker)))
    scene.coordinator.workerSaid(.returned((3...10).map(uri)), worker)
    #expect(scene.runs() == [:])
    scene.coordinator.workerSaid(.done([uri(2)]), worker)
    #expect(scene.runs() == [worker: [uri(3)]])
  }

  ///     Coordinator                       | Worker
  ///     RECALL 10                      -> |
  ///                                       | DONE 1, BEGIN 2
  ///     a worse job is ready              |
  ///                                    <- | RETURNED 3 … 10 99
  ///     RUN 99 3 … 10 30               -> |
  @Test func aWorseJobDoesNotOvertakeThoseThatAreOnTheirWayBack() {
    var (scene, worker) = scene(credit: 20)
    scene.coordinator.becameReady([job(99, priority: 100)])
    pass(slowAfter, &scene)
    #expect(scene.effects().contains(.send(.recall(10), to: worker)))
    scene.coordinator.workerSaid(.done([uri(1)]), worker)
    scene.coordinator.workerSaid(.begin([uri(2)]), worker)
    scene.coordinator.becameReady([job(30, priority: -1)])
    #expect(scene.runs() == [:])
    scene.coordinator.workerSaid(.returned((3...10).map(uri) + [uri(99)]), worker)
    #expect(scene.runs() == [worker: [uri(99)] + (3...10).map(uri) + [uri(30)]])
  }

  /// It has begun its last job before `RECALL` comes, and answers nothing.
  @Test func aWorkerWithNothingToGiveBackGetsJobsAgain() {
    var (scene, worker) = scene(credit: 20)
    for number in 1...8 {
      scene.coordinator.workerSaid(.done([uri(number)]), worker)
      scene.coordinator.workerSaid(.begin([uri(number + 1)]), worker)
    }
    scene.coordinator.becameReady([job(99, priority: 100)])
    pass(slowAfter, &scene)
    #expect(scene.effects().contains(.send(.recall(2), to: worker)))
    scene.coordinator.becameReady([job(30)])
    scene.coordinator.workerSaid(.done([uri(9)]), worker)
    #expect(scene.runs() == [:])
    scene.coordinator.workerSaid(.begin([uri(10), uri(99)]), worker)
    #expect(scene.runs() == [worker: [uri(30)]])
  }

  @Test func anIdlePoolSetsNoTimerForHands() {
    var (scene, worker) = scene()
    #expect(scene.coordinator.nextDeadline != nil)
    for number in 1...9 {
      scene.coordinator.workerSaid(.done([uri(number)]), worker)
      scene.coordinator.workerSaid(.begin([uri(number + 1)]), worker)
    }
    scene.coordinator.workerSaid(.done([uri(10)]), worker)
    pass(slowAfter, &scene)
    #expect(scene.coordinator.nextDeadline == nil)
  }

  /// A worker cannot fill the pool's memory with the progress of jobs that it does not hold.
  @Test func progressIsKeptForJobsInTheWorkersHandOnly() {
    var (scene, worker) = scene()
    let other = scene.worker(credit: 1)
    scene.coordinator.workerSaid(.progress(uri(1), done: 1, total: 2), worker)
    scene.coordinator.workerSaid(.progress(uri(1), done: 7, total: 9), other)
    scene.coordinator.workerSaid(.progress(uri(77), done: 7, total: 9), other)
    #expect(scene.coordinator.hands.jobs[1]?.progress?.total == 2)
    #expect(scene.coordinator.hands.jobs.values.count { $0.progress != nil } == 1)
  }

  @Test func whatHasNotBegunComesBackWhenItIsPaused() {
    var (scene, worker) = scene()
    scene.coordinator.pause(.queue("other"))
    #expect(scene.effects().isEmpty)
    scene.coordinator.pause(.kind("index"))
    #expect(scene.effects() == [.send(.recall(9), to: worker)])
    scene.coordinator.workerSaid(.returned((2...10).map(uri)), worker)
    scene.coordinator.workerSaid(.done([uri(1)]), worker)
    #expect(scene.runs() == [:])
    scene.coordinator.resume(.kind("index"))
    scene.fetched("index", (2...10).map { job($0) })
    #expect(scene.runs() == [worker: (2...10).map(uri)])
  }

  @Test func noWorkerHoldsMoreThanAFewThousandJobs() {
    var (scene, worker) = scene()
    scene.coordinator.workerSaid(.credit(.max), worker)
    #expect(scene.coordinator.hands.workers[worker]?.credit == WorkerHand.mostCredit)
  }

  // MARK: Cancelling

  /// The worker has begun one of two cancelled jobs, and dies before it has answered.
  @Test(arguments: [Obituary.Cause.stopped, .itself])
  func aCancelledJobDoesNotRunAgainAfterItsWorkersDeath(cause: Obituary.Cause) {
    var (scene, worker) = scene()
    let other = scene.worker(credit: 1)
    _ = scene.effects()
    scene.coordinator.cancel(1)
    scene.coordinator.cancel(2)
    scene.coordinator.workerDied(worker, obituary(cause))
    let effects = scene.effects()
    #expect(effects.contains(.settle([1], .cancelled)) && effects.contains(.settle([2], .cancelled)))
    #expect(effects.contains(.send(.run([uri(3)]), to: other)))
  }

  /// A job becomes available in the store, and is cancelled before the coordinator hears of the former.
  ///
  ///     store                        coordinator
  ///     makes the job available
  ///                                  cancels it, and has that written
  ///                                  hears that the job is available
  @Test func aCancelledJobThatHadBecomeReadyIsNotHandedOut() {
    var scene = Scene()
    _ = scene.worker(credit: 1)
    scene.coordinator.cancel(1)
    scene.coordinator.becameReady([job(1)])
    #expect(scene.runs() == [:])
  }

  /// `CANCEL` and the end of an attempt cross: the row may say that the job runs again.
  @Test func aJobThatFailsWhileItIsCancelledStaysCancelled() {
    var (scene, worker) = scene()
    scene.coordinator.cancel(1)
    scene.coordinator.workerSaid(.failed(uri(1)), worker)
    #expect(scene.effects().contains(.cancelStored(1)))
    scene.coordinator.workerSaid(.begin([uri(2)]), worker)
    scene.coordinator.cancel(2)
    scene.coordinator.workerSaid(.done([uri(2)]), worker)
    #expect(scene.effects().contains(.cancelStored(2)), "it may have snoozed")
  }

  // MARK: Time

  /// A worker with three jobs of a timeout of ten seconds each in hand.
  private func timedScene() -> (Scene, WorkerID) {
    var scene = Scene()
    scene.coordinator.becameReady(
      (1...3).map { number in
        var timed = job(number)
        timed.timeout = number == 3 ? nil : 10
        return timed
      })
    let worker = scene.worker(credit: 3)
    _ = scene.effects()
    return (scene, worker)
  }

  @Test func aJobThatBeginsBesideOthersLeavesThemTheirTime() {
    var (scene, worker) = timedScene()
    scene.coordinator.workerSaid(.begin([uri(1)]), worker)
    scene.coordinator.now = 4
    scene.coordinator.workerSaid(.begin([uri(3)]), worker)
    #expect(scene.coordinator.hands.workers[worker]?.deadline == 10 + Coordinator.stopGrace)
    scene.coordinator.workerSaid(.begin([uri(2)]), worker)
    scene.coordinator.workerSaid(.done([uri(1)]), worker)
    #expect(scene.coordinator.hands.workers[worker]?.deadline == 14 + Coordinator.stopGrace)
    scene.coordinator.workerSaid(.done([uri(2)]), worker)
    #expect(scene.coordinator.hands.workers[worker]?.deadline == nil)
  }

  /// A group that cannot be committed as one: its jobs begin again, one by one.
  @Test func jobsOfAGroupThatRunAgainOneByOneGetTheirWholeTime() {
    var (scene, worker) = timedScene()
    scene.coordinator.workerSaid(.begin([uri(1), uri(2)]), worker)
    scene.coordinator.now = 8
    scene.coordinator.workerSaid(.begin([uri(1)]), worker)
    #expect(scene.coordinator.hands.workers[worker]?.deadline == 18 + Coordinator.stopGrace)
    scene.coordinator.workerSaid(.done([uri(1)]), worker)
    #expect(scene.coordinator.hands.workers[worker]?.deadline == nil, "the other has not begun again")
    scene.coordinator.now = 17
    scene.coordinator.workerSaid(.begin([uri(2)]), worker)
    #expect(scene.coordinator.hands.workers[worker]?.deadline == 27 + Coordinator.stopGrace)
  }

  @Test func whatAWorkerSaysOfJobsThatItDoesNotHoldIsIgnored() {
    var (scene, worker) = timedScene()
    let before = scene.coordinator.statistics.counters
    scene.coordinator.workerSaid(.failed(uri(77)), worker)
    scene.coordinator.workerSaid(.done([uri(77)]), worker)
    #expect(scene.coordinator.statistics.counters == before && scene.effects().isEmpty)
  }
}

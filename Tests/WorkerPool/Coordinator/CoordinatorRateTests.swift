import Jobs
import Testing
import WorkerProtocol

@testable import WorkerPool

/// Rates: how many jobs of a kind begin in a period. The clock is the coordinator's own.
@Suite struct CoordinatorRateTests {
  @Test func aRateLetsSoManyJobsBeginInItsTime() {
    var scene = Scene(rate: JobRate(jobs: 2, period: 10))
    scene.coordinator.hands.beginTimeout = .infinity
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
    scene.coordinator.hands.beginTimeout = .infinity
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
    scene.coordinator.hands.beginTimeout = .infinity
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
      scene.coordinator.hands.beginTimeout = .infinity
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
}

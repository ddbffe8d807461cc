import Testing

@testable import WorkerPool

@Suite struct SlotPlanTests {
  /// Seconds after which everything has had its time, whatever times the plan knows.
  private let long = 3600.0

  private func plan(_ total: Int, _ plugins: SlotPlan.Plugin...) -> [String: Int] {
    SlotPlan.targets(total: total, plugins: plugins)
  }

  /// The first of these seconds, in steps, after which a plan is as wanted.
  private func firstTime(_ isWanted: (Double) -> Bool) -> Double? {
    stride(from: 0, through: long, by: 0.125).first(where: isWanted)
  }

  @Test func eachPluginGetsOneWhileThereAreEnough() {
    #expect(plan(2, .init(name: "a"), .init(name: "b")) == ["a": 1, "b": 1])
    #expect(plan(1, .init(name: "a"), .init(name: "b")) == ["a": 1, "b": 0])
    #expect(plan(0, .init(name: "a"), .init(name: "b")) == ["a": 0, "b": 0])
  }

  @Test func slotsGoWhereJobsHaveWaitedForLongEnough() {
    let b = SlotPlan.Plugin(name: "b", current: 3)
    func wait(startTime: Double) -> Double? {
      firstTime { seconds in
        let a = SlotPlan.Plugin(name: "a", demand: 100, current: 1, pressed: seconds, startTime: startTime)
        let targets = plan(4, a, b)
        #expect([["a": 1, "b": 3], ["a": 4, "b": 0]].contains(targets))
        return targets["a"] == 4
      }
    }
    // A start has to pay: the longer it takes, the longer jobs have waited before. But no start takes that for ever.
    let waits = [0, 1, 2, 1000].compactMap { wait(startTime: $0) }
    #expect(waits.count == 4 && waits[0] > 0 && waits[0] < waits[1] && waits[1] < waits[2] && waits[3] < 60)
    #expect(waits[1] > 1, "longer than the start takes")
    // A plugin that has no process gets its first one at once, however many plugins without work there are.
    let c = SlotPlan.Plugin(name: "c", demand: 9)
    #expect(
      plan(2, .init(name: "a", current: 1, idle: 20), .init(name: "b", current: 1, idle: 10), c)
        == ["a": 0, "b": 1, "c": 1])
    #expect(plan(1, .init(name: "a", current: 1), .init(name: "b", demand: 1)) == ["a": 0, "b": 1])
  }

  /// Nobody loses anything by that.
  @Test func freeSlotsAreFilledAtOnce() {
    #expect(plan(4, .init(name: "a", demand: 100), .init(name: "b", demand: 100)) == ["a": 2, "b": 2])
    #expect(plan(4, .init(name: "a", demand: 100, current: 1), .init(name: "b", current: 1)) == ["a": 3, "b": 1])
    // Where no jobs wait, to plugins without a process: first to the one that had work last.
    let plugins = ["a", "b", "c"].map { SlotPlan.Plugin(name: $0, idle: $0 == "b" ? 10 : 20) }
    #expect(SlotPlan.targets(total: 2, plugins: plugins) == ["a": 1, "b": 1, "c": 0])
  }

  @Test func whoHasHadNoWorkForLongestMakesPlace() {
    let d = SlotPlan.Plugin(name: "d", demand: 1)
    let one = SlotPlan.Plugin(name: "a", current: 1, idle: 50)
    let two = SlotPlan.Plugin(name: "b", current: 1, idle: 60)
    #expect(plan(2, one, two, d) == ["a": 1, "b": 0, "d": 1])
    // One of several goes before a last one.
    #expect(plan(3, .init(name: "a", current: 2, idle: 50), two, d) == ["a": 1, "b": 1, "d": 1])
    // And one of several that are at work before the last one of a plugin that has just had work.
    #expect(
      plan(3, .init(name: "a", busy: 2, current: 2, idle: 0), .init(name: "b", current: 1, age: 1, idle: 1), d)
        == ["a": 1, "b": 1, "d": 1])
  }

  @Test func aPluginWithoutJobsTakesNoProcessFromAnyone() {
    #expect(plan(4, .init(name: "a", current: 4), .init(name: "b")) == ["a": 4, "b": 0])
    #expect(plan(4, .init(name: "a", demand: 9, busy: 4, current: 4), .init(name: "b")) == ["a": 4, "b": 0])
  }

  @Test func aPluginThatHasJustHadWorkKeepsAProcess() {
    let used = SlotPlan.Plugin(name: "b", current: 1, idle: 1)
    let unused = SlotPlan.Plugin(name: "b", current: 1, idle: long)
    let busy = SlotPlan.Plugin(name: "a", demand: 100, busy: 3, current: 3, pressed: 60)
    #expect(plan(4, busy, used) == ["a": 3, "b": 1])
    #expect(plan(4, busy, unused) == ["a": 4, "b": 0])
    #expect(SlotPlan.changesWithTime(total: 4, [busy, used]))
    #expect(SlotPlan.changesWithTime(total: 4, [.init(name: "a", demand: 9, busy: 3, current: 3), unused]))
    #expect(!SlotPlan.changesWithTime(total: 4, [.init(name: "a", demand: 9, busy: 4, current: 4), .init(name: "b")]))
    // Those that it has beside its last one go to who needs them.
    #expect(
      plan(
        4, .init(name: "a", demand: 9, busy: 1, current: 1, pressed: 60),
        .init(name: "b", busy: 1, current: 3, idle: 0))
        == ["a": 3, "b": 1])
  }

  @Test func oneOfSeveralBusyProcessesMakesPlaceForAPluginThatHasNone() {
    #expect(
      plan(2, .init(name: "a", demand: 9, busy: 2, current: 2), .init(name: "b", demand: 50)) == ["a": 1, "b": 1])
    #expect(
      plan(2, .init(name: "a", demand: 9, busy: 1, current: 2), .init(name: "b", demand: 50)) == ["a": 1, "b": 1])
    #expect(
      plan(2, .init(name: "a", demand: 9, busy: 2, current: 2), .init(name: "b")) == ["a": 2, "b": 0])
  }

  @Test func theLastProcessOfAPluginMakesPlaceWhenItHasHadItsTurn() {
    let young = SlotPlan.Plugin(name: "a", demand: 9, busy: 1, current: 1, age: 0.5)
    let old = SlotPlan.Plugin(name: "a", demand: 9, busy: 1, current: 1, age: long)
    let first = SlotPlan.Plugin(name: "b", demand: 1, absent: 10)
    let second = SlotPlan.Plugin(name: "c", demand: 1, absent: 20)
    #expect(plan(1, young, first) == ["a": 1, "b": 0])
    #expect(SlotPlan.changesWithTime(total: 1, [young, first]))
    #expect(!SlotPlan.changesWithTime(total: 0, [young, first]), "there is nothing to wait for")
    #expect(plan(1, old, first) == ["a": 0, "b": 1])
    // One that is just being started is not given up for another.
    let starting = SlotPlan.Plugin(name: "a", demand: 9, current: 1, absent: 0)
    #expect(plan(1, starting, first, second) == ["a": 1, "b": 0, "c": 0])
    // Who has been without a process for longest is next.
    #expect(plan(1, old, first, second) == ["a": 0, "b": 0, "c": 1])
  }

  /// Who waits more changes from moment to moment: that is no reason to end a process before it has come up.
  @Test func processesThatAreBeingStartedStay() {
    let a = SlotPlan.Plugin(name: "a", demand: 500, busy: 1, current: 2)
    #expect(plan(3, a, .init(name: "b", demand: 1500, busy: 1, current: 1)) == ["a": 2, "b": 1])
    // Unless nothing waits for it any more.
    let idle = SlotPlan.Plugin(name: "a", busy: 1, current: 2)
    #expect(plan(3, idle, .init(name: "b", demand: 1500, busy: 1, current: 1, pressed: 60)) == ["a": 1, "b": 2])
    // And one that is on its way is enough for one job.
    #expect(
      plan(3, .init(name: "a", demand: 1, current: 1, pressed: 60), .init(name: "b", current: 2))
        == ["a": 1, "b": 2])
  }

  @Test func aPluginThatCannotBeStartedTakesNoPlaceAndKeepsWhatItHas() {
    let a = SlotPlan.Plugin(name: "a", demand: 9, busy: 1, current: 1, age: 60)
    #expect(plan(1, a, .init(name: "b", demand: 9, absent: 60, canStart: false)) == ["a": 1, "b": 0])
    #expect(plan(2, a, .init(name: "b", demand: 9, absent: 60, canStart: false)) == ["a": 2, "b": 0])
    #expect(plan(2, a, .init(name: "b", demand: 9, current: 1, canStart: false)) == ["a": 1, "b": 1])
    // Without work its process makes place.
    #expect(plan(1, .init(name: "a", demand: 9), .init(name: "b", current: 1, canStart: false)) == ["a": 1, "b": 0])
  }

  /// It has said hello, and not yet how many jobs it takes.
  @Test func aProcessThatHasJustComeUpForJobsThatWaitIsNotTakenAway() {
    let fresh = SlotPlan.Plugin(name: "a", demand: 1, current: 1, age: 0)
    #expect(plan(1, fresh, .init(name: "b", demand: 1, absent: 10)) == ["a": 1, "b": 0])
  }

  /// Its slot stays free for it while no jobs of others need one.
  @Test func aPluginThatMayStartOnlyAfterAWhileTakesNoPlaceUntilThen() {
    let delayed = SlotPlan.Plugin(name: "b", demand: 9, isDelayed: true)
    #expect(plan(2, .init(name: "a", current: 1), delayed) == ["a": 1, "b": 1])
    #expect(plan(2, .init(name: "a", demand: 9, current: 1), delayed) == ["a": 2, "b": 0])
    #expect(plan(1, .init(name: "a", current: 1), delayed) == ["a": 1, "b": 0])
    #expect(!SlotPlan.changesWithTime(total: 1, [.init(name: "a", current: 1), delayed]))
  }

  /// Three plugins that always have work share one slot: none is passed over.
  @Test func turnsGoAround() {
    var absent = ["a": 0.0, "b": 10, "c": 20]
    var holder = "a"
    var turns = ""
    for _ in 0..<9 {
      let plugins = ["a", "b", "c"].map { name in
        name == holder
          ? SlotPlan.Plugin(name: name, demand: 9, busy: 1, current: 1, age: long, idle: 0, absent: 0)
          : SlotPlan.Plugin(name: name, demand: 9, absent: absent[name] ?? 0)
      }
      let next = SlotPlan.targets(total: 1, plugins: plugins).first { $0.value == 1 }?.key ?? ""
      for name in absent.keys { absent[name, default: 0] += long }
      absent[holder] = 0
      absent[next] = 0
      holder = next
      turns += next
    }
    #expect(turns == "cbacbacba")
  }

  @Test func withoutNeedEverythingStaysAsItIs() {
    #expect(plan(4, .init(name: "a", current: 3), .init(name: "b", current: 1)) == ["a": 3, "b": 1])
    #expect(
      plan(4, .init(name: "a", demand: 1, current: 3, pressed: 60), .init(name: "b", current: 1)) == ["a": 3, "b": 1])
  }

  @Test func aNumberSetByHandIsKept() {
    #expect(
      plan(4, .init(name: "a", fixed: 1, demand: 100), .init(name: "b", demand: 1)) == ["a": 1, "b": 3])
    #expect(plan(1, .init(name: "a", fixed: 3), .init(name: "b")) == ["a": 3, "b": 0])
    #expect(plan(2, .init(name: "a", fixed: 0), .init(name: "b")) == ["a": 0, "b": 2])
  }

  @Test func fewerProcessesThanBusyOnesAreReachedByTakingBusyOnes() {
    #expect(
      plan(1, .init(name: "a", busy: 2, current: 2), .init(name: "b", busy: 1, current: 1)) == ["a": 0, "b": 1]
        || plan(1, .init(name: "a", busy: 2, current: 2), .init(name: "b", busy: 1, current: 1)) == ["a": 1, "b": 0])
  }
}

@Suite struct RestartPolicyTests {
  @Test func aProcessThatHadWorkedIsReplacedAtOnce() {
    var policy = RestartPolicy()
    #expect(policy.died(hadWorked: true, jitter: 0) == 0)
  }

  @Test func fruitlessDeathsWaitLongerEachTimeUpToALimit() {
    var policy = RestartPolicy()
    let delays = (0..<20).map { _ in policy.died(hadWorked: false, jitter: 0) }
    #expect(delays.first == RestartPolicy.firstDelay)
    #expect(delays[1] == 2 * RestartPolicy.firstDelay)
    #expect(delays.last == RestartPolicy.longestDelay)
    policy.worked()
    #expect(policy.died(hadWorked: false, jitter: 1) == RestartPolicy.firstDelay / 2)
  }

  @Test func aPluginThatCannotStartIsGivenUpAfterAFewTries() {
    var policy = RestartPolicy()
    for _ in 1..<RestartPolicy.mostFailures { #expect(policy.failedToStart(jitter: 0) != nil) }
    #expect(policy.failedToStart(jitter: 0) == nil)
    #expect(policy.hasGivenUp)
  }

  @Test func aPluginWhoseProcessesOnlyBreakTheProtocolIsGivenUpAfterAFewTries() {
    var policy = RestartPolicy()
    for _ in 1..<RestartPolicy.mostFailures {
      policy.cameUp()
      #expect(policy.brokeProtocolIdly(jitter: 0) != nil)
    }
    policy.worked()
    for _ in 1..<RestartPolicy.mostFailures { #expect(policy.brokeProtocolIdly(jitter: 0) != nil) }
    policy.cameUp()
    #expect(policy.brokeProtocolIdly(jitter: 0) == nil && policy.hasGivenUp)
  }

  @Test func oneGoodStartForgetsTheFailures() {
    var policy = RestartPolicy()
    for _ in 1..<RestartPolicy.mostFailures { _ = policy.failedToStart(jitter: 0) }
    policy.cameUp()
    #expect(policy.failedToStart(jitter: 0) == RestartPolicy.firstDelay)
  }
}

@Suite struct WorkerLimitsTests {
  @Test func theNumberOfJobsIsSpreadByATenth() {
    var limits = WorkerLimits()
    #expect(limits.jobs(jitter: 0.5) == nil)
    limits.jobs = 1000
    #expect([0, 0.5, 1].map { limits.jobs(jitter: $0) } == [900, 1000, 1100])
    limits.jobs = 1
    #expect([0, 1].map { limits.jobs(jitter: $0) } == [1, 1])
  }
}

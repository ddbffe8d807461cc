import Testing

@testable import WorkerPool

@Suite struct SlotPlanTests {
  private func plan(_ total: Int, _ plugins: SlotPlan.Plugin...) -> [String: Int] {
    SlotPlan.targets(total: total, plugins: plugins)
  }

  @Test func eachPluginGetsOneWhileThereAreEnough() {
    #expect(plan(2, .init(name: "a"), .init(name: "b")) == ["a": 1, "b": 1])
    #expect(plan(1, .init(name: "a"), .init(name: "b")) == ["a": 1, "b": 0])
    #expect(plan(0, .init(name: "a"), .init(name: "b")) == ["a": 0, "b": 0])
  }

  @Test func slotsGoWhereJobsWait() {
    #expect(plan(4, .init(name: "a", waiting: 100, current: 1), .init(name: "b", current: 3)) == ["a": 3, "b": 1])
    #expect(plan(1, .init(name: "a", current: 1), .init(name: "b", waiting: 1)) == ["a": 0, "b": 1])
  }

  @Test func waitingJobsShareTheSlots() {
    #expect(plan(4, .init(name: "a", waiting: 100), .init(name: "b", waiting: 100)) == ["a": 2, "b": 2])
  }

  @Test func aBusyProcessIsNotTakenAway() {
    #expect(
      plan(2, .init(name: "a", busy: 2, current: 2), .init(name: "b", waiting: 50)) == ["a": 2, "b": 0])
    #expect(
      plan(2, .init(name: "a", busy: 1, current: 2), .init(name: "b", waiting: 50)) == ["a": 1, "b": 1])
  }

  @Test func withoutNeedEverythingStaysAsItIs() {
    #expect(plan(4, .init(name: "a", current: 3), .init(name: "b", current: 1)) == ["a": 3, "b": 1])
    #expect(plan(4, .init(name: "a", waiting: 1, current: 3), .init(name: "b", current: 1)) == ["a": 3, "b": 1])
  }

  @Test func aNumberSetByHandIsKept() {
    #expect(
      plan(4, .init(name: "a", fixed: 1, waiting: 100), .init(name: "b", waiting: 1)) == ["a": 1, "b": 3])
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
    for _ in 1..<RestartPolicy.patience { #expect(policy.failedToStart(jitter: 0) != nil) }
    #expect(policy.failedToStart(jitter: 0) == nil)
    #expect(policy.hasGivenUp)
  }

  @Test func oneGoodStartForgetsTheFailures() {
    var policy = RestartPolicy()
    for _ in 1..<RestartPolicy.patience { _ = policy.failedToStart(jitter: 0) }
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

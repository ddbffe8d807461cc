import Foundation
import PoolClient
import Testing

@testable import WorkerPoolWeb

@Suite struct RecentGaugesTests {
  private static func status(_ processorTimes: [String: Double]) -> PoolStatus {
    var status = PoolStatus(
      pid: 1, store: "/a.sqlite", model: "/a", phase: "running", age: 1, isPaused: false, pausedQueues: [],
      pausedKinds: [], workerCount: 1, workers: [], plugins: [], waiting: [:], counters: .init(), restarts: 0,
      jobs: [:], rates: [], problems: [])
    status.kinds = processorTimes.map { kind, seconds in
      var kind = PoolStatus.Kind(kind: kind)
      var use = ResourceUse()
      use.processorTime = seconds
      kind.use = use
      return kind
    }
    return status
  }

  @Test func theProcessorTimeOfAKindIsSharedOutToIntervals() {
    // Given: what a kind had used after 0, 10 and 20 seconds, and a new pool after 30
    let grid = TimeGrid(step: 5, count: 8, until: Date(timeIntervalSinceReferenceDate: 1_000_037))
    var gauges = RecentGauges()
    for (second, used) in [(0.0, 0.0), (10, 4), (20, 4), (30, 1)] {
      gauges.add(
        Self.status(["index": used]), at: Date(timeIntervalSinceReferenceDate: 1_000_000 + second), moment: second)
    }
    // When: it is shown in steps of five seconds. Then: what it used between two looks is spread over them.
    #expect(gauges.processorTime(of: "index", grid) == [2, 2, 0, 0, 0, 0, nil, nil])
    #expect(gauges.processorTime(of: "mail", grid) == [0, 0, 0, 0, 0, 0, nil, nil])
    #expect(RecentGauges().processorTime(of: "index", grid).allSatisfy { $0 == nil })
  }
}

import Jobs
import Testing

@testable import WorkerPool

@Suite struct CountedJobsTests {
  private func available(_ queue: String, _ count: Int) -> JobBacklog {
    JobBacklog(state: "available", kind: "a", queue: queue, count: count)
  }

  @Test func jobsThatRunAreNotAvailableAsWell() {
    let counted = CountedJobs(
      states: [.available: 10, .dead: 1], backlog: [available("default", 7), available("mail", 1)],
      running: [
        JobSummary(key: 1, kind: "a"), JobSummary(key: 2, kind: "a"), JobSummary(key: 3, kind: "a", queue: "mail"),
        JobSummary(key: 4, kind: "a", queue: "small"),
      ])
    #expect(counted.jobs["available"] == 6 && counted.jobs["running"] == 4 && counted.jobs["dead"] == 1)
    #expect(counted.backlog.contains(available("default", 5)))
    #expect(!counted.backlog.contains { $0.state == "available" && $0.queue == "mail" })
    #expect(counted.backlog.contains(JobBacklog(state: "running", kind: "a", queue: "mail", count: 1)))
    #expect(counted.outsideBacklog == ["available": 1], "one of two in queues that are not named runs")
    #expect(counted.backlog.reduce(0) { $0 + $1.count } + counted.outsideBacklog.values.reduce(0, +) == 10)
  }

  @Test func aStoreIsCountedForATenthOfTheTimeAtMost() {
    let passed = Collected<Double>()
    let cache = OverviewCache(now: { passed.all.reduce(0, +) })
    var counts = 0
    func count() -> Int? {
      cache.find {
        counts += 1
        passed.add(0.5)
        return CountedJobs(states: [.available: counts], backlog: [], running: [])
      }.jobs["available"]
    }
    #expect(count() == 1)
    passed.add(4.9)
    #expect(count() == 1)
    passed.add(0.2)
    #expect(count() == 2)
  }
}

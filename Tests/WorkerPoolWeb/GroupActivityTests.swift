import Foundation
import Jobs
import PoolClient
import Testing

@testable import WorkerPoolWeb

/// What the pages about queues and kinds tell of the last minutes.
@Suite struct GroupActivityTests {
  @Test func jobsCountInTheMinuteInWhichTheyEndedByQueueAndByKind() throws {
    // Given jobs of two kinds in two queues: some ended, some wait
    let now = JobStore.HistoryStep.minute.start(of: Date()) - 600 + 30
    let file = try JobsFile { store, context in
      func jobs(_ kind: String, _ queue: String, _ count: Int) throws -> [Job] {
        let request = JobRequest(kind: kind, queue: queue)
        return try store.insert([JobRequest](repeating: request, count: count), into: context, at: now - 3600)
      }
      for job in try jobs("a", "fast", 3) + jobs("b", "fast", 2) {
        try job.markSucceeded(startedAt: now - 70, at: now - 60)
      }
      for job in try jobs("a", "slow", 1) { try job.markSucceeded(startedAt: now, at: now - 7200) }
      for job in try jobs("a", "slow", 2) {
        let failure = AttemptFailure(attempt: 1, date: now - 5, type: "E", message: "no")
        try job.markFailed(failure, policy: RetryPolicy(maxAttempts: 1), at: now - 5)
      }
      _ = try jobs("b", "slow", 4)
    }
    let backlog = [JobBacklog(state: "available", kind: "b", queue: "slow", count: 4)]
    // When
    var activity = GroupActivity()
    let queues = try activity.groups(backlog, by: \.queue, in: file.reader.reader, at: now)
    let kinds = try activity.groups(backlog, by: \.kind, in: file.reader.reader, at: now)
    // Then: the last minute has begun, the one before is over.
    #expect(queues["fast"]?.succeeded.suffix(2) == [5, 0] && queues["fast"]?.deaths == 0)
    // Four minutes and the half of one that has begun.
    #expect(queues["fast"].map { abs($0.rate - 5 / 4.5) < 0.001 } == true)
    #expect(queues["slow"]?.succeeded.reduce(0, +) == 0 && queues["slow"]?.dead.suffix(2) == [0, 2])
    #expect(queues["slow"]?.oldestWaits.map { abs($0.timeIntervalSince(now - 3600)) < 1 } == true)
    #expect(queues["fast"]?.oldestWaits == nil)
    #expect(kinds["a"]?.succeeded.suffix(2) == [3, 0] && kinds["a"]?.deaths == 2)
    #expect(kinds["b"]?.succeeded.suffix(2) == [2, 0] && kinds["b"]?.oldestWaits != nil)
    // The status has the same figures, also if it counts fewer minutes of jobs that succeeded.
    var status = PoolStatus(
      pid: 1, store: "", model: "", phase: "running", age: 1, isPaused: false, pausedQueues: [], pausedKinds: [],
      workerCount: 1, workers: [], plugins: [], waiting: [:], counters: .init(), restarts: 0, rates: [],
      backlog: backlog, problems: [])
    var short = GroupActivity(succeededMinutes: GroupActivity.rateMinutes)
    status.addActivity(&short, in: file.reader.reader, at: now)
    let groups = (status.activity ?? []).map { [$0.queue, $0.kind] }
    #expect(groups == [["fast", "a"], ["fast", "b"], ["slow", "a"], ["slow", "b"]])
    #expect(status.activity?.map(\.died) == [0, 0, 2, 0])
    #expect(status.activity?.last?.oldestWaiting.map { abs($0 - 3600) < 1 } == true)
    let rate = status.activity?.reduce(0) { $0 + $1.succeededPerMinute }
    #expect(rate.map { abs($0 - 5 / 4.5) < 0.001 } == true)
    // And it is drawn with words for those who cannot see it.
    let html = Sparkline.html(try #require(kinds["a"]), of: "a").markup
    #expect(html.contains("3 jobs of a succeeded in the last 30 minutes, 2 died"))
    #expect(html.contains("<rect class=\"bar s0\"") && html.contains("<rect class=\"bar s1\""))
    #expect(Sparkline.html(GroupActivity.Group(), of: "b").markup.isEmpty)
  }
}

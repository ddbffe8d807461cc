import Foundation
import Jobs
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
    let queues = try activity.groups(backlog, by: \.queue, in: file.reader, at: now)
    let kinds = try activity.groups(backlog, by: \.kind, in: file.reader, at: now)
    // Then: the last minute has begun, the one before is over.
    #expect(queues["fast"]?.succeeded.suffix(2) == [5, 0] && queues["fast"]?.deaths == 0)
    #expect(queues["slow"]?.succeeded.reduce(0, +) == 0 && queues["slow"]?.dead.suffix(2) == [0, 2])
    #expect(queues["slow"]?.nextWaits.map { abs($0.timeIntervalSince(now - 3600)) < 1 } == true)
    #expect(queues["fast"]?.nextWaits == nil)
    #expect(kinds["a"]?.succeeded.suffix(2) == [3, 0] && kinds["a"]?.deaths == 2)
    #expect(kinds["b"]?.succeeded.suffix(2) == [2, 0] && kinds["b"]?.nextWaits != nil)
    // And it is drawn with words for those who cannot see it.
    let html = Sparkline.html(try #require(kinds["a"]), of: "a").markup
    #expect(html.contains("3 jobs of a succeeded in the last 30 minutes, 2 died"))
    #expect(html.contains("<rect class=\"bar s0\"") && html.contains("<rect class=\"bar s1\""))
    #expect(Sparkline.html(GroupActivity.Group(), of: "b").markup.isEmpty)
  }
}

import CoreData
import Foundation
import Jobs
import Testing

/// Old jobs that are deleted, and those that have to stay.
@Suite struct PruningTests {
  @Test func oldFinishedJobsAreDeletedAndNoOthers() throws {
    try withStore { store, context in
      let now = Date()
      let jobs = try store.insert((0..<6).map { _ in request() }, into: context, at: now)
      try jobs[0].markSucceeded(startedAt: now, at: now - 100)
      try jobs[1].markSucceeded(startedAt: now, at: now - 10)
      try jobs[2].markCancelled(at: now - 100)
      try jobs[3].markFailed(
        AttemptFailure(attempt: 1, date: now, type: "E", message: ""), policy: RetryPolicy(maxAttempts: 1),
        at: now - 100)
      try context.save()
      let retention = JobRetention(finished: 50, dead: 1000, count: nil)
      #expect(try store.prune(retention, at: now, in: context) == 2)
      try context.save()
      #expect(try store.prune(retention, at: now, in: context) == 0)
      #expect(try context.count(for: Job.fetchRequest()) == 4)
      #expect(try store.prune(JobRetention(finished: nil, dead: 50, count: 0), at: now, in: context) == 2)
      try context.save()
      #expect(try store.counts(in: context)[.available] == 2)
    }
  }

  @Test func aDeadJobThatAnotherWaitsForIsKept() throws {
    try withStore { store, context in
      let now = Date()
      let jobs = try store.insert(
        [request { $0.label = "one" }, request { $0.options.after = ["one"] }], into: context, at: now)
      try context.save()
      try jobs[0].markFailed(
        AttemptFailure(attempt: 1, date: now, type: "E", message: ""), policy: RetryPolicy(maxAttempts: 1), at: now)
      _ = try store.adoptPending(in: context)
      try context.save()
      #expect(try store.prune(JobRetention(finished: 0, dead: 0, count: 0), at: now + 10, in: context) == 0)
    }
  }

  /// While another job of the batch is unfinished nobody's row names the dead one; without it the last job would run.
  @Test(arguments: [true, false]) func aDeadJobAmongManyThatAnotherWaitsForIsKept(isBatch: Bool) throws {
    try withStore { store, context in
      let now = Date()
      let jobs = try store.insert(
        [
          request { ($0.label, $0.batch) = ("one", "b") }, request { ($0.label, $0.batch) = ("two", "b") },
          request { if isBatch { $0.options.afterBatch = "b" } else { $0.options.after = ["one", "two"] } },
        ], into: context, at: now)
      for job in try store.insert([request()], into: context, at: now) { try job.markCancelled(at: now) }
      try context.save()
      _ = try store.adoptPending(in: context)
      try jobs[0].markFailed(
        AttemptFailure(attempt: 1, date: now, type: "E", message: ""), policy: RetryPolicy(maxAttempts: 1), at: now)
      try context.save()
      #expect(try store.prune(JobRetention(finished: 0, dead: 0, count: 0), at: now + 10, in: context) == 1)
      try context.save()
      try jobs[1].markSucceeded(startedAt: now, at: now)
      try context.save()
      _ = try store.release(after: [try #require(jobs[1].objectID.key)], in: context)
      #expect(jobs[2].state == .blocked)
      // A person retries the dead one, and all of them can go.
      try jobs[0].markRetried()
      try jobs[0].markSucceeded(startedAt: now, at: now)
      try context.save()
      _ = try store.release(after: [try #require(jobs[0].objectID.key)], in: context)
      #expect(jobs[2].state == .available)
    }
  }

  @Test func jobsThatMustStayDoNotHideThoseBehindThem() throws {
    try withStore { store, context in
      let now = Date()
      for number in 0..<2500 {
        let one = try Job.insert(
          request {
            guard number < 1500 else { return }
            $0.uniqueKey = "k\(number)"
            $0.options.uniqueFor = 1000
          }, into: context, at: now)
        try one.markSucceeded(startedAt: now, at: now)
      }
      try context.save()
      let retention = JobRetention(finished: 50, dead: nil, count: nil)
      #expect(try store.prune(retention, at: now + 100, limit: 600, in: context) == 600)
      try context.save()
      #expect(try store.prune(retention, at: now + 100, limit: 600, in: context) == 400)
      try context.save()
      #expect(try store.prune(retention, at: now + 100, in: context) == 0)
      // By number, too, and not more than is too much: here only the ones with free keys may go.
      #expect(try store.prune(JobRetention(finished: nil, dead: nil, count: 1), at: now + 100, in: context) == 0)
      #expect(try store.prune(JobRetention(finished: nil, dead: nil, count: 300), at: now + 2000, in: context) == 1000)
      try context.save()
      #expect(try store.prune(JobRetention(finished: nil, dead: nil, count: 300), at: now + 2000, in: context) == 200)
    }
  }
}

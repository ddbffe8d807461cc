import CoreData
import Foundation
import Testing

@testable import Jobs

/// Jobs that run after other jobs.
@Suite struct JobDependencyTests {
  @Test(arguments: JobStoreKind.allCases) func aJobRunsAfterTheOnesThatItNames(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let jobs = try store.insert(
        [
          request { $0.label = "one" }, request { $0.label = "two" },
          request("b") { $0.options.after = ["one", "two"] },
        ], into: context)
      try context.save()
      let last = jobs[2]
      #expect(last.options.after == jobs[..<2].map(\.objectID.uriString))
      #expect(last.state == .pending)
      #expect(try store.adoptPending(in: context).ready.isEmpty)
      try context.save()
      #expect(last.state == .blocked)
      // In either order, with hints that come twice or for jobs of no concern.
      for job in [jobs[1], jobs[0]] {
        #expect(try store.release(after: [job.objectID.key ?? 0, 12_345], in: context).ready.isEmpty)
        #expect(last.state == .blocked)
        try job.markSucceeded(startedAt: Date())
        try context.save()
      }
      let blockers = try store.blockers(in: context)
      let released = try store.release(after: blockers, in: context)
      #expect(released.ready.map(\.key) == [last.objectID.key ?? 0] && last.state == .available)
      try context.save()
      #expect(try !store.hasDependents(in: context))
    }
  }

  @Test(arguments: JobStoreKind.allCases) func aJobThatWaitsKeepsItsTime(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let now = Date.thisSecond
      let jobs = try store.insert(
        [
          request { $0.label = "one" },
          request {
            $0.options.after = ["one"]
            $0.runAt = now + 100
          },
        ], into: context, at: now)
      try context.save()
      _ = try store.adoptPending(at: now, in: context)
      try context.save()
      #expect(try store.promoteDue(at: now + 200, in: context).isEmpty, "it waits for a job, not for its time")
      #expect(try store.nextDue(in: context) == nil)
      try jobs[0].markSucceeded(startedAt: now)
      try context.save()
      let release = try store.release(after: store.blockers(in: context), at: now + 50, in: context)
      #expect(release.isSomeScheduled && jobs[1].state == .scheduled && jobs[1].runAt == now + 100)
    }
  }

  /// The job that it waits for has a taken key, so that it need not wait. The time is the one at which both came.
  @Test(arguments: JobStoreKind.allCases)
  func aJobThatWaitsForOneThatIsLeftOutWaitsForItsTime(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let came = Date.thisSecond - 1000
      let keyed = request { ($0.uniqueKey, $0.label) = ("k", "one") }
      try store.insert([keyed], into: context, at: came)
      try context.save()
      let later = request {
        $0.options.after = ["one"]
        $0.runAt = came + 500
      }
      let jobs = try store.insert([keyed, later], into: context, at: came)
      #expect(jobs.count == 1 && jobs.first?.state == .scheduled && jobs.first?.runAt == came + 500)
    }
  }

  @Test(arguments: JobStoreKind.allCases, JobOptions.FailureRule.allCases)
  func aFailedJobBeforeItDecidesAsAsked(kind: JobStoreKind, rule: JobOptions.FailureRule) throws {
    try withStore(kind) { store, context in
      let jobs = try store.insert(
        [
          request { $0.label = "one" }, request { $0.label = "two" },
          request {
            $0.options.after = ["one", "two"]
            $0.options.whenFailed = rule
            $0.label = "three"
          },
          request {
            $0.options.after = ["three"]
            $0.options.whenFailed = rule
          },
        ], into: context)
      try context.save()
      _ = try store.adoptPending(in: context)
      try context.save()
      try jobs[0].markFailed(
        AttemptFailure(attempt: 1, date: Date(), type: "E", message: ""), policy: RetryPolicy(maxAttempts: 1))
      try jobs[1].markSucceeded(startedAt: Date())
      try context.save()
      var ended = jobs[..<2].compactMap(\.objectID.key)
      while !ended.isEmpty {
        ended = try store.release(after: ended, in: context).cancelled
        try context.save()
      }
      switch rule {
      case .wait: #expect(jobs[2].state == .blocked && jobs[3].state == .blocked)
      case .cancel: #expect(jobs[2].state == .cancelled && jobs[3].state == .cancelled)
      case .run: #expect(jobs[2].state == .available && jobs[3].state == .blocked)
      }
      if rule == .wait {
        try jobs[0].markRetried()
        try jobs[0].markSucceeded(startedAt: Date())
        try context.save()
        _ = try store.release(after: [jobs[0].objectID.key ?? 0], in: context)
        #expect(jobs[2].state == .available)
      }
    }
  }

  @Test(arguments: JobStoreKind.allCases)
  func aJobRunsWhenItsBatchIsDoneWithWhatWasAddedOnTheWay(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let member = request { $0.batch = "night" }
      var jobs = try store.insert(
        [member, member, request("report") { $0.options.afterBatch = "night" }], into: context)
      try context.save()
      let report = jobs.removeLast()
      _ = try store.adoptPending(in: context)
      try context.save()
      var rounds = 0
      while !jobs.isEmpty {
        rounds += 1
        // The first one submits another member in its own save.
        if rounds == 1 { jobs.append(try Job.insert(member, into: context)) }
        let job = jobs.removeFirst()
        #expect(report.state == .blocked)
        try job.markSucceeded(startedAt: Date())
        try context.save()
        _ = try store.release(after: [job.objectID.key ?? 0], in: context)
        try context.save()
      }
      #expect(report.state == .available && rounds == 3)
    }
  }

  @Test(arguments: JobStoreKind.allCases) func aJobWhoseBatchHasNoJobWaitsForTheFirst(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let waiting = request("report") { $0.options.afterBatch = "nihgt" }
      let jobs = try store.insert([waiting, request { $0.batch = "night" }], into: context)
      try context.save()
      let found = try store.adoptPending(in: context)
      try context.save()
      #expect(jobs.map(\.state) == [.blocked, .available])
      #expect(found.withoutBatch.map(\.batch) == ["nihgt"])
      #expect(try store.batchesThatCame(in: context).isEmpty)
      let stuck = try store.stuckJobs(in: context)
      #expect(stuck == [StuckJobs(jobs: [jobs[0].objectID.uriString], batch: "nihgt", nearest: "night")])
      let members = try store.insert([request { $0.batch = "nihgt" }], into: context)
      try context.save()
      _ = try store.release(after: try store.batchesThatCame(in: context), in: context)
      try context.save()
      let blockers = try store.blockers(in: context)
      #expect(jobs[0].state == .blocked && blockers == members.map(\.objectID.key))
      try members[0].markSucceeded(startedAt: Date())
      try context.save()
      _ = try store.release(after: blockers, in: context)
      #expect(jobs[0].state == .available)
    }
  }

  @Test func aCycleIsNamedOnceAndInItsOrder() throws {
    try withStore { store, _ in
      let blockers: [Int64: Int64] = [9: 4, 4: 7, 7: 9, 5: 4, 3: 3, 8: 5, 2: 100, 11: -5]
      #expect(store.cycles(in: blockers) == [[3], [4, 7, 9]])
    }
  }

  @Test(arguments: JobStoreKind.allCases) func aRequestAfterAJobThatIsNotThereIsNamed(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let stranger = request { $0.options.after = ["x-coredata://ELSE/PoolJob/p1"] }
      #expect(try store.problem(with: [request(), stranger], in: context)?.hasPrefix("job 2: ") == true)
      let missing = request { $0.options.after = [store.jobURIs[99].description] }
      #expect(try store.problem(with: [missing], in: context)?.contains("there is no job") == true)
      let known = try #require(try store.insert([request()], into: context).first)
      try context.save()
      #expect(try store.problem(with: [request { $0.options.after = [known.objectID.uriString] }], in: context) == nil)
      // Jobs that an app or a worker submits are checked in the same way.
      #expect(throws: MissingJobError.self) { try Job.submit(stranger, into: context) }
      let error = #expect(throws: MissingJobError.self) { try Job.submit(missing, into: context) }
      #expect(error?.uri == store.jobURIs[99])
      // A job of the same save is there.
      let new = try #require(try Job.submit(request(), into: context))
      try context.obtainPermanentIDs(for: [new])
      let after = try Job.submit(request { $0.options.after = [new.objectID.uriString] }, into: context)
      #expect(after != nil)
      try context.save()
    }
  }
}

import CoreData
import Foundation
import Jobs
import TestFiles
import Testing

/// What jobs can ask for beyond being run, on the store itself and with a clock of the test's own.
@Suite struct JobFeatureTests {
  private let place = temporaryURL("features")

  /// Runs the body on the queue of a context of a new store, and removes all of it.
  private func withStore(_ body: (JobStore, NSManagedObjectContext) throws -> Void) throws {
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: place) }
    let store = try JobStore(url: place.appendingPathComponent("app.sqlite"), model: NoteModel.make())
    let context = store.makeContext(name: "test")
    try context.performAndWait { try body(store, context) }
  }

  private func request(_ kind: String = "a", _ change: (inout JobRequest) -> Void = { _ in }) -> JobRequest {
    var request = JobRequest(kind: kind)
    change(&request)
    return request
  }

  // MARK: Unique keys

  @Test func aKeyCanBeTakenForAPeriod() throws {
    try withStore { store, context in
      let now = Date()
      let hourly = request {
        $0.uniqueKey = "k"
        $0.options.uniqueFor = 3600
      }
      let job = try #require(try store.insert([hourly], into: context, at: now).first)
      try job.markSucceeded(startedAt: now, at: now + 1)
      try context.save()
      #expect(try store.insert([hourly], into: context, at: now + 3599).isEmpty, "finished, but not long enough ago")
      #expect(try store.insert([hourly], into: context, at: now + 3601).count == 1)
      try context.save()
    }
  }

  @Test func ofTwoProcessesThatTakeAKeyAtOnceOneHasIt() throws {
    // One process           Other process
    // looks: free
    //                       looks: free
    //                       saves
    // saves: refused
    // looks again: taken
    try withStore { store, context in
      let mine = request { $0.uniqueKey = "k" }
      #expect(try Job.submit(mine, into: context) != nil)
      let other = store.makeContext(name: "other")
      try other.performAndWait {
        #expect(try store.insert([mine], into: other).count == 1)
        try other.save()
      }
      #expect(throws: NSError.self) { try context.save() }
      context.rollback()
      #expect(try Job.submit(mine, into: context) == nil)
    }
  }

  @Test func aRetriedJobTakesItsKeyAgainIfItIsFree() throws {
    try withStore { store, context in
      let keyed = request { $0.uniqueKey = "k" }
      let first = try #require(try store.insert([keyed], into: context).first)
      try first.markCancelled()
      try context.save()
      try first.markRetried()
      try context.save()
      #expect(try store.insert([keyed], into: context).isEmpty)
      try first.markCancelled()
      try context.save()
      #expect(try store.insert([keyed], into: context).count == 1)
      try context.save()
      try first.markRetried()
      #expect(throws: NSError.self) { try context.save() }
    }
  }

  // MARK: Attempts

  @Test func aJobsOwnBackoffGoesBeforeItsKinds() throws {
    try withStore { store, context in
      let own = request {
        $0.maxAttempts = 9
        $0.options.backoff = 100
        $0.options.maxBackoff = 150
      }
      let kind = RetryPolicy(maxAttempts: 2, maxCrashes: 7, backoff: 1, maxBackoff: 2)
      let jobs = try store.insert([own, request()], into: context)
      #expect(kind.applied(to: jobs[0]) == RetryPolicy(maxAttempts: 9, maxCrashes: 7, base: 100, cap: 150))
      #expect(kind.applied(to: jobs[1]) == kind)
    }
  }

  @Test func aSnoozedJobComesBackAndNoAttemptIsCounted() throws {
    try withStore { store, context in
      let now = Date()
      let job = try #require(try store.insert([request()], into: context, at: now).first)
      try job.markSnoozed(until: now + 60, at: now)
      try context.save()
      #expect(job.state == .scheduled && job.attempt == 0 && job.runAt == now + 60)
      #expect(try store.promoteDue(at: now + 61, in: context).count == 1)
      #expect(job.state == .available)
    }
  }

  @Test func longErrorsAreCutShort() throws {
    try withStore { store, context in
      let job = try #require(try store.insert([request()], into: context).first)
      let failure = AttemptFailure(
        attempt: 1, date: Date(), type: "E", message: String(repeating: "x", count: 100_000),
        standardError: (0..<100).map { "\($0)" + String(repeating: "y", count: 10_000) })
      try job.markFailed(failure, policy: RetryPolicy())
      let kept = try #require(job.failures.first)
      #expect(kept.message.count == AttemptFailure.longestText && kept.standardError.count == AttemptFailure.kept)
      #expect(kept.standardError.last?.hasPrefix("99") == true)
    }
  }

  // MARK: Jobs after jobs

  @Test func aJobRunsAfterTheOnesThatItNames() throws {
    try withStore { store, context in
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

  @Test func aJobThatWaitsKeepsItsTime() throws {
    try withStore { store, context in
      let now = Date()
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

  @Test(arguments: JobOptions.FailureRule.allCases)
  func aFailedJobBeforeItDecidesAsAsked(rule: JobOptions.FailureRule) throws {
    try withStore { store, context in
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

  @Test func aJobRunsWhenItsBatchIsDoneWithWhatWasAddedOnTheWay() throws {
    try withStore { store, context in
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

  @Test func aRequestAfterAJobThatIsNotThereIsNamed() throws {
    try withStore { store, context in
      let stranger = request { $0.options.after = ["x-coredata://ELSE/PoolJob/p1"] }
      #expect(try store.problem(with: [request(), stranger], in: context)?.hasPrefix("job 2: ") == true)
      let missing = request { $0.options.after = [store.jobURIs[99].description] }
      #expect(try store.problem(with: [missing], in: context)?.contains("there is no job") == true)
      let known = try #require(try store.insert([request()], into: context).first)
      try context.save()
      #expect(try store.problem(with: [request { $0.options.after = [known.objectID.uriString] }], in: context) == nil)
    }
  }

  // MARK: Pruning

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
      _ = try store.insert([request()], into: context, at: now).map { try $0.markCancelled(at: now) }
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

  // MARK: Periodic entries

  /// As on a machine without a battery: its clock is years ahead at boot, and NTP sets it.
  @Test func anEntryThatRanWhileTheClockWasAheadGoesOnWithTheRightTime() throws {
    try withStore { store, context in
      let entry = PeriodicEntry(name: "tick", cron: try CronExpression("* * * * *"), job: request("tick"))
      let now = Date(timeIntervalSinceReferenceDate: 800_000_000)
      let ahead = now + 5 * 365 * 86_400
      _ = try store.insertPeriodic([entry], at: ahead, into: context)
      #expect(try store.insertPeriodic([entry], at: ahead + 61, into: context).jobs.count == 1)
      let late = try #require(try store.insert([request { $0.runAt = ahead + 3600 }], into: context, at: ahead).first)
      try context.save()

      let first = try store.insertPeriodic([entry], at: now, into: context)
      #expect(first.jobs.isEmpty)
      #expect(first.corrected["tick"].map { $0 > now + 86_400 } == true)
      #expect(first.next.map { $0 <= now + 60 } == true)
      try context.save()
      let second = try store.insertPeriodic([entry], at: now + 61, into: context)
      #expect(second.jobs.count == 1 && second.corrected.isEmpty)
      #expect(late.runAt == ahead + 3600, "a point in time stays")
    }
  }

  /// Steps of seconds are common: a time that has had its job gets no second one by them.
  @Test func aClockThatIsPutBackALittleRepeatsNoTime() throws {
    try withStore { store, context in
      let entry = PeriodicEntry(name: "tick", cron: try CronExpression("* * * * *"), job: request("tick"))
      let start = Date(timeIntervalSinceReferenceDate: 800_000_000)
      _ = try store.insertPeriodic([entry], at: start, into: context)
      #expect(try store.insertPeriodic([entry], at: start + 60.5, into: context).jobs.count == 1)
      let back = try store.insertPeriodic([entry], at: start + 30, into: context)
      #expect(back.jobs.isEmpty && back.corrected.isEmpty)
      #expect(try store.insertPeriodic([entry], at: start + 61, into: context).jobs.isEmpty)
    }
  }

  /// Names of files that a Mac and a Linux program wrote may only look alike.
  @Test func entriesWhoseNamesOnlyLookAlikeAreTwo() throws {
    try withStore { store, context in
      let entries = try ["\u{e9}", "e\u{301}"].map { name in
        PeriodicEntry(name: name, cron: try CronExpression("* * * * *"), job: request("tick"))
      }
      let start = try #require(Timestamp.date("2026-01-01T00:00:30Z"))
      for (seconds, count) in [(0.0, 0), (1.0, 0), (30.0, 2), (31.0, 0)] {
        let round = try store.insertPeriodic(entries, at: start + seconds, into: context)
        try context.save()
        #expect(round.jobs.count == count)
      }
    }
  }

  @Test func eachTimeHasOneJobAcrossRestarts() throws {
    try withStore { store, context in
      let entry = PeriodicEntry(name: "tick", cron: try CronExpression("* * * * *"), job: request("tick"))
      let start = try #require(Timestamp.date("2026-01-01T00:00:30Z"))
      func jobs(at seconds: Double, in context: NSManagedObjectContext) throws -> Int {
        let round = try store.insertPeriodic([entry], at: start + seconds, into: context)
        try context.save()
        return round.jobs.count
      }
      #expect(try jobs(at: 0, in: context) == 0, "a new entry begins now")
      #expect(try jobs(at: 29, in: context) == 0)
      #expect(try jobs(at: 30, in: context) == 1)
      #expect(try jobs(at: 31, in: context) == 0)
      // As after a crash: another process, with nothing but the file.
      let restarted = store.makeContext(name: "restarted")
      try restarted.performAndWait {
        #expect(try jobs(at: 40, in: restarted) == 0)
        #expect(try jobs(at: 30 + 600, in: restarted) == 1, "one for all that were missed")
        let next = try store.insertPeriodic([entry], at: start + 640, into: restarted).next
        #expect(next == start + 690)
      }
    }
  }

  @Test func aCrashBetweenTheJobAndItsMarkLosesBoth() throws {
    try withStore { store, context in
      let entry = PeriodicEntry(name: "tick", cron: try CronExpression("* * * * *"), job: request("tick"))
      let start = try #require(Timestamp.date("2026-01-01T00:00:30Z"))
      _ = try store.insertPeriodic([entry], at: start, into: context)
      try context.save()
      #expect(try store.insertPeriodic([entry], at: start + 31, into: context).jobs.count == 1)
      context.rollback()
      #expect(try store.insertPeriodic([entry], at: start + 32, into: context).jobs.count == 1)
    }
  }
}

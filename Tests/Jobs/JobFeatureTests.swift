import CoreData
import Foundation
import Jobs
import Testing

/// Unique keys and attempts, on the store itself and with a clock of the test's own.
@Suite struct JobFeatureTests {
  // MARK: Attempts

  /// The worker notes errors, the pool notes crashes: both count attempts alike.
  @Test func attemptsAreNumberedThroughErrorsAndCrashes() throws {
    try withStore { store, context in
      let job = try #require(try store.insert([request()], into: context).first)
      var numbers: [Int] = []
      for isCrash in [true, false, true] {
        numbers.append(job.attemptNumber)
        let failure = AttemptFailure(
          attempt: job.attemptNumber, date: Date(), type: "x", message: "x", host: "", pid: 1, signal: nil,
          standardError: [])
        if isCrash {
          try job.markCrashed(failure, policy: RetryPolicy())
        } else {
          try job.markFailed(failure, policy: RetryPolicy())
        }
        try job.markDue()
      }
      #expect(numbers == [1, 2, 3] && job.failures.map(\.attempt) == [1, 2, 3])
    }
  }

  // MARK: Unique keys

  @Test(arguments: JobStoreKind.allCases) func aKeyCanBeTakenForAPeriod(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let now = Date.thisSecond
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

  @Test(arguments: JobStoreKind.allCases) func ofTwoProcessesThatTakeAKeyAtOnceOneHasIt(kind: JobStoreKind) throws {
    // One process           Other process
    // looks: free
    //                       looks: free
    //                       saves
    // saves: refused
    // looks again: taken
    try withStore(kind) { store, context in
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

  @Test(arguments: JobStoreKind.allCases) func aRetriedJobTakesItsKeyAgainIfItIsFree(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
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

  @Test(arguments: JobStoreKind.allCases) func aSnoozedJobComesBackAndNoAttemptIsCounted(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let now = Date.thisSecond
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
}

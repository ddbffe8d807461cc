import CoreData
import Foundation
import Jobs
import Testing

/// Old jobs that are deleted, and those that have to stay.
@Suite struct PruningTests {
  @Test(arguments: JobStoreKind.allCases) func oldFinishedJobsAreDeletedAndNoOthers(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let now = Date.thisSecond
      let jobs = try store.insert((0..<6).map { _ in request() }, into: context, at: now)
      try jobs[0].markSucceeded(startedAt: now, at: now - 100)
      try jobs[1].markSucceeded(startedAt: now, at: now - 10)
      try jobs[2].markCancelled(at: now - 100)
      try jobs[3].markFailed(
        AttemptFailure(attempt: 1, date: now, type: "E", message: ""), policy: RetryPolicy(maxAttempts: 1),
        at: now - 100)
      try context.save()
      let retention = JobRetention(finished: 50, dead: 1000, count: nil)
      #expect(try JobPruning(retention, in: store, at: now).deleteNext(in: context) == 2)
      try context.save()
      #expect(try JobPruning(retention, in: store, at: now).deleteNext(in: context) == 0)
      #expect(try context.count(for: Job.fetchRequest()) == 4)
      #expect(
        try JobPruning(JobRetention(finished: nil, dead: 50, count: 0), in: store, at: now).deleteNext(in: context) == 2
      )
      try context.save()
      #expect(try store.counts(in: context)[.available] == 2)
    }
  }

  @Test(arguments: JobStoreKind.allCases) func aDeadJobThatAnotherWaitsForIsKept(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let now = Date.thisSecond
      let jobs = try store.insert(
        [request { $0.label = "one" }, request { $0.options.after = ["one"] }], into: context, at: now)
      try context.save()
      try jobs[0].markFailed(
        AttemptFailure(attempt: 1, date: now, type: "E", message: ""), policy: RetryPolicy(maxAttempts: 1), at: now)
      _ = try store.adoptPending(in: context)
      try context.save()
      #expect(
        try JobPruning(JobRetention(finished: 0, dead: 0, count: 0), in: store, at: now + 10).deleteNext(in: context)
          == 0)
    }
  }

  /// While another job of the batch is unfinished nobody's row names the dead one; without it the last job would run.
  @Test(arguments: JobStoreKind.allCases, [true, false])
  func aDeadJobAmongManyThatAnotherWaitsForIsKept(kind: JobStoreKind, isBatch: Bool) throws {
    try withStore(kind) { store, context in
      let now = Date.thisSecond
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
      #expect(
        try JobPruning(JobRetention(finished: 0, dead: 0, count: 0), in: store, at: now + 10).deleteNext(in: context)
          == 1)
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

  @Test(arguments: JobStoreKind.allCases) func jobsThatMustStayDoNotHideThoseBehindThem(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let now = Date.thisSecond
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
      #expect(try JobPruning(retention, in: store, at: now + 100).deleteNext(limit: 600, in: context) == 600)
      try context.save()
      #expect(try JobPruning(retention, in: store, at: now + 100).deleteNext(limit: 600, in: context) == 400)
      try context.save()
      #expect(try JobPruning(retention, in: store, at: now + 100).deleteNext(in: context) == 0)
      // By number, too: here only the ones with free keys may go.
      #expect(
        try JobPruning(JobRetention(finished: nil, dead: nil, count: 1), in: store, at: now + 100).deleteNext(
          in: context) == 0)
      #expect(
        try JobPruning(JobRetention(finished: nil, dead: nil, count: 300), in: store, at: now + 2000).deleteNext(
          in: context) == 1000)
      try context.save()
      #expect(
        try JobPruning(JobRetention(finished: nil, dead: nil, count: 300), in: store, at: now + 2000).deleteNext(
          in: context) == 200)
    }
  }

  /// What a pass has counted and passed over, it neither counts nor reads again.
  @Test(arguments: JobStoreKind.allCases) func aPassLeavesWhatFinishesMeanwhileToTheNext(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let now = Date.thisSecond
      func finish(_ numbers: Range<Int>, withKeys: Bool = false) throws {
        for number in numbers {
          let one = try Job.insert(
            request {
              guard withKeys else { return }
              ($0.uniqueKey, $0.options.uniqueFor) = ("k\(number)", 1000)
            }, into: context, at: now)
          try one.markSucceeded(startedAt: now, at: now + Double(number))
        }
        try context.save()
      }
      // Given six jobs that stay, and thirty behind them, of which the youngest sixteen are kept.
      try finish(0..<6, withKeys: true)
      try finish(6..<36)
      let pruning = JobPruning(JobRetention(finished: nil, dead: nil, count: 16), in: store, at: now + 100)
      var counts: [Int] = []
      repeat {
        counts.append(try pruning.deleteNext(limit: 8, in: context))
        try context.save()
        context.reset()
        // When further ones finish
        if counts.count == 1 { try finish(36..<41) }
      } while counts.last != 0
      // Then
      #expect(counts == [8, 6, 0])
      #expect(try context.count(for: Job.fetchRequest()) == 6 + 16 + 5)
      let next = JobPruning(JobRetention(finished: nil, dead: nil, count: 16), in: store, at: now + 100)
      #expect(try next.deleteNext(in: context) == 5)
    }
  }

  /// Each counts what is too many, and the other one deletes meanwhile.
  @Test(arguments: JobStoreKind.allCases) func twoPassesAtOnceKeepWhatOneKeeps(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let now = Date.thisSecond
      let jobs = try (0..<60).map { number in
        let one = try Job.insert(request(), into: context, at: now)
        // Some finish at the same time.
        try one.markSucceeded(startedAt: now, at: now + Double(number / 7))
        return one
      }
      try context.save()
      let keys = jobs.compactMap(\.objectID.key)
      let retention = JobRetention(finished: nil, dead: nil, count: 20)
      let passes = (0..<2).map { _ in JobPruning(retention, in: store, at: now + 100) }
      var counts: [Int] = []
      repeat {
        counts = try passes.map { pass in
          let count = try pass.deleteNext(limit: 9, in: context)
          try context.save()
          context.reset()
          return count
        }
      } while counts != [0, 0]
      let kept = Job.fetchRequest()
      kept.sortDescriptors = [NSSortDescriptor(key: "objectID", ascending: true)]
      #expect(try context.fetch(kept).compactMap(\.objectID.key) == Array(keys.suffix(20)))
    }
  }

  @Test(arguments: JobStoreKind.allCases) func aJobThatIsRetriedMeanwhileStays(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let now = Date.thisSecond
      let job = try Job.insert(request(), into: context, at: now)
      try job.markFailed(
        AttemptFailure(attempt: 1, date: now, type: "E", message: ""), policy: RetryPolicy(maxAttempts: 1), at: now)
      try context.save()
      let id = job.objectID
      // Given a pass that has read the dead job
      context.reset()
      let pass = JobPruning(JobRetention(finished: 0, dead: 0, count: 0), in: store, at: now + 10)
      #expect(try pass.deleteNext(in: context) == 1)
      // When a person retries it before the pass is saved
      let other = store.makeContext(name: "other")
      try other.performAndWait {
        try #require(try other.existingObject(with: id) as? Job).markRetried()
        try other.save()
      }
      // Then the pass fails, and the job stays.
      let error = #expect(throws: NSError.self) { try context.save() }
      #expect(error?.code == CocoaError.Code.managedObjectMerge.rawValue)
      context.reset()
      #expect(try context.fetch(Job.fetchRequest()).map(\.state) == [.available])
    }
  }

  /// A job that stays is between two that go: after a save that failed, the pass begins again before the first.
  @Test(arguments: JobStoreKind.allCases) func aPassThatWasRolledBackLeavesNoJobOut(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let now = Date.thisSecond
      for number in 0..<3 {
        let job = try Job.insert(
          request {
            if number == 1 { ($0.uniqueKey, $0.options.uniqueFor) = ("k", 1000) }
          }, into: context, at: now)
        try job.markSucceeded(startedAt: now, at: now + Double(number))
      }
      try context.save()
      context.reset()
      let pass = JobPruning(JobRetention(finished: 0, dead: 0, count: 0), in: store, at: now + 10)
      for _ in 0..<2 {
        #expect(try pass.deleteNext(in: context) == 2)
        context.rollback()
        context.reset()
      }
      #expect(try pass.deleteNext(in: context) == 2)
      try context.save()
      context.reset()
      #expect(try pass.deleteNext(in: context) == 0)
      #expect(try context.fetch(Job.fetchRequest()).map(\.uniqueKey) == ["k"])
    }
  }

  @Test(arguments: JobStoreKind.allCases)
  func aJobThatComesDuringThePassKeepsTheDeadOneItNames(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let now = Date.thisSecond
      let dead = try store.insert((0..<2).map { _ in request() }, into: context, at: now)
      for (number, job) in dead.enumerated() {
        try job.markFailed(
          AttemptFailure(attempt: 1, date: now, type: "E", message: ""), policy: RetryPolicy(maxAttempts: 1),
          at: now + Double(number))
      }
      try context.save()
      let named = dead[1].objectID.uriString
      let pass = JobPruning(JobRetention(finished: 0, dead: 0, count: 0), in: store, at: now + 10)
      #expect(try pass.deleteNext(limit: 1, in: context) == 1)
      try context.save()
      try store.insert([request { $0.options.after = [named] }], into: context, at: now)
      try context.save()
      #expect(try pass.deleteNext(limit: 1, in: context) == 0)
    }
  }

  /// Ended jobs that jobs can still wait for.
  enum EndedJob: CaseIterable, Sendable {
    case dead, cancelled, ofBatch

    /// Makes the job end.
    func end(_ job: PoolJob, at now: Date) throws {
      switch self {
      case .dead:
        try job.markFailed(
          AttemptFailure(attempt: 1, date: now, type: "E", message: ""), policy: RetryPolicy(maxAttempts: 1), at: now)
      case .cancelled: try job.markCancelled(at: now)
      case .ofBatch: try job.markSucceeded(startedAt: now, at: now)
      }
    }

    /// A request for a job that waits for it.
    func dependent(of job: String) -> JobRequest {
      request {
        if self == .ofBatch { $0.options.afterBatch = "b" } else { $0.options.after = [job] }
        $0.options.whenFailed = .cancel
      }
    }
  }

  /// Another process saves a job that waits for one which the pass deletes:
  ///
  ///     pass                       process
  ///     finds that nobody waits
  ///                                saves a dependent
  ///     saves: conflict
  ///     finds that one waits
  @Test(arguments: JobStoreKind.allCases, EndedJob.allCases)
  func aJobStaysIfADependentIsSavedBeforeThePassIs(kind: JobStoreKind, ended: EndedJob) throws {
    let process = try TemporaryJobStore(kind)
    try process.openedAgain().perform { store, context in
      let now = Date.thisSecond
      let job = try store.insert([request { $0.batch = "b" }], into: context, at: now)[0]
      try ended.end(job, at: now)
      try context.save()
      let id = job.objectID
      context.reset()
      // Given a pass that has asked
      let pass = JobPruning(JobRetention(finished: 0, dead: 0, count: 0), in: store, at: now + 10)
      #expect(try pass.deleteNext(in: context) == 1)
      // When a dependent comes before the pass is saved
      try process.insert([ended.dependent(of: id.uriString)])
      // Then the pass fails, and asks again.
      let error = #expect(throws: NSError.self) { try context.save() }
      #expect(error?.code == CocoaError.Code.managedObjectMerge.rawValue)
      context.rollback()
      context.reset()
      #expect(try pass.deleteNext(in: context) == 0)
      // The dependent learns how the job has ended.
      _ = try store.adoptPending(in: context)
      try context.save()
      let dependent = Job.fetchRequest()
      dependent.predicate = NSPredicate(format: "self != %@", id)
      #expect(try context.fetch(dependent).map(\.state) == [ended == .ofBatch ? .available : .cancelled])
      // Nobody waits any more.
      let next = JobPruning(JobRetention(finished: 0, dead: 0, count: nil), in: store, at: now + 10)
      #expect(try next.deleteNext(in: context) > 0)
      try context.save()
      #expect(try context.fetch(Job.fetchRequest()).allSatisfy { $0.objectID != id })
    }
  }

  /// A pass that retries: a dependent of one of the two jobs is saved before the first save.
  @Test(arguments: JobStoreKind.allCases) func aPassBeginsAgainAfterAConflict(kind: JobStoreKind) throws {
    let process = try TemporaryJobStore(kind)
    try process.openedAgain().perform { store, context in
      let now = Date.thisSecond
      let jobs = try store.insert([request(), request()], into: context, at: now)
      for job in jobs { try job.markCancelled(at: now) }
      try context.save()
      let named = jobs[0].objectID.uriString
      context.reset()
      let pass = JobPruning(JobRetention(finished: 0, dead: 0, count: 0), in: store, at: now + 10)
      var counts: [Int] = []
      let deleted = try pass.deleteNext(in: context) { count in
        counts.append(count)
        if counts.count == 1 {
          try process.insert([
            request {
              $0.options.after = [named]
              $0.options.whenFailed = .cancel
            }
          ])
        }
        try context.save()
      }
      #expect(deleted == 1 && counts == [2, 1])
      // A conflict in the row of the one that deletes is not tried again.
      let owner = try #require(try context.fetch(Job.fetchRequest()).first)
      let conflict = NSMergeConflict(
        source: owner, newVersion: 2, oldVersion: 1, cachedSnapshot: nil, persistedSnapshot: nil)
      let error = NSError(
        domain: NSCocoaErrorDomain, code: CocoaError.Code.managedObjectMerge.rawValue,
        userInfo: [NSPersistentStoreSaveConflictsErrorKey: [conflict]])
      try store.insert([request()], into: context, at: now)[0].markCancelled(at: now)
      try context.save()
      var tries = 0
      #expect(throws: NSError.self) {
        try JobPruning(JobRetention(finished: 0, dead: 0, count: 0), in: store, at: now + 10)
          .deleteNext(in: context, for: owner) { _ in
            tries += 1
            throw error
          }
      }
      #expect(tries == 1)
    }
  }

  /// The pool has looked at a job whose batch had none; the first job has ended before it looks again.
  @Test(arguments: JobStoreKind.allCases)
  func aBatchThatABlockedJobWaitsForKeepsItsFirstJob(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let now = Date.thisSecond
      let waiting = try store.insert([request { $0.options.afterBatch = "b" }], into: context, at: now)[0]
      try context.save()
      _ = try store.adoptPending(in: context)
      try context.save()
      let jobs = try store.insert(
        [request { $0.batch = "b" }, request { $0.batch = "other" }], into: context, at: now)
      for job in jobs { try job.markSucceeded(startedAt: now, at: now) }
      try context.save()
      let retention = JobRetention(finished: 0, dead: 0, count: 0)
      #expect(try JobPruning(retention, in: store, at: now + 10).deleteNext(in: context) == 1)
      try context.save()
      #expect(!jobs[0].isDeleted && jobs[1].managedObjectContext == nil)
      _ = try store.release(after: try store.batchesThatCame(in: context), in: context)
      try context.save()
      #expect(waiting.state == .available)
      #expect(try JobPruning(retention, in: store, at: now + 10).deleteNext(in: context) == 1)
    }
  }

  /// Without any job of its batch it would wait for the first one to come.
  @Test(arguments: JobStoreKind.allCases) func aBatchThatAPendingJobNamesKeepsItsJobs(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let now = Date.thisSecond
      let jobs = try store.insert(
        [request { $0.batch = "b" }, request { $0.options.afterBatch = "b" }], into: context, at: now)
      try jobs[0].markSucceeded(startedAt: now, at: now)
      try context.save()
      let retention = JobRetention(finished: 0, dead: 0, count: 0)
      #expect(try JobPruning(retention, in: store, at: now + 10).deleteNext(in: context) == 0)
      _ = try store.adoptPending(in: context)
      try context.save()
      #expect(jobs[1].state == .available)
      #expect(try JobPruning(retention, in: store, at: now + 10).deleteNext(in: context) == 1)
    }
  }
}

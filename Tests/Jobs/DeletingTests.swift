import CoreData
import Foundation
import Jobs
import Testing

/// Jobs that a person deletes, and those that stay because unfinished ones wait for them.
@Suite struct DeletingTests {
  /// A dead job, one that waits for it, and one that waits for nothing.
  private func jobs(
    _ store: JobStore, _ context: NSManagedObjectContext, whenFailed: JobOptions.FailureRule
  ) throws -> [PoolJob] {
    let now = Date()
    let jobs = try store.insert(
      [
        request { $0.label = "one" }, request { $0.label = "two" },
        request {
          $0.options.after = ["one", "two"]
          $0.options.whenFailed = whenFailed
        },
      ], into: context, at: now)
    try context.save()
    try jobs[0].markFailed(
      AttemptFailure(attempt: 1, date: now, type: "E", message: ""), policy: RetryPolicy(maxAttempts: 1), at: now)
    try context.save()
    _ = try store.adoptPending(in: context)
    try context.save()
    return jobs
  }

  /// A row names the other job that the third waits for, so only its options tell of the dead one.
  @Test(arguments: JobStoreKind.allCases, [JobOptions.FailureRule.wait, .run])
  func aDeadJobThatAnotherWaitsForStaysUnlessThePersonSaysOtherwise(
    kind: JobStoreKind, whenFailed: JobOptions.FailureRule
  ) throws {
    try withStore(kind) { store, context in
      let jobs = try jobs(store, context, whenFailed: whenFailed)
      let awaited = AwaitedJobs(in: store, countsPassing: true)
      #expect(try store.delete([jobs[0]], except: awaited, in: context) == 1)
      #expect(!jobs[0].isDeleted)
      #expect(try store.delete([jobs[0]], except: nil, in: context) == 0)
      #expect(jobs[0].isDeleted)
    }
  }

  /// Another process saves a job that waits for it, after the question who does and before the deletion is saved.
  @Test(arguments: JobStoreKind.allCases, [true, false])
  func aDependentThatComesMeanwhileKeepsADeadJobUnlessThePersonSaysOtherwise(
    kind: JobStoreKind, isAsked: Bool
  ) throws {
    let process = try TemporaryJobStore(kind)
    try process.openedAgain().perform { store, context in
      let dead = try jobs(store, context, whenFailed: .run)[0]
      // Given a deletion that is not saved, without the job that waited before
      for job in try context.fetch(Job.fetchRequest()) where job.state.isUnfinished { context.delete(job) }
      try context.save()
      let awaited = isAsked ? AwaitedJobs(in: store, countsPassing: true) : nil
      #expect(try store.delete([dead], except: awaited, in: context) == 0)
      // When
      try process.insert([
        request {
          $0.options.after = [dead.objectID.uriString]
          $0.options.whenFailed = .run
        }
      ])
      // Then
      guard isAsked else { return try context.save() }
      let error = #expect(throws: NSError.self) { try context.save() }
      #expect(error?.code == CocoaError.Code.managedObjectMerge.rawValue)
      context.rollback()
      #expect(try store.delete([dead], except: awaited, in: context) == 1)
    }
  }

  /// A job that runs after a failure, too, does not keep an old dead job in the store.
  @Test(arguments: JobStoreKind.allCases, [JobOptions.FailureRule.wait, .run])
  func pruningKeepsADeadJobForThoseOnlyThatMustNotIgnoreIt(
    kind: JobStoreKind, whenFailed: JobOptions.FailureRule
  ) throws {
    try withStore(kind) { store, context in
      _ = try jobs(store, context, whenFailed: whenFailed)
      let retention = JobRetention(finished: 0, dead: 0, count: 0)
      let count = try JobPruning(retention, in: store, at: Date() + 10).deleteNext(in: context)
      #expect(count == (whenFailed == .run ? 1 : 0))
    }
  }
}

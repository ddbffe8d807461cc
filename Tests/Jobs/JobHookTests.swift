import CoreData
import Foundation
import Testing

@testable import Jobs

/// The jobs by which the pool tells of failed and dead jobs.
@Suite struct JobHookTests {
  private func failure(_ job: Job) -> AttemptFailure {
    AttemptFailure(attempt: job.attemptNumber, date: Date(), type: "Trouble", message: "no room", host: "h", pid: 7)
  }

  private func hookJobs(_ context: NSManagedObjectContext) throws -> [Job] {
    try context.fetch(Job.fetchRequest()).filter { $0.queue == JobHook.queue }
  }

  @Test func aHookIsReadFromAText() throws {
    let hook = try JobHook("stalled,dead=exec:tell")
    #expect(hook.events == [.dead, .stalled] && hook.kind == "exec" && hook.command == "tell")
    #expect(hook.text == "dead,stalled=exec:tell")
    #expect(try JobHook(hook.text) == hook)
    #expect(try JobHook("failed=notify").command == nil)
  }

  @Test(arguments: ["", "dead", "dead=", "=exec:tell", "ded=exec:tell", "dead=exec", "dead=exec:", "dead=notify:now"])
  func otherTextsAreRefused(text: String) {
    #expect(throws: JobHookError.self) { try JobHook(text) }
  }

  @Test func aMistypedEventIsNamed() {
    let error = #expect(throws: JobHookError.self) { try JobHook("ded=exec:tell") }
    #expect(error?.description.contains("did you mean dead") == true, "\(String(describing: error))")
  }

  /// One save has the failure and the job that tells of it.
  @Test(arguments: JobStoreKind.allCases) func eachEndHasAJobInTheSameSave(kind: JobStoreKind) throws {
    let jobs = try TemporaryJobStore(kind)
    try jobs.perform { store, context in
      try store.setHooks([JobHook("failed,dead=exec:tell"), JobHook("dead=notify")], in: context)
      try Job.submit(request { $0.maxAttempts = 2 }, into: context)
      try context.save()
    }
    try jobs.perform { _, context in
      let job = try #require(try context.fetch(Job.fetchRequest()).first)
      try job.markFailed(failure(job), policy: RetryPolicy().applied(to: job))
      context.rollback()
      #expect(try hookJobs(context).isEmpty, "neither without the other")
      try job.markFailed(failure(job), policy: RetryPolicy().applied(to: job))
      try job.tellOfFailure(at: Date())
      try context.save()
      let told = try hookJobs(context)
      #expect(told.count == 1, "the same failure is told of once")
      let event = try told.first?.parameters["event"]
      #expect(try told.first?.parameters["command"] == "tell" && told.first?.maxAttempts == JobHook.maxAttempts)
      #expect(event?["event"] == "failed" && event?["kind"] == "a" && event?["attempts"]?.intValue == 1)
      #expect(event?["error"]?["message"] == "no room" && event?["nextAttempt"]?.stringValue != nil)
      #expect(event?["job"]?.stringValue == job.objectID.uriString)
      try job.markDue()
      try job.markFailed(failure(job), policy: RetryPolicy().applied(to: job))
      try context.save()
      let dead = try hookJobs(context).filter { try $0.parameters["event"]?["event"] == "dead" }
      #expect(Set(dead.map(\.kind)) == ["exec", "notify"] && dead.count == 2)
    }
  }

  @Test func theDeathOfAHookIsToldOfByNone() throws {
    try withStore { store, context in
      try store.setHooks([JobHook("failed,dead=exec:tell")], in: context)
      let job = try #require(
        try Job.submit(
          request {
            $0.queue = JobHook.queue
            $0.maxAttempts = 1
          }, into: context))
      try context.save()
      try job.markFailed(failure(job), policy: RetryPolicy().applied(to: job))
      try context.save()
      #expect(job.state == .dead)
      #expect(try context.count(for: Job.fetchRequest()) == 1)
    }
  }

  /// As after a worker in another language has written the row, and the pool was killed before it heard of it.
  @Test(arguments: JobStoreKind.allCases) func whatDiedUntoldIsToldOfOnce(kind: JobStoreKind) throws {
    let jobs = try TemporaryJobStore(kind)
    try jobs.perform { store, context in
      let now = Date()
      for age in [10.0, 4000] {
        let job = try #require(try Job.submit(request { $0.maxAttempts = 1 }, into: context))
        try job.markFailed(failure(job), policy: RetryPolicy().applied(to: job), at: now - age)
        try context.save()
      }
      #expect(try store.setHooks([JobHook("failed,dead=exec:tell"), JobHook("dead=notify")], in: context))
      #expect(try !store.setHooks([JobHook("failed,dead=exec:tell"), JobHook("dead=notify")], in: context))
      for _ in 0..<2 {
        try store.tellOfDeadJobs(at: now, in: context)
        try context.save()
        let told = try hookJobs(context)
        #expect(Set(told.map(\.kind)) == ["exec", "notify"] && told.count == 2, "older ones may have been told of")
        #expect(try told.allSatisfy { try $0.parameters["event"]?["name"] == "p1" })
      }
    }
  }

  /// A worker in another language may write no error.
  @Test func aDeadJobWithoutAnErrorIsToldOf() throws {
    try withStore { store, context in
      try store.setHooks([JobHook("failed,dead=exec:tell")], in: context)
      let job = try #require(try Job.submit(request(), into: context))
      try context.save()
      job.state = .dead
      job.finishedAt = Date(timeIntervalSinceReferenceDate: .infinity)
      for _ in 0..<2 { try job.tellOfFailure(at: Date()) }
      let told = try hookJobs(context)
      #expect(told.count == 1)
      let event = try told.first?.parameters["event"]
      #expect(event?["event"] == "dead" && event?["error"] == .null)
    }
  }

  @Test func aPoolWithoutHooksTakesThemBack() throws {
    try withStore { store, context in
      try store.setHooks([JobHook("dead=exec:tell")], in: context)
      try context.save()
      try store.setHooks([], in: context)
      try context.save()
      let job = try #require(try Job.submit(request { $0.maxAttempts = 1 }, into: context))
      try context.save()
      try job.markCrashed(failure(job), policy: RetryPolicy(maxCrashes: 1))
      try context.save()
      #expect(job.state == .dead)
      #expect(try hookJobs(context).isEmpty)
    }
  }
}

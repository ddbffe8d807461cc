import CoreData
import Foundation
import Jobs
import TestFiles
import Testing

@Suite struct JobStoreTests {
  /// A temporary directory with a store for the model of one entity, Note.
  private struct Place {
    let directory = temporaryURL("jobs")
    var url: URL { directory.appendingPathComponent("app.sqlite") }

    init() throws { try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true) }
    func remove() { try? FileManager.default.removeItem(at: directory) }

    func open() throws -> JobStore { try JobStore(url: url, model: NoteModel.make()) }
  }

  @Test func bothStoresAreSavedInOneTransactionAndTheAppsOpensWithoutThePool() throws {
    let place = try Place()
    defer { place.remove() }
    let store = try place.open()
    let context = store.makeContext(name: "test")
    try context.performAndWait {
      NSEntityDescription.insertNewObject(forEntityName: "Note", into: context).setValue("a", forKey: "text")
      try store.insert([JobRequest(kind: "index")], into: context)
      try context.save()
    }
    let alone = NSPersistentStoreCoordinator(managedObjectModel: NoteModel.make())
    try alone.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: place.url, options: nil)
    let reader = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    reader.persistentStoreCoordinator = alone
    try reader.performAndWait {
      let count = try reader.count(for: NSFetchRequest<NSManagedObject>(entityName: "Note"))
      #expect(count == 1)
    }
  }

  @Test func whatIsAskedForIsKept() throws {
    let place = try Place()
    defer { place.remove() }
    let request = JobRequest(
      kind: "index", objects: ["x-coredata://A/B/p1", "x-coredata://A/B/p2"], parameters: #"{"a":1.50}"#, priority: -7,
      queue: "slow", uniqueKey: "k", maxAttempts: 9, timeout: 1.5)
    let store = try place.open()
    let context = store.makeContext(name: "writer")
    let uri = try context.performAndWait {
      let jobs = try store.insert([request], into: context)
      try context.save()
      return try #require(jobs.first?.objectID.uriRepresentation().absoluteString)
    }
    let reopened = try place.open()
    #expect(reopened.poolIdentifier == store.poolIdentifier)
    let key = try #require(reopened.jobURIs.key(uri))
    #expect(reopened.jobURIs[key].description == uri)
    let reader = reopened.makeContext(name: "reader")
    try reader.performAndWait {
      let objectID = try #require(reopened.objectID(job: key))
      let job = try #require(try reader.existingObject(with: objectID) as? Job)
      #expect(job.kind == request.kind && job.queue == request.queue && job.priority == request.priority)
      #expect(job.objectURIs == request.objects && job.parametersText == request.parameters)
      #expect(job.uniqueKey == request.uniqueKey && job.maxAttempts == request.maxAttempts)
      #expect(job.timeout == request.timeout && job.state == .available && job.attempt == 0)
    }
  }

  @Test func readyJobsComeByPriorityThenAge() throws {
    let place = try Place()
    defer { place.remove() }
    let store = try place.open()
    let context = store.makeContext(name: "test")
    try context.performAndWait {
      let priorities: [Int16] = [0, 5, 0, -1, 5]
      try store.insert(
        priorities.map { JobRequest(kind: "a", priority: $0, queue: $0 == -1 ? "slow" : "default") }
          + [JobRequest(kind: "b", priority: 9)], into: context)
      try context.save()
      context.reset()
      func keys(_ jobs: [JobSummary]) -> [Int64] { jobs.map(\.key) }
      #expect(keys(try store.readyJobs(ReadyQuery(kind: "a", limit: 10), in: context)) == [2, 5, 1, 3, 4])
      #expect(keys(try store.readyJobs(ReadyQuery(kind: "a", limit: 2), in: context)) == [2, 5])
      #expect(keys(try store.readyJobs(ReadyQuery(kind: "a", groups: [.queue("slow")], limit: 10), in: context)) == [4])
      #expect(keys(try store.readyJobs(ReadyQuery(kind: "b", limit: 10), in: context)) == [6])
      #expect(
        keys(try store.readyJobs(ReadyQuery(kind: "a", without: [.queue("default")], limit: 10), in: context)) == [4])
      for (index, key) in [2, 5, 1, 3].enumerated() {
        let after = JobPosition(priority: index < 2 ? 5 : 0, key: Int64(key))
        let rest = try store.readyJobs(ReadyQuery(kind: "a", after: after, limit: 10), in: context)
        #expect(keys(rest) == Array([5, 1, 3, 4][index...]))
      }
    }
  }

  @Test func aUniqueKeyIsTakenOnceUntilItsJobIsFinished() throws {
    let place = try Place()
    defer { place.remove() }
    let store = try place.open()
    let context = store.makeContext(name: "test")
    try context.performAndWait {
      let request = JobRequest(kind: "a", uniqueKey: "k")
      #expect(try store.insert([request, request], into: context).count == 1)
      try context.save()
      #expect(try store.insert([request], into: context).isEmpty)
      let job = try #require(try context.fetch(Job.fetchRequest()).first)
      try job.markSucceeded(startedAt: Date())
      try context.save()
      #expect(try store.insert([request], into: context).count == 1)
    }
  }

  /// As SQLite's index has it: Swift takes the two for equal.
  @Test func keysThatOnlyLookAlikeAreTwo() throws {
    let place = try Place()
    defer { place.remove() }
    let store = try place.open()
    let context = store.makeContext(name: "test")
    try context.performAndWait {
      let requests = ["\u{e9}", "e\u{301}"].map { JobRequest(kind: "a", uniqueKey: $0) }
      #expect(try store.insert(requests, into: context).count == 2)
      try context.save()
      #expect(try store.insert(requests, into: context).isEmpty)
    }
    #expect(JobGroup.key("\u{e9}") != JobGroup.key("e\u{301}"))
  }

  @Test func failuresWaitTheirTurnAndThenTheJobIsDead() throws {
    let place = try Place()
    defer { place.remove() }
    let store = try place.open()
    let context = store.makeContext(name: "test")
    let policy = RetryPolicy(maxAttempts: 2, base: 10)
    let now = Date()
    try context.performAndWait {
      let job = try #require(try store.insert([JobRequest(kind: "a")], into: context).first)
      let failure = AttemptFailure(attempt: 1, date: now, type: "E", message: "no", pid: 7, standardError: ["last"])
      try job.markFailed(failure, policy: policy, at: now)
      try context.save()
      #expect(job.state == .retryable && job.attempt == 1 && job.failures == [failure])
      let due = try #require(job.runAt)
      #expect(due >= now + 8 && due <= now + 12)
      #expect(try store.nextDue(in: context) == due)
      #expect(throws: JobTransitionError.self) { try job.markSucceeded(startedAt: now) }
      #expect(try store.promoteDue(at: due - 0.001, in: context).isEmpty)
      #expect(try store.promoteDue(at: due, in: context).map(\.kind) == ["a"])
      try context.save()
      #expect(job.state == .available && job.runAt == due, "so long it has been waiting for a worker")
      #expect(try store.nextDue(in: context) == nil)
      try job.markFailed(failure, policy: policy, at: now)
      #expect(job.state == .dead && job.finishedAt == now && job.runAt == nil)
      try job.markRetried()
      #expect(job.state == .available && job.attempt == 0)
      try context.save()
      #expect(try store.counts(in: context)[.available] == 1)
    }
  }

  @Test func crashesAreCountedApart() throws {
    let place = try Place()
    defer { place.remove() }
    let store = try place.open()
    let context = store.makeContext(name: "test")
    try context.performAndWait {
      let job = try #require(try store.insert([JobRequest(kind: "a")], into: context).first)
      let crash = AttemptFailure(attempt: 1, date: Date(), type: "crash", message: "signal 9", signal: 9)
      for count in 1...3 {
        try job.markCrashed(crash, policy: RetryPolicy())
        #expect(job.crashes == count && job.attempt == 0)
        if job.state == .retryable { try job.markDue() }
      }
      #expect(job.state == .dead)
    }
  }

  @Test func pausesOutliveTheProcess() throws {
    let place = try Place()
    defer { place.remove() }
    let store = try place.open()
    let context = store.makeContext(name: "test")
    var pauses = JobPauses()
    try context.performAndWait {
      pauses.queues = ["a", "b"]
      try store.setPauses(pauses, in: context)
      try context.save()
      pauses.all = true
      pauses.queues = ["b"]
      pauses.kinds = ["index"]
      try store.setPauses(pauses, in: context)
      try context.save()
    }
    let reopened = try place.open()
    let reader = reopened.makeContext(name: "reader")
    let found = try reader.performAndWait { try reopened.pauses(in: reader) }
    #expect(found == pauses)
  }

  @Test func aModelWithAnEntityOfThePoolsNameIsRefused() throws {
    let model = NoteModel.make()
    model.entities[0].name = "PoolJob"
    #expect(throws: JobModelError.self) { try JobModel.merged(with: model) }
  }
}

import CoreData
import Foundation
import Jobs
import Testing

@Suite struct JobStoreTests {
  @Test(arguments: JobStoreKind.allCases)
  func bothStoresAreSavedInOneTransactionAndTheAppsOpensWithoutThePool(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      NSEntityDescription.insertNewObject(forEntityName: "Note", into: context).setValue("a", forKey: "text")
      try store.insert([JobRequest(kind: "index")], into: context)
      try context.save()
      let alone = NSPersistentStoreCoordinator(managedObjectModel: NoteModel.make())
      try alone.addPersistentStore(
        ofType: StorePlace(store.url).storeType, configurationName: nil, at: store.url, options: nil)
      let reader = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
      reader.persistentStoreCoordinator = alone
      try reader.performAndWait {
        let count = try reader.count(for: NSFetchRequest<NSManagedObject>(entityName: "Note"))
        #expect(count == 1)
      }
    }
  }

  @Test(arguments: JobStoreKind.allCases) func whatIsAskedForIsKept(kind: JobStoreKind) throws {
    let request = JobRequest(
      kind: "index", objects: ["x-coredata://A/B/p1", "x-coredata://A/B/p2"], parameters: #"{"a":1.50}"#, priority: -7,
      queue: "slow", uniqueKey: "k", maxAttempts: 9, timeout: 1.5)
    let writer = try TemporaryJobStore(kind)
    let uri = try writer.perform { store, context in
      let jobs = try store.insert([request], into: context)
      try context.save()
      return try #require(jobs.first?.objectID.uriRepresentation().absoluteString)
    }
    let reader = try writer.openedAgain()
    #expect(reader.store.poolIdentifier == writer.store.poolIdentifier)
    let key = try #require(reader.store.jobURIs.key(uri))
    #expect(reader.store.jobURIs[key].description == uri)
    try reader.perform { store, context in
      let objectID = try #require(store.objectID(job: key))
      let job = try #require(try context.existingObject(with: objectID) as? Job)
      #expect(job.kind == request.kind && job.queue == request.queue && job.priority == request.priority)
      #expect(job.objectURIs == request.objects && job.parametersText == request.parameters)
      #expect(job.uniqueKey == request.uniqueKey && job.maxAttempts == request.maxAttempts)
      #expect(job.timeout == request.timeout && job.state == .available && job.attempt == 0)
    }
  }

  @Test(arguments: JobStoreKind.allCases) func readyJobsComeByPriorityThenAge(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let priorities: [Int16] = [0, 5, 0, -1, 5]
      let jobs = try store.insert(
        priorities.map { JobRequest(kind: "a", priority: $0, queue: $0 == -1 ? "slow" : "default") }
          + [JobRequest(kind: "b", priority: 9)], into: context)
      try context.save()
      let keys = jobs.compactMap(\.objectID.key)
      context.reset()
      // The places of the jobs that a query finds, in the order above.
      func ready(_ query: ReadyQuery) throws -> [Int?] {
        try store.readyJobs(query, in: context).map { keys.firstIndex(of: $0.key) }
      }
      #expect(try ready(ReadyQuery(kind: "a", limit: 10)) == [1, 4, 0, 2, 3])
      #expect(try ready(ReadyQuery(kind: "a", limit: 2)) == [1, 4])
      #expect(try ready(ReadyQuery(kind: "a", groups: [.queue("slow")], limit: 10)) == [3])
      #expect(try ready(ReadyQuery(kind: "b", limit: 10)) == [5])
      #expect(try ready(ReadyQuery(kind: "a", without: [.queue("default")], limit: 10)) == [3])
      for (index, place) in [1, 4, 0, 2].enumerated() {
        let after = JobPosition(priority: Int(priorities[place]), key: keys[place])
        #expect(try ready(ReadyQuery(kind: "a", after: after, limit: 10)) == Array([4, 0, 2, 3][index...]))
      }
    }
  }

  @Test(arguments: JobStoreKind.allCases) func aUniqueKeyIsTakenOnceUntilItsJobIsFinished(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
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

  /// As the database's index has it: Swift takes the two for equal.
  @Test(arguments: JobStoreKind.allCases) func keysThatOnlyLookAlikeAreTwo(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let requests = ["\u{e9}", "e\u{301}"].map { JobRequest(kind: "a", uniqueKey: $0) }
      #expect(try store.insert(requests, into: context).count == 2)
      try context.save()
      #expect(try store.insert(requests, into: context).isEmpty)
    }
    #expect(JobGroup.key("\u{e9}") != JobGroup.key("e\u{301}"))
  }

  @Test(arguments: JobStoreKind.allCases) func failuresWaitTheirTurnAndThenTheJobIsDead(kind: JobStoreKind) throws {
    let policy = RetryPolicy(maxAttempts: 2, base: 10)
    let now = Date.thisSecond
    try withStore(kind) { store, context in
      let job = try #require(try store.insert([JobRequest(kind: "a")], into: context).first)
      let failure = AttemptFailure(attempt: 1, date: now, type: "E", message: "no", pid: 7, standardError: ["last"])
      try job.markFailed(failure, policy: policy, at: now)
      try context.save()
      #expect(job.state == .retryable && job.attempt == 1 && job.failures == [failure])
      let runAt = try #require(job.runAt)
      #expect(runAt >= now + 8 && runAt <= now + 12)
      // As the pool finds it in the store: a server has rounded it to microseconds.
      let pool = store.makeContext(name: "pool")
      let due = try pool.performAndWait { try #require(try store.nextDue(in: pool)) }
      #expect(abs(due.timeIntervalSince(runAt)) < 0.000_001)
      #expect(throws: JobTransitionError.self) { try job.markSucceeded(startedAt: now) }
      #expect(try store.promoteDue(at: due - 0.001, in: context).isEmpty)
      #expect(try store.promoteDue(at: due, in: context).map(\.kind) == ["a"])
      try context.save()
      #expect(job.state == .available && job.runAt == runAt, "the wait for a worker counts from its due time")
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
    try withStore { store, context in
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

  @Test(arguments: JobStoreKind.allCases) func pausesOutliveTheProcess(kind: JobStoreKind) throws {
    let first = try TemporaryJobStore(kind)
    var pauses = JobPauses()
    try first.perform { store, context in
      pauses.queues = ["a", "b"]
      try store.setPauses(pauses, in: context)
      try context.save()
      pauses.all = true
      pauses.queues = ["b"]
      pauses.kinds = ["index"]
      try store.setPauses(pauses, in: context)
      try context.save()
    }
    let found = try first.openedAgain().perform { store, context in try store.pauses(in: context) }
    #expect(found == pauses)
  }

  @Test func aModelWithAnEntityOfThePoolsNameIsRefused() throws {
    let model = NoteModel.make()
    model.entities[0].name = "PoolJob"
    #expect(throws: JobModelError.self) { try JobModel.merged(with: model) }
  }
}

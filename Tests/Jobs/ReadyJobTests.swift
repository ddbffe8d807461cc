import Foundation
import Testing

@testable import CoreData
@testable import Jobs

/// What a pool asks of its store about the jobs that may run.
@Suite struct ReadyJobTests {
  @Test(arguments: JobStoreKind.allCases)
  func theJobThatWaitsLongestIsFoundByKindAcrossPriorities(kind: JobStoreKind) throws {
    let start = Date(timeIntervalSinceReferenceDate: 800_000_000)
    try withStore(kind) { store, context in
      // Given jobs of two kinds; one of low priority came first, and one that came early was put off
      var jobs: [Job] = []
      func add(_ kind: String, _ priority: Int16, came: Double, runAt: Double? = nil) throws {
        let job = Job(context: context)
        job.kind = kind
        job.queue = "default"
        job.priority = priority
        job.createdAt = start.addingTimeInterval(came)
        job.runAt = runAt.map(start.addingTimeInterval)
        jobs.append(job)
        try context.obtainPermanentIDs(for: [job])
      }
      try add("index", -5, came: 10)
      try add("mail", 0, came: 11, runAt: 50)
      for came in 20..<150 { try add("index", 0, came: Double(came)) }
      try add("mail", 0, came: 30)
      try add("mail", 7, came: 40)
      try context.save()
      // Then the oldest of each kind counts from when it could begin, and one that runs does not count
      let first = try #require(jobs[0].objectID.key)
      let oldest = try store.oldestWaiting(except: [], in: context)
      #expect(oldest == ["index": start.addingTimeInterval(10), "mail": start.addingTimeInterval(30)])
      let others = try store.oldestWaiting(except: [first], in: context)
      #expect(others["index"] == start.addingTimeInterval(20))
      let queue = try JobStore.oldestWaiting(kind: "mail", queue: "other", except: [], in: context)
      #expect(queue == nil)
    }
  }

  /// Rows that were changed by hand would be in none of the indexes that the pool reads.
  @Test(arguments: JobStoreKind.allCases) func timesThatDoNotFitTheStateAreMendedAtTheStart(kind: JobStoreKind) throws {
    let jobs = try TemporaryJobStore(kind)
    try jobs.insert([request(), request()])
    let query = ReadyQuery(kind: "a", limit: 9)
    let keys = try jobs.perform { store, context in try store.readyJobs(query, in: context).map(\.key) }
    try #require(keys.count == 2)
    try jobs.overwrite("finishedAt", with: Date.thisSecond, of: [keys[0]])
    try jobs.overwrite("state", with: NSNumber(value: JobState.succeeded.rawValue), of: [keys[1]])
    try jobs.perform { store, context in
      #expect(try store.readyJobs(query, in: context).isEmpty)
      try store.check(in: context)
      #expect(try store.readyJobs(query, in: context).map(\.key) == [keys[0]])
      #expect(try store.counts(in: context) == [.available: 1, .succeeded: 1])
    }
  }

  /// The coordinator's fetches read no parameters, and leave none in memory.
  @Test(arguments: JobStoreKind.allCases) func aFetchOfReadyJobsReadsAndKeepsNoParameters(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let pool = try #require(
        store.coordinator.objectStores.first { $0.storedEntities.byName[Job.entityName] != nil })
      let table = try #require(pool.storedEntities.byName[Job.entityName]).table
      let text = #"{"text": "\#(String(repeating: "x", count: 10_000))"}"#
      let requests = (0..<20).map { number in
        request {
          $0.parameters = text
          $0.runAt = number < 10 ? nil : Date(timeIntervalSinceNow: 60)
          $0.limitKey = number % 2 == 0 ? "k" : nil
        }
      }
      let jobs = try store.insert(requests, into: context)
      try context.save()
      let keys = jobs.compactMap(\.objectID.key)
      context.reset()
      pool.rowCache.removeAll()

      let ready = try store.readyJobs(ReadyQuery(kind: "a", limit: 100), in: context)
      #expect(ready.count == 10 && ready.count { $0.limitKey == "k" } == 5)
      #expect(keys.count == 20 && keys.allSatisfy { pool.rowCache.find($0, table) == nil }, "rows are kept")

      // When: jobs become due, which changes their rows.
      #expect(try store.promoteDue(at: Date(timeIntervalSinceNow: 120), in: context).count == 10)
      try context.save()
      context.reset()
      let parameters = try context.fetch(Job.fetchRequest()).map(\.parametersText)
      #expect(parameters.count == 20 && parameters.allSatisfy { $0 == text }, "what was not read stays as it was")
    }
  }
}

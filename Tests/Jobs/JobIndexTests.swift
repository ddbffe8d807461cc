import Foundation
import TestFiles
import Testing

@testable import CoreData
@testable import Jobs

/// What the pool asks for often is read from a stretch of an index: nothing is sorted, and no table is searched.
@Suite struct JobIndexTests {
  private final class Place {
    let directory = temporaryURL("index")
    let store: JobStore
    var url: URL { directory.appendingPathComponent("app.sqlite") }

    init() throws {
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      store = try JobStore(url: directory.appendingPathComponent("app.sqlite"), model: NSManagedObjectModel())
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    var sqlite: SQLiteStore? {
      store.coordinator.persistentStores.lazy.compactMap { $0 as? SQLiteStore }.first { $0.schema.prefix == "WP" }
    }

    /// SQLite's plan for a request, a line for each step.
    func plan(_ request: NSFetchRequest<Job>) throws -> String {
      let sqlite = try #require(sqlite)
      let fetch = RowFetch(
        entityName: Job.entityName, predicate: request.predicate, sortDescriptors: request.sortDescriptors ?? [],
        limit: request.fetchLimit)
      let sql = try sqlite.select("t0.Z_PK, t0.ZTIMEOUT", fetch, isOrdered: true)
      return try plan(sql)
    }

    func plan(_ sql: SQL) throws -> String {
      let sqlite = try #require(sqlite)
      return try sqlite.database.read { connection in
        try connection.rows("EXPLAIN QUERY PLAN \(sql)").compactMap { row in
          if case .text(let step)? = row.last { step } else { nil }
        }.joined(separator: "\n")
      }
    }
  }

  @Test(arguments: [
    (ReadyQuery(kind: "a", limit: 1000), "WP_PoolJob_ready (ZSTATE=? AND ZKIND=?)"),
    (
      ReadyQuery(kind: "a", without: [.queue("b"), .key("k")], limit: 1000),
      "WP_PoolJob_ready (ZSTATE=? AND ZKIND=?)"
    ),
    (ReadyQuery(kind: "a", groups: [.queue("b")], limit: 64), "WP_PoolJob_queues (ZSTATE=? AND ZKIND=? AND ZQUEUE=?)"),
    (ReadyQuery(kind: "a", groups: [.key("k")], limit: 64), "WP_PoolJob_keys (ZLIMITKEY=? AND ZSTATE=? AND ZKIND=?)"),
  ]) func readyJobsAreAStretchOfAnIndex(query: ReadyQuery, index: String) throws {
    let place = try Place()
    let plan = try place.plan(place.store.readyRequest(query, where: nil, limit: query.limit))
    #expect(plan.contains("USING INDEX \(index)") && !plan.contains("TEMP B-TREE"), "\(plan)")
  }

  @Test func whatLiesBehindAJobIsAStretchOfTheIndexToo() throws {
    let place = try Place()
    let query = ReadyQuery(kind: "a", after: JobPosition(priority: 3, key: 70), limit: 1000)
    let stretches = try place.store.stretches(of: query).map {
      try place.plan(place.store.readyRequest(query, where: $0, limit: 1000))
    }
    #expect(stretches.count == 2 && stretches.allSatisfy { !$0.contains("TEMP B-TREE") }, "\(stretches)")
    #expect(stretches.first?.contains("(ZSTATE=? AND ZKIND=? AND ZPRIORITY=? AND rowid>?)") == true, "\(stretches)")
    #expect(stretches.last?.contains("(ZSTATE=? AND ZKIND=? AND ZPRIORITY<?)") == true, "\(stretches)")
  }

  /// Jobs that failed are few; a report finds them without reading the others.
  @Test func jobsThatFailedAreFoundInAnIndexOfTheirOwn() throws {
    let place = try Place()
    let plan = try place.plan(JobStore.failedJobs(since: Date()))
    #expect(plan.contains("USING INDEX WP_PoolJob_failed") && !plan.contains("TEMP B-TREE"), "\(plan)")
  }

  @Test func theNextKindIsTheBeginningOfAStretchOfTheIndex() throws {
    let place = try Place()
    for kind in [nil, "a"] {
      let plan = try place.plan(place.store.nextKindRequest(after: kind))
      #expect(
        plan.contains("(ZSTATE=?\(kind == nil ? ")" : " AND ZKIND>?)")") && !plan.contains("TEMP B-TREE"), "\(plan)")
    }
  }

  @Test func theJobThatWaitsLongestIsFoundByKindAcrossPriorities() throws {
    let place = try Place()
    let context = place.store.makeContext(name: "test")
    let start = Date(timeIntervalSinceReferenceDate: 800_000_000)
    let keys = try context.performAndWait {
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
      return jobs.compactMap(\.objectID.key)
    }
    // Then the oldest of each kind counts from when it could begin, and one that runs does not count
    let found = try context.performAndWait {
      (
        try place.store.oldestWaiting(except: [], in: context),
        try place.store.oldestWaiting(except: [keys[0]], in: context)
      )
    }
    #expect(found.0 == ["index": start.addingTimeInterval(10), "mail": start.addingTimeInterval(30)])
    #expect(found.1["index"] == start.addingTimeInterval(20))
  }

  @Test func oldJobsAndDueOnesAndBatchesHaveTheirIndexes() throws {
    let place = try Place()
    let (old, young) = (JobPruning.oldest(of: .succeeded), JobPruning.youngest(of: .succeeded))
    let due = Job.fetchRequest()
    due.predicate = NSPredicate(format: "runAt != nil AND state IN %@", [1, 2])
    due.sortDescriptors = [NSSortDescriptor(key: "runAt", ascending: true)]
    let batch = Job.fetchRequest()
    batch.predicate = NSPredicate(format: "batch == %@", "b")
    let unique = Job.fetchRequest()
    unique.predicate = NSPredicate(format: "activeKey IN %@", ["k", "l"])
    for (request, index) in [
      (old, "finished (ZSTATE>?"), (young, "finished (ZSTATE<?"), (due, "due"), (batch, "batch (ZBATCH=?)"),
      (unique, "UNIQUE_activeKey (ZACTIVEKEY=?)"),
    ] {
      let plan = try place.plan(request)
      #expect(plan.contains("INDEX WP_PoolJob_\(index)") && !plan.contains("TEMP B-TREE"), "\(plan)")
    }
  }

  /// A store that was made with other indexes, and whose model is the same otherwise, gets these when it is opened.
  @Test func aStoreWithOlderIndexesGetsTheNewOnes() throws {
    let place = try Place()
    let context = place.store.makeContext(name: "test")
    try context.performAndWait {
      try place.store.insert([JobRequest(kind: "a", queue: "q")], into: context)
      try context.save()
    }
    let sqlite = try #require(place.sqlite)
    let wanted = try Self.indexes(sqlite)
    try sqlite.database.write { connection in
      for name in ["ready", "queues", "keys", "finished", "UNIQUE_activeKey"] {
        try connection.execute("DROP INDEX WP_PoolJob_\(name)")
      }
      try connection.execute("CREATE UNIQUE INDEX WP_PoolJob_UNIQUE_activeKey ON WPPOOLJOB (ZACTIVEKEY)")
      try connection.execute("CREATE INDEX WP_PoolJob_ready ON WPPOOLJOB (ZSTATE, ZKIND, ZQUEUE, ZPRIORITY DESC)")
      try connection.execute("CREATE INDEX mine ON WPPOOLJOB (ZKIND)")
    }

    let store = try JobStore(url: place.url, model: NSManagedObjectModel())
    let reopened = try #require(store.coordinator.persistentStores.lazy.compactMap { $0 as? SQLiteStore }.last)
    #expect(try Self.indexes(reopened) == wanted.union(["CREATE INDEX mine ON WPPOOLJOB (ZKIND)"]))
    let reader = store.makeContext(name: "test")
    let jobs = try reader.performAndWait { try store.readyJobs(ReadyQuery(kind: "a", limit: 9), in: reader) }
    #expect(jobs.map(\.queue) == ["q"])
  }

  private static func indexes(_ store: SQLiteStore) throws -> Set<String> {
    try store.database.read { connection in
      let rows = try connection.rows("SELECT sql FROM sqlite_master WHERE type = 'index' AND sql LIKE '%WPPOOLJOB%'")
      return Set(rows.compactMap { if case .text(let text) = $0[0] { text } else { nil } })
    }
  }

  /// Rows that were changed by hand would be in none of the indexes that the pool reads.
  @Test func timesThatDoNotFitTheStateAreMendedAtTheStart() throws {
    let place = try Place()
    let context = place.store.makeContext(name: "test")
    try context.performAndWait {
      try place.store.insert([JobRequest(kind: "a"), JobRequest(kind: "a")], into: context)
      try context.save()
      let sqlite = try #require(place.sqlite)
      try sqlite.database.write { connection in
        try connection.execute("UPDATE WPPOOLJOB SET ZFINISHEDAT = 1, Z_OPT = Z_OPT + 1 WHERE Z_PK = 1")
        try connection.execute("UPDATE WPPOOLJOB SET ZSTATE = 3, Z_OPT = Z_OPT + 1 WHERE Z_PK = 2")
      }
      context.reset()
      // What this test writes past the framework is in no cache.
      sqlite.rowCache.removeAll()
      #expect(try place.store.readyJobs(ReadyQuery(kind: "a", limit: 9), in: context).isEmpty)
      try place.store.check(in: context)
      #expect(try place.store.readyJobs(ReadyQuery(kind: "a", limit: 9), in: context).map(\.key) == [1])
      #expect(try place.store.counts(in: context) == [.available: 1, .succeeded: 1])
    }
  }

  /// The coordinator's fetches read no parameters, and leave none in memory.
  @Test func aFetchOfReadyJobsReadsAndKeepsNoParameters() throws {
    let place = try Place()
    let context = place.store.makeContext(name: "test")
    let sqlite = try #require(place.sqlite)
    let table = try #require(sqlite.storedEntities.byName[Job.entityName]).table
    try context.performAndWait {
      let text = #"{"text": "\#(String(repeating: "x", count: 10_000))"}"#
      let requests = (0..<20).map { number -> JobRequest in
        var request = JobRequest(
          kind: "a", parameters: text, runAt: number < 10 ? nil : Date(timeIntervalSinceNow: 1))
        request.limitKey = number % 2 == 0 ? "k" : nil
        return request
      }
      try place.store.insert(requests, into: context)
      try context.save()
      context.reset()
      sqlite.rowCache.removeAll()

      let ready = try place.store.readyJobs(ReadyQuery(kind: "a", limit: 100), in: context)
      #expect(ready.count == 10 && ready.count { $0.limitKey == "k" } == 5)
      #expect((1...20).allSatisfy { sqlite.rowCache.find($0, table) == nil }, "rows are kept")

      // When: jobs become due, which changes their rows.
      #expect(try place.store.promoteDue(at: Date(timeIntervalSinceNow: 2), in: context).count == 10)
      try context.save()
      context.reset()
      let parameters = try context.fetch(Job.fetchRequest()).map(\.parametersText)
      #expect(parameters.allSatisfy { $0 == text }, "what was not read stays as it was")
    }
  }
}

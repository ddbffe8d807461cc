import Foundation
import TestFiles
import Testing

@testable import CoreData
@testable import Jobs

/// What the pool asks for often is read from a stretch of an index: nothing is sorted, and no table is searched.
///
/// The plans are those of SQLite; `ClaimPlanTests` looks at those of a server.
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
    let plan = try place.plan(JobStore.readyRequest(query, where: nil, limit: query.limit))
    #expect(plan.contains("USING INDEX \(index)") && !plan.contains("TEMP B-TREE"), "\(plan)")
  }

  @Test func whatLiesBehindAJobIsAStretchOfTheIndexToo() throws {
    let place = try Place()
    let query = ReadyQuery(kind: "a", after: JobPosition(priority: 3, key: 70), limit: 1000)
    let stretches = try place.store.stretches(of: query).map {
      try place.plan(JobStore.readyRequest(query, where: $0, limit: 1000))
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
}

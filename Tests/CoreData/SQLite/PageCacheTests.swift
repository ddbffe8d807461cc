import CSQLite
import Glibc
import TestFiles
import Testing

@testable import CoreData

/// Transactions that write to more pages than SQLite keeps in memory.
@Suite struct PageCacheTests {
  enum Way: CaseIterable { case save, batch }

  private static let rows = 16_000

  private static func makeStore(_ options: [AnyHashable: Any]? = nil) throws -> TemporaryStore {
    let model = LibraryModel.make()
    model.entitiesByName["Tag"]?.uniquenessConstraints = [["label"]]
    return try TemporaryStore(model, options: options)
  }

  /// Labels without order, whose index takes some ten megabytes.
  private static func labels() -> [String] {
    let end = String(repeating: "-", count: 400)
    return (0..<rows).map { "\(UInt64($0) &* 0x9E37_79B9_7F4A_7C15)\(end)" }
  }

  private static func insertTags(_ way: Way, _ labels: [String], into store: TemporaryStore) throws {
    let context = store.context()
    try context.performAndWait {
      switch way {
      case .save:
        for label in labels { context.make("Tag", ["label": label]) }
        try context.save()
      case .batch:
        _ = try context.execute(NSBatchInsertRequest(entityName: "Tag", objects: labels.map { ["label": $0] }))
      }
    }
  }

  /// What the writer says of its cache: `PRAGMA cache_size`, the bytes in use, and the pages read so far.
  private static func cache(of store: TemporaryStore) throws -> (size: Int64?, used: Int, reads: Int) {
    let database = try #require(store.coordinator.persistentStores[0] as? SQLiteStore).database
    return try database.withWriter {
      (
        try $0.integer("PRAGMA cache_size"), Int($0.status(SQLITE_DBSTATUS_CACHE_USED)),
        Int($0.status(SQLITE_DBSTATUS_CACHE_MISS))
      )
    }
  }

  @Test(arguments: Way.allCases)
  func aLargeTransactionKeepsThePagesThatItWritesAgain(_ way: Way) throws {
    let store = try Self.makeStore()
    let before = try Self.cache(of: store)
    try Self.insertTags(way, Self.labels(), into: store)
    let inserted = try Self.cache(of: store)
    #expect(inserted.reads - before.reads < Self.rows / 6)
    let context = store.context()
    try context.performAndWait {
      let all = NSFetchRequest<any NSFetchRequestResult>(entityName: "Tag")
      _ = try context.execute(NSBatchDeleteRequest(fetchRequest: all))
    }
    let deleted = try Self.cache(of: store)
    // Each page of the file once.
    #expect(deleted.reads - inserted.reads < Self.rows / 2)
    // Then: the memory is given back.
    for after in [inserted, deleted] {
      #expect(after.size == before.size)
      #expect(after.used < 3 << 20)
    }
  }

  @Test func aFailedTransactionGivesItsPagesBack() throws {
    let store = try Self.makeStore()
    let labels = Self.labels()
    let before = try Self.cache(of: store)
    #expect(throws: (any Error).self) { try Self.insertTags(.batch, labels + [labels[0]], into: store) }
    let after = try Self.cache(of: store)
    #expect(after.size == before.size)
    #expect(after.used < 3 << 20)
    try #expect(store.sql("SELECT count(*) FROM ZTAG") == [["0"]])
  }

  @Test func aSizeThatTheProgramHasChosenStays() throws {
    let store = try Self.makeStore([NSSQLitePragmasOption: ["cache_size": "300"]])
    try Self.insertTags(.batch, Self.labels(), into: store)
    let after = try Self.cache(of: store)
    #expect(after.size == 300)
    #expect(after.reads > Self.rows / 4)
  }

  /// A plugin with `--memory` has such a limit: a cache that grew beyond it would end the process.
  @Test func aLimitOfTheProcesssMemoryLimitsTheCache() async {
    await #expect(processExitsWith: .success) {
      var limit = rlimit()
      try #require(getrlimit(__rlimit_resource_t(RLIMIT_DATA.rawValue), &limit) == 0)
      limit.rlim_cur = 1 << 30
      try #require(setrlimit(__rlimit_resource_t(RLIMIT_DATA.rawValue), &limit) == 0)
      #expect(PageCache.largest == 32 << 20)
    }
  }
}

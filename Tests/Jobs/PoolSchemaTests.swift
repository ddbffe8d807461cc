import CoreDataPostgreSQL
import Foundation
import TestFiles
import Testing

@testable import CoreData
@testable import Jobs

/// The pool's tables stay the same, byte for byte: this version opens stores of earlier ones, and workers in other
/// languages know the columns.
@Suite struct PoolSchemaTests {
  private final class Place {
    let directory = temporaryURL("schema")
    var url: URL { directory.appendingPathComponent("app.sqlite") }
    var earlier: URL { directory.appendingPathComponent("earlier.sqlite") }

    /// A place with a store that an earlier program wrote.
    init(_ sql: String = StoreOfVersion4.sql) throws {
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      let connection = try SQLiteConnection(path: earlier.path, access: .create)
      try connection.execute(sql)
      try connection.execute("PRAGMA journal_mode = WAL")
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    func rows(_ sql: String, in url: URL) throws -> [[SQLiteValue]] {
      try SQLiteConnection(path: url.path, access: .readOnly).rows(SQL(raw: sql))
    }
  }

  private static let schema = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
  private static let numbers = "SELECT Z_ENT, Z_NAME, Z_SUPER FROM WP_PRIMARYKEY ORDER BY Z_ENT"

  @Test func aNewStoreHasTheTablesIndexesAndNumbersOfEarlierOnes() throws {
    let place = try Place()
    _ = try JobStore(url: place.url, model: NoteModel.make())
    #expect(try place.rows(Self.schema, in: place.url) == place.rows(Self.schema, in: place.earlier))
    #expect(try place.rows(Self.numbers, in: place.url) == place.rows(Self.numbers, in: place.earlier))
  }

  @Test func theEntitiesHaveTheHashesOfEarlierOnes() throws {
    let place = try Place()
    let earlier = try NSPersistentStoreCoordinator.metadataForPersistentStore(
      ofType: NSSQLiteStoreType, at: place.earlier,
      options: [NSPersistentStoreTablePrefixOption: JobModel.tablePrefix])
    let hashes = earlier[NSStoreModelVersionHashesKey] as? [String: Data]
    #expect(hashes?.count == 9)
    #expect(JobModel.make().entityVersionHashesByName == hashes)
  }

  /// Defaults, optional attributes and classes are in no hash.
  @Test func whatIsInNoHashStaysAsItIs() throws {
    let entities = JobModel.make().entitiesByName
    let defaults = entities.mapValues { entity in
      entity.attributesByName.compactMapValues { $0.defaultValue as? AnyHashable }
    }
    let job: [String: AnyHashable] = [
      "state": Int16(0), "priority": Int16(0), "queue": "default", "attempt": Int16(0), "crashes": Int16(0),
      "progressDone": Int64(0), "progressTotal": Int64(0),
    ]
    #expect(defaults["PoolJob"]?.mapValues { "\($0)" } == job.mapValues { "\($0)" })
    #expect(defaults.count == 9 && defaults.allSatisfy { $0.key == "PoolJob" || $0.value.isEmpty })
    #expect(entities["PoolJob"]?.uniquenessConstraints as? [[String]] == [["activeKey"]])
    // What crosses threads has the name of the entity, and the row another one.
    let rows = ["PoolMember": "PoolMemberRow", "PoolNotice": "PoolNoticeRow"]
    for (name, entity) in entities { #expect(entity.managedObjectClassName == "Jobs.\(rows[name] ?? name)") }
    #expect(JobModel.make().entities(forConfigurationName: JobModel.poolConfiguration)?.count == 9)
  }

  /// A server announces the jobs that a pool may have to do something about.
  @Test func theAnnouncedStatesAreThoseFromWhichAJobMayRun() {
    let states: [JobState] = [.available, .scheduled, .retryable, .pending]
    let condition = JobModel.make().entitiesByName["PoolJob"]?.userInfo?[NSPersistentStoreAnnouncedKey] as? String
    #expect(condition == "state = " + states.map { "\($0.rawValue)" }.joined(separator: " ") + "; claimant")
  }

  @Test func aStoreOfThisVersionIsOpenedWithoutAChangeOfItsTables() throws {
    let place = try Place()
    let before = try place.rows(Self.schema, in: place.earlier)
    try checkContents(of: place.earlier)
    #expect(try place.rows(Self.schema, in: place.earlier) == before)
  }

  /// What versions 3 and 4 differ in: tables, columns and indexes of pools that share a store.
  @Test func aStoreOfVersion3IsUpgradedAndKeepsItsJobs() throws {
    let place = try Place(StoreOfVersion3.sql)
    let numbers = try place.rows(Self.numbers, in: place.earlier)
    try checkContents(of: place.earlier)
    _ = try JobStore(url: place.url, model: NoteModel.make())
    let columns = """
      SELECT m.name, c.name, c.type FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'
      ORDER BY 1, 2
      """
    let indexes = "SELECT name, sql FROM sqlite_master WHERE type = 'index' ORDER BY name"
    for sql in [columns, indexes] { #expect(try place.rows(sql, in: place.earlier) == place.rows(sql, in: place.url)) }
    // Entities keep their numbers, which are in every row, and new ones follow.
    let upgraded = try place.rows(Self.numbers, in: place.earlier)
    #expect(Array(upgraded.prefix(numbers.count)) == numbers)
    let names = upgraded.dropFirst(numbers.count).map { $0[1] }
    #expect(names == [.text("PoolMember"), .text("PoolNotice"), .text("PoolTurn")])
    let version = "SELECT ZVALUE FROM WPPOOLSETTING WHERE ZNAME = 'version'"
    #expect(try place.rows(version, in: place.earlier) == [[.text("4")]])
    // It is the same store still.
    let reopened = try JobStore(url: place.earlier, model: NoteModel.make())
    #expect(reopened.poolIdentifier == "0044DFDA-8DCC-4BE2-ACE4-84BDB42FD757")
  }

  /// A pool that runs holds the lock of the file. The row of one that was killed does not keep others from the upgrade.
  @Test func aFileIsNotUpgradedWhileAPoolRunsThatWouldNotUnderstandIt() throws {
    let place = try Place(StoreOfVersion3.sql)
    let before = try place.rows(Self.schema, in: place.earlier)
    // Given: the lock of the pool that the owner's row names.
    let pool = open(place.earlier.path, O_RDWR | O_CLOEXEC)
    defer { close(pool) }
    try #require(flock(pool, LOCK_EX | LOCK_NB) == 0)
    // When a program of this version opens the store, then:
    let refusal = JobModelError.olderPoolsRun(
      place.earlier.path, version: 3, pools: ["process 20129, queue directory /srv/queue"])
    #expect(throws: refusal) { try JobStore(url: place.earlier, model: NoteModel.make()) }
    #expect(try place.rows(Self.schema, in: place.earlier) == before)
    // When the pool is gone, then:
    flock(pool, LOCK_UN)
    try checkContents(of: place.earlier)
    #expect(try place.rows(Self.schema, in: place.earlier) != before)
  }

  /// The next pool takes the lock before it opens the store: its own lock is no other pool's.
  @Test func aFileIsUpgradedByTheProcessThatHasItsLock() throws {
    let place = try Place(StoreOfVersion3.sql)
    let lock = try StoreLock.take(place.earlier.path)
    defer { lock.release() }
    try checkContents(of: place.earlier)
  }

  /// Checks what the stores of all versions hold, and that a job that waits for another one is released.
  private func checkContents(of url: URL) throws {
    let store = try JobStore(url: url, model: NoteModel.make())
    let context = store.makeContext(name: "test")
    try context.performAndWait {
      try store.check(in: context)
      let request = Job.fetchRequest()
      request.sortDescriptors = [NSSortDescriptor(key: "objectID", ascending: true)]
      let jobs = try context.fetch(request)
      #expect(jobs.map(\.state) == [.available, .dead, .dead, .scheduled, .blocked, .cancelled])
      #expect(jobs.map(\.kind) == ["later", "exec", "exec", "later", "later", "later"])
      #expect(jobs.map(\.priority) == [12, 0, 0, -3, 0, 0] && jobs.map(\.attempt) == [0, 1, 1, 0, 0, 0])
      #expect(jobs[1].failures.map(\.type) == ["PermanentFailure"] && jobs[1].failures[0].host == "a.example.org")
      #expect(jobs[1].uniqueKey == "k" && jobs[1].options.uniqueFor == 86_400 && jobs[1].batch == "night")
      #expect(jobs[1].startedAt != nil && jobs[1].finishedAt != nil && jobs[1].runAt == nil)
      #expect(jobs[1].parametersText == #"{"program":"/bin/echo","arguments":["hello"]}"#)
      #expect(jobs[2].maxAttempts == 1 && jobs[2].timeout == 60)
      #expect(jobs[3].objectURIs == ["x-coredata://A/B/p1", "x-coredata://A/B/p2"] && jobs[3].queue == "slow")
      #expect(jobs[3].runAt == Date(timeIntervalSinceReferenceDate: 1_104_451_200) && jobs[3].timeout == 1.5)
      #expect(jobs[3].limitKey == "disk" && jobs[3].options.limit == 3 && jobs[3].options.backoff == 2)
      #expect(jobs[4].options.after == [jobs[0].objectID.uriString] && jobs[4].options.whenFailed == .run)
      #expect(try store.pauses(in: context).queues == ["slow"])
      #expect(try PoolOwner.find(in: context)?.queue == "/srv/queue")
      #expect(try store.submissions(["token-1"], in: context)["token-1"]?.keys == [2, 3, 4, 1, 5, 6])
      #expect(try store.blockers(in: context) == [1])

      // The job that another one waits for succeeds.
      try jobs[0].markSucceeded(startedAt: Date())
      try context.save()
      #expect(try store.release(after: [1], in: context).ready.map(\.key) == [5])
      try context.save()
    }
  }
}

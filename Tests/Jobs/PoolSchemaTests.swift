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

    init() throws {
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      let connection = try SQLiteConnection(path: earlier.path, access: .create)
      try connection.execute(StoreOfVersion3.sql)
      try connection.execute("PRAGMA journal_mode = WAL")
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    func rows(_ sql: String, in url: URL) throws -> [[SQLiteValue]] {
      try SQLiteConnection(path: url.path, access: .readOnly).rows(sql)
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
    #expect(hashes?.count == 6)
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
    #expect(defaults.count == 6 && defaults.allSatisfy { $0.key == "PoolJob" || $0.value.isEmpty })
    #expect(entities["PoolJob"]?.uniquenessConstraints as? [[String]] == [["activeKey"]])
    for (name, entity) in entities { #expect(entity.managedObjectClassName == "Jobs.\(name)") }
    #expect(JobModel.make().entities(forConfigurationName: JobModel.poolConfiguration)?.count == 6)
  }

  @Test func aStoreOfAnEarlierVersionIsOpenedWithoutAChangeOfItsTables() throws {
    let place = try Place()
    let before = try place.rows(Self.schema, in: place.earlier)
    let store = try JobStore(url: place.earlier, model: NoteModel.make())
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
    #expect(try place.rows(Self.schema, in: place.earlier) == before)
  }
}

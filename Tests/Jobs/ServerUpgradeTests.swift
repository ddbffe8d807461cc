import CoreData
import Foundation
import Jobs
import TestFiles
import Testing

/// Stores at a server that an earlier version of workerpool has written.
@Suite(.enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"))
struct ServerUpgradeTests {
  /// The model of version 3: its counts had two bytes, and the count of dead pools a zero in each row.
  private static func modelOfVersion3() throws -> NSManagedObjectModel {
    let model = JobModel.make()
    let job = try #require(model.entitiesByName[PoolJob.entityName])
    job.managedObjectClassName = "NSManagedObject"
    let attributes = job.attributesByName
    for name in ["priority", "maxAttempts", "attempt", "crashes", "hostDeaths"] {
      attributes[name]?.attributeType = .integer16AttributeType
    }
    attributes["hostDeaths"]?.isOptional = false
    attributes["hostDeaths"]?.defaultValue = 0
    job.indexes.removeAll { ["claims", "hostDeaths"].contains($0.name) }
    for (name, condition) in [("kind", "finishedAt == nil AND claimant != nil"), ("hostDeaths", "finishedAt == nil")] {
      let property = try #require(job.propertiesByName[name])
      let index = NSFetchIndexDescription(
        name: name, elements: [NSFetchIndexElementDescription(property: property, collationType: .binary)])
      index.partialIndexPredicate = NSPredicate(format: condition)
      job.indexes.append(index)
    }
    return model
  }

  @Test func aStoreOfVersion3IsUpgradedAndItsJobsAreClaimed() throws {
    let schema = "upgrade_\(UInt32.random(in: 0 ... .max))"
    let url = PostgreSQLServer.shared.url(schema: schema)
    // Given: jobs that have seen no death, one, and two.
    let former = NSPersistentStoreCoordinator(managedObjectModel: try Self.modelOfVersion3())
    let identifier = try JobStore.addPoolStore(to: former, at: url).identifier
    let before = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    before.persistentStoreCoordinator = former
    try before.performAndWait {
      for deaths in [0, 1, 2] {
        let job = NSEntityDescription.insertNewObject(forEntityName: PoolJob.entityName, into: before)
        job.setValuesForKeys(["kind": "a", "createdAt": Date(), "hostDeaths": deaths])
      }
      let version = NSEntityDescription.insertNewObject(forEntityName: "PoolSetting", into: before)
      version.setValuesForKeys(["name": "version", "value": "3"])
      try before.save()
    }
    // When: two pools of this version open it at the same time.
    nonisolated(unsafe) var stores: [JobStore?] = [nil, nil]
    stores.withUnsafeMutableBufferPointer { buffer in
      nonisolated(unsafe) let buffer = buffer
      DispatchQueue.concurrentPerform(iterations: 2) { index in
        buffer[index] = try? Self.open(url)
      }
    }
    // Then:
    let opened = stores.compactMap(\.self)
    #expect(opened.map(\.poolIdentifier) == [identifier, identifier])
    let store = try #require(opened.first)
    let context = store.makeContext(name: "test")
    let jobs = try context.performAndWait {
      try store.claimReady(ReadyQuery(kind: "a", limit: 10, claims: 10), for: 1, besides: [], in: context).jobs
    }
    #expect(jobs.count == 3)
    let table = #"\#(schema)_wp."PoolSetting""#
    #expect(try PostgreSQLServer.shared.psql("SELECT value FROM \(table) WHERE name = 'version'") == "4")
    let indexes = try PostgreSQLServer.shared.indexes(of: #"\#(schema)_wp."PoolJob""#)
    #expect(indexes.components(separatedBy: "(claimant NULLS").count == 2, "\(indexes)")
  }

  private static func open(_ url: URL) throws -> JobStore {
    let store = try JobStore(url: url, model: NoteModel.make())
    let context = store.makeContext(name: "test")
    try context.performAndWait { try store.check(in: context) }
    return store
  }
}

import CoreData
import CoreDataPostgreSQL
import Foundation
import Glibc
import TestFiles
import Testing

@testable import Jobs

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

  /// A place with a store of an earlier version, and what else is written to it.
  ///
  /// - Returns: the store's identifier.
  private static func write(
    _ version: Int, at url: URL, _ body: (NSManagedObjectContext) throws -> Void
  ) throws -> String {
    let former = NSPersistentStoreCoordinator(managedObjectModel: try Self.modelOfVersion3())
    let identifier = try JobStore.addPoolStore(to: former, at: url).identifier ?? ""
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = former
    try context.performAndWait {
      try body(context)
      let setting = NSEntityDescription.insertNewObject(forEntityName: "PoolSetting", into: context)
      setting.setValuesForKeys(["name": "version", "value": "\(version)"])
      try context.save()
    }
    return identifier
  }

  private static func newURL() -> URL {
    PostgreSQLServer.shared.url(schema: "upgrade_\(UInt32.random(in: 0 ... .max))")
  }

  /// A pool that runs counts by its lock: the row of one that was killed does not keep others from the upgrade.
  @Test func aStoreIsNotUpgradedWhileAPoolRunsThatWouldNotUnderstandIt() throws {
    let url = Self.newURL()
    let pool = PoolMember(host: "old", pid: 17, queue: "/srv/queue")
    _ = try Self.write(3, at: url) { context in
      pool.write(to: PoolMemberRow(context: context))
      PoolMember(host: "dead", pid: 18, queue: "/srv/dead").write(to: PoolMemberRow(context: context))
      try PoolOwner(
        pid: 17, queue: "/srv/queue", pool: "p", ledger: "l", member: pool.identity, version: "0.9", tables: 3
      ).write(isShared: true, in: context)
    }
    let former = NSPersistentStoreCoordinator(managedObjectModel: try Self.modelOfVersion3())
    let session = try JobStore.addPoolStore(to: former, at: url).openSession(holding: pool.identity) { _ in }
    let refusal = JobModelError.olderPoolsRun(
      StorePlace(url).description, version: 3,
      pools: ["process 17 of old, queue directory /srv/queue, workerpool 0.9"])
    #expect(throws: refusal) { try Self.open(url) }
    // The pool that runs can still use it.
    #expect(throws: Never.self) {
      try JobStore.addPoolStore(to: NSPersistentStoreCoordinator(managedObjectModel: Self.modelOfVersion3()), at: url)
    }
    // When it is gone, the store is upgraded. A session that is closed ends a little later.
    session?.close()
    let end = ContinuousClock.now + .seconds(60)
    while (try? Self.open(url)) == nil, ContinuousClock.now < end { poll(nil, 0, 20) }
    #expect(throws: Never.self) { try Self.open(url) }
  }

  @Test func aStoreOfAVersionThatIsTooOldIsRefusedWithItsVersion() throws {
    let url = Self.newURL()
    _ = try Self.write(2, at: url) { _ in }
    #expect(throws: JobModelError.storeIsTooOld(StorePlace(url).description, version: 2)) { try Self.open(url) }
  }

  @Test func aStoreOfVersion3IsUpgradedAndItsJobsAreClaimed() throws {
    let schema = "upgrade_\(UInt32.random(in: 0 ... .max))"
    let url = PostgreSQLServer.shared.url(schema: schema)
    // Given: jobs that have seen no death, one, and two.
    let identifier = try Self.write(3, at: url) { context in
      for deaths in [0, 1, 2] {
        let job = NSEntityDescription.insertNewObject(forEntityName: PoolJob.entityName, into: context)
        job.setValuesForKeys(["kind": "a", "createdAt": Date(), "hostDeaths": deaths])
      }
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

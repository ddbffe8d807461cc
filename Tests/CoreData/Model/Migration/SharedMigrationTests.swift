import Synchronization
import Testing

@testable import CoreData

/// Migrations by a mapping model while another process, here another coordinator, has the store open.
@Suite("Migrations of a store in use", .serialized) struct SharedMigrationTests {
  private let options: [AnyHashable: Any] = [NSPersistentStoreTimeoutOption: NSNumber(value: 0.2)]

  private func labels(_ store: TemporaryStore, _ model: NSManagedObjectModel) throws -> Set<String?> {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .sqlite, at: store.url)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    return try context.performAndWait { try Set(context.all("Tag").map { $0.text("label") }) }
  }

  /// The process that migrates      | another one, with the old model
  /// -------------------------------+--------------------------------------
  ///                                | saves "before"
  /// locks the file, reads it       |
  ///                                | saves "during": 134090
  /// replaces the content, unlocks  |
  ///                                | saves "after": 134100
  @Test("A save before the migration is migrated, one during it or after it is an error", .timeLimit(.minutes(20)))
  func savesOfOthers() throws {
    let store = try TemporaryStore(options: options)
    try store.save { $0.make("Tag", ["label": "before"]) }
    let new = try #require(store.model.copy() as? NSManagedObjectModel)
    new.entitiesByName["Tag"]?.properties.append(LibraryModel.attribute("colour", .stringAttributeType))
    let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: store.model, destinationModel: new)
    for entity in mapping.entityMappings where entity.destinationEntityName == "Tag" {
      entity.entityMigrationPolicyClassName = NSStringFromClass(ProbingPolicy.self)
    }
    let probes = Atomic(0)
    ProbingPolicy.probe.withLock {
      $0 = {
        probes.add(1, ordering: .relaxed)
        expectError(NSPersistentStoreTimeoutError) { try store.save { $0.make("Tag", ["label": "during"]) } }
      }
    }
    defer { ProbingPolicy.probe.withLock { $0 = nil } }
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: store.url)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: new)
    func migrate() throws {
      try coordinator.migrate(
        at: store.url, ofType: NSSQLiteStoreType, options, metadata, from: store.model, by: mapping)
    }
    try migrate()
    expectError(NSPersistentStoreIncompatibleVersionHashError) {
      try store.save { $0.make("Tag", ["label": "after"]) }
    }
    // A second process that wanted to migrate it finds it migrated.
    try migrate()
    #expect(probes.load(ordering: .relaxed) == 1)
    try #expect(labels(store, new) == ["before"])
  }

  @Test("A store is locked before it is replaced, and what is thrown then leaves it as it was")
  func lockedReplacement() throws {
    let (store, other) = try (TemporaryStore(options: options), TemporaryStore())
    try store.save { $0.make("Tag", ["label": "kept"]) }
    #expect(throws: CancellationError.self) {
      try SQLiteStore.replace(
        StoreFile(url: store.url, options: nil), with: StoreFile(url: other.url, options: nil)
      ) { lock in
        try lock()
        expectError(NSPersistentStoreTimeoutError) { try store.save { $0.make("Tag", ["label": "refused"]) } }
        throw CancellationError()
      }
    }
    try #expect(labels(store, store.model) == ["kept"])
  }
}

/// Calls the probe before its entity is migrated.
final class ProbingPolicy: NSEntityMigrationPolicy {
  static let probe = Mutex<(@Sendable () -> Void)?>(nil)

  override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {
    Self.probe.withLock(\.self)?()
  }
}

import Synchronization
import TestFiles
import Testing

@testable import CoreData

/// Migrations by a mapping model while another process, here another coordinator, has the store open.
@Suite("Migrations of a store in use", .serialized) struct SharedMigrationTests {
  private let options: [AnyHashable: Any] = [NSPersistentStoreTimeoutOption: NSNumber(value: 0.2)]

  private func labels(_ store: TemporaryStore, _ model: NSManagedObjectModel) throws -> Set<String?> {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .sqlite, at: store.url)
    let context = coordinator.context()
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
    let migration = try TagMigration(store.url, NSSQLiteStoreType, options)
    let probes = Atomic(0)
    ProbingPolicy.probe.withLock {
      $0 = {
        probes.add(1, ordering: .relaxed)
        expectError(NSPersistentStoreTimeoutError) { try store.save { $0.make("Tag", ["label": "during"]) } }
      }
    }
    defer { ProbingPolicy.probe.withLock { $0 = nil } }
    try migration.run()
    expectError(NSPersistentStoreIncompatibleVersionHashError) {
      try store.save { $0.make("Tag", ["label": "after"]) }
    }
    // A second process that wanted to migrate it finds it migrated.
    try migration.run()
    #expect(probes.load(ordering: .relaxed) == 1)
    try #expect(labels(store, TagMigration.model()) == ["before"])
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

  /// A program may replace the store itself, as was usual before automatic migration.
  @Test("A store that was replaced by its migrated copy refuses saves with the old keys", arguments: [true, false])
  func replacedByHand(keepsKeys: Bool) throws {
    let store = try TemporaryStore(options: options)
    try store.save { $0.make("Tag", ["label": "before"]) }
    let new = TagMigration.model()
    let manager = NSMigrationManager(sourceModel: store.model, destinationModel: new)
    manager.usesStoreSpecificMigrationManager = keepsKeys
    let copy = store.folder.appendingPathComponent("new.sqlite")
    try manager.migrateStore(
      from: store.url, type: .sqlite,
      mapping: NSMappingModel.inferredMappingModel(forSourceModel: store.model, destinationModel: new), to: copy,
      type: .sqlite)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: new)
    try coordinator.replacePersistentStore(at: store.url, withPersistentStoreFrom: copy, type: .sqlite)
    func saveAfter() throws { try store.save { $0.make("Tag", ["label": "after"]) } }
    if keepsKeys {
      try saveAfter()
    } else {
      expectError(NSPersistentStoreIncompatibleVersionHashError) { try saveAfter() }
    }
    try #expect(labels(store, new) == (keepsKeys ? ["before", "after"] : ["before"]))
  }

  // MARK: Unfinished files

  /// A folder with a library of one tag in a file of a type.
  private func library(_ type: String, named name: String = "library") throws -> (folder: URL, file: URL) {
    let folder = temporaryURL("migration")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let file = folder.appendingPathComponent(name)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    let store = try coordinator.addPersistentStore(ofType: type, configurationName: nil, at: file)
    let context = coordinator.context()
    try context.performAndWait {
      context.make("Tag", ["label": "kept"])
      try context.save()
    }
    try coordinator.remove(store)
    return (folder, file)
  }

  /// The hidden files in the folder.
  private func unfinished(_ folder: URL) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasPrefix(".") }
  }

  @Test(
    "What a killed migration has left goes with the next migration of the store", .timeLimit(.minutes(20)),
    arguments: [NSSQLiteStoreType, NSXMLStoreType])
  func killedMigration(type: String) async throws {
    // Given a process that was killed while it migrated.
    let (folder, file) = try library(type)
    defer { try? FileManager.default.removeItem(at: folder) }
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = file.path as String, type = type as String] in
      ProbingPolicy.probe.withLock { $0 = { kill(getpid(), SIGKILL) } }
      try TagMigration(URL(fileURLWithPath: path), type).run()
    }
    try #expect(unfinished(folder).count == 1)
    // A migration of another store leaves it alone.
    let other = folder.appendingPathComponent("other")
    try FileManager.default.copyItem(at: file, to: other)
    try TagMigration(other, type).run()
    try FileManager.default.removeItem(at: other)
    try #expect(unfinished(folder).count == 1)
    // When the store is migrated, then nothing is left.
    try TagMigration(file, type).run()
    try #expect(unfinished(folder).isEmpty)
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: type, at: file)
    #expect(TagMigration.model().isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
  }

  /// The process that replaced the store's content was killed before it removed its copy, or another one has migrated
  /// the store meanwhile: no migration of the store follows.
  @Test("What a killed migration has left goes with the next opening of the migrated store")
  func migratedStore() throws {
    let (folder, file) = try library(NSSQLiteStoreType)
    defer { try? FileManager.default.removeItem(at: folder) }
    let left = folder.appendingPathComponent(".library.migration.\(UUID().uuidString).tmp/store")
    try FileManager.default.createDirectory(at: left, withIntermediateDirectories: true)
    for mayMigrate in [false, true] {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
      try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: file,
        options: [NSMigratePersistentStoresAutomaticallyOption: mayMigrate])
      try #expect(unfinished(folder).isEmpty == mayMigrate)
    }
  }

  /// The name of a file has 255 bytes at most (NAME_MAX of limits.h), that of the unfinished file's directory as well.
  @Test("A store with a long name is migrated, too", arguments: [NSSQLiteStoreType, NSXMLStoreType])
  func longName(type: String) throws {
    let (folder, file) = try library(type, named: String(repeating: "\u{e9}", count: 120))
    defer { try? FileManager.default.removeItem(at: folder) }
    try TagMigration(file, type).run()
    try #expect(unfinished(folder).isEmpty)
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: type, at: file)
    #expect(TagMigration.model().isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
  }

  /// Nobody locks an XML file.
  ///
  /// one process                    | another one
  /// -------------------------------+--------------------------------------
  /// makes the new file             |
  ///                                | migrates the store
  /// finds the store changed: 134110|
  @Test("A migration leaves the unfinished file of a process that lives", .timeLimit(.minutes(20)))
  func runningMigration() throws {
    let (folder, file) = try library(NSXMLStoreType)
    defer { try? FileManager.default.removeItem(at: folder) }
    let left = Mutex<[String]>([])
    ProbingPolicy.probe.withLock {
      $0 = {
        ProbingPolicy.probe.withLock { $0 = nil }
        #expect(throws: Never.self) {
          try TagMigration(file, NSXMLStoreType).run()
          let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
          left.withLock { $0 = names.filter { $0.hasPrefix(".") } }
        }
      }
    }
    expectError(NSMigrationError) { try TagMigration(file, NSXMLStoreType).run() }
    #expect(left.withLock(\.count) == 1)
    try #expect(unfinished(folder).isEmpty)
  }

  /// Version 1.0.0 made files without a lock, whose names do not tell the store.
  @Test("A migration removes what a killed migration of version 1.0.0 has left, and nothing that may be in use")
  func filesOfTheFirstVersion() throws {
    let (folder, file) = try library(NSXMLStoreType)
    defer { try? FileManager.default.removeItem(at: folder) }
    let old = Date(timeIntervalSinceNow: -100_000)
    func make(_ name: String, _ date: Date = old) throws {
      let path = folder.appendingPathComponent(name).path
      if name.hasSuffix("_SUPPORT") {
        try FileManager.default.createDirectory(atPath: path + "/_EXTERNAL_DATA", withIntermediateDirectories: true)
      } else {
        try Data("1".utf8).write(to: URL(fileURLWithPath: path))
      }
      try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
    }
    // Given files that a killed process has left.
    let (left, written, open) = (UUID().uuidString, UUID().uuidString, UUID().uuidString)
    for name in [".\(left).migration", ".\(left).migration-wal", "..\(left)_SUPPORT"] { try make(name) }
    // And some that a process writes, or has open, and that are no such files.
    var kept = [".\(written).migration", ".\(open).migration", ".\(open).migration-wal", ".notes.migration"]
    for name in kept { try make(name) }
    try make(".\(written).migration-wal", Date())
    kept.append(".\(written).migration-wal")
    let reader = try FileHandle(forReadingFrom: folder.appendingPathComponent(".\(open).migration-wal"))
    // When a store in the folder is migrated.
    let migration = try TagMigration(file, NSXMLStoreType)
    try migration.run()
    // Then those that nobody needs are gone.
    try #expect(Set(unfinished(folder)) == Set(kept))
    try reader.close()
    try migration.run()
    try #expect(Set(unfinished(folder)) == Set(kept.filter { !$0.contains(open) }))
  }
}

/// A migration of a library's file to a model whose tags have a colour too, by `ProbingPolicy`.
struct TagMigration {
  private let file: URL
  private let type: String
  private let options: [AnyHashable: Any]
  /// Those of the store when this process decided to migrate it.
  private let metadata: [String: Any]

  init(_ file: URL, _ type: String, _ options: [AnyHashable: Any] = [:]) throws {
    (self.file, self.type, self.options) = (file, type, options)
    metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: type, at: file, options: options)
  }

  static func model() -> NSManagedObjectModel {
    let model = LibraryModel.make()
    model.entitiesByName["Tag"]?.properties.append(LibraryModel.attribute("colour", .stringAttributeType))
    return model
  }

  func run() throws {
    let (old, new) = (LibraryModel.make(), Self.model())
    let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new)
    for entity in mapping.entityMappings where entity.destinationEntityName == "Tag" {
      entity.entityMigrationPolicyClassName = NSStringFromClass(ProbingPolicy.self)
    }
    try NSPersistentStoreCoordinator(managedObjectModel: new).migrate(
      at: file, ofType: type, options, metadata, from: old, by: mapping)
  }
}

/// Calls the probe before its entity is migrated.
final class ProbingPolicy: NSEntityMigrationPolicy {
  static let probe = Mutex<(@Sendable () -> Void)?>(nil)

  override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {
    Self.probe.withLock(\.self)?()
  }
}

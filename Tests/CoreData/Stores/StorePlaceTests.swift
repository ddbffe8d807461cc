import StoreTools
import TestFiles
import Testing

@testable import CoreData

/// One rule says what the same place is, whatever its path.
@Suite struct StorePlaceTests {
  /// A store with a large value, and another path to it.
  private func linked(hard: Bool = false, folder: Bool = false) throws -> (store: TemporaryStore, other: URL) {
    let store = try ExternalPhotos.store()
    try store.save { $0.make("Photo", ["name": "a", "data": ExternalPhotos.large(1)]) }
    let files = FileManager.default
    let other = store.folder.appendingPathComponent("other.sqlite")
    if hard {
      try files.linkItem(at: store.url, to: other)
    } else if folder {
      let link = store.folder.appendingPathComponent("link")
      try files.createSymbolicLink(at: link, withDestinationURL: store.folder)
      return (store, link.appendingPathComponent("store.sqlite"))
    } else {
      try files.createSymbolicLink(at: other, withDestinationURL: store.url)
    }
    return (store, other)
  }

  @Test(arguments: [(false, false), (true, false), (false, true)])
  func aStoreIsNotReplacedByItself(hard: Bool, folder: Bool) throws {
    let (store, other) = try linked(hard: hard, folder: folder)
    let files = ExternalPhotos.files(beside: store.url)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: store.model)
    for (to, from) in [(other, store.url), (store.url, other)] {
      try coordinator.replacePersistentStore(at: to, withPersistentStoreFrom: from, ofType: NSSQLiteStoreType)
    }
    #expect(ExternalPhotos.files(beside: store.url) == files && files.count == 1)
    try #expect(ExternalPhotos.values(at: store.url) == [ExternalPhotos.large(1)])
  }

  @Test(arguments: [(false, false), (true, false), (false, true)])
  func aCoordinatorOpensAFileOnce(hard: Bool, folder: Bool) throws {
    let (store, other) = try linked(hard: hard, folder: folder)
    expectError(NSPersistentStoreOpenError) {
      try store.coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: other, options: nil)
    }
    #expect(store.coordinator.persistentStore(for: other) === store.coordinator.persistentStores.first)
    #expect(store.coordinator.setURL(other, for: try #require(store.coordinator.persistentStores.first)))
    // A store of another prefix shares the database, and so its transactions.
    let second = try store.coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: other,
      options: [NSPersistentStoreTablePrefixOption: "WP"])
    #expect((second as? SQLiteStore)?.database === (store.coordinator.persistentStores.first as? SQLiteStore)?.database)
  }

  @Test func aStoreIsDestroyedUnderEitherPath() throws {
    let (store, other) = try linked()
    try store.coordinator.destroyPersistentStore(at: other, ofType: NSSQLiteStoreType)
    #expect(store.coordinator.persistentStores.isEmpty && ExternalPhotos.files(beside: store.url).isEmpty)
  }

  @Test func aStoreIsNotMigratedOntoItself() throws {
    let (store, other) = try linked()
    let manager = NSMigrationManager(sourceModel: store.model, destinationModel: store.model)
    let mapping = try NSMappingModel.inferredMappingModel(
      forSourceModel: store.model, destinationModel: store.model)
    expectError(NSMigrationManagerDestinationStoreError) {
      try manager.migrateStore(
        from: store.url, sourceType: NSSQLiteStoreType, options: nil, with: mapping, toDestinationURL: other,
        destinationType: NSSQLiteStoreType, destinationOptions: nil)
    }
    expectError(NSPersistentStoreOperationError) {
      try store.coordinator.migratePersistentStore(
        try #require(store.coordinator.persistentStores.first), to: other, withType: NSSQLiteStoreType)
    }
  }

  @Test(arguments: ["", "-wal", "-shm"])
  func aBackupDoesNotReplaceTheStoreItself(end: String) throws {
    let store = try ExternalPhotos.store()
    let link = temporaryURL("link")
    defer { unlink(link.path) }
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: store.folder)
    let backup = link.appendingPathComponent("store.sqlite" + end)
    expectError(NSPersistentStoreOperationError) { try StoreMaintenance(url: store.url).backUp(to: backup) }
    try store.save { $0.make("Photo", ["name": "a"]) }
  }

  @Test func placesWithoutAFileAreComparedByTheFolderTheyLeadTo() throws {
    let folder = temporaryURL("places")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let link = folder.appendingPathComponent("link")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: folder)
    let (one, other) = (folder.appendingPathComponent("new.sqlite"), link.appendingPathComponent("new.sqlite"))
    #expect(one.isSamePlace(as: other) && other.isSamePlace(as: one))
    // A link whose file is not there yet.
    let dangling = folder.appendingPathComponent("later.sqlite")
    try FileManager.default.createSymbolicLink(atPath: dangling.path, withDestinationPath: "link/new.sqlite")
    #expect(dangling.isSamePlace(as: one))
    #expect(!one.isSamePlace(as: folder.appendingPathComponent("old.sqlite")))
    #expect(!URL(fileURLWithPath: "/dev/null/a").isSamePlace(as: URL(fileURLWithPath: "/dev/null/b")))
  }

  /// SQLite takes `a/none/../b` for `a/b`; the system finds nothing there.
  @Test func aBackupToADirectoryThatIsNotThereLeavesNothing() throws {
    let store = try TemporaryStore()
    let before = try FileManager.default.contentsOfDirectory(atPath: store.folder.path).sorted()
    let backup = URL(fileURLWithPath: store.folder.path + "/none/../backup.sqlite")
    expectError(NSPersistentStoreOperationError) {
      try StoreMaintenance(url: store.url).backUp(to: backup)
    }
    try #expect(FileManager.default.contentsOfDirectory(atPath: store.folder.path).sorted() == before)
  }
}

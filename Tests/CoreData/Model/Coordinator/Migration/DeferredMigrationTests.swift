import TestFiles
import Testing

@testable import CoreData

/// Migrations that leave for later what no reader needs.
@Suite("Deferred lightweight migration") struct DeferredMigrationTests {
  private static let key = NSPersistentStoreDeferredLightweightMigrationOptionKey

  private func library() throws -> TemporaryStore {
    let store = try TemporaryStore()
    try store.save { context in
      let author = context.make("Author", ["name": "Ada"])
      for number in 0..<20 { context.make("Book", ["title": "\(number)", "author": author]) }
    }
    return store
  }

  /// The library's model with an index and a unique attribute more.
  private func newModel() throws -> NSManagedObjectModel {
    let model = try LibraryMigration.modelWithOtherAttributes()
    let book = try #require(model.entitiesByName["Book"])
    let heading = try #require(book.attributesByName["heading"])
    book.indexes = [
      NSFetchIndexDescription(
        name: "byHeading", elements: [NSFetchIndexElementDescription(property: heading, collationType: .binary)])
    ]
    book.uniquenessConstraints = [["heading"]]
    return model
  }

  private func open(
    _ store: TemporaryStore, _ model: NSManagedObjectModel, isDeferred: Bool = true
  ) throws -> NSPersistentStoreCoordinator {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    var options = LibraryMigration.options()
    options[Self.key] = isDeferred
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: store.url, options: options)
    return coordinator
  }

  private func isUnfinished(_ coordinator: NSPersistentStoreCoordinator) -> Bool {
    coordinator.metadata(for: coordinator.persistentStores[0])[Self.key] != nil
  }

  private func oldTables(_ store: TemporaryStore) throws -> [[String?]] {
    try store.sql("SELECT name FROM sqlite_master WHERE name LIKE 'cd_old%' ORDER BY 1")
  }

  /// The tables and indexes of a file.
  private func schema(_ store: TemporaryStore) throws -> [[String?]] {
    try store.sql("SELECT name, sql FROM sqlite_master WHERE sql NOT NULL ORDER BY name")
  }

  private func titles(_ coordinator: NSPersistentStoreCoordinator) throws -> [String?] {
    let context = coordinator.context()
    return try context.performAndWait { try context.all("Book", sort: "heading").map { $0.text("heading") } }
  }

  @Test("The store can be used at once, and says that work is left; finishing leaves what a full migration leaves")
  func finishing() throws {
    let (store, full) = (try library(), try library())
    let model = try newModel()
    let coordinator = try open(store, model)
    #expect(isUnfinished(coordinator))
    try #expect(!oldTables(store).isEmpty)
    let expected = (0..<20).map(String.init).sorted()
    try #expect(titles(coordinator) == expected)
    // The constraint holds already; the index comes later.
    try #expect(store.sql("SELECT 1 FROM sqlite_master WHERE name = 'Z_Book_byHeading'").isEmpty)
    let context = coordinator.context()
    try context.performAndWait {
      context.make("Book", ["heading": "7"])
      expectError(NSManagedObjectConstraintMergeError) { try context.save() }
      context.rollback()
      context.make("Book", ["heading": "new"])
      try context.save()
    }
    try coordinator.finishDeferredLightweightMigration()
    #expect(!isUnfinished(coordinator))
    try #expect(
      NSPersistentStoreCoordinator.metadataForPersistentStore(
        ofType: NSSQLiteStoreType, at: store.url, options: nil)[Self.key] == nil)
    try #expect(titles(coordinator) == (expected + ["new"]).sorted())
    _ = try open(full, model, isDeferred: false)
    try #expect(schema(store) == schema(full))
    try #expect(store.sql("PRAGMA integrity_check") == [["ok"]])
    // Nothing is left to do.
    try coordinator.finishDeferredLightweightMigration()
    try coordinator.finishDeferredLightweightMigrationTask()
  }

  @Test("Each task does one piece, and another process may do the next")
  func tasks() throws {
    let store = try library()
    let model = try newModel()
    let coordinator = try open(store, model)
    let other = NSPersistentStoreCoordinator(managedObjectModel: try #require(model.copy() as? NSManagedObjectModel))
    try other.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: store.url, options: nil)
    #expect(isUnfinished(other))
    var left = try schema(store).count - oldTables(store).count
    var tables = try oldTables(store).count
    var tasks = 0
    while isUnfinished(coordinator) {
      try (tasks.isMultiple(of: 2) ? coordinator : other).finishDeferredLightweightMigrationTask()
      tasks += 1
      let now = (try oldTables(store).count, try schema(store).count - oldTables(store).count)
      // One table less, one index more, or the end.
      #expect((tables - now.0) + (now.1 - left) <= 1)
      (tables, left) = now
      try #require(tasks < 100)
    }
    #expect(tables == 0 && tasks > 5)
    // The other process hears of it when it has nothing left to do.
    try other.finishDeferredLightweightMigrationTask()
    #expect(!isUnfinished(other))
  }

  @Test("A store that is migrated again before the end keeps nothing of both migrations")
  func again() throws {
    let (store, full) = (try library(), try library())
    let first = try newModel()
    let unfinished = try open(store, first)
    try unfinished.remove(unfinished.persistentStores[0])
    let second = try newModel()
    second.entitiesByName["Book"]?.properties.append(LibraryModel.attribute("late", .stringAttributeType))
    let coordinator = try open(store, second, isDeferred: false)
    #expect(!isUnfinished(coordinator))
    try #expect(oldTables(store).isEmpty)
    try #expect(titles(coordinator).count == 20)
    let whole = try open(full, first, isDeferred: false)
    try whole.remove(whole.persistentStores[0])
    _ = try open(full, second, isDeferred: false)
    try #expect(schema(store) == schema(full))
  }
}

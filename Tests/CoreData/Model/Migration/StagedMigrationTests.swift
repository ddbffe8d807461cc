import Testing

@testable import CoreData

@Suite("Staged migration") struct StagedMigrationTests {
  /// Versions of the library: a subtitle is added, then the author's name is renamed.
  private func models() throws -> [NSManagedObjectModel] {
    let first = LibraryModel.make()
    let second = try #require(first.copy() as? NSManagedObjectModel)
    second.entitiesByName["Book"]?.properties.append(LibraryModel.attribute("subtitle", .stringAttributeType))
    let third = try #require(second.copy() as? NSManagedObjectModel)
    let author = third.entitiesByName["Author"]
    author?.attributesByName["name"]?.renamingIdentifier = "name"
    author?.attributesByName["name"]?.name = "fullName"
    return [first, second, third]
  }

  private func reference(_ model: NSManagedObjectModel) -> NSManagedObjectModelReference {
    NSManagedObjectModelReference(model: model, versionChecksum: model.versionChecksum)
  }

  @Test("A custom stage sees the store before and after, and a lightweight stage follows")
  func stages() throws {
    let models = try models()
    let store = try TemporaryStore(models[0])
    try store.save { $0.make("Book", ["title": "A", "author": $0.make("Author", ["name": "Ada"])]) }
    let stage = NSCustomMigrationStage(migratingFrom: reference(models[0]), to: reference(models[1]))
    stage.willMigrateHandler = { manager, _ in
      let context = try #require(manager.container).newBackgroundContext()
      try context.performAndWait {
        try #expect(context.all("Book").map { $0.text("title") } == ["A"])
        for book in try context.all("Book") { book.setValue("B", forKey: "title") }
        try context.save()
      }
    }
    stage.didMigrateHandler = { manager, _ in
      let context = try #require(manager.container).newBackgroundContext()
      try context.performAndWait {
        for book in try context.all("Book") { book.setValue("of \(book.text("title") ?? "")", forKey: "subtitle") }
        try context.save()
      }
    }
    let last = NSLightweightMigrationStage([models[1].versionChecksum, models[2].versionChecksum])
    let manager = NSStagedMigrationManager([stage, last])
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: models[2])
    try coordinator.addPersistentStore(
      type: .sqlite, at: store.url, options: [NSPersistentStoreStagedMigrationManagerOptionKey: manager])
    #expect(manager.container == nil)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      try #expect(context.all("Book").map { $0.text("subtitle") } == ["of B"])
      try #expect(context.all("Author").map { $0.text("fullName") } == ["Ada"])
    }
  }

  @Test("A store whose version begins no stage is refused, and a wrong checksum too")
  func refusing() throws {
    let models = try models()
    let store = try TemporaryStore(models[0])
    func open(_ stages: [NSMigrationStage]) throws {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: models[2])
      try coordinator.addPersistentStore(
        type: .sqlite, at: store.url,
        options: [NSPersistentStoreStagedMigrationManagerOptionKey: NSStagedMigrationManager(stages)])
    }
    expectError(NSStagedMigrationBackwardMigrationError) {
      try open([NSLightweightMigrationStage([models[1].versionChecksum, models[2].versionChecksum])])
    }
    let wrong = NSManagedObjectModelReference(model: models[0], versionChecksum: models[0].versionChecksum)
    let other = NSManagedObjectModelReference(model: models[0], versionChecksum: "no checksum")
    expectError(NSManagedObjectModelReferenceNotFoundError) {
      try open([NSCustomMigrationStage(migratingFrom: wrong, to: other)])
    }
  }
}

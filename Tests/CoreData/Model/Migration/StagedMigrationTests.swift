import TestFiles
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
    let context = coordinator.context()
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

  @Test("Models that are in files only are kept until the last migration of a store without a copy of its model")
  func modelsInFiles() throws {
    let folder = temporaryURL("stages")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    // No other test has an entity of this name: its model would be found in use.
    let name = "Page\(UInt32.random(in: 0 ... .max))"
    func model(_ attributes: [String]) -> NSManagedObjectModel {
      Build.model(LibraryModel.entity(name, attributes.map { Build.attribute($0) }))
    }
    let references = try [["a"], ["a", "b"]].map { attributes in
      let model = model(attributes)
      let file = folder.appendingPathComponent("\(attributes.joined()).mom")
      try ModelArchive.data(of: model).write(to: file)
      return NSManagedObjectModelReference(fileURL: file, versionChecksum: model.versionChecksum)
    }
    let url = folder.appendingPathComponent("pages.xml")
    func open(_ model: NSManagedObjectModel, _ options: [AnyHashable: Any]? = nil) throws -> NSManagedObjectContext {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      try coordinator.addPersistentStore(ofType: NSXMLStoreType, configurationName: nil, at: url, options: options)
      return coordinator.context()
    }
    do {
      let context = try open(references[0].resolve())
      try context.performAndWait {
        context.make(name, ["a": "first"])
        try context.save()
      }
    }
    // When a stage between two files is followed by a migration to the coordinator's model.
    let stage = NSCustomMigrationStage(migratingFrom: references[0], to: references[1])
    let context = try open(
      model(["a", "b", "c"]), [NSPersistentStoreStagedMigrationManagerOptionKey: NSStagedMigrationManager([stage])])
    try context.performAndWait { try #expect(context.all(name).map { $0.text("a") } == ["first"]) }
  }
}

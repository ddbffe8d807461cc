import Synchronization
import Testing

@testable import CoreData

@Suite("Migration policies", .serialized) struct MigrationPolicyTests {
  private func migration() throws -> (TemporaryStore, NSManagedObjectModel, NSMappingModel) {
    let store = try TemporaryStore()
    try store.save { context in
      let author = context.make("Author", ["name": "Ada"])
      for title in ["A", "B"] { context.make("Book", ["title": title, "author": author]) }
    }
    let new = try #require(store.model.copy() as? NSManagedObjectModel)
    new.entitiesByName["Book"]?.properties.append(LibraryModel.attribute("subtitle", .stringAttributeType))
    let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: store.model, destinationModel: new)
    for entity in mapping.entityMappings where entity.destinationEntityName == "Book" {
      entity.entityMigrationPolicyClassName = NSStringFromClass(RecordingPolicy.self)
    }
    RecordingPolicy.steps.withLock { $0 = [] }
    return (store, new, mapping)
  }

  @Test("The seven steps come in their order, for all mappings before the next pass")
  func steps() throws {
    let (store, new, mapping) = try migration()
    let url = store.folder.appendingPathComponent("new.sqlite")
    let manager = NSMigrationManager(sourceModel: store.model, destinationModel: new)
    try manager.migrateStore(from: store.url, type: .sqlite, mapping: mapping, to: url, type: .sqlite)
    #expect(
      RecordingPolicy.steps.withLock { $0 } == [
        "begin", "instance", "instance", "end of instances", "relationships", "relationships", "end of relationships",
        "validation", "end",
      ])
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: new)
    try coordinator.addPersistentStore(type: .sqlite, at: url)
    let context = coordinator.context()
    try context.performAndWait {
      let books = try context.all("Book")
      #expect(Set(books.map { $0.text("subtitle") }) == ["A, again", "B, again"])
      #expect(books.allSatisfy { ($0.value(forKey: "author") as? NSManagedObject)?.text("name") == "Ada" })
    }
  }

  @Test("A cancelled migration throws the error and leaves no file; after a reset it runs")
  func cancelling() throws {
    let (store, new, mapping) = try migration()
    let url = store.folder.appendingPathComponent("new.sqlite")
    let manager = NSMigrationManager(sourceModel: store.model, destinationModel: new)
    manager.userInfo = ["cancels": true]
    expectError(NSMigrationCancelledError) {
      try manager.migrateStore(from: store.url, type: .sqlite, mapping: mapping, to: url, type: .sqlite)
    }
    #expect(!FileManager.default.fileExists(atPath: url.path))
    #expect(RecordingPolicy.steps.withLock { $0 } == ["begin", "instance"])
    manager.userInfo = nil
    manager.reset()
    try manager.migrateStore(from: store.url, type: .sqlite, mapping: mapping, to: url, type: .sqlite)
    #expect(manager.migrationProgress == 1)
  }

  @Test("A policy that the program lacks, or that throws, fails the migration")
  func failing() throws {
    let (store, new, mapping) = try migration()
    let url = store.folder.appendingPathComponent("new.sqlite")
    let manager = NSMigrationManager(sourceModel: store.model, destinationModel: new)
    mapping.entityMappings[0].entityMigrationPolicyClassName = "NoSuchPolicy"
    expectError(NSEntityMigrationPolicyError) {
      try manager.migrateStore(from: store.url, type: .sqlite, mapping: mapping, to: url, type: .sqlite)
    }
  }

  @Test("Mappings are made in code, and call their policy by name")
  func inCode() throws {
    let (store, new, _) = try migration()
    let name = NSPropertyMapping()
    name.name = "name"
    name.valueExpression = NSExpression(
      node: .function(
        name: "shout:", operand: NSExpression(forVariable: NSMigrationEntityPolicyKey),
        arguments: [NSExpression(node: .keyPath(operand: NSExpression(forVariable: "source"), path: .init("name")))]))
    let author = NSEntityMapping()
    author.name = "AuthorToAuthor"
    author.mappingType = .customEntityMappingType
    author.sourceEntityName = "Author"
    author.destinationEntityName = "Author"
    author.attributeMappings = [name]
    author.entityMigrationPolicyClassName = "RecordingPolicy"
    let mapping = NSMappingModel()
    mapping.entityMappings = [author]
    let url = store.folder.appendingPathComponent("new.sqlite")
    try NSMigrationManager(sourceModel: store.model, destinationModel: new)
      .migrateStore(from: store.url, type: .sqlite, mapping: mapping, to: url, type: .sqlite)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: new)
    try coordinator.addPersistentStore(type: .sqlite, at: url)
    let context = coordinator.context()
    try context.performAndWait {
      try #expect(context.all("Author").map { $0.text("name") } == ["ADA"])
      try #expect(context.all("Book").isEmpty)
    }
  }
}

/// Notes its steps.
final class RecordingPolicy: NSEntityMigrationPolicy {
  static let steps = Mutex<[String]>([])

  private func note(_ step: String) { Self.steps.withLock { $0.append(step) } }

  override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws { note("begin") }

  override func createDestinationInstances(
    forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    note("instance")
    try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
    let new = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [sInstance])
    #expect(manager.sourceInstances(forEntityMappingName: mapping.name, destinationInstances: new) == [sInstance])
    #expect(manager.currentEntityMapping === mapping)
    if mapping.destinationEntityName == "Book" {
      new[0].setValue("\(sInstance.text("title") ?? ""), again", forKey: "subtitle")
    }
    if manager.userInfo?["cancels"] != nil {
      manager.cancelMigrationWithError(CocoaError(.migrationCancelled))
    }
  }

  override func endInstanceCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
    note("end of instances")
  }

  override func createRelationships(
    forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    note("relationships")
    try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager)
  }

  override func endRelationshipCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
    note("end of relationships")
  }

  override func performCustomValidation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
    note("validation")
  }

  override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws { note("end") }

  override func value(forSelector selector: String, arguments: [Any?]) throws -> Any? {
    guard selector == "shout:" else { return try super.value(forSelector: selector, arguments: arguments) }
    return (arguments[0] as? String)?.uppercased()
  }
}

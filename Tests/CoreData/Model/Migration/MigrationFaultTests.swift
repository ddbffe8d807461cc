import Foundation
import Synchronization
import Testing

@testable import CoreData

/// Migrations with policies that go wrong: each leaves the old store as it was, and nothing half made.
@Suite("Migrations that fail", .serialized) struct MigrationFaultTests {
  private struct Setup {
    let store: TemporaryStore
    let model: NSManagedObjectModel
    let mapping: NSMappingModel
    let url: URL

    /// A library of one author and two books, to be migrated by `FaultyPolicy`.
    init() throws {
      store = try TemporaryStore()
      try store.save { context in
        let author = context.make("Author", ["name": "Ada"])
        for title in ["A", "B"] { context.make("Book", ["title": title, "author": author]) }
      }
      model = try #require(store.model.copy() as? NSManagedObjectModel)
      model.entitiesByName["Book"]?.properties.append(LibraryModel.attribute("subtitle", .stringAttributeType))
      mapping = try NSMappingModel.inferredMappingModel(forSourceModel: store.model, destinationModel: model)
      for entity in mapping.entityMappings where entity.destinationEntityName == "Book" {
        entity.entityMigrationPolicyClassName = NSStringFromClass(FaultyPolicy.self)
      }
      url = store.folder.appendingPathComponent("new.sqlite")
    }

    func manager() -> NSMigrationManager { NSMigrationManager(sourceModel: store.model, destinationModel: model) }

    func migrate(_ manager: NSMigrationManager, to url: URL? = nil) throws {
      try manager.migrateStore(
        from: store.url, type: .sqlite, mapping: mapping, to: url ?? self.url, type: .sqlite)
    }

    func titles(_ url: URL) throws -> [String?] {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      try coordinator.addPersistentStore(type: .sqlite, at: url)
      let context = coordinator.context()
      return try context.performAndWait { try context.all("Book", sort: "title").map { $0.text("title") } }
    }

    /// Nothing is left of the new store, and the old one is complete.
    func expectNothingDone(sourceLocation: SourceLocation = #_sourceLocation) throws {
      let left = try FileManager.default.contentsOfDirectory(atPath: store.folder.path).filter { $0.hasPrefix("new") }
      #expect(left.isEmpty, sourceLocation: sourceLocation)
      let titles = try store.read { try $0.all("Book", sort: "title").map { $0.text("title") } }
      #expect(titles == ["A", "B"], sourceLocation: sourceLocation)
    }
  }

  @Test("An error of any step ends the migration with this error", arguments: FaultyPolicy.Step.allCases)
  func throwing(step: FaultyPolicy.Step) throws {
    let setup = try Setup()
    let manager = setup.manager()
    FaultyPolicy.plan.withLock { $0 = .throwing(step) }
    #expect(throws: FaultyPolicy.Fault(step: step)) { try setup.migrate(manager) }
    try setup.expectNothingDone()
    FaultyPolicy.plan.withLock { $0 = .none }
    manager.reset()
    try setup.migrate(manager)
    try #expect(setup.titles(setup.url) == ["A", "B"])
  }

  @Test("A migration that another thread cancels in any step throws the error", arguments: FaultyPolicy.Step.allCases)
  func cancelling(step: FaultyPolicy.Step) throws {
    let setup = try Setup()
    let manager = setup.manager()
    FaultyPolicy.plan.withLock { $0 = .cancelling(step) }
    defer { FaultyPolicy.plan.withLock { $0 = .none } }
    #expect(throws: FaultyPolicy.Fault(step: step)) { try setup.migrate(manager) }
    try setup.expectNothingDone()
    // Only a reset makes it ready again.
    #expect(throws: FaultyPolicy.Fault(step: step)) { try setup.migrate(manager) }
  }

  @Test("A new store that cannot be opened is removed", arguments: [NSSQLiteStoreType, NSXMLStoreType])
  func notOpened(type: String) throws {
    let setup = try Setup()
    FaultyPolicy.plan.withLock { $0 = .none }
    expectError(NSMigrationManagerDestinationStoreError) {
      try setup.manager().migrateStore(
        from: setup.store.url, sourceType: NSSQLiteStoreType, with: setup.mapping, toDestinationURL: setup.url,
        destinationType: type, destinationOptions: [NSReadOnlyPersistentStoreOption: true])
    }
    try setup.expectNothingDone()
  }

  @Test(
    "A migration in the file, and one row by row, leave nothing of a store that fails its constraints",
    arguments: [NSSQLiteStoreType, NSXMLStoreType])
  func constraints(type: String) throws {
    // Given two books of one title, with large values beside the file.
    func model() throws -> NSManagedObjectModel {
      let model = LibraryModel.make()
      try #require(model.entitiesByName["Book"]?.attributesByName["cover"]).allowsExternalBinaryDataStorage = true
      return model
    }
    let (old, new) = try (model(), model())
    new.entitiesByName["Book"]?.uniquenessConstraints = [["title"]]
    let store = try TemporaryStore(old)
    try store.save { context in
      for byte in [1, 2] as [UInt8] {
        context.make("Book", ["title": "A", "cover": Data(repeating: byte, count: 1 << 20)])
      }
    }
    // When they are migrated to a model that allows one, then nothing is left of the new store.
    let manager = NSMigrationManager(sourceModel: old, destinationModel: new)
    let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new)
    expectError(NSMigrationConstraintViolationError) {
      try manager.migrateStore(
        from: store.url, sourceType: NSSQLiteStoreType, with: mapping,
        toDestinationURL: store.folder.appendingPathComponent("new.sqlite"), destinationType: type)
    }
    let files = try FileManager.default.contentsOfDirectory(atPath: store.folder.path)
    #expect(files.filter { $0.contains("new") } == [])
    try store.read { try #expect($0.all("Book").count == 2) }
  }

  @Test("Objects go into a store of the new model that is there; a failing migration leaves it unchanged")
  func appending() throws {
    let setup = try Setup()
    FaultyPolicy.plan.withLock { $0 = .none }
    try setup.migrate(setup.manager())
    let before =
      try NSPersistentStoreCoordinator.metadataForPersistentStore(
        ofType: NSSQLiteStoreType, at: setup.url, options: nil)[NSStoreUUIDKey] as? String
    try setup.migrate(setup.manager())
    try #expect(setup.titles(setup.url) == ["A", "A", "B", "B"])
    FaultyPolicy.plan.withLock { $0 = .throwing(.validation) }
    #expect(throws: FaultyPolicy.Fault(step: .validation)) { try setup.migrate(setup.manager()) }
    FaultyPolicy.plan.withLock { $0 = .none }
    try #expect(setup.titles(setup.url) == ["A", "A", "B", "B"])
    let after =
      try NSPersistentStoreCoordinator.metadataForPersistentStore(
        ofType: NSSQLiteStoreType, at: setup.url, options: nil)[NSStoreUUIDKey] as? String
    #expect(before == after)
  }

  @Test("A store to which objects are added keeps its metadata, and gets the entries that it lacks")
  func appendedMetadata() throws {
    let setup = try Setup()
    FaultyPolicy.plan.withLock { $0 = .none }
    try setup.migrate(setup.manager())
    typealias Stores = NSPersistentStoreCoordinator
    func metadata() throws -> [String: Any] { try Stores.metadataForPersistentStore(type: .sqlite, at: setup.url) }
    let identifier = try metadata()[NSStoreUUIDKey] as? String
    try Stores.setMetadata(["owner": "new", "kept": 1], forPersistentStoreOfType: NSSQLiteStoreType, at: setup.url)
    let old = ["owner": "old", "added": "old"]
    try Stores.setMetadata(old, forPersistentStoreOfType: NSSQLiteStoreType, at: setup.store.url)
    try setup.migrate(setup.manager())
    let merged = try metadata()
    #expect(merged["owner"] as? String == "new" && merged["kept"] as? Int == 1 && merged["added"] as? String == "old")
    #expect(merged[NSStoreUUIDKey] as? String == identifier)
    #expect(setup.model.isConfiguration(withName: nil, compatibleWithStoreMetadata: merged))
  }

  @Test("A file that is no store of the new model is an error, and stays as it is")
  func otherFiles() throws {
    let setup = try Setup()
    let notes = setup.store.folder.appendingPathComponent("notes.txt")
    try Data("keep me".utf8).write(to: notes)
    expectError(NSMigrationManagerDestinationStoreError) { try setup.migrate(setup.manager(), to: notes) }
    try #expect(String(contentsOf: notes, encoding: .utf8) == "keep me")
    expectError(NSMigrationManagerDestinationStoreError) { try setup.migrate(setup.manager(), to: setup.store.url) }
    let inferred = try NSMappingModel.inferredMappingModel(
      forSourceModel: setup.store.model, destinationModel: setup.model)
    expectError(NSMigrationManagerDestinationStoreError) {
      try setup.manager().migrateStore(
        from: setup.store.url, type: .sqlite, mapping: inferred, to: setup.store.url, type: .sqlite)
    }
    try setup.expectNothingDone()
  }

  @Test("What no mapping has made is an empty list")
  func missingAssociations() throws {
    let setup = try Setup()
    FaultyPolicy.plan.withLock { $0 = .asking }
    defer { FaultyPolicy.plan.withLock { $0 = .none } }
    try setup.migrate(setup.manager())
    try #expect(setup.titles(setup.url) == ["A", "B"])
  }
}

/// Fails in one step, as its plan says.
final class FaultyPolicy: NSEntityMigrationPolicy {
  enum Step: CaseIterable, Sendable {
    case begin, instances, endOfInstances, relationships, endOfRelationships, validation, end
  }

  enum Plan {
    case none
    case throwing(Step)
    case cancelling(Step)
    case asking
  }

  struct Fault: Error, Equatable { let step: Step }

  static let plan = Mutex(Plan.none)

  private func pass(_ step: Step, _ manager: NSMigrationManager) throws {
    switch Self.plan.withLock({ $0 }) {
    case .throwing(step): throw Fault(step: step)
    case .cancelling(step):
      // `nonisolated(unsafe)`: the manager may be cancelled on any thread, and this one waits.
      nonisolated(unsafe) let manager = manager
      let done = DispatchSemaphore(value: 0)
      DispatchQueue.global().async {
        manager.cancelMigrationWithError(Fault(step: step))
        done.signal()
      }
      done.wait()
    default: break
    }
  }

  override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {
    try pass(.begin, manager)
  }

  override func createDestinationInstances(
    forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
    try pass(.instances, manager)
    guard case .asking = Self.plan.withLock({ $0 }) else { return }
    let stranger = NSManagedObject(entity: sInstance.entity, insertInto: nil)
    #expect(manager.destinationInstances(forEntityMappingName: "Nobody", sourceInstances: [sInstance]).isEmpty)
    #expect(manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [stranger]).isEmpty)
    #expect(manager.sourceInstances(forEntityMappingName: mapping.name, destinationInstances: [sInstance]).isEmpty)
    #expect(manager.sourceInstances(forEntityMappingName: "Nobody", destinationInstances: nil).isEmpty)
  }

  override func endInstanceCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
    try pass(.endOfInstances, manager)
  }

  override func createRelationships(
    forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager)
    try pass(.relationships, manager)
  }

  override func endRelationshipCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
    try pass(.endOfRelationships, manager)
  }

  override func performCustomValidation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
    try pass(.validation, manager)
  }

  override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws { try pass(.end, manager) }
}

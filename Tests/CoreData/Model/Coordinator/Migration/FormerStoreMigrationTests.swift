import Foundation
import Testing

@testable import CoreData

/// Stores that former programs wrote, migrated to later versions of their apps' models.
@Suite("Migrating stores of former programs") struct FormerStoreMigrationTests {
  struct Step: Sendable, CustomTestStringConvertible {
    let store: String
    let model: String
    let version: String
    var testDescription: String { "\(store) to \(version)" }
  }

  private static let steps = ModelFixtures.arguments(
    own: [
      Step(store: "Harbour-1", model: "Harbour", version: "Harbour 2"),
      Step(store: "Harbour-1", model: "Harbour", version: "Harbour 3"),
      Step(store: "Harbour-2", model: "Harbour", version: "Harbour 3"),
    ], apple: appleSteps)

  private static let appleSteps: [Step] =
    (2...6).map { Step(store: "DDG-Bookmarks-V1", model: "DDG-BookmarksModel", version: "BookmarksModel \($0)") }
    + (4...6).map { Step(store: "DDG-Bookmarks-V3", model: "DDG-BookmarksModel", version: "BookmarksModel \($0)") }
    + [
      Step(store: "DDG-Bookmarks-V5", model: "DDG-BookmarksModel", version: "BookmarksModel 6"),
      Step(store: "CoreDataPlus-SampleModel-V1", model: "CoreDataPlus-SampleModel", version: "SampleModel2"),
      Step(store: "BNR-TestModel", model: "BNR-Sample", version: "TestModel 2"),
    ]

  @Test("Objects, relationships and their order stay", arguments: steps)
  func migrating(step: Step) throws {
    let (folder, file) = try ModelFixtures.copyOfStore(step.store)
    defer { try? FileManager.default.removeItem(at: folder) }
    let new = try #require(
      NSManagedObjectModel.versions(at: ModelFixtures.folder("models/\(step.model).xcdatamodeld"))[step.version]
    ).plain()
    // The old model is found as long as its coordinator exists.
    let old = try open(file, try StoreModels.model(ofStore: step.store), options: nil)
    let before = try contents(old)
    let migrated = try open(
      file, new,
      options: [NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true])
    let mapping = try InferredMapping(from: old.managedObjectModel.entities, to: new.entities)
    let after = try contents(migrated)
    for entity in mapping.entities where !entity.destination.isAbstract {
      guard let source = entity.source?.name, let name = entity.destination.name else { continue }
      #expect(after[name]?.count == before[source]?.count, "\(name)")
      for (key, values) in before[source] ?? [:] {
        let now = try #require(after[name]?[key], "\(name) \(key)")
        for (attribute, was) in entity.attributes {
          #expect(now[attribute] == values[was.name], "\(name).\(attribute)")
        }
        for (relationship, was) in entity.relationships {
          #expect(now[relationship] == values[was.name], "\(name).\(relationship)")
        }
      }
    }
    let metadata = try #require(migrated.persistentStores[0].metadata)
    #expect(new.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
    try #expect(StoreFixtures.rows("PRAGMA integrity_check", inFile: file) == [["ok"]])
    try #expect(NSPersistentStoreCoordinator.cachedModelForPersistentStore(at: file) == new)
    // From now on it is an ordinary store of the new model.
    try #expect(contents(open(file, new, options: nil)).count == after.count)
  }

  private func open(
    _ file: URL, _ model: NSManagedObjectModel, options: [AnyHashable: Any]?
  ) throws -> NSPersistentStoreCoordinator {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: file, options: options)
    return coordinator
  }

  /// Entity, key and property of everything in the store, as text.
  private func contents(_ coordinator: NSPersistentStoreCoordinator) throws -> [String: [Int64: [String: String]]] {
    let context = coordinator.context()
    var contents: [String: [Int64: [String: String]]] = [:]
    try context.performAndWait {
      for entity in coordinator.managedObjectModel.entities where !entity.isAbstract {
        let request = NSFetchRequest<NSManagedObject>(entityName: entity.name ?? "")
        request.includesSubentities = false
        contents[entity.name ?? ""] = [:]
        for object in try context.fetch(request) {
          var values: [String: String] = [:]
          for property in entity.properties where !property.isTransient && !(property is NSFetchedPropertyDescription) {
            values[property.name] = text(object.value(forKey: property.name), property)
          }
          contents[entity.name ?? "", default: [:]][object.objectID.key] = values
        }
      }
    }
    return contents
  }

  private func text(_ value: Any?, _ property: NSPropertyDescription) -> String {
    switch value {
    case nil: "nil"
    // A to-one relationship that became to-many has its one member.
    case let object as NSManagedObject: "\(object.objectID.key)"
    case let set as NSOrderedSet: set.array.map { text($0, property) }.joined(separator: " ")
    case let set as NSSet:
      set.count == 0 ? "nil" : set.allObjects.map { text($0, property) }.sorted().joined(separator: " ")
    // The elements of a composite attribute come in any order.
    case let elements as [String: Any]: elements.map { "\($0.key) \($0.value)" }.sorted().joined(separator: ", ")
    case let value?:
      (property as? NSAttributeDescription)?.attributeType == .transformableAttributeType ? "" : "\(value)"
    }
  }
}

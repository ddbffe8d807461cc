import Foundation
import Testing

@testable import CoreData

/// Opens stores of former programs, this package's and Apple's, through the whole stack and reads every value of every
/// object.
@Suite("Opening stores of former programs") struct OpeningFormerStoresTests {
  private func open(_ model: NSManagedObjectModel, _ file: URL) throws -> NSManagedObjectContext {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: file, options: nil)
    return coordinator.context()
  }

  @Test("Every object of every entity is found, and all its properties can be read", arguments: StoreModels.names)
  func readingEverything(store: String) throws {
    let (folder, file) = try ModelFixtures.copyOfStore(store)
    defer { try? FileManager.default.removeItem(at: folder) }
    let model = try StoreModels.model(ofStore: store)
    let context = try open(model, file)
    for entity in model.entities where entity.superentity == nil {
      let name = try #require(entity.name)
      let rows = try StoreFixtures.rows("SELECT count(*) FROM Z\(name.uppercased())", inFile: file)
      let expected = Int(rows[0][0] ?? "") ?? -1
      try context.performAndWait {
        let objects = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: name))
        #expect(objects.count == expected, "\(name)")
        for object in objects.prefix(500) {
          for attribute in object.entity.attributesByName.values
          where attribute.attributeType != .transformableAttributeType {
            let value = object.value(forKey: attribute.name)
            #expect(value != nil || attribute.isOptional || attribute.isTransient, "\(name).\(attribute.name)")
          }
          for relationship in object.entity.relationshipsByName.values {
            let value = object.value(forKey: relationship.name)
            if relationship.isToMany { #expect(value != nil, "\(name).\(relationship.name)") }
          }
        }
      }
    }
  }

  /// The files have NULL at the other end: the app seems to have set one end only.
  private static let oneSided: Set<String> = ["cloudState"]

  @Test("Both ends of every stored relationship agree", arguments: StoreModels.names)
  func relationships(store: String) throws {
    let (folder, file) = try ModelFixtures.copyOfStore(store)
    defer { try? FileManager.default.removeItem(at: folder) }
    let model = try StoreModels.model(ofStore: store)
    let context = try open(model, file)
    for entity in model.entities where entity.superentity == nil {
      try context.performAndWait {
        let objects = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: entity.name ?? ""))
        for object in objects.prefix(100) {
          for relationship in object.entity.relationshipsByName.values
          where !relationship.isTransient && !Self.oneSided.contains(relationship.name) {
            guard let inverse = relationship.inverseRelationship, !inverse.isTransient else { continue }
            let related = Self.objects(object.value(forKey: relationship.name))
            for other in related.prefix(20) where !other.isDeleted {
              let back = Self.objects(other.value(forKey: inverse.name))
              #expect(
                back.contains { $0 === object }, "\(entity.name ?? "").\(relationship.name) and \(inverse.name)")
            }
          }
        }
      }
    }
  }

  private static func objects(_ value: Any?) -> [NSManagedObject] {
    switch value {
    case let object as NSManagedObject: [object]
    case let set as NSOrderedSet: set.array.compactMap { $0 as? NSManagedObject }
    case let set as NSSet: set.allObjects.compactMap { $0 as? NSManagedObject }
    default: []
    }
  }
}

import Foundation
import TestFiles
import Testing

@testable import CoreData

/// Creates a new store for each model among the fixtures, and saves an object of each entity in it.
@Suite("Stores for every model") struct StoreOfEveryModelTests {
  /// A value for a mandatory attribute.
  private func value(of attribute: NSAttributeDescription, number: Int) -> Any? {
    if let value = attribute.defaultValue { return value }
    switch attribute.attributeType {
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType: return NSNumber(value: number)
    case .booleanAttributeType: return NSNumber(value: true)
    case .doubleAttributeType, .floatAttributeType: return NSNumber(value: 0.5)
    case .decimalAttributeType: return NSDecimalNumber(string: "12.25")
    case .stringAttributeType: return String(repeating: "a", count: number + 1)
    case .dateAttributeType: return Date(timeIntervalSinceReferenceDate: 1000.5)
    case .UUIDAttributeType: return UUID(uuidString: "6BA7B810-9DAD-11D1-80B4-00C04FD430C8")
    case .URIAttributeType: return URL(string: "https://example.org/a?b=c")
    case .binaryDataAttributeType: return Data([0, 1, 254, 255])
    case .compositeAttributeType:
      let elements = (attribute as? NSCompositeAttributeDescription)?.elements ?? []
      return Dictionary(uniqueKeysWithValues: elements.map { ($0.name, value(of: $0, number: number) ?? NSNull()) })
    case .undefinedAttributeType, .transformableAttributeType, .objectIDAttributeType: return nil
    }
  }

  @Test("One object of each entity comes back as it was saved", arguments: ModelFixtures.entityCounts.keys.sorted())
  func roundTrip(name: String) throws {
    let folder = temporaryURL("new")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("new.sqlite")
    let model = try NSManagedObjectModel.load(contentsOf: ModelFixtures.folder("models/\(name).xcdatamodeld"))
    for entity in model.entities {
      entity.managedObjectClassName = "NSManagedObject"
      for case let relationship as NSRelationshipDescription in entity.declaredProperties {
        // A single object of each entity has no objects to relate to.
        relationship.isOptional = true
      }
      for case let attribute as NSAttributeDescription in entity.declaredProperties
      where attribute.attributeType == .transformableAttributeType {
        attribute.isOptional = true
      }
    }
    var expected: [String: [String: Any]] = [:]
    let writing = try context(model, file)
    try writing.performAndWait {
      for (number, entity) in model.entities.enumerated() where !entity.isAbstract {
        let object = NSManagedObject(entity: entity, insertInto: writing)
        var values: [String: Any] = [:]
        for attribute in entity.attributesByName.values
        where !attribute.isTransient && !(attribute is NSDerivedAttributeDescription) {
          values[attribute.name] = value(of: attribute, number: number)
          object.setValue(values[attribute.name], forKey: attribute.name)
        }
        for case let derived as NSDerivedAttributeDescription in entity.attributesByName.values
        where !derived.isOptional {
          object.setValue(NSNumber(value: 1), forKey: derived.name)
        }
        expected[entity.name ?? ""] = values
      }
      try writing.save()
    }

    let reading = try context(
      NSManagedObjectModel.load(contentsOf: ModelFixtures.folder("models/\(name).xcdatamodeld")).plain(), file,
      ignoringVersion: true)
    try reading.performAndWait {
      for (entityName, values) in expected {
        let request = NSFetchRequest<NSManagedObject>(entityName: entityName)
        request.includesSubentities = false
        let objects = try reading.fetch(request)
        #expect(objects.count == 1, "\(entityName)")
        for (key, value) in values {
          #expect(objects.first?.value(forKey: key) as? NSObject == value as? NSObject, "\(entityName).\(key)")
        }
      }
    }
  }

  private func context(
    _ model: NSManagedObjectModel, _ file: URL, ignoringVersion: Bool = false
  ) throws -> NSManagedObjectContext {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let options = ignoringVersion ? [NSIgnorePersistentStoreVersioningOption: NSNumber(value: true)] : nil
    try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: file, options: options)
    return coordinator.context()
  }
}

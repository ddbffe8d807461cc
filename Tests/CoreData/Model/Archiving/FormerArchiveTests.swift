import Foundation
import Testing

@testable import CoreData

/// Models that former programs archived, this package's and Apple's.
@Suite("Models in archives of former programs") struct FormerArchiveTests {
  private func archive(ofStore name: String) throws -> Data {
    let (folder, file) = try ModelFixtures.copyOfStore(name)
    defer { try? FileManager.default.removeItem(at: folder) }
    let row = try #require(StoreFixtures.rows("SELECT hex(Z_CONTENT) FROM Z_MODELCACHE", inFile: file).first?.first)
    return try #require(Deflate.unpack(Data(hexadecimal: row ?? "")))
  }

  @Test(
    "A store opens with nothing but its file: entities, rows and values are those with its model",
    arguments: StoreModels.keepingModels)
  func openingWithoutModel(store: String) throws {
    let (folder, file) = try ModelFixtures.copyOfStore(store)
    defer { try? FileManager.default.removeItem(at: folder) }
    let kept = try NSPersistentStoreCoordinator.cachedModelForPersistentStore(at: file)
    let given = try StoreModels.model(ofStore: store)
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: NSSQLiteStoreType, at: file)
    #expect(kept.entityVersionHashesByName == metadata[NSStoreModelVersionHashesKey] as? [String: Data])
    if let source = try StoreModels.sourceModel(ofStore: store) {
      #expect(
        kept.entitiesByName.mapValues(\.attributesByName.keys.count)
          == source.entitiesByName.mapValues(\.attributesByName.keys.count))
      for (name, entity) in kept.entitiesByName {
        #expect(
          source.entitiesByName[name]?.attributesByName.mapValues(\.attributeType)
            == entity.attributesByName.mapValues(\.attributeType))
      }
    }
    let withModel = try StoreContents(of: file, given)
    let without = try StoreContents(of: file, kept)
    #expect(without.values == withModel.values)
    #expect(!withModel.values.isEmpty)
  }

  @Test(
    "What is written for the model of an archive is what the former program wrote", arguments: StoreModels.keepingModels
  )
  func writing(store: String) throws {
    let former = try archive(ofStore: store)
    let model = NSManagedObjectModel()
    try ArchivedModel.read(former, into: model)
    let theirs = try ArchiveLines(former)
    let ours = try ArchiveLines(ModelArchive.data(of: model), without: theirs.inherited)
    #expect(theirs.lines.subtracting(ours.lines) == [], "only in the former one")
    #expect(ours.lines.subtracting(theirs.lines) == [], "only in ours")
  }

  @Test(
    "A compiled model has the hashes that its VersionInfo.plist lists, and is its source",
    arguments: ModelFixtures.arguments(
      own: [("Harbour-1/model/Harbour", "Harbour")],
      apple: [
        ("CoreDataPlus-SampleModel-V1/model/SampleModel", "CoreDataPlus-SampleModel"),
        ("CoreDataPlus-SampleModel3-V1/model/SampleModel3", "CoreDataPlus-SampleModel3"),
      ]))
  func compiled(path: String, model: String) throws {
    let compiled = try ModelFixtures.folder("stores/\(path).momd")
    let source = try ModelFixtures.folder("models/\(model).xcdatamodeld")
    let list = try PropertyListSerialization.propertyList(
      from: Data(contentsOf: compiled.appendingPathComponent("VersionInfo.plist")), format: nil)
    let hashes = try #require(
      (list as? [String: Any])?["NSManagedObjectModel_VersionHashes"] as? [String: [String: Data]])
    let versions = try NSManagedObjectModel.versions(at: compiled)
    #expect(Set(versions.keys) == Set(hashes.keys))
    let sources = try NSManagedObjectModel.versions(at: source)
    for (name, model) in versions {
      #expect(model.entityVersionHashesByName == hashes[name], "\(name)")
      let source = try #require(sources[name], "\(name)")
      // The source was changed after it was compiled, and Xcode's compiler lists a fetch index of several attributes
      // in the form of older models too.
      try expectSame(model, source, except: ["NSAttributeValueClassName", "NSCompoundIndexes"])
    }
    let current = try #require(NSManagedObjectModel(contentsOf: compiled))
    let name = try #require(ModelFile.currentVersionName(of: compiled)).replacingOccurrences(of: ".mom", with: "")
    #expect(try current == #require(versions[name]))
    #expect(NSManagedObjectModel(contentsOf: compiled.appendingPathComponent("\(name).omo")) == current)
  }

  @Test(
    "An archive that was cut off or changed is an error or another model, never a crash",
    arguments: Array(StoreModels.keepingModels.prefix(3)))
  func damaged(store: String) throws {
    let former = try archive(ofStore: store)
    // Others in each run: `.ci/fuzz model` tries them for hours.
    for count in stride(from: Int.random(in: 0..<160), to: former.count, by: 160) {
      #expect(throws: (any Error).self) { try ArchivedModel.read(former.prefix(count), into: NSManagedObjectModel()) }
    }
    var random = SystemRandomNumberGenerator()
    for place in stride(from: 8 + Int.random(in: 0..<240), to: former.count, by: 240) {
      var changed = former
      changed[place] = UInt8.random(in: 0...255, using: &random)
      let model = NSManagedObjectModel()
      if (try? ArchivedModel.read(changed, into: model)) != nil { _ = ModelArchive.data(of: model) }
    }
  }
}

/// The values of a store's first objects of each entity, as text, by entity and key.
struct StoreContents {
  private(set) var values: [String: String] = [:]

  init(of file: URL, _ model: NSManagedObjectModel) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: file, options: nil)
    let context = coordinator.context()
    try context.performAndWait {
      for entity in model.entities where !entity.isAbstract {
        values["\(entity.name ?? "")"] = "entity"
        let request = NSFetchRequest<NSManagedObject>(entityName: entity.name ?? "")
        request.includesSubentities = false
        try values["\(entity.name ?? "")/count"] = "\(context.count(for: request))"
        request.sortDescriptors = [NSSortDescriptor(key: "objectID", ascending: true)]
        request.fetchLimit = 100
        for object in try context.fetch(request) {
          for property in entity.properties where !property.isTransient && !(property is NSFetchedPropertyDescription) {
            let type = (property as? NSAttributeDescription)?.attributeType
            let value = type == .transformableAttributeType ? nil : object.value(forKey: property.name)
            values["\(entity.name ?? "")/\(object.objectID.key)/\(property.name)"] = Self.text(value)
          }
        }
      }
    }
  }

  private static func text(_ value: Any?) -> String {
    switch value {
    case nil: "nil"
    case let object as NSManagedObject: object.objectID.uriRepresentation().absoluteString
    case let set as NSOrderedSet: set.array.map(text).joined(separator: " ")
    case let set as NSSet: set.allObjects.map(text).sorted().joined(separator: " ")
    // The elements of a composite attribute come in any order.
    case let elements as [String: Any]: elements.map { "\($0.key) \($0.value)" }.sorted().joined(separator: ", ")
    case let value?: "\(value)"
    }
  }
}

extension Data {
  init(hexadecimal text: String) {
    let digits = Array(text.utf8).map { $0 < 58 ? $0 - 48 : $0 - 55 }
    self.init(stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] })
  }
}

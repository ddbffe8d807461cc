import Foundation
import TestFiles
import Testing

@testable import CoreData

/// Models that are archived here.
@Suite("Archives of models") struct ModelArchiveTests {
  private static let models: [String] =
    ((try? ModelFixtures.names(in: "models")) ?? []).filter { $0.hasSuffix(".xcdatamodeld") }

  @Test("Every version of every model comes back from its archive as it was", arguments: models)
  func everyModel(name: String) throws {
    for (version, model) in try NSManagedObjectModel.versions(at: ModelFixtures.folder("models/\(name)")) {
      let read = NSManagedObjectModel()
      try ArchivedModel.read(ModelArchive.data(of: model), into: read)
      try expectSame(read, model)
      #expect(read.entityVersionHashesByName == model.entityVersionHashesByName, "\(version)")
    }
  }

  @Test("What is packed comes back when it is unpacked")
  func packing() throws {
    var random = SystemRandomNumberGenerator()
    for count in [0, 1, 3, 4, 100, 5000, 70_000] {
      for alphabet in [1, 3, 256] {
        let data = Data((0..<count).map { _ in UInt8(Int.random(in: 0..<alphabet, using: &random)) })
        let packed = Deflate.pack(data)
        #expect(Deflate.unpack(packed) == data)
        if alphabet == 1 && count > 1000 { #expect(packed.count < count / 20) }
        for place in stride(from: 0, to: min(packed.count, 500), by: 13) {
          #expect(Deflate.unpack(packed.prefix(place)) == nil)
        }
      }
    }
    // More than the caller allows is no result, however small its packed form is.
    #expect(Deflate.unpack(Deflate.pack(Data(count: 5000)), limit: 4999) == nil)
  }

  @Test("A new store keeps its model, and a migrated one its new model")
  func keeping() throws {
    let store = try TemporaryStore()
    let kept = try NSPersistentStoreCoordinator.cachedModelForPersistentStore(at: store.url)
    #expect(kept == store.model)
    let new = try #require(store.model.copy() as? NSManagedObjectModel)
    new.entitiesByName["Book"]?.properties.append(Build.attribute("subtitle"))
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: new)
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: store.url,
      options: [NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true])
    #expect(try NSPersistentStoreCoordinator.cachedModelForPersistentStore(at: store.url) == new)
  }

  @Test("A store keeps the entities of its own configuration only, and opens with them")
  func keepingOneConfiguration() throws {
    let store = try TemporaryStore()
    let whole = try #require(store.model.copy() as? NSManagedObjectModel)
    let stranger = NSEntityDescription()
    stranger.name = "Stranger"
    let appEntities = whole.entities
    whole.entities = appEntities + [stranger]
    whole.setEntities(appEntities, forConfigurationName: "App")
    whole.setEntities([stranger], forConfigurationName: "Other")
    let url = store.url.deletingLastPathComponent().appendingPathComponent("part.sqlite")
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: whole)
    let part = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: "App", at: url, options: nil)
    try coordinator.remove(part)
    let kept = try NSPersistentStoreCoordinator.cachedModelForPersistentStore(at: url)
    #expect(Set(kept.entities.compactMap(\.name)) == Set(appEntities.compactMap(\.name)))
    #expect(kept.configurations.contains("App") && !kept.configurations.contains("Other"))
    try NSPersistentStoreCoordinator(managedObjectModel: kept).addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: nil)
  }

  @Test("A store without a model, or with another one, says so")
  func withoutModel() throws {
    let store = try TemporaryStore()
    _ = try StoreFixtures.rows("UPDATE Z_MODELCACHE SET Z_CONTENT = x'0102'", inFile: store.url)
    expectError(NSPersistentStoreIncompatibleSchemaError) {
      _ = try NSPersistentStoreCoordinator.cachedModelForPersistentStore(at: store.url)
    }
    _ = try StoreFixtures.rows("DROP TABLE Z_MODELCACHE", inFile: store.url)
    expectError(NSPersistentStoreOpenError) {
      _ = try NSPersistentStoreCoordinator.cachedModelForPersistentStore(at: store.url)
    }
    expectError(NSPersistentStoreOpenError) {
      _ = try NSPersistentStoreCoordinator.cachedModelForPersistentStore(at: temporaryURL("none"))
    }
  }

  @Test("A request whose predicate contains a closure fetches nothing after it was read, and not more than before")
  func closures() throws {
    let name = NSPredicate(format: "name == 'Ada'")
    let list = NSExpression(forAggregate: [
      NSExpression(forConstantValue: "Ada"), NSExpression(block: { _, _, _ in "" }, arguments: nil),
    ])
    let predicates = [
      NSPredicate { _, _ in true },
      NSCompoundPredicate(andPredicateWithSubpredicates: [name, NSPredicate { _, _ in false }]),
      NSCompoundPredicate(notPredicateWithSubpredicate: NSPredicate { _, _ in true }),
      NSComparisonPredicate(
        leftExpression: NSExpression(forKeyPath: "name"), rightExpression: list, modifier: .direct, type: .in),
    ]
    for predicate in predicates {
      let model = LibraryModel.make()
      let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Author")
      request.predicate = predicate
      model.setFetchRequestTemplate(request, forName: "closure")
      let read = NSManagedObjectModel()
      try ArchivedModel.read(ModelArchive.data(of: model), into: read)
      let readPredicate = try #require(read.fetchRequestTemplate(forName: "closure")?.predicate)
      #expect(!readPredicate.evaluate(with: ["name": "Ada"]), "\(predicate)")
    }
  }

  @Test("Foundation's archivers keep a model and its parts")
  func coding() throws {
    let model = LibraryModel.make()
    LibraryModel.addBookCount(to: model)
    model.versionIdentifiers = ["1", "first"]
    let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Book")
    request.predicate = NSPredicate(
      format: "title BEGINSWITH[c] $START AND SUBQUERY(tags, $t, $t.name != nil).@count > 1")
    request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: false)]
    model.setFetchRequestTemplate(request, forName: "beginning")
    let data = try NSKeyedArchiver.archivedData(withRootObject: model, requiringSecureCoding: true)
    #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: NSManagedObjectModel.self, from: data) == model)

    let entity = try #require(model.entitiesByName["Book"])
    let entityData = try NSKeyedArchiver.archivedData(withRootObject: entity, requiringSecureCoding: true)
    let decoded = try #require(
      try NSKeyedUnarchiver.unarchivedObject(ofClass: NSEntityDescription.self, from: entityData))
    #expect(decoded.name == "Book")
    #expect(decoded.attributesByName == entity.attributesByName)

    for property in entity.properties where !(property is NSRelationshipDescription) {
      let data = try NSKeyedArchiver.archivedData(withRootObject: property, requiringSecureCoding: true)
      let decoded = try NSKeyedUnarchiver.unarchivedObject(ofClass: NSPropertyDescription.self, from: data)
      #expect(decoded?.name == property.name)
      #expect(
        (decoded as? NSAttributeDescription)?.attributeType == (property as? NSAttributeDescription)?.attributeType)
    }
  }
}

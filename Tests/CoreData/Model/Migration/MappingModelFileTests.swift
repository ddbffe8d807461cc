import TestFiles
import Testing

@testable import CoreData

/// Mapping models in the forms of Xcode's editor and compiler: the repository's own, and those of apps in migrations of
/// the apps' stores.
@Suite("Files of mapping models") struct MappingModelFileTests {
  private func mapping(_ name: String) throws -> NSMappingModel {
    try #require(NSMappingModel(contentsOf: ModelFixtures.folder("mappings/\(name)")))
  }

  private func versions(_ model: String) throws -> [String: NSManagedObjectModel] {
    try NSManagedObjectModel.versions(at: ModelFixtures.folder("models/\(model).xcdatamodeld"))
  }

  private func lines(_ mapping: NSEntityMapping) -> [String] {
    var lines = [
      "type \(mapping.mappingType.rawValue)",
      "\(mapping.sourceEntityName ?? "") \(mapping.destinationEntityName ?? "")",
      mapping.entityMigrationPolicyClassName ?? "", mapping.sourceExpression.map { expression($0) } ?? "",
    ]
    for property in (mapping.attributeMappings ?? []) + (mapping.relationshipMappings ?? []) {
      lines.append("\(property.name ?? "") \(property.valueExpression.map { expression($0) } ?? "")")
    }
    return lines
  }

  private func expression(_ expression: NSExpression) -> String {
    guard let fetch = expression as? NSFetchRequestExpression else { return expression.description }
    return "\(fetch.requestExpression) in \(fetch.contextExpression)"
  }

  @Test(
    "A mapping model of Xcode's is found by the version hashes of the models that it holds, and by no others",
    .disabled(if: ModelFixtures.areMissing, "no fixtures"))
  func finding() throws {
    let plus = try versions("CoreDataPlus-SampleModel")
    let moody = try versions("objcio-Moody-Migrations")
    let creatures = try versions("CoreStore-EvolutionDemo-V1").values.sorted {
      $0.entities[0].attributesByName.count < $1.entities[0].attributesByName.count
    }
    let files: [(String, NSManagedObjectModel?, NSManagedObjectModel?)] = [
      ("CoreDataPlus-V2toV3", plus["SampleModel2"], plus["SampleModel3"]),
      ("CoreStore-EvolutionV2FromV1", creatures.first, creatures.last),
      ("CoreStore-EvolutionV1FromV2", creatures.last, creatures.first),
      // Its new model has an abstract entity that no mapping leads to.
      ("objcio-Moody2-Moody3", moody["Moody 2"], moody["Moody 3"]),
      ("objcio-Moody3-Moody4", moody["Moody 3"], moody["Moody 4"]),
    ]
    let folder = temporaryURL("mappings")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    for (name, _, _) in files {
      try FileManager.default.copyItem(
        at: ModelFixtures.folder("mappings/\(name).xcmappingmodel"),
        to: folder.appendingPathComponent("\(name).xcmappingmodel"))
    }
    let bundle = try #require(Bundle(path: folder.path))
    for (name, source, destination) in files {
      let (source, destination) = try (#require(source), #require(destination))
      let mappingModel = NSMappingModel(from: [bundle], forSourceModel: source, destinationModel: destination)
      try #expect(mappingModel == mapping("\(name).xcmappingmodel"), "\(name)")
    }
    let source = try #require(files[0].1)
    let changed = try #require(files[0].2?.copy() as? NSManagedObjectModel)
    changed.entities[0].versionHashModifier = "changed"
    #expect(NSMappingModel(from: [bundle], forSourceModel: source, destinationModel: changed) == nil)
  }

  @Test("A mapping model of one's own in Xcode's form is found between its models, and gives vessels their quays")
  func vessels() throws {
    let (folder, source) = try ModelFixtures.copyOfStore("Harbour-2")
    defer { try? FileManager.default.removeItem(at: folder) }
    let models = try versions("Harbour").mapValues { $0.plain() }
    let (old, new) = try (#require(models["Harbour 2"]), #require(models["Harbour 3"]))
    let name = "Harbour2-Harbour3.xcmappingmodel"
    let bundleFolder = folder.appendingPathComponent("mappings")
    try FileManager.default.createDirectory(at: bundleFolder, withIntermediateDirectories: true)
    try FileManager.default.copyItem(
      at: ModelFixtures.folder("mappings/\(name)"), to: bundleFolder.appendingPathComponent(name))
    let bundle = try #require(Bundle(path: bundleFolder.path))
    let other = try #require(versions("Journal")["Journal"])
    #expect(NSMappingModel(from: [bundle], forSourceModel: other, destinationModel: new) == nil)
    let mappingModel = try #require(NSMappingModel(from: [bundle], forSourceModel: old, destinationModel: new))
    try #expect(mappingModel.entityMappings.map(\.name) == mapping(name).entityMappings.map(\.name))
    let target = folder.appendingPathComponent("new.sqlite")
    try NSMigrationManager(sourceModel: old, destinationModel: new)
      .migrateStore(from: source, type: .sqlite, mapping: mappingModel, to: target, type: .sqlite)
    var atQuays = 0
    try read(new, at: target, entity: "Vessel") { vessel in
      let quay = vessel.object("berth")?.object("quay")
      #expect(quay != nil && vessel.object("quay") === quay)
      #expect(quay?.members("vessels").contains(vessel) == true)
      atQuays += 1
    }
    #expect(atQuays == 5)
    try read(new, at: target, entity: "Tug") { tug in #expect(tug.object("pilot")?.text("name") == "Petra") }
    try read(new, at: target, entity: "Sailor") { sailor in
      let friends = sailor.value(forKey: "friends") as? NSOrderedSet
      let names = friends?.array.compactMap { ($0 as? NSManagedObject)?.text("first") }
      #expect(names == ["Ada": ["Cy", "Bo", "Dee"], "Bo": ["Ada", "Bo"]][sailor.text("first") ?? "", default: []])
    }
  }

  @Test(
    "A mapping model of Xcode's is what Xcode's compiler makes of it",
    .disabled(if: ModelFixtures.areMissing, "no fixtures"))
  func sourceAndCompiled() throws {
    let compiled = try mapping("CoreDataPlus-V2toV3.cdm")
    let source = try mapping("CoreDataPlus-V2toV3.xcmappingmodel")
    #expect(source.entityMappings.map(\.name) == compiled.entityMappings.map(\.name))
    for (one, other) in zip(source.entityMappings, compiled.entityMappings) {
      #expect(lines(one) == lines(other), "\(one.name ?? "")")
      #expect(one.sourceEntityVersionHash == other.sourceEntityVersionHash)
      #expect(one.destinationEntityVersionHash == other.destinationEntityVersionHash)
    }
  }

  @Test(
    "Cars get makers, and their owners become previous owners too, as the app's tests expect",
    .disabled(if: ModelFixtures.areMissing, "no fixtures"),
    arguments: ["CoreDataPlus-V2toV3.cdm", "CoreDataPlus-V2toV3.xcmappingmodel"])
  func cars(file: String) throws {
    let (folder, source) = try ModelFixtures.copyOfStore("CoreDataPlus-SampleModel-V2")
    defer { try? FileManager.default.removeItem(at: folder) }
    let models = try versions("CoreDataPlus-SampleModel")
    let (old, new) = try (#require(models["SampleModel2"]), #require(models["SampleModel3"]))
    let mapping = try mapping(file)
    for entity in mapping.entityMappings where entity.entityMigrationPolicyClassName != nil {
      entity.entityMigrationPolicyClassName = "MakerPolicy"
    }
    let target = folder.appendingPathComponent("new.sqlite")
    let manager = NSMigrationManager(sourceModel: old, destinationModel: new)
    try manager.migrateStore(from: source, type: .sqlite, mapping: mapping, to: target, type: .sqlite)
    #expect(manager.migrationProgress == 1)

    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: new)
    let store = try coordinator.addPersistentStore(type: .sqlite, at: target)
    let before = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: source)
    #expect(store.identifier == before[NSStoreUUIDKey] as? String)
    try #expect(NSPersistentStoreCoordinator.cachedModelForPersistentStore(at: target) == new)
    let context = coordinator.context()
    try context.performAndWait {
      try #expect(context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Maker")) == 10)
      try #expect(context.count(for: NSFetchRequest<NSManagedObject>(entityName: "LuxuryCar")) == 5)
      try #expect(context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Person")) == 20)
      let cars = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Car"))
      #expect(cars.count == 125)
      for car in cars {
        #expect(car.value(forKey: "createdBy") != nil)
        let previous = car.value(forKey: "previousOwners") as? Set<NSManagedObject>
        if let owner = car.value(forKey: "owner") as? NSManagedObject {
          #expect(previous?.contains(owner) == true)
          #expect((owner.value(forKey: "previousCars") as? Set<NSManagedObject>)?.contains(car) == true)
        } else {
          #expect(previous?.isEmpty == true)
        }
      }
    }
  }

  @Test(
    "A creature gets flippers for flagella and a head, and back",
    .disabled(if: ModelFixtures.areMissing, "no fixtures"))
  func creatures() throws {
    let folder = temporaryURL("creatures")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let first = try #require(
      versions("CoreStore-EvolutionDemo-V1").values.first {
        $0.entitiesByName["Creature"]?.attributesByName["numberOfFlagella"] != nil
      })
    let second = try #require(
      (Array(versions("CoreStore-EvolutionDemo-V1").values) + Array(versions("CoreStore-EvolutionDemo-V2").values))
        .first {
          $0.entitiesByName["Creature"]?.attributesByName["numberOfFlippers"] != nil
        })
    let forth = try mapping("CoreStore-EvolutionV2FromV1.xcmappingmodel")
    // The app's policy is not part of the fixtures.
    forth.entityMappings[0].entityMigrationPolicyClassName = nil
    let back = try mapping("CoreStore-EvolutionV1FromV2.xcmappingmodel")
    let urls = (0...2).map { folder.appendingPathComponent("\($0).sqlite") }
    try write(first, to: urls[0]) { context in
      let creature = NSEntityDescription.insertNewObject(forEntityName: "Creature", into: context)
      creature.setValue(12, forKey: "dnaCode")
      creature.setValue(7, forKey: "numberOfFlagella")
    }
    try NSMigrationManager(sourceModel: first, destinationModel: second)
      .migrateStore(from: urls[0], type: .sqlite, mapping: forth, to: urls[1], type: .sqlite)
    try read(second, at: urls[1], entity: "Creature") { creature in
      #expect(creature.value(forKey: "dnaCode") as? Int == 12)
      #expect(creature.value(forKey: "numberOfFlippers") as? Int == 7)
      #expect(creature.value(forKey: "hasHead") as? Bool == true)
    }
    try NSMigrationManager(sourceModel: second, destinationModel: first)
      .migrateStore(from: urls[1], type: .sqlite, mapping: back, to: urls[2], type: .sqlite)
    try read(first, at: urls[2], entity: "Creature") { creature in
      #expect(creature.value(forKey: "dnaCode") as? Int == 12)
      #expect(creature.value(forKey: "numberOfFlagella") as? Int == 7)
    }
  }

  @Test(
    "A mood gets the continent of its country, and a continent the moods of its countries, as the app's tests expect",
    .disabled(if: ModelFixtures.areMissing, "no fixtures"))
  func moods() throws {
    let folder = temporaryURL("moods")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let models = try versions("objcio-Moody-Migrations")
    let steps = try ["Moody 2", "Moody 3", "Moody 4"].map { try #require(models[$0]) }
    let urls = (0...2).map { folder.appendingPathComponent("\($0).sqlite") }
    try write(steps[0], to: urls[0]) { context in
      func make(_ entity: String, _ values: [String: Any]) -> NSManagedObject {
        let object = NSEntityDescription.insertNewObject(forEntityName: entity, into: context)
        for attribute in object.entity.attributesByName.values where !attribute.isOptional {
          let value: Any? =
            switch attribute.attributeType {
            case .dateAttributeType: Date(timeIntervalSinceReferenceDate: 464_441_952)
            case .transformableAttributeType, .binaryDataAttributeType: Data([1, 2, 3])
            case .stringAttributeType: "text"
            case .booleanAttributeType: false
            default: 1
            }
          object.setValue(value, forKey: attribute.name)
        }
        for (key, value) in values { object.setValue(value, forKey: key) }
        return object
      }
      for code in [1, 2] {
        let continent = make("Continent", ["numericISO3166Code": 10000 + code])
        for number in 0...code {
          let country = make("Country", ["numericISO3166Code": 100 * code + number, "continent": continent])
          _ = make("Mood", ["country": country, "rating": number])
        }
      }
      _ = make("Mood", ["rating": 9])
    }
    for (step, file) in ["objcio-Moody2-Moody3.xcmappingmodel", "objcio-Moody3-Moody4.xcmappingmodel"].enumerated() {
      try NSMigrationManager(sourceModel: steps[step], destinationModel: steps[step + 1])
        .migrateStore(
          from: urls[step], type: .sqlite, mapping: mapping(file), to: urls[step + 1], type: .sqlite)
      var count = 0
      try read(steps[step + 1], at: urls[step + 1], entity: "Mood") { mood in
        count += 1
        let country = mood.value(forKey: "country") as? NSManagedObject
        let continent = mood.value(forKey: "continent") as? NSManagedObject
        #expect(continent === country?.value(forKey: "continent") as? NSManagedObject)
        #expect((continent?.value(forKey: "moods") as? Set<NSManagedObject>)?.contains(mood) ?? (country == nil))
        #expect((mood.value(forKey: "rating") as? Int == 9) == (country == nil))
      }
      #expect(count == 6)
      count = 0
      try read(steps[step + 1], at: urls[step + 1], entity: "Continent") { continent in
        count += 1
        let code = (continent.value(forKey: "numericISO3166Code") as? Int ?? 0) - 10000
        #expect((continent.value(forKey: "countries") as? Set<NSManagedObject>)?.count == code + 1)
        #expect((continent.value(forKey: "moods") as? Set<NSManagedObject>)?.count == code + 1)
      }
      #expect(count == 2)
    }
  }

  private func write(
    _ model: NSManagedObjectModel, to url: URL, _ body: (NSManagedObjectContext) -> Void
  ) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .sqlite, at: url)
    let context = coordinator.context()
    try context.performAndWait {
      body(context)
      try context.save()
    }
  }

  private func read(
    _ model: NSManagedObjectModel, at url: URL, entity: String, _ body: (NSManagedObject) -> Void
  ) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .sqlite, at: url)
    let context = coordinator.context()
    try context.performAndWait {
      try context.fetch(NSFetchRequest<NSManagedObject>(entityName: entity)).forEach(body)
    }
  }
}

/// Makes a maker of each car's name of one, as the app's policy does.
final class MakerPolicy: NSEntityMigrationPolicy {
  override func createDestinationInstances(
    forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
    guard let name = sInstance.value(forKey: "maker") as? String,
      let car = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [sInstance]).first
    else { return }
    var makers = manager.userInfo as? [String: NSManagedObject] ?? [:]
    let maker =
      makers[name] ?? NSEntityDescription.insertNewObject(forEntityName: "Maker", into: manager.destinationContext)
    maker.setValue(name, forKey: "name")
    makers[name] = maker
    manager.userInfo = makers
    car.setValue(maker, forKey: "createdBy")
  }
}

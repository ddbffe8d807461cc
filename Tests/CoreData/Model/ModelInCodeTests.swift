import Foundation
import Testing

@testable import CoreData

/// A model that is written in code is the model of a file that says the same.
@Suite struct ModelInCodeTests {
  /// `Harbour.xcdatamodeld` in code, but for what shapes no table.
  private func harbour() throws -> NSManagedObjectModel {
    let namesakes = NSFetchRequest<any NSFetchRequestResult>(entityName: "Sailor")
    namesakes.predicate = NSPredicate(format: "last == $FETCH_SOURCE.name")
    return try NSManagedObjectModel {
      NSEntityDescription("Asset", isAbstract: true) {
        NSAttributeDescription("name", .string, isOptional: false) { $0.preservesValueInHistoryOnDeletion = true }
        NSAttributeDescription("registration", .uuid) { $0.preservesValueInHistoryOnDeletion = true }
        NSEntityDescription("Vessel") {
          NSAttributeDescription("built", .date)
          NSAttributeDescription("cargo", .transformable)
          NSAttributeDescription("draught", .float)
          NSAttributeDescription("isAfloat", .boolean, default: true, isOptional: false)
          NSAttributeDescription("length", .double, default: 0.0, isOptional: false)
          NSAttributeDescription("logo", .binaryData)
          NSAttributeDescription("masts", .integer16, default: 0, isOptional: false)
          NSAttributeDescription("note", .string) { $0.isTransient = true }
          NSAttributeDescription("number", .integer64, default: 0, isOptional: false)
          NSAttributeDescription("page", .uri)
          NSAttributeDescription("photo", .binaryData) { $0.allowsExternalBinaryDataStorage = true }
          NSCompositeAttributeDescription("position") {
            for name in ["latitude", "longitude"] { NSAttributeDescription(name, .double) }
          }
          NSAttributeDescription("price", .decimal, default: Decimal(0))
          NSAttributeDescription("tonnage", .integer32, default: 0, isOptional: false)
          NSRelationshipDescription("berth", toOne: "Berth", inverse: "vessels")
          NSRelationshipDescription("captain", toOne: "Sailor", inverse: "commands")
          NSRelationshipDescription("crew", toMany: "Sailor", inverse: "vessels")
          NSRelationshipDescription("ownedBerths", toMany: "Berth", inverse: "owner")
          NSFetchedPropertyDescription("namesakes", namesakes)
          NSFetchIndexDescription("byMasts", on: "masts")
          NSEntityDescription("Tug") {
            NSAttributeDescription("power", .integer32, default: 0, isOptional: false)
            NSAttributeDescription("sponsor", .string)
          }
          NSEntityDescription("Yacht") {
            NSAttributeDescription("sailArea", .double)
            NSEntityDescription("Racer") {
              NSAttributeDescription("handicap", .integer16)
              NSAttributeDescription("markings", .transformable)
              NSAttributeDescription("sponsor", .string)
            }
          }
        }
      }
      NSEntityDescription("Berth", unique: [["code"]]) {
        NSAttributeDescription("code", .string, isOptional: false)
        NSAttributeDescription("depth", .double)
        NSDerivedAttributeDescription("vesselCount", .integer64, from: NSExpression(format: "vessels.@count"))
        NSRelationshipDescription("owner", toOne: "Vessel", inverse: "ownedBerths")
        NSRelationshipDescription("quay", toOne: "Quay", inverse: "berths")
        NSRelationshipDescription("vessels", toMany: "Vessel", inverse: "berth", isOrdered: true)
      }
      NSEntityDescription("Quay") {
        NSAttributeDescription("name", .string, isOptional: false)
        NSRelationshipDescription("berths", toMany: "Berth", inverse: "quay", deleteRule: .cascadeDeleteRule)
      }
      NSEntityDescription("Sailor", unique: [["first", "last"]]) {
        NSAttributeDescription("born", .date)
        NSAttributeDescription("first", .string, isOptional: false)
        NSAttributeDescription("last", .string, isOptional: false)
        NSAttributeDescription("licence", .string)
        NSRelationshipDescription("commands", toOne: "Vessel", inverse: "captain", deleteRule: .denyDeleteRule)
        NSRelationshipDescription("friendOf", toMany: "Sailor", inverse: "friends", isOrdered: true)
        NSRelationshipDescription("friends", toMany: "Sailor", inverse: "friendOf", isOrdered: true)
        NSRelationshipDescription("vessels", toMany: "Vessel", inverse: "crew")
        NSFetchIndexDescription("byBirth", on: "born", isAscending: false)
        NSFetchIndexDescription("byName", on: "last", "first")
      }
      NSEntityDescription("Tide") {
        NSAttributeDescription("height", .decimal, default: Decimal(0), isOptional: false)
        NSAttributeDescription("time", .date, isOptional: false)
      }
    }
  }

  @Test func theModelOfAFileAndTheSameInCodeHaveTheSameVersionHashes() throws {
    let versions = try NSManagedObjectModel.versions(at: ModelFixtures.folder("models/Harbour.xcdatamodeld"))
    let file = try #require(versions["Harbour"])
    let code = try harbour()
    #expect(code.entityVersionHashesByName == file.entityVersionHashesByName)
    #expect(code.versionChecksum == file.versionChecksum)
    for entity in code.entities {
      let same = try #require(file.entitiesByName[entity.name ?? ""])
      #expect(entity.superentity?.name == same.superentity?.name)
      #expect(entity.relationshipsByName == same.relationshipsByName)
      #expect(Set(entity.attributesByName.keys) == Set(same.attributesByName.keys))
      for (name, attribute) in entity.attributesByName {
        #expect(
          attribute.defaultValue as? NSObject == same.attributesByName[name]?.defaultValue as? NSObject, "\(name)")
      }
    }
    let fetched = code.entitiesByName["Vessel"]?.propertiesByName["namesakes"] as? NSFetchedPropertyDescription
    #expect(fetched?.fetchRequest?.entity === code.entitiesByName["Sailor"])
    let byName = try #require(code.entitiesByName["Sailor"]?.indexes.last)
    #expect(byName.elements.map(\.property) == ["last", "first"].map { byName.entity?.propertiesByName[$0] })
    #expect(code.entitiesByName["Sailor"]?.indexes.first?.elements.map(\.isAscending) == [false])
  }

  @Test func aStoreOfTheFilesModelOpensWithTheModelInCode() throws {
    let versions = try NSManagedObjectModel.versions(at: ModelFixtures.folder("models/Harbour.xcdatamodeld"))
    let store = try TemporaryStore(try #require(versions["Harbour"]))
    try store.save { $0.make("Quay", ["name": "North"]) }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try harbour())
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: store.url,
      options: [NSMigratePersistentStoresAutomaticallyOption: false])
    let context = coordinator.context()
    try context.performAndWait {
      let quay = try #require(context.all("Quay").first)
      let berth = context.make("Berth", ["code": "B1"])
      berth.setValue(quay, forKey: "quay")
      #expect(quay.members("berths") == [berth])
      try context.save()
    }
  }

  @Test func aModelOfAppleAndTheSameInCodeHaveTheSameVersionHash() throws {
    // The hash that Apple recorded: see `VersionHashTests`.
    let model = try NSManagedObjectModel {
      NSEntityDescription("User") {
        NSAttributeDescription("petName", .string)
        NSAttributeDescription("name", .string, isOptional: false)
      }
    }
    #expect(
      model.entities.first?.versionHash.hexadecimal
        == "6b31f4e97b691d16c4c820bae55f89408d47013bd42151ecfde1eac7fe4be798")
  }

  @Test func objectsHaveTheClassOfTheirEntity() throws {
    let model = try NSManagedObjectModel {
      NSEntityDescription("E", InCode.self) { NSAttributeDescription("title", .string, default: "none") }
    }
    let store = try TemporaryStore(model)
    try store.read { context in
      let object = InCode(context: context)
      #expect(object.entity.name == "E" && object.text("title") == "none")
      #expect(context.make("E") is InCode)
    }
  }

  @Test(arguments: [true, false]) func partsMayDependOnConditions(_ isLong: Bool) throws {
    let model = try NSManagedObjectModel {
      NSEntityDescription("E") {
        let first = NSAttributeDescription("first", .string)
        first.renamingIdentifier = "former"
        first
        if isLong { NSAttributeDescription("second", .string) }
        if isLong { NSAttributeDescription("long", .string) } else { NSAttributeDescription("short", .string) }
      }
      NSEntityDescription("Empty") {}
    }
    let entity = try #require(model.entitiesByName["E"])
    #expect(entity.propertiesByName.keys.sorted() == (isLong ? ["first", "long", "second"] : ["first", "short"]))
    #expect(entity.propertiesByName["first"]?.renamingIdentifier == "former")
    #expect(entity.managedObjectClassName == "NSManagedObject")
  }

  @Test func copiesAndChangesWorkAsForAnyModel() throws {
    let copy = try #require(try harbour().copy() as? NSManagedObjectModel)
    #expect(copy.entityVersionHashesByName == (try harbour().entityVersionHashesByName))
    #expect(
      copy.entitiesByName["Quay"]?.relationshipsByName["berths"]?.inverseRelationship
        === copy.entitiesByName["Berth"]?.relationshipsByName["quay"])
    // An entity that is copied before it has a model keeps the names of its ends.
    let book = NSEntityDescription("Book") { NSRelationshipDescription("next", toOne: "Book", inverse: nil) }
    let entity = try #require(book.copy() as? NSEntityDescription)
    let model = try NSManagedObjectModel { entity }
    #expect(model.entities.first?.relationshipsByName["next"]?.destinationEntity === entity)
  }

  // MARK: Mistakes

  @Test func aNameThatIsThereTwiceIsAnError() {
    expectMistake("the entity A is there twice") {
      NSEntityDescription("A") {}
      NSEntityDescription("B") { NSEntityDescription("A") {} }
    }
    expectMistake("A.x is there twice") {
      NSEntityDescription("A") {
        NSAttributeDescription("x", .string)
        NSRelationshipDescription("x", toOne: "A", inverse: nil)
      }
    }
    expectMistake("A.x is there twice") {
      NSEntityDescription("A") {
        NSAttributeDescription("y", .string)
        NSFetchIndexDescription("x", on: "y")
        NSFetchIndexDescription("x", on: "y")
      }
    }
    expectMistake("A.address.street is there twice") {
      NSEntityDescription("A") {
        NSCompositeAttributeDescription("address") {
          NSAttributeDescription("street", .string)
          NSAttributeDescription("street", .string)
        }
      }
    }
    expectMistake("has an entity without a name") { NSEntityDescription("") {} }
    expectMistake("the entity A has a property without a name") {
      NSEntityDescription("A") { NSAttributeDescription("", .string) }
    }
  }

  @Test func aRelationshipToNothingIsAnError() {
    expectMistake("A.b leads to the entity B, which does not exist") {
      NSEntityDescription("A") { NSRelationshipDescription("b", toOne: "B", inverse: nil) }
    }
    expectMistake("A.b has the inverse B.as, which does not exist") {
      NSEntityDescription("A") { NSRelationshipDescription("b", toOne: "B", inverse: "as") }
      NSEntityDescription("B") { NSAttributeDescription("as", .string) }
    }
    expectMistake("A.b has the inverse B.as, whose inverse is not set") {
      NSEntityDescription("A") { NSRelationshipDescription("b", toOne: "B", inverse: "as") }
      NSEntityDescription("B") { NSRelationshipDescription("as", toMany: "A", inverse: nil) }
    }
    expectMistake("A.c has the inverse B.as, whose inverse is A.b") {
      NSEntityDescription("A") {
        NSRelationshipDescription("b", toOne: "B", inverse: "as")
        NSRelationshipDescription("c", toOne: "B", inverse: "as")
      }
      NSEntityDescription("B") { NSRelationshipDescription("as", toMany: "A", inverse: "b") }
    }
  }

  @Test func aListOverNothingIsAnError() {
    expectMistake("the entity A has a uniquenessConstraint over y, which does not exist") {
      NSEntityDescription("A", unique: [["x", "y"]]) { NSAttributeDescription("x", .string) }
    }
    expectMistake("the entity A has the fetch index byY over y, which does not exist") {
      NSEntityDescription("A") {
        NSAttributeDescription("x", .string)
        NSFetchIndexDescription("byY", on: "x", "y")
      }
    }
    expectMistake("A.f fetches the entity B, which does not exist") {
      NSEntityDescription("A") { NSFetchedPropertyDescription("f", NSFetchRequest(entityName: "B")) }
    }
  }

  @Test func anEntityOfAnotherModelIsAnError() throws {
    let model = try harbour()
    let quay = try #require(model.entitiesByName["Quay"])
    expectMistake("the entity Quay belongs to another model: use a copy of it") { quay }
    #expect(quay.managedObjectModel === model)
  }

  @Test func aMistakeNamesTheLineOfTheModel() throws {
    let line = #line + 1
    let error = #expect(throws: ManagedObjectModelError.self) {
      try NSManagedObjectModel { NSEntityDescription("") {} }
    }
    #expect(error?.line == line && error?.url.lastPathComponent == "ModelInCodeTests.swift")
  }

  private func expectMistake(
    _ sentence: String, sourceLocation: SourceLocation = #_sourceLocation,
    @NSManagedObjectModel.Builder<NSEntityDescription> _ entities: () -> [NSEntityDescription]
  ) {
    do {
      _ = try NSManagedObjectModel(entities)
      Issue.record("no error, where \(sentence) was expected", sourceLocation: sourceLocation)
    } catch {
      #expect(error.description.hasSuffix(sentence), sourceLocation: sourceLocation)
    }
  }
}

private final class InCode: NSManagedObject {}

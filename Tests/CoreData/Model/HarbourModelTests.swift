import Foundation
import Testing

@testable import CoreData

/// What a model file says, read from the repository's own model. `ModelFileTests` reads models that Xcode wrote.
@Suite struct HarbourModelTests {
  private let model: NSManagedObjectModel

  init() throws {
    let versions = try NSManagedObjectModel.versions(at: ModelFixtures.folder("models/Harbour.xcdatamodeld"))
    model = try #require(versions["Harbour"])
  }

  @Test func attributesAreReadWithTypeDefaultAndFlags() throws {
    let vessel = try #require(model.entitiesByName["Vessel"])
    #expect(vessel.managedObjectClassName == "HarbourVessel" && vessel.userInfo?["unit"] as? String == "metre")
    let types: [String: NSAttributeType] = [
      "built": .dateAttributeType, "cargo": .transformableAttributeType, "draught": .floatAttributeType,
      "isAfloat": .booleanAttributeType, "length": .doubleAttributeType, "logo": .binaryDataAttributeType,
      "masts": .integer16AttributeType, "name": .stringAttributeType, "note": .stringAttributeType,
      "number": .integer64AttributeType, "page": .URIAttributeType, "photo": .binaryDataAttributeType,
      "position": .compositeAttributeType, "price": .decimalAttributeType, "registration": .UUIDAttributeType,
      "tonnage": .integer32AttributeType,
    ]
    #expect(vessel.attributesByName.mapValues(\.attributeType) == types)
    #expect(vessel.attributesByName["price"]?.defaultValue as? NSDecimalNumber == 0)
    #expect(vessel.attributesByName["isAfloat"]?.defaultValue as? Bool == true)
    #expect(vessel.attributesByName["masts"]?.isOptional == false)
    #expect(vessel.attributesByName["note"]?.isTransient == true)
    #expect(vessel.attributesByName["photo"]?.allowsExternalBinaryDataStorage == true)
    #expect(vessel.attributesByName["registration"]?.preservesValueInHistoryOnDeletion == true)
    #expect(vessel.attributesByName["cargo"]?.valueTransformerName == "NSSecureUnarchiveFromData")
    let racer = try #require(model.entitiesByName["Racer"])
    #expect(racer.attributesByName["markings"]?.attributeValueClassName == "NSAttributedString")
    let position = try #require(vessel.attributesByName["position"] as? NSCompositeAttributeDescription)
    #expect(position.elements.map(\.name) == ["latitude", "longitude"])
    let count = try #require(model.entitiesByName["Berth"]?.attributesByName["vesselCount"])
    #expect((count as? NSDerivedAttributeDescription)?.derivationExpression?.description == "vessels.@count")
    #expect(model.entitiesByName["Asset"]?.isAbstract == true)
  }

  @Test func relationshipsKnowDestinationInverseCountsAndDeleteRuleAndSubentitiesInherit() throws {
    let names = ["Asset", "Berth", "Quay", "Racer", "Sailor", "Vessel"]
    let entities = try names.map { try #require(model.entitiesByName[$0]) }
    let (asset, berth, quay, racer, sailor, vessel) = (
      entities[0], entities[1], entities[2], entities[3], entities[4], entities[5]
    )
    #expect(racer.isKindOf(entity: asset) && !asset.isKindOf(entity: racer))
    #expect(racer.superentity?.superentity === vessel)
    let vessels = try #require(berth.relationshipsByName["vessels"])
    #expect(vessels.isToMany && vessels.isOrdered && vessels.destinationEntity === vessel)
    #expect(vessels.inverseRelationship === vessel.relationshipsByName["berth"])
    #expect(racer.relationshipsByName["berth"]?.entity === vessel)
    #expect(racer.relationshipsByName["berth"]?.isToMany == false)
    #expect(vessel.relationships(forDestination: sailor).count == 2)
    #expect(quay.relationshipsByName["berths"]?.deleteRule == .cascadeDeleteRule)
    #expect(sailor.relationshipsByName["commands"]?.deleteRule == .denyDeleteRule)
    let friends = try #require(sailor.relationshipsByName["friends"])
    #expect(friends.isToMany && friends.isOrdered && friends.destinationEntity === sailor)
    #expect(friends.inverseRelationship === sailor.relationshipsByName["friendOf"])
  }

  @Test func configurationsUniquenessConstraintsAndFetchIndexesAreRead() throws {
    #expect(model.configurations == ["PF_DEFAULT_CONFIGURATION_NAME", "Tides"])
    #expect(model.entities(forConfigurationName: "Tides")?.map(\.name) == ["Tide"])
    #expect(model.entities(forConfigurationName: nil)?.count == 9)
    #expect(model.entities(forConfigurationName: "None") == nil)
    let sailor = try #require(model.entitiesByName["Sailor"])
    #expect(sailor.uniquenessConstraints as? [[String]] == [["first", "last"]])
    let byName = try #require(sailor.indexes.first { $0.name == "byName" })
    #expect(byName.elements.map(\.propertyName) == ["last", "first"])
    let byBirth = try #require(sailor.indexes.first { $0.name == "byBirth" })
    #expect(byBirth.elements.map(\.isAscending) == [false])
    #expect(byBirth.elements.first?.property === sailor.propertiesByName["born"])
    // Xcode's compiler adds an index of the attribute's name.
    #expect(sailor.indexes.contains { $0.name == "born" && $0.elements.map(\.propertyName) == ["born"] })
  }

  @Test func fetchRequestsAreReadForTheModelAndForFetchedProperties() throws {
    #expect(model.fetchRequestTemplatesByName.count == 2)
    #expect(model.fetchRequestTemplate(forName: "vesselValues")?.resultType == .dictionaryResultType)
    #expect(model.fetchRequestTemplate(forName: "vesselValues")?.fetchLimit == 5)
    #expect(model.fetchRequestTemplate(forName: "Nothing") == nil)
    let template = try #require(model.fetchRequestTemplate(forName: "tallVessels"))
    #expect(template.entity === model.entitiesByName["Vessel"] && template.includesSubentities)
    let request = try #require(
      model.fetchRequestFromTemplate(withName: "tallVessels", substitutionVariables: ["MASTS": 2, "START": "A"]))
    #expect(request !== template && request.resultType == .managedObjectIDResultType)
    #expect(request.predicate?.evaluate(with: ["masts": 2, "name": "Ada"]) == true)
    #expect(request.predicate?.evaluate(with: ["masts": 1, "name": "Ada"]) == false)
    let property = model.entitiesByName["Vessel"]?.propertiesByName["namesakes"] as? NSFetchedPropertyDescription
    #expect(property?.fetchRequest?.entity === model.entitiesByName["Sailor"])
    #expect(property?.fetchRequest?.predicate != nil)
    let copy = try #require(model.copy() as? NSManagedObjectModel)
    #expect(copy.fetchRequestTemplate(forName: "tallVessels")?.entity === copy.entitiesByName["Vessel"])
  }

  /// The values that a former program wrote at the ends of each kind's range.
  @Test func theExtremeValuesOfAFormerStoreAreRead() throws {
    let (folder, file) = try ModelFixtures.copyOfStore("Harbour-1")
    defer { try? FileManager.default.removeItem(at: folder) }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try StoreModels.model(ofStore: "Harbour-1"))
    try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: file, options: nil)
    let context = coordinator.context()
    try context.performAndWait {
      let vessel = try #require(context.all("Vessel", where: "name == 'Vessel 0'").first)
      let expected: [String: NSObject] = [
        "built": Date(timeIntervalSinceReferenceDate: 0.1) as NSDate, "cargo": ["coal", "sand"] as NSArray,
        "draught": NSNumber(value: Float.leastNonzeroMagnitude), "isAfloat": NSNumber(value: true),
        "length": NSNumber(value: Double.greatestFiniteMagnitude), "logo": Data([0, 1, 254, 255]) as NSData,
        "masts": NSNumber(value: Int16.min), "number": NSNumber(value: Int64.min),
        "photo": Data("a photo that lies in a file".utf8) as NSData, "tonnage": NSNumber(value: Int32.max),
        "price": NSDecimalNumber(string: "1234567.25"),
        "position": ["latitude": -53.5, "longitude": 8.25] as NSDictionary,
      ]
      for (key, value) in expected { #expect(vessel.value(forKey: key) as? NSObject == value, "\(key)") }
      #expect((vessel.value(forKey: "page") as? URL)?.absoluteString == "https://example.org/a%20b?c=d#e")
      #expect(vessel.value(forKey: "registration") is UUID)
      #expect(vessel.members("ownedBerths").count == 2 && vessel.object("captain")?.text("first") == "Ada")
      try #expect(context.all("Racer").map { $0.text("sponsor") } == ["Ship & Co"])
      try #expect(
        context.all("Berth", sort: "code").map { $0.text("code") } == ["B1", "B2", "B3", "B4", "B5 \u{1F6A2}\n"])
      try #expect(
        context.all("Berth", sort: "code").map { $0.value(forKey: "vesselCount") as? Int } == [2, 2, 1, 0, 0])
    }
  }
}

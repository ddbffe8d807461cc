import Foundation
import TestFiles
import Testing

@testable import CoreData
@testable import ModelFiles

@Suite("Model files") struct ModelFileTests {
  @Test(
    "Every model loads, in all its versions, with all its entities", arguments: ModelFixtures.entityCounts.keys.sorted()
  )
  func everyModelLoads(name: String) throws {
    let url = try ModelFixtures.folder("models/\(name).xcdatamodeld")
    let current = try NSManagedObjectModel.load(contentsOf: url)
    #expect(!current.entities.isEmpty)
    let versions = try NSManagedObjectModel.versions(at: url)
    #expect(versions.values.map(\.entities.count).max() == ModelFixtures.entityCounts[name])
    for version in try ModelFile.versions(of: url) {
      // The model compiler computes hashes without a model. It leaves models with derivations that are no counts out.
      let hashes = try ModelFile(version).document().versionHashes
      let model = try #require(versions[version.deletingPathExtension().lastPathComponent])
      let isComputed = model.entities.flatMap(\.properties).allSatisfy {
        ($0 as? NSDerivedAttributeDescription)?.hasKnownVersionHash != false
      }
      #expect(hashes == (isComputed ? model.entityVersionHashesByName : nil), "\(version.lastPathComponent)")
    }
    for entity in current.entities {
      for relationship in entity.relationshipsByName.values {
        #expect(relationship.destinationEntity != nil)
      }
    }
  }

  @Test("The table of models is complete") func tableIsComplete() throws {
    let names = try ModelFixtures.names(in: "models").map { $0.replacingOccurrences(of: ".xcdatamodeld", with: "") }
    #expect(Set(names) == Set(ModelFixtures.entityCounts.keys))
  }

  @Test(
    "The current version is the one that .xccurrentversion names",
    arguments: ModelFixtures.arguments(own: ["Harbour"], apple: ["objcio-Moody-Migrations"]))
  func currentVersion(name: String) throws {
    let url = try ModelFixtures.folder("models/\(name).xcdatamodeld")
    let marker = try String(contentsOf: url.appendingPathComponent(".xccurrentversion"), encoding: .utf8)
    let current = try NSManagedObjectModel.load(contentsOf: url)
    let versions = try NSManagedObjectModel.versions(at: url)
    let named = try #require(versions.keys.first { marker.contains("<string>\($0).xcdatamodel</string>") })
    #expect(versions[named]?.entityVersionHashesByName == current.entityVersionHashesByName)
  }

  @Test("Attributes are read with type, default and flags", .disabled(if: ModelFixtures.areMissing, "no fixtures"))
  func attributes() throws {
    let model = try NSManagedObjectModel.load(contentsOf: ModelFixtures.folder("models/SwiftGen-Model.xcdatamodeld"))
    let main = try #require(model.entitiesByName["MainEntity"])
    #expect(main.managedObjectClassName == "CustomMainEntity")
    #expect(main.userInfo?["key"] as? String == "value")
    #expect(main.attributesByName["decimal"]?.type == .decimal)
    #expect(main.attributesByName["decimal"]?.defaultValue as? NSDecimalNumber == 0)
    #expect(main.attributesByName["int16"]?.isOptional == false)
    #expect(main.attributesByName["transient"]?.isTransient == true)
    #expect(main.attributesByName["attributedString"]?.attributeValueClassName == "NSAttributedString")
    #expect(main.propertiesByName["fetchedProperty"] is NSFetchedPropertyDescription)
    #expect(model.entitiesByName["AbstractEntity"]?.isAbstract == true)
    #expect(model.entitiesByName["SecondaryEntity"]?.managedObjectClassName == "SecondaryEntity")
  }

  @Test(
    "Relationships know destination, inverse, counts and delete rule; subentities inherit",
    .disabled(if: ModelFixtures.areMissing, "no fixtures"))
  func relationships() throws {
    let model = try NSManagedObjectModel.load(contentsOf: ModelFixtures.folder("models/SwiftGen-Model.xcdatamodeld"))
    let child = try #require(model.entitiesByName["ChildEntity"])
    let main = try #require(model.entitiesByName["MainEntity"])
    let secondary = try #require(model.entitiesByName["SecondaryEntity"])
    #expect(child.superentity === main)
    #expect(child.isKindOf(entity: main))
    #expect(!main.isKindOf(entity: child))
    let oneToMany = try #require(child.relationshipsByName["oneToMany"])
    #expect(oneToMany.entity === main)
    #expect(oneToMany.isToMany && oneToMany.isOrdered)
    #expect(oneToMany.destinationEntity === secondary)
    #expect(oneToMany.inverseRelationship === secondary.relationshipsByName["oneToMany"])
    #expect(secondary.relationshipsByName["oneToMany"]?.isToMany == false)
    #expect(secondary.relationships(forDestination: main).count == 3)
  }

  @Test(
    "Configurations, unique constraints, fetch indexes and composites are read",
    .disabled(if: ModelFixtures.areMissing, "no fixtures"))
  func theRest() throws {
    let model = try NSManagedObjectModel.load(contentsOf: ModelFixtures.folder("models/SwiftGen-Model.xcdatamodeld"))
    #expect(model.configurations == ["PF_DEFAULT_CONFIGURATION_NAME", "Custom"])
    #expect(model.entities(forConfigurationName: "Custom")?.map(\.name) == ["NewEntity"])
    #expect(model.entities(forConfigurationName: nil)?.count == 8)
    #expect(model.entities(forConfigurationName: "None") == nil)
    let entity = try #require(model.entitiesByName["NewEntity"])
    #expect(entity.uniquenessConstraints as? [[String]] == [["identifier"]])
    #expect(entity.indexes.first?.name == "byIdentifierIndex")
    #expect(entity.indexes.first?.elements.first?.property === entity.propertiesByName["identifier"])
    // Xcode's compiler adds an index of the attribute's name.
    let added = try #require(entity.indexes.first { $0.name == "identifier" })
    #expect(added.elements.map(\.propertyName) == ["identifier"])

    let other = try NSManagedObjectModel.load(
      contentsOf: ModelFixtures.folder("models/CoreDataEvolution-Integration.xcdatamodeld"))
    let location = try #require(
      other.entitiesByName["CDEItem"]?.attributesByName["location"] as? NSCompositeAttributeDescription)
    #expect(location.elements.map(\.name) == ["x", "y"])
  }

  @Test(
    "Fetch requests are read, for the model and for fetched properties",
    .disabled(if: ModelFixtures.areMissing, "no fixtures"))
  func fetchRequests() throws {
    let model = try NSManagedObjectModel.load(contentsOf: ModelFixtures.folder("models/SwiftGen-Model.xcdatamodeld"))
    #expect(model.fetchRequestTemplatesByName.count == 3)
    #expect(model.fetchRequestTemplate(forName: "DictionaryFetchRequest")?.resultType == .dictionaryResultType)
    #expect(model.fetchRequestTemplate(forName: "Nothing") == nil)
    let template = try #require(model.fetchRequestTemplate(forName: "ObjectIDFetchRequest"))
    #expect(template.entity === model.entitiesByName["MainEntity"])
    #expect(template.includesSubentities)

    let request = try #require(
      model.fetchRequestFromTemplate(
        withName: "ObjectIDFetchRequest", substitutionVariables: ["NAME": "x", "NEEDLE": "y"]))
    #expect(request !== template && request.resultType == .managedObjectIDResultType)
    #expect(request.predicate?.evaluate(with: ["string": "y", "oneToOne": ["name": "z"]]) == true)
    #expect(request.predicate?.evaluate(with: ["string": "w", "oneToOne": ["name": "z"]]) == false)

    let property = try #require(
      model.entitiesByName["MainEntity"]?.propertiesByName["fetchedProperty"] as? NSFetchedPropertyDescription)
    #expect(property.fetchRequest?.entity === model.entitiesByName["NewEntity"])
    #expect(property.fetchRequest?.predicate != nil)

    let copy = try #require(model.copy() as? NSManagedObjectModel)
    #expect(
      copy.fetchRequestTemplate(forName: "ObjectIDFetchRequest")?.entity === copy.entitiesByName["MainEntity"])
  }

  @Test(
    "The old elements form gives the hashes in the store that its app wrote",
    .disabled(if: ModelFixtures.areMissing, "no fixtures"),
    arguments: [
      ("MagicalRecord-Recipes", "model/Recipes.xcdatamodeld"),
      ("RestKit-RKSeedDatabase", "model/RKTwitterCoreData.xcdatamodel"),
    ]) func oldForm(store: String, path: String) throws
  {
    let model = try NSManagedObjectModel.load(contentsOf: ModelFixtures.folder("stores/\(store)/\(path)"))
    let expected = try StoreFixtures.metadata(ofStore: store)["NSStoreModelVersionHashes"] as? [String: Data]
    #expect(model.entityVersionHashesByName == expected)
  }
}

@Suite("Model files that are wrong") struct BrokenModelFileTests {
  private func withModel(_ contents: String, _ body: (URL) throws -> Void) throws {
    let url = temporaryURL("model").appendingPathExtension("xcdatamodel")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: url) }
    try Data(contents.utf8).write(to: url.appendingPathComponent("contents"))
    try body(url)
  }

  @Test(
    "The error names the entity and the property, and init gives nil",
    arguments: [
      (
        #"<model><entity name="A"><attribute name="x" attributeType="Colour"/></entity></model>"#,
        "A.x has the unknown attribute type Colour"
      ),
      (
        #"<model><entity name="A" parentEntity="B"/></model>"#,
        "the entity A has the parent entity B, which does not exist"
      ),
      (#"<model><entity name="A" parentEntity="A"/></model>"#, "the entity A inherits from itself"),
      (#"<model><entity name="A"/><entity name="A"/></model>"#, "the entity A is there twice"),
      (
        #"<model><entity name="A"><relationship name="r" destinationEntity="B"/></entity></model>"#,
        "A.r leads to the entity B, which does not exist"
      ),
      (
        #"<model><entity name="A"><attribute name="n" attributeType="Integer 16" "#
          + #"defaultValueString="x"/></entity></model>"#,
        "A.n has the default value \"x\", which is not a value of its type"
      ),
      ("<model><entity name=", "is not well-formed XML, at line 1"),
    ] + wrongNumbers) func errors(contents: String, expected: String) throws
  {
    try withModel(contents) { url in
      let error = #expect(throws: ManagedObjectModelError.self) { try NSManagedObjectModel.load(contentsOf: url) }
      #expect(error?.description.hasSuffix(expected) == true, "\(String(describing: error))")
      #expect(error?.description.contains(url.lastPathComponent) == true)
      #expect(NSManagedObjectModel(contentsOf: url) == nil)
    }
  }

  /// Defaults and limits that only begin like a value, or have another type: an attribute once read "1,234.56" as 1.
  private static let wrongNumbers: [(String, String)] =
    [
      ("Decimal", "1,234.56"), ("Decimal", "12 EUR"), ("Decimal", "1.5.6"), ("Integer 16", "40000"),
      ("Integer 32", "1.5"),
      ("Integer 64", "0x10"), ("Double", "nan"), ("Float", "1e39"), ("Boolean", "10"), ("UUID", "x"),
      ("URI", "not a uri"),
    ].map { type, text in
      (
        #"<model><entity name="A"><attribute name="n" attributeType="\#(type)" "#
          + #"defaultValueString="\#(text)"/></entity></model>"#,
        "A.n has the default value \"\(text)\", which is not a value of its type"
      )
    } + [
      (
        #"<model><entity name="A"><attribute name="n" attributeType="Date" "#
          + #"defaultDateTimeInterval="0x10"/></entity></model>"#,
        "A.n has the default date 0x10, which is not a number of seconds"
      ),
      (
        #"<model><entity name="A"><attribute name="n" attributeType="Decimal" minValueString="1,5"/></entity></model>"#,
        "A.n has the minValueString \"1,5\", which is not a number"
      ),
    ]

  @Test("A missing or strange file is an error that names it") func missing() {
    let url = URL(fileURLWithPath: "/nowhere/App.xcdatamodeld")
    #expect(NSManagedObjectModel(contentsOf: url) == nil)
    #expect(throws: ManagedObjectModelError.self) { try NSManagedObjectModel.load(contentsOf: url) }
    #expect(NSManagedObjectModel(contentsOf: URL(fileURLWithPath: "/nowhere/App.momd")) == nil)
  }

  @Test("A damaged binary property list is an error at any byte, never a crash") func damagedElements() throws {
    var list: [UInt8] = Array(
      try PropertyListSerialization.data(
        fromPropertyList: ["$objects": ["$null", ["a": 1]], "$top": ["x": 2.5]], format: .binary, options: 0))
    for position in list.indices {
      for replacement: UInt8 in [0x00, 0xff, 0x7f, 0xd1] {
        let original = list[position]
        list[position] = replacement
        _ = try? ModelElements(Data(list)).document()
        list[position] = original
      }
    }
    for length in 0..<list.count {
      _ = try? ModelElements(Data(list.prefix(length))).document()
    }
  }

  @Test(
    "Defaults that Xcode left when a type changed are read",
    arguments: [
      ("Integer 16", "NO", 0), ("Integer 32", "NO", 0), ("Integer 32", "YES", 1), ("Integer 64", "no", 0),
      ("Double", "NO", 0), ("Float", "YES", 1), ("Decimal", "NO", 0), ("Integer 32", "0.0", 0), ("Boolean", "0.0", 0),
      ("Boolean", "1.0", 1), ("Boolean", "YES", 1),
    ]) func leftOverDefaults(type: String, text: String, expected: Int) throws
  {
    let contents =
      #"<model><entity name="A"><attribute name="n" attributeType="\#(type)" "#
      + #"defaultValueString="\#(text)"/></entity></model>"#
    try withModel(contents) { url in
      let model = try NSManagedObjectModel.load(contentsOf: url)
      #expect(model.entitiesByName["A"]?.attributesByName["n"]?.defaultValue as? NSNumber == NSNumber(value: expected))
    }
  }
}

/// XML that Xcode does not write.
@Suite struct StrangeModelTests {
  /// Foundation's parser ends the process at an instruction that has a name only.
  @Test(arguments: ["<?a?>", "<?xml?>", "<?a?><?b?>", "<!-- <?a?> -->"]) func instructionsWithoutData(text: String)
    throws
  {
    let model = "<model><entity name=\"A\"/></model>"
    let root = try? ModelNode.parse(Data((text + model).utf8))
    // The declaration cannot be without a version.
    #expect((root?.children.count == 1) == (text != "<?xml?>"))
    #expect(throws: ModelNodeError.self) { try ModelNode.parse(#require(model.data(using: .utf16))) }
  }

  @Test func onlyInstructionsWithoutDataAreChanged() {
    for text in ["<?xml version=\"1.0\"?><a/>", "<a>b?c</a>", "<?a b?>", "", "<?", "<?a"] {
      #expect(XMLInstructions.harmless(Data(text.utf8)) == Data(text.utf8))
    }
    #expect(XMLInstructions.harmless(Data("<?a?><b/><?c?>".utf8)) == Data("<?a ?><b/><?c ?>".utf8))
  }
}

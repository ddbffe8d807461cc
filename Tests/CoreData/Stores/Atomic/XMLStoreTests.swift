import Testing

@testable import CoreData

/// The shape of an XML store's file.
@Suite struct XMLStoreTests {
  @Test func theFileHasApplesShape() throws {
    let stack = try StoreStack(.xml)
    try stack.perform { context in
      let author = context.make("Author", ["name": "Ada & Bob"])
      context.make("Book", ["title": "one", "isRead": true, "author": author])
      try context.save()
    }
    let text = try String(contentsOf: stack.url, encoding: .utf8)
    let uuid = try #require(stack.store.identifier)
    #expect(text.hasPrefix("<?xml version=\"1.0\" standalone=\"no\"?>\n<!DOCTYPE database SYSTEM"))
    #expect(text.contains("<databaseInfo>\n        <version>134481920</version>\n        <UUID>\(uuid)</UUID>"))
    #expect(text.contains("<nextObjectID>2</nextObjectID>") && text.contains("<key>NSStoreModelVersionHashes</key>"))
    let id = try #require(text.firstMatch(of: #/<object type="AUTHOR" id="(z[0-9]+)"/#)).1
    #expect(text.contains("<attribute name=\"name\" type=\"string\">Ada &amp; Bob</attribute>"))
    #expect(text.contains("<attribute name=\"isread\" type=\"bool\">1</attribute>"))
    #expect(
      text.contains(
        "<relationship name=\"author\" type=\"1/1\" destination=\"AUTHOR\" idrefs=\"\(id)\"></relationship>"))
    #expect(text.contains("<relationship name=\"tags\" type=\"0/0\" destination=\"TAG\"></relationship>"))
  }

  /// The texts are those of an object in a store that Apple's framework wrote.
  @Test func datesAndWholeNumbersHaveApplesText() throws {
    let stack = try StoreStack(.xml)
    let date = Date(timeIntervalSinceReferenceDate: 273512152.85076302)
    try stack.perform { context in
      context.make("Author", ["name": "Ada", "born": date])
      context.make("Book", ["title": "one", "weight": Float(3)])
      try context.save()
    }
    let text = try String(contentsOf: stack.url, encoding: .utf8)
    #expect(text.contains("<attribute name=\"born\" type=\"date\">273512152.85076302289962768555</attribute>"))
    #expect(text.contains("<attribute name=\"weight\" type=\"float\">3</attribute>"))
    let context = try stack.context(stack.another())
    try context.performAndWait { try #expect(context.all("Author")[0].value(forKey: "born") as? Date == date) }
  }

  /// A mapping model of Xcode's is an XML store.
  struct MappingFile: Sendable {
    let name: String
    let identifier: String
    /// An attribute and a generated relationship of one entity mapping.
    let attribute: String
    let relationship: String
    let attributeKey: Int
  }

  @Test(
    arguments: ModelFixtures.arguments(
      own: [
        MappingFile(
          name: "Harbour2-Harbour3", identifier: "7B0C5D2E-3C0B-4D0A-9C52-6C1B4F6A1D11", attribute: "licence",
          relationship: "friendOf", attributeKey: 169)
      ],
      apple: [
        MappingFile(
          name: "objcio-Moody2-Moody3", identifier: "0E82928F-05F0-40AF-851B-1FA617A37DB3",
          attribute: "markedForDeletionDate", relationship: "countries", attributeKey: 103)
      ]))
  func aMappingModelIsRead(mapping: MappingFile) throws {
    let url = try ModelFixtures.folder("mappings/\(mapping.name).xcmappingmodel/xcmapping.xml")
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Self.mappingModel())
    let store = try coordinator.addPersistentStore(
      ofType: NSXMLStoreType, configurationName: nil, at: url,
      options: [NSReadOnlyPersistentStoreOption: true, NSIgnorePersistentStoreVersioningOption: true])
    #expect(store.identifier == mapping.identifier)
    let context = coordinator.context()
    try context.performAndWait {
      let attribute = try #require(context.all("XDDevAttributeMapping", where: "name == '\(mapping.attribute)'").first)
      let entity = try #require(attribute.object("entityMapping"))
      #expect((entity.value(forKey: "attributeMappings") as? NSSet)?.contains(attribute) == true)
      let relationship = try #require(
        context.all("XDDevRelationshipMapping", where: "name == '\(mapping.relationship)'").first)
      #expect(relationship.value(forKey: "autogenerateExpression") as? Bool == true)
      #expect(relationship.object("entityMapping") == entity)
      try #expect(context.all("XDDevMappingModel").count == 1)
      #expect(attribute.objectID.uriString.hasSuffix("/XDDevAttributeMapping/p\(mapping.attributeKey)"))
    }
  }

  /// The part of Xcode's model that the test looks at; what the file has beside it is left out when it is read.
  private static func mappingModel() -> NSManagedObjectModel {
    let property = LibraryModel.entity("XDDevPropertyMapping", [LibraryModel.attribute("name", .stringAttributeType)])
    let attribute = LibraryModel.entity("XDDevAttributeMapping", [LibraryModel.attribute("name", .stringAttributeType)])
    let relationship = LibraryModel.entity(
      "XDDevRelationshipMapping",
      [
        LibraryModel.attribute("name", .stringAttributeType),
        LibraryModel.attribute("autogenerateExpression", .booleanAttributeType),
      ])
    let entity = LibraryModel.entity("XDDevEntityMapping", [])
    let mapping = LibraryModel.entity("XDDevMappingModel", [])
    LibraryModel.relate(attribute, "entityMapping", entity, "attributeMappings", toMany: (false, true))
    LibraryModel.relate(relationship, "entityMapping", entity, "relationshipMappings", toMany: (false, true))
    let model = NSManagedObjectModel()
    model.entities = [property, attribute, relationship, entity, mapping]
    return model
  }
}

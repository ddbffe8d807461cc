import CoreData
import Testing

/// Models, entities and properties compare by value.
@Suite struct ModelEqualityTests {
  private func model() -> NSManagedObjectModel {
    let model = LibraryModel.make()
    let book = model.entitiesByName["Book"]
    let derived = NSDerivedAttributeDescription()
    derived.name = "tagCount"
    derived.attributeType = .integer64AttributeType
    derived.derivationExpression = CoreData.NSExpression(forKeyPath: "tags.@count")
    let fetched = NSFetchedPropertyDescription()
    fetched.name = "others"
    let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Book")
    request.predicate = NSPredicate(format: "title == $FETCH_SOURCE.title")
    fetched.fetchRequest = request
    book?.properties += [derived, fetched, PlacesModel.address()]
    book?.uniquenessConstraints = [["uuid"]]
    book?.indexes = [
      NSFetchIndexDescription(
        name: "byTitle",
        elements: [
          NSFetchIndexElementDescription(
            property: LibraryModel.attribute("title", .stringAttributeType), collationType: .binary)
        ])
    ]
    book?.attributesByName["pages"]?.setValidationPredicates(
      [NSPredicate(format: "SELF >= 0")], withValidationWarnings: ["negative"])
    book?.userInfo = ["key": "value"]
    model.setFetchRequestTemplate(request, forName: "same")
    model.setEntities([model.entities[0]], forConfigurationName: "Authors")
    model.versionIdentifiers = ["1"]
    return model
  }

  private func expectEqual(_ one: NSObject, _ other: NSObject, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(one !== other && one == other && one.hash == other.hash, sourceLocation: sourceLocation)
  }

  @Test func whatSaysTheSameIsEqual() throws {
    let (one, other) = (model(), model())
    expectEqual(one, other)
    let copy = try #require(one.copy() as? NSManagedObjectModel)
    expectEqual(one, copy)
    other.entities.reverse()
    #expect(one == other)
    for entity in one.entities {
      let twin = try #require(copy.entitiesByName[entity.name ?? ""])
      expectEqual(entity, twin)
      for property in entity.properties {
        expectEqual(property, try #require(twin.propertiesByName[property.name]))
      }
    }
    #expect(Set([one, copy]).count == 1)
    // A model in use compares with one that is not.
    _ = NSPersistentStoreCoordinator(managedObjectModel: one)
    #expect(one == copy && !one.isEqual("model"))
  }

  private static let changes: [@Sendable (NSManagedObjectModel, NSEntityDescription) -> Void] = [
    { model, _ in model.versionIdentifiers = ["2"] },
    { model, _ in model.entities.removeLast() },
    { model, _ in model.setEntities(model.entities, forConfigurationName: "Authors") },
    { model, _ in model.setFetchRequestTemplate(nil, forName: "same") },
    { model, _ in model.fetchRequestTemplate(forName: "same")?.fetchLimit = 1 },
    { _, book in book.isAbstract = true },
    { _, book in book.managedObjectClassName = "Book" },
    { _, book in book.userInfo = ["key": "other"] },
    { _, book in book.versionHashModifier = "2" },
    { _, book in book.renamingIdentifier = "Old" },
    { _, book in book.uniquenessConstraints = [] },
    { _, book in book.compoundIndexes = [["title"]] },
    { _, book in book.indexes[0].elements[0].isAscending = false },
    { _, book in book.indexes[0].partialIndexPredicate = NSPredicate(value: true) },
    { _, book in book.subentities = [] },
    { _, book in book.properties.removeLast() },
    { _, book in book.attributesByName["pages"]?.isOptional = false },
    { _, book in book.attributesByName["pages"]?.defaultValue = 7 },
    { _, book in book.attributesByName["pages"]?.attributeType = .integer64AttributeType },
    { _, book in book.attributesByName["pages"]?.setValidationPredicates([], withValidationWarnings: []) },
    { _, book in book.attributesByName["title"]?.preservesValueInHistoryOnDeletion = true },
    { _, book in book.attributesByName["extra"]?.valueTransformerName = "T" },
    { _, book in
      (book.attributesByName["tagCount"] as? NSDerivedAttributeDescription)?.derivationExpression = nil
    },
    { _, book in (book.attributesByName["address"] as? NSCompositeAttributeDescription)?.elements.removeLast() },
    { _, book in (book.propertiesByName["others"] as? NSFetchedPropertyDescription)?.fetchRequest?.fetchLimit = 3 },
    { _, book in book.relationshipsByName["author"]?.deleteRule = .denyDeleteRule },
    { _, book in book.relationshipsByName["tags"]?.minCount = 2 },
    { _, book in book.relationshipsByName["tags"]?.isOrdered = true },
    { _, book in book.relationshipsByName["author"]?.inverseRelationship = nil },
    { model, book in book.relationshipsByName["author"]?.destinationEntity = model.entitiesByName["Tag"] },
  ]

  @Test("Any difference counts", arguments: Self.changes.indices)
  func differences(number: Int) throws {
    let (one, other) = (model(), model())
    try Self.changes[number](other, #require(other.entitiesByName["Book"]))
    #expect(one != other && other != one)
  }
}

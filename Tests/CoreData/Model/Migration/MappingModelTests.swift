import Testing

@testable import CoreData

@Suite struct MappingModelTests {
  private func changedModel() -> NSManagedObjectModel {
    let model = LibraryModel.make()
    let author = model.entitiesByName["Author"]
    author?.attributesByName["name"]?.renamingIdentifier = "name"
    author?.attributesByName["name"]?.name = "fullName"
    model.entities.removeAll { $0.name == "Passport" }
    author?.properties.removeAll { $0.name == "passport" }
    model.entities += [LibraryModel.entity("Shelf", [LibraryModel.attribute("label", .stringAttributeType)])]
    return model
  }

  @Test func anInferredMappingModelSaysWhatBecomesOfWhat() throws {
    let mapping = try NSMappingModel.inferredMappingModel(
      forSourceModel: LibraryModel.make(), destinationModel: changedModel())
    let byName = mapping.entityMappingsByName
    #expect(
      Set(byName.keys) == [
        "IEM_Transform_Author", "IEM_Copy_Book", "IEM_Copy_Comic", "IEM_Copy_Tag", "IEM_Remove_Passport",
        "IEM_Add_Shelf",
      ])
    let author = try #require(byName["IEM_Transform_Author"])
    #expect(author.mappingType == .transformEntityMappingType && author.sourceEntityName == "Author")
    let name = author.attributeMappings?.first { $0.name == "fullName" }
    #expect(name?.valueExpression?.keyPath == "name")
    #expect(byName["IEM_Add_Shelf"]?.sourceEntityName == nil)
    // By these names Apple's mappings tell what they do; programs print and check them.
    func names(_ mapping: NSEntityMapping?, _ key: String) -> Set<String>? { mapping?.userInfo?[key] as? Set<String> }
    #expect(names(author, "mappedProperties") == ["fullName", "born", "books"])
    #expect(names(author, "addedProperties") == [] && names(author, "removedProperties") == ["passport"])
    #expect(names(byName["IEM_Add_Shelf"], "addedProperties") == ["label"])
    #expect(names(byName["IEM_Remove_Passport"], "removedProperties") == ["number", "holder"])
    let wrong = LibraryModel.make()
    wrong.entitiesByName["Book"]?.attributesByName["pages"]?.attributeType = .stringAttributeType
    expectError(134190) {
      try NSMappingModel.inferredMappingModel(forSourceModel: LibraryModel.make(), destinationModel: wrong)
    }
  }

  @Test func mappingModelsAreEqualByTheirMappings() throws {
    func inferred() throws -> NSMappingModel {
      try NSMappingModel.inferredMappingModel(forSourceModel: LibraryModel.make(), destinationModel: changedModel())
    }
    let mapping = try inferred()
    try #expect(mapping == inferred() && mapping.hash == inferred().hash)
    let changes: [(NSEntityMapping) -> Void] = [
      { $0.name = "other" }, { $0.mappingType = .customEntityMappingType }, { $0.sourceEntityVersionHash = nil },
      { $0.attributeMappings?[0].valueExpression = NSExpression(forConstantValue: 1) },
      { $0.relationshipMappings?.removeLast() }, { $0.entityMigrationPolicyClassName = "Policy" },
    ]
    for change in changes {
      let changed = try inferred()
      try change(#require(changed.entityMappingsByName["IEM_Transform_Author"]))
      #expect(mapping != changed)
    }
  }

  @Test func aMigrationManagerMigratesIntoANewFile() throws {
    let store = try TemporaryStore()
    try store.save { $0.make("Author", ["name": "Ada"]) }
    let new = changedModel()
    let url = store.folder.appendingPathComponent("new.sqlite")
    let manager = NSMigrationManager(sourceModel: store.model, destinationModel: new)
    let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: store.model, destinationModel: new)
    try manager.migrateStore(
      from: store.url, type: .sqlite, mapping: mapping, to: url, type: .sqlite)
    #expect(manager.migrationProgress == 1)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: new)
    try coordinator.addPersistentStore(type: .sqlite, at: url)
    let context = coordinator.context()
    let names = try context.performAndWait { try context.all("Author").map { $0.text("fullName") } }
    #expect(names == ["Ada"])
    #expect(coordinator.persistentStores[0].identifier == store.coordinator.persistentStores[0].identifier)
    try #expect(store.sql("SELECT ZNAME FROM ZAUTHOR") == [["Ada"]])
    expectError(134150) {
      try manager.migrateStore(
        from: store.folder.appendingPathComponent("none"), type: .sqlite, mapping: mapping, to: url, type: .sqlite)
    }
    expectError(134140) {
      try manager.migrateStore(
        from: store.url, sourceType: NSSQLiteStoreType, with: nil, toDestinationURL: url,
        destinationType: NSSQLiteStoreType)
    }
  }
}

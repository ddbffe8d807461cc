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
    let wrong = LibraryModel.make()
    wrong.entitiesByName["Book"]?.attributesByName["pages"]?.attributeType = .stringAttributeType
    expectError(134190) {
      try NSMappingModel.inferredMappingModel(forSourceModel: LibraryModel.make(), destinationModel: wrong)
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
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
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

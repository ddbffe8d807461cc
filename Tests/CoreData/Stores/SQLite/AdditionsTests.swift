import Testing

@testable import CoreData

/// A file gets the additions of a newer model.
@Suite struct AdditionsTests {
  @Test func aModelWithManyToManyRelationshipsGetsAnAttribute() throws {
    let store = try TemporaryStore()
    try store.save { context in
      let tag = context.make("Tag", ["label": "new"])
      context.make("Book", ["title": "One", "tags": NSSet(object: tag)])
    }
    let indexes = "SELECT name FROM sqlite_master WHERE type = 'index' ORDER BY name"
    let before = try store.sql(indexes)
    let model = LibraryModel.make()
    model.entitiesByName["Author"]?.properties += [LibraryModel.attribute("nickname", .stringAttributeType)]
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    _ = try coordinator.addPersistentStore(NSSQLiteStoreType, nil, store.url, nil, allowing: .additions)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      context.make("Author", ["name": "Ada", "nickname": "A"])
      try context.save()
      #expect(try context.all("Book", where: "ANY tags.label == 'new'").count == 1)
    }
    #expect(try store.sql("SELECT ZNICKNAME FROM ZAUTHOR") == [["A"]])
    #expect(try store.sql(indexes) == before)
  }
}

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
    _ = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: store.url, allowing: .additions)
    let context = coordinator.context()
    try context.performAndWait {
      context.make("Author", ["name": "Ada", "nickname": "A"])
      try context.save()
      #expect(try context.all("Book", where: "ANY tags.label == 'new'").count == 1)
    }
    #expect(try store.sql("SELECT ZNICKNAME FROM ZAUTHOR") == [["A"]])
    #expect(try store.sql(indexes) == before)
  }

  private func migrate(
    _ store: TemporaryStore, to model: NSManagedObjectModel, _ migration: AllowedMigration = .inferred
  ) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let opened = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: store.url, allowing: migration)
    try coordinator.remove(opened)
  }

  private static let columns = "SELECT name FROM pragma_table_info('ZAUTHOR') ORDER BY cid DESC LIMIT 1"

  @Test func anInferredMigrationThatOnlyAddsLeavesTheRowsWhereTheyAre() throws {
    let store = try TemporaryStore()
    try store.save { $0.make("Author", ["name": "Ada"]) }
    let model = LibraryModel.make()
    let alias = LibraryModel.attribute("alias", .integer16AttributeType)
    model.entitiesByName["Author"]?.properties += [alias]
    model.entities += [LibraryModel.entity("Zebra", [LibraryModel.attribute("name", .stringAttributeType)])]
    model.entitiesByName["Author"]?.uniquenessConstraints = [["name"]]
    try migrate(store, to: model)
    // A table that is made anew has whole numbers before texts.
    try #expect(store.sql(Self.columns) == [["ZALIAS"]])
    try #expect(store.sql("SELECT ZNAME, ZALIAS FROM ZAUTHOR") == [["Ada", nil]])
    try #expect(store.sql("SELECT 1 FROM sqlite_master WHERE name = 'Z_Author_UNIQUE_name'").count == 1)
    try #expect(store.sql("SELECT Z_ENT FROM Z_PRIMARYKEY WHERE Z_NAME = 'Zebra'") == [["6"]])
  }

  /// Numbers of entities are in names of columns and tables, and a Mac expects those of a new file.
  @Test func anEntityBeforeOthersHasTheTablesMadeAnew() throws {
    let store = try TemporaryStore()
    let model = LibraryModel.make()
    model.entitiesByName["Author"]?.properties += [LibraryModel.attribute("alias", .integer16AttributeType)]
    model.entities += [LibraryModel.entity("Aardvark", [LibraryModel.attribute("name", .stringAttributeType)])]
    try migrate(store, to: model)
    try #expect(store.sql("SELECT Z_ENT FROM Z_PRIMARYKEY WHERE Z_NAME = 'Aardvark'") == [["1"]])
    try #expect(store.sql(Self.columns) != [["ZALIAS"]])
  }

  @Test func anAttributeWithTheNameOfARenamedOneIsNoAddition() throws {
    let store = try TemporaryStore()
    try store.save { $0.make("Tag", ["label": "kept"]) }
    let model = LibraryModel.make()
    let tag = try #require(model.entitiesByName["Tag"])
    tag.attributesByName["label"]?.renamingIdentifier = "label"
    tag.attributesByName["label"]?.name = "title"
    let label = LibraryModel.attribute("label", .stringAttributeType)
    label.renamingIdentifier = "new"
    tag.properties.append(label)
    try migrate(store, to: model)
    try #expect(store.sql("SELECT ZTITLE, ZLABEL FROM ZTAG") == [["kept", nil]])
  }

  @Test func moreThanAdditionsAreRefusedWhereOnlyTheseAreAllowed() throws {
    let store = try TemporaryStore()
    let before = try store.sql("SELECT name, sql FROM sqlite_master ORDER BY name")
    let changes: [(NSManagedObjectModel) -> Void] = [
      { model in
        model.entities.removeAll { $0.name == "Passport" }
        model.entitiesByName["Author"]?.properties.removeAll { $0.name == "passport" }
      },
      { $0.entitiesByName["Book"]?.properties.removeAll { $0.name == "rating" } },
      { $0.entitiesByName["Book"]?.attributesByName["rating"]?.name = "stars" },
      { $0.entitiesByName["Tag"]?.relationshipsByName["ordered"]?.isOrdered = false },
      { model in
        let comic = LibraryModel.entity("Manga", [])
        model.entitiesByName["Book"]?.subentities.append(comic)
        model.entities.append(comic)
      },
      { model in
        model.entitiesByName["Tag"]?.properties.append(
          LibraryModel.attribute("color", .stringAttributeType, optional: false))
      },
    ]
    for (index, change) in changes.enumerated() {
      let model = LibraryModel.make()
      change(model)
      do {
        try migrate(store, to: model, .additions)
        Issue.record("change \(index) was made")
      } catch {
        #expect((error as NSError).code == NSPersistentStoreIncompatibleVersionHashError, "\(index): \(error)")
      }
    }
    try #expect(store.sql("SELECT name, sql FROM sqlite_master ORDER BY name") == before)
  }

  /// The column ZNOTE is that of `Second.note`, and would be that of `First.note` in the newer model.
  @Test(arguments: [AllowedMigration.additions, .inferred])
  func anAttributeThatWouldTakeTheColumnOfAnotherIsNoAddition(migration: AllowedMigration) throws {
    func model(_ names: [String]) -> NSManagedObjectModel {
      let root = LibraryModel.entity("Root", [])
      root.subentities = ["First", "Second"].map { name in
        let attributes = names.contains(name) ? [LibraryModel.attribute("note", .stringAttributeType)] : []
        return LibraryModel.entity(name, attributes)
      }
      let model = NSManagedObjectModel()
      model.entities = [root] + root.subentities
      return model
    }
    let store = try TemporaryStore(model(["Second"]))
    try store.save { $0.make("Second", ["note": "kept"]) }
    guard migration == .inferred else {
      return expectError(NSPersistentStoreIncompatibleVersionHashError) {
        try migrate(store, to: model(["First", "Second"]), .additions)
      }
    }
    try migrate(store, to: model(["First", "Second"]))
    try #expect(store.sql("SELECT ZNOTE, ZNOTE1 FROM ZROOT") == [[nil, "kept"]])
  }
}

import TestFiles
import Testing

@testable import CoreData

/// Binary and XML files of one model that are opened with another.
@Suite struct FileMigrationTests {
  private typealias Make = LibraryModel

  static let kinds = [StoreKind.binary, .xml]
  /// Those that are made anew as well, and no files.
  static let migrating = kinds + (PostgreSQLServer.isInstalled ? [.server] : [])

  /// A file with a small library, closed. Its model is in use as long as the stack lives.
  private func library(_ kind: StoreKind, _ model: NSManagedObjectModel = LibraryModel.make()) throws -> StoreStack {
    let stack = try StoreStack(kind, model)
    try stack.perform { context in
      let author = context.make("Author", ["name": "Ada", "born": Date(timeIntervalSinceReferenceDate: 7)])
      let tags = ["x", "y", "z"].map { context.make("Tag", ["label": $0]) }
      context.make(
        "Book",
        ["title": "One", "pages": 10, "author": author, "tags": Set(tags.prefix(2)), "extra": ["a": 1] as NSDictionary])
      context.make("Comic", ["title": "Two", "artist": "B", "author": author])
      tags[0].setValue(NSOrderedSet(array: [tags[2], tags[0], tags[1]]), forKey: "ordered")
      context.make("Passport", ["number": "7", "holder": author])
      try context.save()
    }
    return stack
  }

  /// A context on the file, which is opened with another model.
  private func migrate(
    _ stack: StoreStack, to model: NSManagedObjectModel, options: [AnyHashable: Any] = LibraryMigration.options()
  ) throws -> NSManagedObjectContext {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(
      ofType: stack.kind.type, configurationName: nil, at: stack.url, options: options)
    return stack.context(coordinator)
  }

  // MARK: What can be inferred

  @Test(arguments: migrating)
  func attributesAreAddedRemovedAndRenamedAndTheRestStays(kind: StoreKind) throws {
    let stack = try library(kind)
    stack.coordinator.setMetadata(["app": "mine"], for: stack.store)
    let id = try stack.perform { context in
      context.make("Tag", ["label": "last"])
      try context.save()
      return try context.all("Book", where: "title == 'One'")[0].objectID.uriString
    }
    let model = try LibraryMigration.modelWithOtherAttributes()
    let context = try migrate(stack, to: model)
    try context.performAndWait {
      let books = try context.all("Book", sort: "heading")
      #expect(books.map { $0.text("heading") } == ["One", "Two"])
      #expect(books.map { $0.value(forKey: "edition") as? Int } == [3, 3])
      #expect(books[0].text("subtitle") == nil && books[0].value(forKey: "pages") as? Int == 10)
      #expect(books[0].value(forKey: "extra") as? NSDictionary == ["a": 1])
      #expect(books[1].entity.name == "Comic" && books[1].text("artist") == "B")
      #expect(books[0].object("author")?.value(forKey: "born") as? Date == Date(timeIntervalSinceReferenceDate: 7))
      #expect(books[0].objectID.uriString == id)
      let tags = try context.all("Tag", where: "label != 'last'", sort: "label")
      #expect(books[0].members("tags") == Set(tags.prefix(2)))
      let ordered = (tags[0].value(forKey: "ordered") as? NSOrderedSet)?.array as? [NSManagedObject]
      #expect(ordered == [tags[2], tags[0], tags[1]])
      try #expect(context.all("Passport")[0].object("holder")?.text("name") == "Ada")
      // And the store can be written.
      context.make("Book", ["heading": "Three", "author": books[0].object("author") as Any])
      try context.save()
      try #expect(context.all("Book", where: "author.name == 'Ada'").count == 3)
    }
    let opened = try #require(context.persistentStoreCoordinator?.persistentStores[0])
    #expect(opened.identifier == stack.store.identifier && opened.metadata["app"] as? String == "mine")
    #expect(model.isConfiguration(withName: nil, compatibleWithStoreMetadata: opened.metadata))
    // The file is written already, and nothing is left beside it.
    let again = try stack.context(stack.another(model))
    try again.performAndWait { try #expect(again.count(for: NSFetchRequest<NSManagedObject>(entityName: "Book")) == 3) }
    guard kind != .server else { return }
    try #expect(FileManager.default.contentsOfDirectory(atPath: stack.folder.path) == ["store"])
  }

  @Test(arguments: migrating)
  func entitiesAreAddedRemovedRenamedAndMoved(kind: StoreKind) throws {
    let stack = try library(kind)
    let model = LibraryModel.make()
    model.entities.removeAll { $0.name == "Passport" }
    let author = try #require(model.entitiesByName["Author"])
    author.properties.removeAll { $0.name == "passport" }
    author.name = "Writer"
    author.renamingIdentifier = "Author"
    let (book, comic) = (try #require(model.entitiesByName["Book"]), try #require(model.entitiesByName["Comic"]))
    let work = Make.entity("Work", [])
    let title = try #require(book.propertiesByName["title"])
    book.properties.removeAll { $0.name == "title" || $0.name == "weight" }
    work.properties = [title]
    comic.properties += [Make.attribute("weight", .floatAttributeType)]
    work.subentities = [book]
    work.isAbstract = true
    model.entities += [work, Make.entity("Aardvark", [Make.attribute("name", .stringAttributeType)])]
    let context = try migrate(stack, to: model)
    try context.performAndWait {
      try #expect(context.all("Writer").map { $0.text("name") } == ["Ada"])
      try #expect(context.all("Work", where: "title != nil", sort: "title").map { $0.text("title") } == ["One", "Two"])
      try #expect(context.all("Book", where: "author.name == 'Ada'").count == 2)
      try #expect(context.all("Comic").count == 1 && context.all("Aardvark").isEmpty)
      try #expect(context.all("Tag", where: "ANY books.title == 'One'").count == 2)
      let writer = try context.all("Writer")[0]
      let keys = try context.all("Work").map(\.objectID.key) + context.all("Tag").map(\.objectID.key)
      let new = context.make("Aardvark", ["name": "a"])
      try context.save()
      // No key of the file is given again, not even the passport's. A server gives keys in blocks.
      #expect(new.objectID.key > keys.max() ?? 0 && (kind == .server ? new.objectID.key > 8 : new.objectID.key == 8))
      #expect(writer.members("books").count == 2)
    }
  }

  @Test(arguments: migrating)
  func relationshipsChangeTheirKind(kind: StoreKind) throws {
    let stack = try library(kind)
    let model = LibraryModel.make()
    // A book now has many authors, its tags are ordered, and those of a tag are not.
    let relationship = try #require(model.entitiesByName["Book"]?.relationshipsByName["author"])
    relationship.name = "authors"
    relationship.renamingIdentifier = "author"
    relationship.maxCount = 0
    model.entitiesByName["Book"]?.relationshipsByName["tags"]?.isOrdered = true
    model.entitiesByName["Tag"]?.relationshipsByName["ordered"]?.isOrdered = false
    let (author, tag) = (try #require(model.entitiesByName["Author"]), try #require(model.entitiesByName["Tag"]))
    Make.relate(author, "favourite", tag, "fans", toMany: (false, true))
    let context = try migrate(stack, to: model)
    try context.performAndWait {
      let author = try context.all("Author")[0]
      try #expect(context.all("Book").allSatisfy { $0.members("authors") == [author] })
      #expect(author.members("books").count == 2 && author.object("favourite") == nil)
      let tags = try context.all("Tag", sort: "label")
      let ofBook = try context.all("Book", where: "title == 'One'")[0].value(forKey: "tags") as? NSOrderedSet
      #expect(ofBook?.array as? [NSManagedObject] == tags.prefix(2).sorted { $0.objectID.key < $1.objectID.key })
      #expect(tags[0].members("ordered") == Set(tags))
    }
  }

  @Test(arguments: migrating)
  func mandatoryAttributesAndElementsGetTheirDefaultValues(kind: StoreKind) throws {
    func model(_ street: String, _ more: [NSAttributeDescription]) -> NSManagedObjectModel {
      let address = NSCompositeAttributeDescription()
      address.name = "address"
      let name = Make.attribute(street, .stringAttributeType)
      name.renamingIdentifier = "street"
      address.elements = [name, Make.attribute("city", .stringAttributeType)] + more
      let model = NSManagedObjectModel()
      model.entities = [
        Make.entity(
          "House\(kind)",
          [address, Make.attribute("floors", .integer16AttributeType, optional: more.isEmpty, default: 2)])
      ]
      return model
    }
    let stack = try StoreStack(kind, model("street", []))
    let entity = "House\(kind)"
    try stack.perform { context in
      let house = context.make(entity, ["address": ["street": "Elm", "city": "Ulm"]])
      house.setValue(nil, forKey: "floors")
      context.make(entity, ["floors": 5])
      try context.save()
    }
    let country = Make.attribute("country", .stringAttributeType, optional: false, default: "DE")
    let context = try migrate(stack, to: model("road", [country, Make.attribute("zip", .stringAttributeType)]))
    try context.performAndWait {
      let houses = try context.all(entity, sort: "floors")
      #expect(houses.map { $0.value(forKey: "floors") as? Int } == [2, 5])
      #expect(
        houses[0].value(forKey: "address") as? [String: String] == ["road": "Elm", "city": "Ulm", "country": "DE"])
      #expect(houses[1].value(forKey: "address") == nil)
    }
  }

  // MARK: What leaves the file as it was

  @Test(arguments: kinds)
  func errorsLeaveTheFileAsItWas(kind: StoreKind) throws {
    let stack = try library(kind)
    try stack.perform { context in
      context.make("Tag", ["label": "x"])
      try context.save()
    }
    let before = try Data(contentsOf: stack.url)
    func fails(
      _ code: Int, _ options: [AnyHashable: Any] = LibraryMigration.options(), _ change: (NSManagedObjectModel) -> Void
    ) {
      let model = LibraryModel.make()
      change(model)
      expectError(code) { try migrate(stack, to: model, options: options) }
    }
    func addColor(_ model: NSManagedObjectModel) {
      model.entitiesByName["Tag"]?.properties += [Make.attribute("color", .stringAttributeType)]
    }
    fails(134100, LibraryMigration.options(migrate: false), addColor)
    fails(134140, LibraryMigration.options(infer: false), addColor)
    fails(134190) { $0.entitiesByName["Book"]?.attributesByName["pages"]?.attributeType = .stringAttributeType }
    fails(134190) { $0.entitiesByName["Author"]?.relationshipsByName["books"]?.maxCount = 1 }
    fails(134111) { $0.entitiesByName["Tag"]?.uniquenessConstraints = [["label"]] }
    // A folder stands where the temporary file goes.
    let obstacle = stack.folder.appendingPathComponent(".store.\(getpid()).tmp")
    try FileManager.default.createDirectory(at: obstacle, withIntermediateDirectories: false)
    fails(134110, LibraryMigration.options(), addColor)
    try FileManager.default.removeItem(at: obstacle)
    try #expect(Data(contentsOf: stack.url) == before)
    let model = LibraryModel.make()
    addColor(model)
    _ = try migrate(stack, to: model)
    try #expect(Data(contentsOf: stack.url) != before)
  }

  @Test(arguments: kinds)
  func anOldModelThatNobodyHasIsAnError(kind: StoreKind) throws {
    let place = FileManager.default.temporaryDirectory.appendingPathComponent("lonely-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: place) }
    do {
      // A model that no other test uses, and that lives as long as the store's coordinator.
      let model = NSManagedObjectModel()
      model.entities = [Make.entity("Only\(kind)", [Make.attribute("name", .stringAttributeType)])]
      let stack = try StoreStack(kind, model)
      try FileManager.default.copyItem(at: stack.url, to: place)
    }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    expectError(134130) {
      try coordinator.addPersistentStore(
        ofType: kind.type, configurationName: nil, at: place, options: LibraryMigration.options())
    }
  }

  @Test(arguments: [StoreKind.cards, .shelf])
  func anAppsOwnStoreIsNotMigratedAtOpeningAndTheErrorSaysWhatToDo(kind: StoreKind) throws {
    let stack = try library(kind)
    let type = Swift.type(of: stack.store)
    try stack.coordinator.remove(stack.store)
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: kind.type, at: stack.url)
    var changed = metadata
    changed[NSStoreModelVersionHashesKey] = ["Tag": Data([1])]
    try type.setMetadata(changed, forPersistentStoreAt: stack.url)
    let error = #expect(throws: NSError.self) { try migrate(stack, to: LibraryModel.make()) }
    #expect(error?.code == 134100 && error?.localizedDescription.contains("NSMigrationManager") == true)
  }

  // MARK: Into a new file

  @Test(arguments: StoreKind.lasting, StoreKind.lasting)
  func aMigrationManagerMigratesAStoreOfEachTypeIntoOneOfEach(source: StoreKind, destination: StoreKind) throws {
    destination.register()
    let stack = try library(source)
    let new = LibraryModel.make()
    let name = try #require(new.entitiesByName["Author"]?.attributesByName["name"])
    name.renamingIdentifier = "name"
    name.name = "fullName"
    new.entities.removeAll { $0.name == "Passport" }
    new.entitiesByName["Author"]?.properties.removeAll { $0.name == "passport" }
    let old = stack.coordinator.managedObjectModel
    let manager = NSMigrationManager(sourceModel: old, destinationModel: new)
    let url = destination.place(stack.folder.appendingPathComponent("new"))
    defer { Shelf.remove(url) }
    try manager.migrateStore(
      from: stack.url, sourceType: source.type,
      with: NSMappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new),
      toDestinationURL: url, destinationType: destination.type)
    #expect(manager.migrationProgress == 1)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: new)
    let store = try coordinator.addPersistentStore(ofType: destination.type, configurationName: nil, at: url)
    // A store that is copied row by row is another one.
    let isSame = source == destination && source.copiesItself
    #expect((store.identifier == stack.store.identifier) == isSame)
    let context = stack.context(coordinator)
    try context.performAndWait {
      try #expect(context.all("Author").map { $0.text("fullName") } == ["Ada"])
      let book = try #require(context.all("Book", where: "title == 'One'").first)
      let tags = try context.all("Tag", sort: "label")
      #expect(book.object("author")?.text("fullName") == "Ada" && book.members("tags") == Set(tags.prefix(2)))
      let ordered = (tags[0].value(forKey: "ordered") as? NSOrderedSet)?.array as? [NSManagedObject]
      #expect(ordered == [tags[2], tags[0], tags[1]])
      try #expect(context.all("Comic").map { $0.text("artist") } == ["B"])
    }
    // The source is as it was.
    try stack.perform {
      try #expect($0.all("Author").map { $0.text("name") } == ["Ada"] && $0.all("Passport").count == 1)
    }
  }

  @Test(arguments: [StoreKind.file] + migrating)
  func aMigrationAddsItsObjectsToTheStoreThatIsThere(kind: StoreKind) throws {
    let stack = try library(.file)
    let model = stack.coordinator.managedObjectModel
    let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: model, destinationModel: model)
    let url = kind.place(stack.folder.appendingPathComponent("new"))
    for count in 1...2 {
      try NSMigrationManager(sourceModel: model, destinationModel: model).migrateStore(
        from: stack.url, sourceType: stack.kind.type, with: mapping, toDestinationURL: url, destinationType: kind.type)
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      let store = try coordinator.addPersistentStore(ofType: kind.type, configurationName: nil, at: url)
      let context = stack.context(coordinator)
      try context.performAndWait {
        try #expect(context.all("Author").count == count)
        try #expect(context.all("Book", where: "author != nil").count == 2 * count)
      }
      try coordinator.remove(store)
    }
  }

  @Test func aMigrationManagerSaysWhyItCannotMigrate() throws {
    let stack = try library(.xml)
    let model = stack.coordinator.managedObjectModel
    let manager = NSMigrationManager(sourceModel: model, destinationModel: model)
    let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: model, destinationModel: model)
    func migrate(_ source: String, ofType type: String, to destination: String, ofType destinationType: String) throws {
      try manager.migrateStore(
        from: stack.folder.appendingPathComponent(source), sourceType: type, with: mapping,
        toDestinationURL: stack.folder.appendingPathComponent(destination), destinationType: destinationType)
    }
    for type in [NSXMLStoreType, NSBinaryStoreType, NSSQLiteStoreType] {
      expectError(134150) { try migrate("none", ofType: NSXMLStoreType, to: "new", ofType: type) }
      expectError(134160) { try migrate("store", ofType: NSXMLStoreType, to: "none/new", ofType: type) }
    }
    expectError(134150) { try migrate("store", ofType: NSBinaryStoreType, to: "new", ofType: NSSQLiteStoreType) }
    expectError(134110) { try migrate("store", ofType: NSXMLStoreType, to: "new", ofType: NSInMemoryStoreType) }
    expectError(134110) { try migrate("store", ofType: NSInMemoryStoreType, to: "new", ofType: NSXMLStoreType) }
    try #expect(FileManager.default.contentsOfDirectory(atPath: stack.folder.path) == ["store"])
  }
}

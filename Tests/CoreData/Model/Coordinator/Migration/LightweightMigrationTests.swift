import TestFiles
import Testing

@testable import CoreData

/// Stores of one model that are opened with another.
@Suite struct LightweightMigrationTests {
  private typealias Make = LibraryModel

  /// A store with the body's changes saved, and its model, which must be in use when the store is migrated.
  private func store(
    _ model: NSManagedObjectModel, options: [AnyHashable: Any]? = nil,
    _ body: (NSManagedObjectContext) throws -> Void
  ) throws -> TemporaryStore {
    let store = try TemporaryStore(model, options: options)
    try store.save(body)
    return store
  }

  private func migrate(
    _ store: TemporaryStore, to model: NSManagedObjectModel, options: [AnyHashable: Any] = LibraryMigration.options()
  ) throws -> NSManagedObjectContext {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: store.url, options: options)
    return coordinator.context()
  }

  private func library(options: [AnyHashable: Any]? = nil) throws -> TemporaryStore {
    try store(LibraryModel.make(), options: options) { context in
      let author = context.make("Author", ["name": "Ada"])
      let tags = ["x", "y"].map { context.make("Tag", ["label": $0]) }
      context.make("Book", ["title": "One", "pages": 10, "author": author, "tags": Set(tags)])
      context.make("Comic", ["title": "Two", "artist": "B", "author": author])
      tags[0].setValue(NSOrderedSet(array: [tags[1], tags[0]]), forKey: "ordered")
      context.make("Passport", ["number": "7", "holder": author])
    }
  }

  // MARK: What can be inferred

  @Test func attributesAreAddedRemovedAndRenamedAndTheRestStays() throws {
    let store = try library()
    let uuid = store.coordinator.persistentStores[0].identifier
    let id = try store.read { try $0.all("Book", where: "title == 'One'")[0].objectID.uriString }
    let model = try LibraryMigration.modelWithOtherAttributes()
    let context = try migrate(store, to: model)
    try context.performAndWait {
      let books = try context.all("Book", sort: "heading")
      #expect(books.map { $0.text("heading") } == ["One", "Two"])
      #expect(books.map { $0.value(forKey: "edition") as? Int } == [3, 3])
      #expect(books[0].text("subtitle") == nil && books[0].value(forKey: "pages") as? Int == 10)
      #expect(books[1].entity.name == "Comic" && books[1].text("artist") == "B")
      #expect(books[0].object("author")?.text("name") == "Ada")
      #expect(books[0].objectID.uriString == id)
      let tags = try context.all("Tag", sort: "label")
      #expect(books[0].members("tags") == Set(tags))
      #expect((tags[0].value(forKey: "ordered") as? NSOrderedSet)?.array as? [NSManagedObject] == [tags[1], tags[0]])
      try #expect(context.all("Passport")[0].object("holder")?.text("name") == "Ada")
      // And the store can be written.
      context.make("Book", ["heading": "Three", "author": books[0].object("author") as Any])
      try context.save()
      try #expect(context.all("Book", where: "author.name == 'Ada'").count == 3)
    }
    let opened = try #require(context.persistentStoreCoordinator?.persistentStores[0])
    #expect(opened.identifier == uuid)
    #expect(model.isConfiguration(withName: nil, compatibleWithStoreMetadata: opened.metadata))
    try #expect(store.sql("SELECT count(*) FROM sqlite_master WHERE name LIKE 'cd_old%'") == [["0"]])
    try #expect(store.sql("PRAGMA integrity_check") == [["ok"]])
  }

  @Test func entitiesAreAddedRemovedAndRenamed() throws {
    let store = try library()
    let model = LibraryModel.make()
    model.entities.removeAll { $0.name == "Passport" }
    let author = try #require(model.entitiesByName["Author"])
    author.properties.removeAll { $0.name == "passport" }
    author.name = "Writer"
    author.renamingIdentifier = "Author"
    // Its name comes first, so that all numbers change.
    model.entities += [Make.entity("Aardvark", [Make.attribute("name", .stringAttributeType)])]
    let context = try migrate(store, to: model)
    try context.performAndWait {
      try #expect(context.all("Writer").map { $0.text("name") } == ["Ada"])
      try #expect(context.all("Book", where: "author.name == 'Ada'").count == 2)
      try #expect(context.all("Comic").count == 1)
      try #expect(context.all("Aardvark").isEmpty)
      try #expect(context.all("Tag", where: "ANY books.title == 'One'").count == 2)
      context.make("Aardvark", ["name": "a"])
      try context.save()
    }
    try #expect(store.sql("SELECT count(*) FROM sqlite_master WHERE name = 'ZPASSPORT'") == [["0"]])
  }

  @Test func anOptionalAttributeBecomesMandatoryWithItsDefaultAndBack() throws {
    let store = try library()
    let model = LibraryModel.make()
    let rating = try #require(model.entitiesByName["Book"]?.attributesByName["rating"])
    rating.isOptional = false
    rating.defaultValue = 1.5
    model.entitiesByName["Author"]?.attributesByName["name"]?.isOptional = true
    let context = try migrate(store, to: model)
    try context.performAndWait {
      try #expect(context.all("Book").allSatisfy { $0.value(forKey: "rating") as? Double == 1.5 })
      context.make("Author")
      try context.save()
    }
  }

  @Test func aToOneBecomesToMany() throws {
    let store = try library()
    let model = LibraryModel.make()
    // A book now has many authors and an author many books: a join table.
    let relationship = try #require(model.entitiesByName["Book"]?.relationshipsByName["author"])
    relationship.name = "authors"
    relationship.renamingIdentifier = "author"
    relationship.maxCount = 0
    let context = try migrate(store, to: model)
    try context.performAndWait {
      let author = try context.all("Author")[0]
      try #expect(context.all("Book").allSatisfy { $0.members("authors") == [author] })
      #expect(author.members("books").count == 2)
    }
  }

  @Test func relationshipsAreAddedAndRemoved() throws {
    let store = try library()
    let model = LibraryModel.make()
    model.entitiesByName["Author"]?.properties.removeAll { $0.name == "passport" }
    model.entitiesByName["Passport"]?.properties.removeAll { $0.name == "holder" }
    let (author, tag) = (try #require(model.entitiesByName["Author"]), try #require(model.entitiesByName["Tag"]))
    Make.relate(author, "tags", tag, "authors", toMany: (true, true))
    Make.relate(author, "favourite", tag, "fans", toMany: (false, true))
    let context = try migrate(store, to: model)
    try context.performAndWait {
      let author = try context.all("Author")[0]
      #expect(author.members("tags").isEmpty && author.object("favourite") == nil && author.members("books").count == 2)
      try #expect(context.all("Passport").map { $0.text("number") } == ["7"])
      let tags = try context.all("Tag")
      author.setValue(Set(tags), forKey: "tags")
      author.setValue(tags[0], forKey: "favourite")
      try context.save()
      context.reset()
      try #expect(context.all("Author", where: "favourite.label != nil AND tags.@count == 2").count == 1)
    }
    try #expect(store.sql("PRAGMA integrity_check") == [["ok"]])
  }

  @Test func anUnorderedRelationshipBecomesOrderedAndBack() throws {
    let store = try library()
    let model = LibraryModel.make()
    model.entitiesByName["Author"]?.relationshipsByName["books"]?.isOrdered = true
    model.entitiesByName["Book"]?.relationshipsByName["tags"]?.isOrdered = true
    model.entitiesByName["Tag"]?.relationshipsByName["ordered"]?.isOrdered = false
    let context = try migrate(store, to: model)
    try context.performAndWait {
      let author = try context.all("Author")[0]
      #expect((author.value(forKey: "books") as? NSOrderedSet)?.count == 2)
      let book = try context.all("Book", where: "title == 'One'")[0]
      #expect((book.value(forKey: "tags") as? NSOrderedSet)?.count == 2)
      try #expect(context.all("Tag", where: "label == 'x'")[0].members("ordered").count == 2)
    }
    try #expect(store.sql("SELECT Z_FOK_AUTHOR FROM ZBOOK ORDER BY 1") == [["2048"], ["3072"]])
  }

  @Test func aBooleanBecomesAnInteger() throws {
    let store = try library()
    try store.save { try $0.all("Book", where: "title == 'One'")[0].setValue(true, forKey: "isRead") }
    for type in [NSAttributeType.integer16AttributeType, .integer32AttributeType, .integer64AttributeType] {
      let model = LibraryModel.make()
      let isRead = try #require(model.entitiesByName["Book"]?.attributesByName["isRead"])
      isRead.attributeType = type
      isRead.defaultValue = 0
      _ = try NSMappingModel.inferredMappingModel(forSourceModel: LibraryModel.make(), destinationModel: model)
      if type == .integer32AttributeType {
        let context = try migrate(store, to: model)
        try context.performAndWait {
          try #expect(context.all("Book", sort: "title").map { $0.value(forKey: "isRead") as? Int } == [1, 0])
          try context.all("Book")[0].setValue(7, forKey: "isRead")
          try context.save()
          try #expect(context.all("Book", where: "isRead == 7").count == 1)
        }
      }
    }
  }

  @Test func anAttributeGivesWayToARelationshipOfItsName() throws {
    let store = try library()
    let model = LibraryModel.make()
    let (passport, tag) = (try #require(model.entitiesByName["Passport"]), try #require(model.entitiesByName["Tag"]))
    passport.properties.removeAll { $0.name == "number" }
    Make.relate(passport, "number", tag, "passports", toMany: (false, true))
    let context = try migrate(store, to: model)
    try context.performAndWait {
      let passport = try context.all("Passport")[0]
      #expect(passport.object("number") == nil && passport.object("holder")?.text("name") == "Ada")
      passport.setValue(try context.all("Tag", where: "label == 'x'")[0], forKey: "number")
      try context.save()
      try #expect(context.all("Passport", where: "number.label == 'x'").count == 1)
    }
  }

  @Test func membersStayWhenOnlyTheInverseChangesItsName() throws {
    let store = try library()
    let model = LibraryModel.make()
    for (entity, old, new) in [
      ("Book", "author", "writer"), ("Passport", "holder", "owner"), ("Tag", "books", "volumes"),
    ] {
      model.entitiesByName[entity]?.propertiesByName[old]?.name = new
    }
    let context = try migrate(store, to: model)
    try context.performAndWait {
      let author = try context.all("Author")[0]
      #expect(author.members("books").count == 2)
      try #expect(context.all("Comic")[0].object("writer") == author)
      #expect(author.object("passport")?.object("owner") == author)
      let tag = try context.all("Tag", where: "label == 'x'")[0]
      #expect(Set(tag.members("volumes").compactMap { $0.text("title") }) == ["One"])
    }
    try #expect(store.sql("PRAGMA integrity_check") == [["ok"]])
  }

  @Test func aMigrationWarnsBeforeARelationshipLosesItsMembers() throws {
    let old = LibraryModel.make()
    let (author, book) = (try #require(old.entitiesByName["Author"]), try #require(old.entitiesByName["Book"]))
    Make.relate(author, "edited", book, "editor", toMany: (true, false))
    // The inverse of `books` continues `editor`, so `books` cannot continue `author`.
    let new = LibraryModel.make()
    new.entitiesByName["Book"]?.propertiesByName["author"]?.name = "editor"
    let mapping = try InferredMapping(from: old.entities, to: new.entities)
    #expect(mapping.warnings.count == 1)
    #expect(mapping.warnings[0].hasPrefix("Author.books loses its members: its inverse editor continues Book.editor"))
    try #expect(InferredMapping(from: old.entities, to: old.entities).warnings.isEmpty)
  }

  @Test func theWarningIsWrittenToStandardError() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let old = LibraryModel.make()
      let (author, book) = (try #require(old.entitiesByName["Author"]), try #require(old.entitiesByName["Book"]))
      Make.relate(author, "edited", book, "editor", toMany: (true, false))
      let store = try TemporaryStore(old)
      let new = LibraryModel.make()
      new.entitiesByName["Book"]?.propertiesByName["author"]?.name = "editor"
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: new)
      try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: store.url,
        options: [NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true])
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("the migration changes data: Author.books loses its members"), "\(text)")
  }

  @Test func aParentIsPutAboveAndPropertiesMoveUpAndDown() throws {
    let store = try library()
    let model = LibraryModel.make()
    let (book, comic) = (try #require(model.entitiesByName["Book"]), try #require(model.entitiesByName["Comic"]))
    let work = Make.entity("Work", [])
    let title = try #require(book.propertiesByName["title"])
    book.properties.removeAll { $0.name == "title" || $0.name == "weight" }
    work.properties = [title]
    comic.properties += [Make.attribute("weight", .floatAttributeType)]
    work.subentities = [book]
    work.isAbstract = true
    model.entities += [work]
    let context = try migrate(store, to: model)
    try context.performAndWait {
      try #expect(context.all("Work", sort: "title").map { $0.text("title") } == ["One", "Two"])
      try #expect(context.all("Comic").map { $0.text("title") } == ["Two"])
      try #expect(context.all("Book", where: "author.name == 'Ada'").count == 2)
      context.make("Book", ["title": "Three"])
      try context.save()
    }
    try #expect(store.sql("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Work'") == [["3"]])
  }

  @Test func aConstraintIsAddedWhereItHolds() throws {
    let store = try library()
    let model = LibraryModel.make()
    model.entitiesByName["Tag"]?.uniquenessConstraints = [["label"]]
    let context = try migrate(store, to: model)
    context.performAndWait {
      context.make("Tag", ["label": "x"])
      expectError(133021) { try context.save() }
    }
  }

  @Test func historyGoesOnWithTheNewEntities() throws {
    let store = try library(options: [NSPersistentHistoryTrackingKey: true])
    let model = LibraryModel.make()
    model.entities += [Make.entity("Aardvark", [Make.attribute("name", .stringAttributeType)])]
    let context = try migrate(store, to: model)
    try context.performAndWait {
      let request = NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?)
      request.resultType = .objectIDs
      let ids = (try context.execute(request) as? NSPersistentHistoryResult)?.result as? [NSManagedObjectID]
      let names = Set((ids ?? []).compactMap { $0.entity.name })
      #expect(names == ["Author", "Book", "Comic", "Passport", "Tag"])
      for id in ids ?? [] { _ = try context.existingObject(with: id) }
    }
  }

  @Test func aMigrationIsATransactionOfTheHistory() throws {
    let store = try library(options: [NSPersistentHistoryTrackingKey: true])
    let digest = try #require(
      store.coordinator.persistentStores[0].metadata["NSStoreModelVersionHashesDigest"] as? String)
    let model = LibraryModel.make()
    model.entities += [Make.entity("Aardvark", [Make.attribute("name", .stringAttributeType)])]
    let options = LibraryMigration.options().merging([NSPersistentHistoryTrackingKey: true]) { one, _ in one }
    let context = try migrate(store, to: model, options: options)
    try context.performAndWait {
      context.make("Aardvark", ["name": "a"])
      try context.save()
      let request = NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?)
      let result = try context.execute(request) as? NSPersistentHistoryResult
      let transactions = try #require(result?.result as? [NSPersistentHistoryTransaction])
      #expect(transactions.map { $0.changes?.isEmpty } == [false, true, false])
      #expect(
        transactions[1].author == "com.apple.coredata.schemamigrator: lightweight migration from model with digest "
          + "{ \(digest) }")
    }
  }

  // MARK: The decision

  @Test func theSameModelIsOpenedAsItIs() throws {
    let store = try library()
    let before = try store.sql("SELECT sql FROM sqlite_master ORDER BY name")
    _ = try migrate(store, to: LibraryModel.make())
    try #expect(store.sql("SELECT sql FROM sqlite_master ORDER BY name") == before)
  }

  @Test func withoutTheOptionsAnotherModelIsRefused() throws {
    let store = try library()
    func other() -> NSManagedObjectModel {
      let model = LibraryModel.make()
      model.entitiesByName["Tag"]?.properties += [Make.attribute("color", .stringAttributeType)]
      return model
    }
    expectError(134100) { try migrate(store, to: other(), options: LibraryMigration.options(migrate: false)) }
    expectError(134140) { try migrate(store, to: other(), options: LibraryMigration.options(infer: false)) }
    try #expect(store.sql("SELECT count(*) FROM pragma_table_info('ZTAG') WHERE name = 'ZCOLOR'") == [["0"]])
  }

  @Test func aDescriptionMigratesUnlessItSaysOtherwise() throws {
    let store = try library()
    let model = LibraryModel.make()
    model.entitiesByName["Tag"]?.properties += [Make.attribute("color", .stringAttributeType)]
    let container = NSPersistentContainer(name: "L", managedObjectModel: model)
    let description = NSPersistentStoreDescription(url: store.url)
    description.shouldMigrateStoreAutomatically = false
    container.persistentStoreDescriptions = [description]
    let codes = Codes()
    container.loadPersistentStores { codes.add(($1 as NSError?)?.code) }
    description.shouldMigrateStoreAutomatically = true
    container.loadPersistentStores { codes.add(($1 as NSError?)?.code) }
    #expect(codes.all == [134100, nil])
  }

  // MARK: What cannot be inferred leaves the store as it was

  @Test func changesThatCannotBeInferredAreErrorsAndChangeNothing() throws {
    let store = try library()
    let before = try store.sql("SELECT sql FROM sqlite_master ORDER BY name")
    let changes: [(NSManagedObjectModel) -> Void] = [
      { $0.entitiesByName["Book"]?.attributesByName["pages"]?.attributeType = .stringAttributeType },
      { $0.entitiesByName["Book"]?.attributesByName["rating"]?.isOptional = false },
      { model in
        model.entitiesByName["Tag"]?.properties += [Make.attribute("color", .stringAttributeType, optional: false)]
      },
      { $0.entitiesByName["Author"]?.relationshipsByName["books"]?.maxCount = 1 },
      { $0.entitiesByName["Tag"]?.subentities = [$0.entitiesByName["Passport"]!] },
    ]
    for change in changes {
      let model = LibraryModel.make()
      change(model)
      expectError(134190) { try migrate(store, to: model) }
    }
    try #expect(store.sql("SELECT sql FROM sqlite_master ORDER BY name") == before)
  }

  @Test func aConstraintThatDoesNotHoldIsAnErrorAndChangesNothing() throws {
    let store = try library()
    try store.save { $0.make("Tag", ["label": "x"]) }
    let model = LibraryModel.make()
    model.entitiesByName["Tag"]?.uniquenessConstraints = [["label"]]
    expectError(134111) { try migrate(store, to: model) }
    try store.read { try #expect($0.all("Tag").count == 3) }
    try #expect(store.sql("SELECT count(*) FROM sqlite_master WHERE name LIKE 'cd_old%'") == [["0"]])
  }

  @Test func aProcessThatIsKilledInTheMiddleLeavesTheOldStore() async throws {
    let store = try library()
    let before = try store.sql("SELECT sql FROM sqlite_master ORDER BY name")
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = store.url.path as String] in
      let model = LibraryModel.make()
      let new = LibraryModel.make()
      new.entitiesByName["Tag"]?.properties += [LibraryModel.attribute("color", .stringAttributeType)]
      let database = try SQLiteDatabase(SQLiteDatabase.Configuration(path: path))
      try database.write { connection in
        try StoreMigration(from: model.entities, to: new.entities, prefix: "Z", connection).run()
        kill(getpid(), SIGKILL)
      }
    }
    try #expect(store.sql("SELECT sql FROM sqlite_master ORDER BY name") == before)
    try store.read { try #expect($0.all("Book").count == 2) }
    try #expect(store.sql("PRAGMA integrity_check") == [["ok"]])
  }
}

/// The codes of the errors that a handler got.
private final class Codes: @unchecked Sendable {
  // `@unchecked Sendable`: added to and read on the one thread of a test.
  private(set) var all: [Int?] = []
  func add(_ code: Int?) { all.append(code) }
}

import Testing

@testable import CoreData

@Suite struct BatchInsertTests {
  private func execute(
    _ request: NSBatchInsertRequest, _ store: TemporaryStore, policy: NSMergePolicy = .error
  ) throws -> Any? {
    try store.read { context in
      context.mergePolicy = policy
      return (try context.execute(request) as? NSBatchInsertResult)?.result
    }
  }

  @Test func rowsComeFromDictionariesWithTheModelsDefaultsForWhatIsMissing() throws {
    let store = try TemporaryStore()
    let uuid = UUID()
    let request = NSBatchInsertRequest(
      entityName: "Book",
      objects: [
        ["title": "One", "pages": 12, "price": Decimal(string: "3.5")!, "isRead": true, "uuid": uuid],
        ["title": "Two", "rating": NSNumber(value: 4.5), "pages": NSNull(), "cover": Data([1, 2])],
      ])
    try #expect(execute(request, store) as? Bool == true)
    try store.read { context in
      let books = try context.all("Book", sort: "title")
      #expect(books.map { $0.text("title") } == ["One", "Two"])
      #expect(books[0].value(forKey: "pages") as? Int == 12 && books[0].value(forKey: "isRead") as? Bool == true)
      #expect(books[0].value(forKey: "price") as? Decimal == Decimal(string: "3.5"))
      #expect(books[0].value(forKey: "uuid") as? UUID == uuid)
      #expect(books[1].value(forKey: "pages") == nil && books[1].value(forKey: "isRead") as? Bool == false)
      #expect(books[1].value(forKey: "rating") as? Double == 4.5)
      #expect(books[1].value(forKey: "cover") as? Data == Data([1, 2]))
    }
    try #expect(store.sql("SELECT DISTINCT Z_OPT FROM ZBOOK") == [["1"]])
    try #expect(store.sql("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Book'") == [["2"]])
  }

  @Test func everyResultTypeGivesItsResult() throws {
    let store = try TemporaryStore()
    let request = NSBatchInsertRequest(entityName: "Author", objects: [["name": "A"], ["name": "B"]])
    request.resultType = .count
    try #expect(execute(request, store) as? Int == 2)
    request.resultType = .objectIDs
    let ids = try #require(try execute(request, store) as? [NSManagedObjectID])
    #expect(ids.count == 2)
    try store.read { context in
      let names = try ids.map { try context.existingObject(with: $0).text("name") }
      #expect(names == ["A", "B"])
    }
    request.resultType = .statusOnly
    try #expect(execute(request, store) as? Bool == true)
  }

  @Test func aDictionaryHandlerIsAskedUntilItReturnsTrueAndGetsAnEmptyDictionaryEachTime() throws {
    let store = try TemporaryStore()
    var calls = 0
    var rowCounts: [Int] = []
    let request = NSBatchInsertRequest(entityName: "Book") { (row: NSMutableDictionary) in
      rowCounts.append(row.count)
      calls += 1
      if calls == 4 { return true }
      row["title"] = "Book \(calls)"
      if calls == 1 { row["pages"] = 7 }
      return false
    }
    request.resultType = .count
    try #expect(execute(request, store) as? Int == 3)
    #expect(calls == 4 && rowCounts == [0, 0, 0, 0])
    try #expect(
      store.sql("SELECT ZTITLE, ZPAGES FROM ZBOOK ORDER BY 1") == [
        ["Book 1", "7"], ["Book 2", "0"], ["Book 3", "0"],
      ])
  }

  @Test func anObjectHandlerFillsTheSameObjectWithDefaultsEachTime() throws {
    let store = try TemporaryStore()
    var pages: [Int?] = []
    var number = 0
    let request = NSBatchInsertRequest(entityName: "Book") { (book: NSManagedObject) in
      pages.append(book.value(forKey: "pages") as? Int)
      number += 1
      if number == 3 { return true }
      book.setValue("Book \(number)", forKey: "title")
      book.setValue(number, forKey: "pages")
      return false
    }
    try #expect(execute(request, store) as? Bool == true)
    #expect(pages == [0, 0, 0])
    try #expect(store.sql("SELECT ZTITLE, ZPAGES FROM ZBOOK ORDER BY 1") == [["Book 1", "1"], ["Book 2", "2"]])
  }

  @Test func aMandatoryValueThatIsMissingFailsTheBatchWhole() throws {
    let store = try TemporaryStore()
    let request = NSBatchInsertRequest(entityName: "Book", objects: [["title": "One"], ["pages": 3]])
    expectError(1570) { try execute(request, store) }
    try #expect(store.sql("SELECT count(*) FROM ZBOOK") == [["0"]])
  }

  @Test func unknownKeysRelationshipsAndWrongTypesAreErrors() throws {
    let store = try TemporaryStore()
    for row: [String: Any] in [["titel": "x"], ["author": "x"], ["tags": []], ["title": "x", "pages": "seven"]] {
      let request = NSBatchInsertRequest(entityName: "Book", objects: [row])
      expectError(134070) { try execute(request, store) }
    }
    expectError(134070) { try execute(NSBatchInsertRequest(entityName: "Bock", objects: []), store) }
    try #expect(store.sql("SELECT count(*) FROM ZBOOK") == [["0"]])
  }

  @Test func aToOneRelationshipIsSetByTheIDOfAnObject() throws {
    let store = try TemporaryStore()
    let (author, passport) = try store.save { context in
      (context.make("Author", ["name": "Ada"]), context.make("Passport"))
    }
    let (id, passportID) = (author.objectID, passport.objectID)
    let rows: [[String: Any]] = [["title": "One", "author": id], ["title": "Two", "author": NSNull()]]
    _ = try execute(NSBatchInsertRequest(entityName: "Book", objects: rows), store)
    var more = ["Three", "Four"]
    let handler = NSBatchInsertRequest(entityName: "Book") { (row: NSMutableDictionary) in
      guard let title = more.popLast() else { return true }
      row.addEntries(from: ["title": title, "author": id])
      return false
    }
    _ = try execute(handler, store)
    try store.read { context in
      let titles = context.object(with: id).members("books").compactMap { $0.text("title") }
      #expect(titles.sorted() == ["Four", "One", "Three"])
    }
    // IDs of another entity or store, and relationships of one to one, are errors.
    let other = try TemporaryStore().save { $0.make("Author", ["name": "Bob"]) }.objectID
    for (entity, row): (String, [String: Any]) in [
      ("Book", ["title": "x", "author": passportID]), ("Book", ["title": "x", "author": other]),
      ("Author", ["name": "x", "passport": passportID]),
    ] {
      expectError(134070) { try execute(NSBatchInsertRequest(entityName: entity, objects: [row]), store) }
    }
  }

  @Test func rowsOfASubentityBearItsNumberAndInheritedValues() throws {
    let store = try TemporaryStore()
    let request = NSBatchInsertRequest(entityName: "Comic", objects: [["title": "One", "artist": "A"]])
    request.resultType = .objectIDs
    let ids = try #require(try execute(request, store) as? [NSManagedObjectID])
    #expect(ids.map(\.entity.name) == ["Comic"])
    try store.read { context in
      try #expect(context.all("Book").map { $0.text("title") } == ["One"])
      try #expect(context.all("Comic").map { $0.text("artist") } == ["A"])
    }
  }

  @Test func savesAndBatchesTakeDifferentKeys() throws {
    let store = try TemporaryStore()
    try store.save { $0.make("Tag", ["label": "first"]) }
    _ = try execute(NSBatchInsertRequest(entityName: "Tag", objects: [["label": "second"]]), store)
    try store.save { $0.make("Tag", ["label": "third"]) }
    try #expect(
      store.sql("SELECT Z_PK, ZLABEL FROM ZTAG ORDER BY 1") == [["1", "first"], ["2", "second"], ["3", "third"]])
  }

  @Test func derivedAttributesAreComputed() throws {
    let store = try TemporaryStore(CountingModel.make())
    _ = try execute(NSBatchInsertRequest(entityName: "Shelf", objects: [["label": "A"]]), store)
    try #expect(store.sql("SELECT ZBOOKCOUNT FROM ZSHELF") == [["0"]])
  }

  // MARK: Uniqueness constraints

  private func uniqueStore() throws -> TemporaryStore {
    let model = LibraryModel.make()
    model.entitiesByName["Tag"]?.uniquenessConstraints = [["label"]]
    model.entitiesByName["Tag"]?.properties += [LibraryModel.attribute("weight", .integer32AttributeType, default: 5)]
    let store = try TemporaryStore(model)
    try store.save { $0.make("Tag", ["label": "old", "weight": 1]) }
    return store
  }

  private let rows: [[String: Any]] = [
    ["label": "new", "weight": 2], ["label": "old", "weight": 3], ["label": "last"],
  ]

  @Test func aDuplicateFailsTheBatchUnderTheErrorPolicy() throws {
    let store = try uniqueStore()
    expectError(133021) { try execute(NSBatchInsertRequest(entityName: "Tag", objects: rows), store) }
    try #expect(store.sql("SELECT ZLABEL FROM ZTAG") == [["old"]])
  }

  @Test func rowsThatFillNoGroupAreInsertedToo() throws {
    let store = try uniqueStore()
    let rows = (1...47).map { ["label": "tag \($0)", "weight": $0] as [String: Any] }
    let request = NSBatchInsertRequest(entityName: "Tag", objects: rows)
    request.resultType = .objectIDs
    let ids = try execute(request, store) as? [NSManagedObjectID]
    #expect(ids?.map { $0.uriRepresentation().lastPathComponent } == (2...48).map { "p\($0)" })
    try #expect(
      store.sql("SELECT Z_PK, ZLABEL FROM ZTAG WHERE ZWEIGHT = Z_PK - 1 ORDER BY 1")
        == (1...47).map { ["\($0 + 1)", "tag \($0)"] })
  }

  @Test(arguments: [false, true])
  func theFirstBadRowOfManyTellsItsError(isDuplicateFirst: Bool) throws {
    let store = try uniqueStore()
    let duplicate: [String: Any] = ["label": "old"]
    let wrong: [String: Any] = ["label": "x", "length": 1]
    let good = (1...33).map { ["label": "tag \($0)"] as [String: Any] }
    let bad = isDuplicateFirst ? [duplicate, wrong] : [wrong, duplicate]
    expectError(isDuplicateFirst ? 133021 : 134070) {
      try execute(NSBatchInsertRequest(entityName: "Tag", objects: good + bad), store)
    }
    try #expect(store.sql("SELECT ZLABEL FROM ZTAG") == [["old"]])
  }

  @Test func aDuplicateIsLeftOutWhereTheStoreTrumps() throws {
    let store = try uniqueStore()
    let request = NSBatchInsertRequest(entityName: "Tag", objects: rows)
    request.resultType = .objectIDs
    let ids = try #require(
      try execute(request, store, policy: .mergeByPropertyStoreTrump) as? [NSManagedObjectID])
    #expect(ids.map(\.uriString).map { $0.suffix(6) } == ["Tag/p2", "Tag/p3"])
    #expect(
      try store.sql("SELECT ZLABEL, ZWEIGHT, Z_OPT FROM ZTAG ORDER BY Z_PK")
        == [["old", "1", "1"], ["new", "2", "1"], ["last", "5", "1"]])
  }

  @Test func aDuplicateIsWrittenIntoTheOldRowWhereTheObjectTrumps() throws {
    let store = try uniqueStore()
    let request = NSBatchInsertRequest(entityName: "Tag", objects: rows + [["label": "old"]])
    request.resultType = .objectIDs
    let ids = try #require(
      try execute(request, store, policy: .mergeByPropertyObjectTrump) as? [NSManagedObjectID])
    #expect(ids.map(\.uriString).map { $0.suffix(6) } == ["Tag/p2", "Tag/p1", "Tag/p3", "Tag/p1"])
    // Values that a row does not name stay as they were in the store.
    #expect(
      try store.sql("SELECT ZLABEL, ZWEIGHT, Z_OPT FROM ZTAG ORDER BY Z_PK")
        == [["old", "3", "3"], ["new", "2", "1"], ["last", "5", "1"]])
  }

  // MARK: Where

  @Test func storesInMemoryDoNotKnowBatchRequests() throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    let context = coordinator.context()
    context.performAndWait {
      expectError(134091) { try context.execute(NSBatchInsertRequest(entityName: "Tag", objects: [])) }
      let update = NSBatchUpdateRequest(entityName: "Tag")
      update.propertiesToUpdate = ["label": "x"]
      expectError(134091) { try context.execute(update) }
      let delete = NSBatchDeleteRequest(fetchRequest: NSFetchRequest<NSManagedObject>(entityName: "Tag"))
      expectError(134091) { try context.execute(delete) }
    }
  }

  @Test func aSQLiteStoreAtDevNullKnowsBatchRequests() throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: URL(fileURLWithPath: "/dev/null"))
    let context = coordinator.context()
    try context.performAndWait {
      try context.execute(NSBatchInsertRequest(entityName: "Tag", objects: [["label": "x"]]))
      try #expect(context.all("Tag").count == 1)
    }
  }

  @Test func aReadOnlyStoreRefuses() throws {
    let store = try TemporaryStore()
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: store.url,
      options: [NSReadOnlyPersistentStoreOption: true])
    let context = coordinator.context()
    context.performAndWait {
      expectError(134030) { try context.execute(NSBatchInsertRequest(entityName: "Tag", objects: [["label": "x"]])) }
    }
  }
}

/// Shelves that count their books.
enum CountingModel {
  static func make() -> NSManagedObjectModel {
    let shelf = LibraryModel.entity("Shelf", [LibraryModel.attribute("label", .stringAttributeType)])
    let book = LibraryModel.entity("Book", [LibraryModel.attribute("title", .stringAttributeType)])
    LibraryModel.relate(shelf, "books", book, "shelf", toMany: (true, false))
    let count = NSDerivedAttributeDescription()
    count.name = "bookCount"
    count.attributeType = .integer64AttributeType
    count.isOptional = true
    count.derivationExpression = NSExpression(forKeyPath: "books.@count")
    shelf.properties += [count]
    let model = NSManagedObjectModel()
    model.entities = [shelf, book]
    return model
  }
}

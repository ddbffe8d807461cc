import Testing

@testable import CoreData

@Suite struct BatchUpdateTests {
  private func execute(_ request: NSBatchUpdateRequest, _ store: TemporaryStore) throws -> Any? {
    try store.read { (try $0.execute(request) as? NSBatchUpdateResult)?.result }
  }

  private func update(
    _ entity: String, _ values: [AnyHashable: Any], where format: String? = nil,
    type: NSBatchUpdateRequestResultType = .updatedObjectsCountResultType
  ) -> NSBatchUpdateRequest {
    let request = NSBatchUpdateRequest(entityName: entity)
    request.propertiesToUpdate = values
    request.predicate = format.map { NSPredicate(format: $0) }
    request.resultType = type
    return request
  }

  private func library() throws -> TemporaryStore {
    let store = try TemporaryStore()
    try store.save { context in
      let author = context.make("Author", ["name": "A"])
      context.make("Book", ["title": "One", "pages": 10, "author": author])
      context.make("Book", ["title": "Two", "pages": 20])
      context.make("Comic", ["title": "Three", "pages": 30, "author": author])
    }
    return store
  }

  @Test func aRequestKnowsItsEntityAndTakesIt() throws {
    let store = try library()
    let comic = try #require(store.model.entitiesByName["Comic"])
    let request = NSBatchUpdateRequest(entity: comic)
    #expect(request.entity === comic && request.entityName == "Comic")
    #expect(NSBatchUpdateRequest(entityName: "Comic").entity.name == "Comic")
    request.propertiesToUpdate = ["artist": "B"]
    request.resultType = .updatedObjectsCountResultType
    try #expect(execute(request, store) as? Int == 1)
    try #expect(store.sql("SELECT ZARTIST FROM ZBOOK WHERE ZTITLE = 'Three'") == [["B"]])
  }

  @Test func constantsAreWrittenToTheRowsThatMatch() throws {
    let store = try library()
    let values: [AnyHashable: Any] = ["isRead": true, "price": Decimal(string: "9.5")!, "uuid": NSNull()]
    let request = update("Book", values, where: "pages > 10")
    try #expect(execute(request, store) as? Int == 2)
    #expect(
      try store.sql("SELECT ZTITLE, ZISREAD, ZPRICE, Z_OPT FROM ZBOOK ORDER BY ZPAGES")
        == [["One", "0", nil, "1"], ["Two", "1", "9.5", "2"], ["Three", "1", "9.5", "2"]])
  }

  @Test func expressionsAreComputedFromTheRowsOwnValues() throws {
    let store = try library()
    let title = NSExpression(forFunction: "uppercase:", arguments: [NSExpression(forKeyPath: "title")])
    let request = update("Book", ["pages": NSExpression(format: "pages * 1.25 + 1"), "title": title])
    try #expect(execute(request, store) as? Int == 3)
    #expect(
      try store.sql("SELECT ZTITLE, ZPAGES, typeof(ZPAGES) FROM ZBOOK ORDER BY ZPAGES")
        == [["ONE", "13", "integer"], ["TWO", "26", "integer"], ["THREE", "38", "integer"]])
  }

  @Test func aPropertyMayBeNamedByItsDescriptionAndAConstantByAnExpression() throws {
    let store = try library()
    let pages = try #require(store.model.entitiesByName["Book"]?.propertiesByName["pages"])
    let request = update("Book", [pages: NSExpression(forConstantValue: 5)])
    try #expect(execute(request, store) as? Int == 3)
    try #expect(store.sql("SELECT DISTINCT ZPAGES FROM ZBOOK") == [["5"]])
  }

  @Test func aPredicateMayReachAcrossRelationships() throws {
    let store = try library()
    try #expect(execute(update("Book", ["pages": 1], where: "author.name == 'A'"), store) as? Int == 2)
    try #expect(execute(update("Author", ["name": "B"], where: "ANY books.title == 'One'"), store) as? Int == 1)
  }

  @Test func aToOneRelationshipIsSetByObjectID() throws {
    let store = try library()
    let id = try store.save { $0.make("Author", ["name": "C"]) }.objectID
    try #expect(execute(update("Book", ["author": id], where: "title == 'Two'"), store) as? Int == 1)
    try #expect(execute(update("Book", ["author": NSNull()], where: "title == 'One'"), store) as? Int == 1)
    try store.read { context in
      try #expect(context.all("Book", where: "author.name == 'C'").map { $0.text("title") } == ["Two"])
      try #expect(context.all("Book", where: "author == nil").map { $0.text("title") } == ["One"])
    }
    let book = try store.read { try $0.all("Book")[0].objectID }
    expectError(134070) { try execute(update("Book", ["author": book]), store) }
    expectError(134070) { try execute(update("Author", ["passport": NSNull()]), store) }
    expectError(134070) { try execute(update("Author", ["books": NSNull()]), store) }
  }

  @Test func includesSubentitiesSaysWhetherTheirRowsCount() throws {
    let store = try library()
    let request = update("Book", ["pages": 0])
    request.includesSubentities = false
    try #expect(execute(request, store) as? Int == 2)
    try #expect(execute(update("Comic", ["artist": "x"]), store) as? Int == 1)
  }

  @Test func unknownPropertiesWrongTypesMissingValuesAndOtherRowsAreErrors() throws {
    let store = try library()
    expectError(134070) { try execute(update("Book", ["titel": "x"]), store) }
    expectError(134070) { try execute(update("Book", ["pages": "x"]), store) }
    expectError(134070) { try execute(update("Book", ["note": "x"]), store) }
    expectError(1570) { try execute(update("Book", ["title": NSNull()]), store) }
    expectError(134070) { try execute(update("Book", [:]), store) }
    expectError(134070) { try execute(update("Book", ["title": NSExpression(forKeyPath: "author.name")]), store) }
    try #expect(store.sql("SELECT DISTINCT Z_OPT FROM ZBOOK") == [["1"]])
  }

  @Test func contextsStayAsTheyAreUntilTheResultIsMerged() throws {
    let store = try library()
    let context = store.context()
    try context.performAndWait {
      let book = try context.all("Book", where: "title == 'One'")[0]
      #expect(book.value(forKey: "pages") as? Int == 10)
      let ids = try execute(update("Book", ["pages": 99], type: .updatedObjectIDsResultType), store)
      #expect((ids as? [NSManagedObjectID])?.count == 3)
      #expect(book.value(forKey: "pages") as? Int == 10)
      NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [NSUpdatedObjectsKey: ids ?? []], into: [context])
      #expect(book.value(forKey: "pages") as? Int == 99)
      book.setValue("Uno", forKey: "title")
      try context.save()
    }
    try #expect(store.sql("SELECT Z_OPT FROM ZBOOK WHERE ZTITLE = 'Uno'") == [["3"]])
  }

  @Test func aSaveOverABatchUpdateIsAConflict() throws {
    let store = try library()
    let context = store.context()
    try context.performAndWait {
      let book = try context.all("Book", where: "title == 'One'")[0]
      book.setValue(11, forKey: "pages")
      _ = try execute(update("Book", ["pages": 99]), store)
      expectError(133020) { try context.save() }
    }
  }

  @Test func theRowCacheOfEveryCoordinatorOfTheProcessForgetsWhatABatchWrote() throws {
    let store = try library()
    let other = try store.otherCoordinator()
    let contexts = [store.coordinator, other].map { coordinator in
      return coordinator.context()
    }
    for context in contexts {
      let pages = try context.performAndWait { try context.all("Book").map { $0.value(forKey: "pages") as? Int } }
      #expect(pages.count == 3)
    }
    _ = try execute(update("Book", ["pages": 7]), store)
    for context in contexts {
      try context.performAndWait {
        // The objects left their contexts with the arrays, so the next reads come from the cache or the file.
        let id = try #require(context.persistentStoreCoordinator?.objectID(forURI: context.bookURI()))
        context.reset()
        try #expect(context.existingObject(with: id).value(forKey: "pages") as? Int == 7)
      }
    }
  }

  @Test func aConstraintThatAnUpdateWouldBreakFailsItWhole() throws {
    let model = LibraryModel.make()
    model.entitiesByName["Tag"]?.uniquenessConstraints = [["label"]]
    let store = try TemporaryStore(model)
    try store.save { context in for label in ["a", "b"] { context.make("Tag", ["label": label]) } }
    expectError(133021) { try execute(update("Tag", ["label": "c"]), store) }
    try #expect(store.sql("SELECT ZLABEL FROM ZTAG ORDER BY 1") == [["a"], ["b"]])
  }
}

extension NSManagedObjectContext {
  fileprivate func bookURI() throws -> String { try all("Book", sort: "title")[0].objectID.uriString }
}

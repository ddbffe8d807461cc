import CoreData
import Testing

/// The rules of fetching, one by one. `FetchCostTests` counts the statements.
@Suite struct FetchRuleTests {
  /// Books "b0" to "b3" with 0 to 3 pages by Ada; b3 has no rating, the others 1.
  static func fill(_ context: NSManagedObjectContext) throws {
    let author = context.make("Author", ["name": "Ada"])
    let tags = (0..<2).map { context.make("Tag", ["label": "t\($0)"]) }
    for number in 0..<4 {
      let book = context.make("Book", ["title": "b\(number)", "pages": number, "author": author, "tags": Set(tags)])
      if number < 3 { book.setValue(1.0, forKey: "rating") }
    }
    try context.save()
  }

  private func library(_ model: NSManagedObjectModel = LibraryModel.make()) throws -> TemporaryStore {
    let store = try TemporaryStore(model)
    let context = store.context()
    try context.performAndWait { try Self.fill(context) }
    return store
  }

  private func request<T>(_ type: T.Type, _ configure: (NSFetchRequest<T>) -> Void = { _ in }) -> NSFetchRequest<T> {
    let request = NSFetchRequest<T>(entityName: "Book")
    request.sortDescriptors = [NSSortDescriptor(key: "pages", ascending: true)]
    configure(request)
    return request
  }

  @Test func dictionaryResultsIgnorePendingChanges() throws {
    try library().read { context in
      context.make("Book", ["title": "new", "pages": -1])
      try context.all("Book", where: "title == 'b0'")[0].setValue("changed", forKey: "title")
      let rows = try context.fetch(
        request(NSDictionary.self) {
          $0.resultType = .dictionaryResultType
          $0.propertiesToFetch = ["title"]
        })
      #expect(rows.map { $0["title"] as? String } == ["b0", "b1", "b2", "b3"])
    }
  }

  @Test func propertiesToFetchMayBeDescriptionsAndObjectsHaveAllValuesAllTheSame() throws {
    let store = try library()
    try store.read { context in
      let title = try #require(store.model.entitiesByName["Book"]?.attributesByName["title"])
      let author = try #require(store.model.entitiesByName["Book"]?.relationshipsByName["author"])
      let rows = try context.fetch(
        request(NSDictionary.self) {
          $0.resultType = .dictionaryResultType
          $0.propertiesToFetch = [title, author]
        })
      #expect(rows[0]["title"] as? String == "b0" && rows[0].count == 2)
      #expect((rows[0]["author"] as? NSManagedObjectID)?.entity.name == "Author")
      let books = try context.fetch(request(NSManagedObject.self) { $0.propertiesToFetch = ["title"] })
      #expect(books.allSatisfy(\.isFault) && books[2].value(forKey: "pages") as? Int == 2)
    }
  }

  @Test func settingsThatContradictEachOtherAreErrors() throws {
    func error(_ configure: (NSFetchRequest<NSDictionary>) -> Void) throws -> String {
      let store = try library()
      let request = request(NSDictionary.self) {
        $0.resultType = .dictionaryResultType
        $0.sortDescriptors = nil
        configure($0)
      }
      return try store.read { context in
        let error = #expect(throws: NSError.self) { _ = try context.fetch(request) as [NSDictionary] }
        return error?.localizedDescription ?? ""
      }
    }
    // To-many relationships cannot be columns, and beside groups only grouped columns and aggregates can.
    try #expect(error { $0.propertiesToFetch = ["tags"] }.contains("\"tags\" leads to many objects"))
    try #expect(
      error {
        $0.propertiesToFetch = ["title", "pages"]
        $0.propertiesToGroupBy = ["title"]
      }.contains("\"pages\" is fetched but not grouped by"))
    try #expect(
      error {
        $0.resultType = .managedObjectResultType
        $0.propertiesToGroupBy = ["title"]
      }.contains("only dictionaries"))
    try #expect(error { $0.havingPredicate = NSPredicate(format: "pages > 1") }.contains("no propertiesToGroupBy"))
  }

  @Test func groupsThatAreNamedReadAsDescriptions() throws {
    try library().read { context in
      let entity = try #require(NSEntityDescription.entity(forEntityName: "Book", in: context))
      let request = NSFetchRequest<NSDictionary>()
      request.propertiesToGroupBy = ["title", "author", "author.name"]
      #expect(request.propertiesToGroupBy as? [String] == ["title", "author", "author.name"])
      request.entity = entity
      let groups = try #require(request.propertiesToGroupBy)
      #expect(groups[0] as? NSAttributeDescription === entity.attributesByName["title"])
      #expect(groups[1] as? NSRelationshipDescription === entity.relationshipsByName["author"])
      #expect(groups[2] as? String == "author.name")
      // What was read can be set, and means the same.
      let again = self.request(NSDictionary.self) {
        $0.resultType = .dictionaryResultType
        $0.sortDescriptors = nil
        $0.propertiesToFetch = ["title"]
        $0.propertiesToGroupBy = [groups[0]]
      }
      try #expect(context.fetch(again).count == 4)
    }
  }

  @Test func distinctResultsAreForDictionariesOnly() throws {
    try library().read { context in
      let objects = request(NSManagedObject.self) {
        $0.returnsDistinctResults = true
        $0.propertiesToFetch = ["rating"]
      }
      try #expect(context.fetch(objects).count == 4)
      let rows = request(NSDictionary.self) {
        $0.resultType = .dictionaryResultType
        $0.returnsDistinctResults = true
        $0.propertiesToFetch = ["rating"]
        $0.sortDescriptors = nil
      }
      try #expect(context.fetch(rows).count == 2)
    }
  }

  @Test func nilComesFirstInAscendingOrderSavedOrNot() throws {
    try library().read { context in
      let byRating = request(NSManagedObject.self) {
        $0.sortDescriptors = ["rating", "pages"].map { NSSortDescriptor(key: $0, ascending: true) }
      }
      try #expect(context.fetch(byRating).map { $0.text("title") } == ["b3", "b0", "b1", "b2"])
      context.make("Book", ["title": "new", "pages": 9])
      try #expect(context.fetch(byRating).map { $0.text("title") } == ["b3", "new", "b0", "b1", "b2"])
      byRating.sortDescriptors = ["rating", "pages"].map { NSSortDescriptor(key: $0, ascending: false) }
      try #expect(context.fetch(byRating).map { $0.text("title") } == ["b2", "b1", "b0", "new", "b3"])
    }
  }

  @Test func idsWithoutValuesAreFetchedInOrderToo() throws {
    try library().read { context in
      let ids = request(NSManagedObjectID.self) {
        $0.resultType = .managedObjectIDResultType
        $0.includesPropertyValues = false
        $0.fetchOffset = 1
        $0.fetchLimit = 2
      }
      try #expect(context.fetch(ids).map { context.object(with: $0).text("title") } == ["b1", "b2"])
      try #expect(context.count(for: ids) == 2)
    }
  }

  @Test func sortingThroughToManyRelationshipsIsAnError() throws {
    try library().read { context in
      let byTag = request(NSManagedObject.self) {
        $0.sortDescriptors = [NSSortDescriptor(key: "tags.label", ascending: true)]
      }
      let error = #expect(throws: NSError.self) { _ = try context.fetch(byTag) as [NSManagedObject] }
      #expect(error?.localizedDescription.contains("tags.label") == true)
    }
  }

  @Test func blocksAndComparatorsAreForStoresInMemory() throws {
    let isOdd = NSPredicate { object, _ in ((object as? NSManagedObject)?.value(forKey: "pages") as? Int ?? 0) % 2 == 1
    }
    let backwards = NSSortDescriptor(key: "title", ascending: true) { a, b in
      ((b as? String) ?? "").compare((a as? String) ?? "")
    }
    let requests = [
      request(NSManagedObject.self) { $0.predicate = isOdd },
      request(NSManagedObject.self) {
        $0.sortDescriptors = [backwards]
        $0.fetchLimit = 2
        $0.fetchOffset = 1
      },
    ]
    try library().read { context in
      for request in requests {
        #expect(throws: NSError.self) { _ = try context.fetch(request) as [NSManagedObject] }
      }
      // The order does not matter to a count.
      #expect(throws: NSError.self) { try context.count(for: requests[0]) }
    }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    let context = coordinator.context()
    try context.performAndWait {
      try Self.fill(context)
      context.reset()
      try #expect(context.fetch(requests[0]).map { $0.text("title") } == ["b1", "b3"])
      try #expect(context.fetch(requests[1]).map { $0.text("title") } == ["b2", "b1"])
      try #expect(context.count(for: requests[0]) == 2)
    }
  }

  @Test func templatesTakeValuesForTheirVariables() throws {
    let model = LibraryModel.make()
    let template = NSFetchRequest<any NSFetchRequestResult>(entityName: "Book")
    template.predicate = NSPredicate(format: "pages >= $least AND author.name == $name AND NOT title IN $titles")
    template.sortDescriptors = [NSSortDescriptor(key: "pages", ascending: true)]
    model.setFetchRequestTemplate(template, forName: "thick")
    try library(model).read { context in
      let loaded = try #require(context.persistentStoreCoordinator?.managedObjectModel)
      let request = try #require(
        loaded.fetchRequestFromTemplate(
          withName: "thick", substitutionVariables: ["least": 1, "name": "Ada", "titles": ["b2"]]))
      let books = try context.fetch(request) as [Any]
      #expect(books.map { ($0 as? NSManagedObject)?.text("title") } == ["b1", "b3"])
      // A template without values for its variables fails and names the missing one.
      let error = #expect(throws: NSError.self) {
        _ = try context.fetch(#require(loaded.fetchRequestTemplate(forName: "thick"))) as [Any]
      }
      #expect(error?.localizedDescription.contains("$least") == true)
    }
  }

  @Test func aRequestByNameHasItsEntityAsLongAsTheModelIsThere() throws {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
    for _ in 0..<2 {
      let store = try library()
      try store.read { context in
        _ = try context.fetch(request)
        #expect(request.entity === store.model.entitiesByName["Book"])
        _ = try context.count(for: request)
        #expect(request.entity === store.model.entitiesByName["Book"])
      }
    }
    #expect(request.entity == nil && request.entityName == "Book")
  }

  @Test func aFetchedPropertyIsFetchedForItsObject() throws {
    let model = LibraryModel.make()
    let author = try #require(model.entitiesByName["Author"])
    let property = NSFetchedPropertyDescription()
    property.name = "thickBooks"
    let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Book")
    request.predicate = NSPredicate(
      format: "author == $FETCH_SOURCE AND pages > 1 AND title != $FETCH_SOURCE.name "
        + "AND $FETCHED_PROPERTY.name == 'thickBooks'")
    request.sortDescriptors = [NSSortDescriptor(key: "pages", ascending: false)]
    property.fetchRequest = request
    author.properties += [property]
    try library(model).read { context in
      let ada = try context.all("Author")[0]
      func titles() -> [String?]? { (ada.value(forKey: "thickBooks") as? [NSManagedObject])?.map { $0.text("title") } }
      #expect(titles() == ["b3", "b2"])
      // Pending changes count. The property itself never changes.
      context.make("Book", ["title": "b9", "pages": 9, "author": ada])
      #expect(titles() == ["b9", "b3", "b2"])
    }
  }

  @Test func aFetchRequestExpressionIsWhatItFinds() throws {
    try library().read { context in
      let thick = NSFetchRequest<NSManagedObject>(entityName: "Book")
      thick.predicate = NSPredicate(format: "pages > 1")
      func expression(countOnly: Bool) -> CoreData.NSExpression {
        NSFetchRequestExpression.expression(
          forFetch: NSExpression(forConstantValue: thick), context: NSExpression(forConstantValue: context),
          countOnly: countOnly)
      }
      let count = expression(countOnly: true)
      #expect(count.expressionType == NSFetchRequestExpressionType && count.expressionType.rawValue == 50)
      #expect(count.expressionValue(with: nil, context: nil) as? Int == 2)
      let isThick = NSComparisonPredicate(
        leftExpression: NSExpression.expressionForEvaluatedObject(), rightExpression: expression(countOnly: false),
        modifier: .direct, type: .in)
      let books = try context.fetch(request(NSManagedObject.self) { $0.predicate = isThick })
      #expect(books.map { $0.text("title") } == ["b2", "b3"])
      #expect(books.allSatisfy { isThick.evaluate(with: $0) })
    }
  }

  @Test func aFormatFetches() throws {
    try library().read { context in
      let thick = NSFetchRequest<NSManagedObject>(entityName: "Book")
      thick.predicate = NSPredicate(format: "pages > 1")
      let isThick = NSPredicate(format: "SELF IN FETCH(%@, %@, NO)", thick, context)
      let books = try context.fetch(request(NSManagedObject.self) { $0.predicate = isThick })
      #expect(books.map { $0.text("title") } == ["b2", "b3"] && books.allSatisfy { isThick.evaluate(with: $0) })
      let count = try NSExpression.parse(format: "FETCH(%@, %@, YES)", arguments: [thick, context])
      #expect(count is NSFetchRequestExpression && count.expressionValue(with: nil, context: nil) as? Int == 2)
      #expect(count.description.hasPrefix("FETCH(") && count.description.hasSuffix(", YES)"))
      let bound = NSPredicate(format: "FETCH($request, $context, YES) == 2")
        .withSubstitutionVariables(["request": thick, "context": context])
      #expect(bound.evaluate(with: nil))
      #expect(throws: PredicateSyntaxError.self) { try NSExpression.parse(format: "FETCH(%@)", arguments: [thick]) }
      // A key of that name stays a key.
      #expect(NSPredicate(format: "fetch == 1").evaluate(with: ["fetch": 1]))
    }
  }

  @Test(arguments: [false, true])
  func whatWasReadStaysAsItIsUnlessTheRequestRefreshes(shouldRefresh: Bool) throws {
    let store = try library()
    try store.read { context in
      let book = try context.all("Book", where: "pages == 0")[0]
      #expect(book.text("title") == "b0")
      try store.save { try $0.all("Book", where: "pages == 0")[0].setValue("theirs", forKey: "title") }
      let again = request(NSManagedObject.self) {
        $0.predicate = NSPredicate(format: "title == 'theirs'")
        $0.shouldRefreshRefetchedObjects = shouldRefresh
      }
      book.setValue(7, forKey: "pages")
      again.includesPendingChanges = false
      try #expect(context.fetch(again) == [book])
      #expect(book.text("title") == (shouldRefresh ? "theirs" : "b0"))
      #expect(book.value(forKey: "pages") as? Int == 7)
    }
  }

  /// b3 has no rating, the others have 1.
  @Test func aFetchForUnlikeLeavesOutNilAndMemoryDoesNot() throws {
    try library().read { context in
      func titles(_ format: String) throws -> [String?] {
        try context.fetch(request(NSManagedObject.self) { $0.predicate = NSPredicate(format: format) })
          .map { $0.text("title") }
      }
      try #expect(titles("rating != 1") == [])
      try #expect(titles("rating != 1 OR rating == nil") == ["b3"])
      try #expect(titles("NOT rating == 1") == ["b3"])
      try #expect(titles("rating < 5") == ["b0", "b1", "b2"])
      try #expect(titles("NOT rating < 5") == ["b3"])
      let unrated = try context.all("Book", where: "rating == nil")[0]
      #expect(NSPredicate(format: "rating != 1").evaluate(with: unrated))
      #expect(!NSPredicate(format: "rating < 5").evaluate(with: unrated))
    }
  }
}

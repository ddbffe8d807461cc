import CoreData
import Testing

/// Fetches of objects that name properties.
@Suite struct PartialFaultTests {
  private static func request(_ properties: [Any]) -> NSFetchRequest<NSManagedObject> {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
    request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
    request.propertiesToFetch = properties
    return request
  }

  @Test func theNamedPropertiesAreThereWithoutAStatementAndAnyOtherReadsTheRow() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      try FetchCostTests.count { context in
        let author = context.persistentStoreCoordinator?.managedObjectModel.entitiesByName["Book"]?
          .relationshipsByName["author"]
        let books = try context.fetch(PartialFaultTests.request(["title", try #require(author)]))
        FetchCostTests.say("read")
        #expect(books.count == 40 && books[0].text("title") == "b00")
        #expect(books.allSatisfy { $0.isFault && ($0.value(forKey: "author") as? NSManagedObject)?.isFault == true })
        #expect(books[3][ManagedProperty<String?>("title")] == "b03")
        #expect(NSPredicate(format: "title == 'b01'").evaluate(with: books[1]) && books[1].isFault)
        FetchCostTests.say("fire")
        #expect(books[0].value(forKey: "pages") as? Int == 0 && !books[0].isFault)
        #expect(books[0].text("title") == "b00")
        FetchCostTests.say("fired")
        #expect(books[0].value(forKey: "isRead") as? Bool == false && books[1].isFault)
      }
    }
    let selects = FetchCostTests.selects(result)
    #expect(selects["begin"] == 1 && selects["read"] == nil && selects["fire"] == 1 && selects["fired"] == nil)
  }

  @Test func changesStartFromTheWholeRowAndRefreshedOnesForgetWhatTheFetchBrought() throws {
    let store = try TemporaryStore()
    try store.save { context in
      for title in ["a", "b", "c"] { context.make("Book", ["title": title, "pages": 3]) }
    }
    let context = try store.otherCoordinator().context()
    try context.performAndWait {
      let books = try context.fetch(Self.request(["title"]))
      books[0].setValue("A", forKey: "title")
      #expect(!books[0].isFault && books[0].value(forKey: "pages") as? Int == 3)
      #expect(Array(books[0].changedValues().keys) == ["title"])
      try context.save()
      try store.save { other in
        for book in try other.all("Book", where: "title != 'A'") { book.setValue("new", forKey: "title") }
      }
      // Values that were read stay until a refresh.
      #expect(books[1].text("title") == "b")
      context.refresh(books[1], mergeChanges: false)
      context.stalenessInterval = 0
      #expect(books[1].text("title") == "new" && books[2].text("title") == "c")
      books[2].setValue(4, forKey: "pages")
      #expect(books[2].text("title") == "new")
      try context.save()
    }
    try #expect(
      store.sql("SELECT ZTITLE, ZPAGES FROM ZBOOK ORDER BY Z_PK") == [["A", "3"], ["new", "3"], ["new", "4"]])
  }

  @Test func withoutFaultsWithABatchSizeOrWithChangesObjectsHaveAll() throws {
    let store = try TemporaryStore()
    try store.save { $0.make("Book", ["title": "a", "pages": 3]) }
    try store.read { context in
      let request = Self.request(["title"])
      request.returnsObjectsAsFaults = false
      try #expect(context.fetch(request).first?.isFault == false)
      context.reset()
      request.returnsObjectsAsFaults = true
      request.fetchBatchSize = 5
      try #expect(context.fetch(request).first?.value(forKey: "pages") as? Int == 3)
      request.fetchBatchSize = 0
      context.reset()
      context.make("Book", ["title": "b"])
      try #expect(context.fetch(request).map { $0.text("title") } == ["a", "b"])
      request.propertiesToFetch = ["tags", "nothing"]
      try #expect(context.fetch(request).map { $0.text("title") } == ["a", "b"])
    }
  }
}

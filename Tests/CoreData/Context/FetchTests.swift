import CoreData
import Testing

/// Fetches through a context on a real file.
@Suite struct FetchTests {
  /// Ten books "b0" to "b9" with 0 to 9 pages, the even ones by Ada, the others by Bob; b0 to b2 have as many tags as
  /// pages.
  private func library() throws -> TemporaryStore {
    let store = try TemporaryStore()
    try store.save { context in
      let authors = ["Ada", "Bob"].map { context.make("Author", ["name": $0]) }
      let tags = (0..<2).map { context.make("Tag", ["label": "t\($0)"]) }
      for number in 0..<10 {
        let book = context.make("Book", ["title": "b\(number)", "pages": number, "author": authors[number % 2]])
        if number < 3 { book.setValue(Set(tags.prefix(number)), forKey: "tags") }
      }
    }
    return store
  }

  private func books(
    _ context: NSManagedObjectContext, _ predicate: NSPredicate? = nil, limit: Int = 0, offset: Int = 0
  ) throws -> [String] {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
    request.predicate = predicate
    request.sortDescriptors = [NSSortDescriptor(key: "pages", ascending: true)]
    request.fetchLimit = limit
    request.fetchOffset = offset
    let titles = try context.fetch(request).compactMap { $0.text("title") }
    try #expect(context.count(for: request) == titles.count)
    return titles
  }

  @Test func limitAndOffsetCutAWindow() throws {
    try library().read { context in
      try #expect(books(context, limit: 3) == ["b0", "b1", "b2"])
      try #expect(books(context, limit: 3, offset: 8) == ["b8", "b9"])
      try #expect(books(context, offset: 7) == ["b7", "b8", "b9"])
      try #expect(books(context, offset: 20) == [])
      try #expect(books(context).count == 10)
      // Limit and offset apply after the pending changes.
      context.make("Book", ["title": "first", "pages": -1])
      context.delete(try context.all("Book", where: "title == 'b0'")[0])
      try #expect(books(context, limit: 3) == ["first", "b1", "b2"])
      try #expect(books(context, limit: 2, offset: 8) == ["b8", "b9"])
    }
  }

  /// The same fetches give the same result from the file and from objects that are not saved yet.
  @Test(arguments: [true, false])
  func predicatesGiveTheSameFromTheFileAndFromPendingChanges(isSaved: Bool) throws {
    let saved = try library()
    let store = isSaved ? saved : try TemporaryStore()
    try store.read { context in
      if !isSaved {
        let authors = ["Ada", "Bob"].map { context.make("Author", ["name": $0]) }
        let tags = (0..<2).map { context.make("Tag", ["label": "t\($0)"]) }
        for number in 0..<10 {
          let book = context.make("Book", ["title": "b\(number)", "pages": number, "author": authors[number % 2]])
          if number < 3 { book.setValue(Set(tags.prefix(number)), forKey: "tags") }
        }
      }
      for (format, expected) in [
        ("pages > 7", ["b8", "b9"]), ("pages == 3 OR title == 'b5'", ["b3", "b5"]),
        ("NOT (pages < 8) AND author.name == 'Bob'", ["b9"]), ("pages IN {1, 2, 77}", ["b1", "b2"]),
        ("pages BETWEEN {4, 6}", ["b4", "b5", "b6"]), ("title BEGINSWITH[c] 'B1'", ["b1"]),
        ("title ENDSWITH '7'", ["b7"]), ("title CONTAINS[cd] 'B8'", ["b8"]), ("title LIKE 'b?' AND pages = 2", ["b2"]),
        ("title MATCHES '.[34]'", ["b3", "b4"]), ("author.name LIKE[c] 'ada' AND pages <= 2", ["b0", "b2"]),
        ("ANY tags.label == 't1'", ["b2"]), ("tags.@count == 1", ["b1"]), ("tags.@count > 0", ["b1", "b2"]),
        ("NONE tags.label == 't1' AND pages < 3", ["b0", "b1"]),
        ("ALL tags.label == 't0' AND pages < 3", ["b0", "b1"]),
        ("author == nil", []), ("SUBQUERY(tags, $t, $t.label == 't1').@count == 1", ["b2"]),
      ] as [(String, [String])] {
        try #expect(books(context, NSPredicate(format: format)) == expected, "\(format)")
      }
    }
  }

  @Test func objectsAndIDsAreArguments() throws {
    try library().read { context in
      let ada = try context.all("Author", where: "name == 'Ada'")[0]
      let tag = try context.all("Tag", where: "label == 't1'")[0]
      let book = try context.all("Book", where: "title == 'b4'")[0]
      let other = try context.all("Book", where: "title == 'b7'")[0]
      let even = ["b0", "b2", "b4", "b6", "b8"]
      try #expect(books(context, NSPredicate(format: "author == %@", ada)) == even)
      try #expect(books(context, NSPredicate(format: "author == %@", ada.objectID)) == even)
      try #expect(books(context, NSPredicate(format: "author IN %@", [ada])) == even)
      try #expect(books(context, NSPredicate(format: "author != %@ AND pages < 3", ada)) == ["b1"])
      try #expect(books(context, NSPredicate(format: "SELF == %@", book)) == ["b4"])
      try #expect(books(context, NSPredicate(format: "SELF IN %@", [book.objectID, other.objectID])) == ["b4", "b7"])
      try #expect(books(context, NSPredicate(format: "objectID IN %@", [book.objectID])) == ["b4"])
      try #expect(books(context, NSPredicate(format: "self.objectID == %@", book.objectID)) == ["b4"])
      try #expect(books(context, NSPredicate(format: "%@ IN tags", tag)) == ["b2"])
      try #expect(books(context, NSPredicate(format: "tags CONTAINS %@", tag)) == ["b2"])
      try #expect(books(context, NSPredicate(format: "ANY tags == %@", tag)) == ["b2"])
      // An unsaved object matches in memory.
      let new = context.make("Author", ["name": "New"])
      try #expect(books(context, NSPredicate(format: "author == %@", new)) == [])
      other.setValue(new, forKey: "author")
      try #expect(books(context, NSPredicate(format: "author == %@", new)) == ["b7"])
      try #expect(books(context, NSPredicate(format: "author.name == 'New'")) == ["b7"])
    }
  }

  @Test func pendingChangesCorrectTheResultInBothDirectionsUnlessToldNotTo() throws {
    try library().read { context in
      let all = try context.all("Book", sort: "pages")
      all[1].setValue(100, forKey: "pages")
      all[9].setValue(-1, forKey: "pages")
      context.delete(all[2])
      context.make("Book", ["title": "new", "pages": 0])
      context.make("Tag", ["label": "irrelevant"])
      let small = NSPredicate(format: "pages < 3")
      try #expect(Set(books(context, small)) == ["b0", "b9", "new"])
      try #expect(books(context, small)[0] == "b9")
      let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
      request.predicate = small
      request.includesPendingChanges = false
      try #expect(Set(context.fetch(request)) == Set(all[0...2]))
      try #expect(context.count(for: request) == 3)
    }
  }

  @Test func aChangeOfWhatAPathLeadsToCounts() throws {
    try library().read { context in
      let ada = try context.all("Author", where: "name == 'Ada'")[0]
      #expect(ada.members("books").count == 5)
      for book in ada.members("books") { book.setValue(nil, forKey: "author") }
      try #expect(books(context, NSPredicate(format: "author.name == 'Ada'")) == [])
      try #expect(books(context, NSPredicate(format: "author == nil")).count == 5)
    }
  }

  @Test func resultsCanBeIDsCountsAndDictionaries() throws {
    try library().read { context in
      let ids = NSFetchRequest<NSManagedObjectID>(entityName: "Book")
      ids.resultType = .managedObjectIDResultType
      ids.predicate = NSPredicate(format: "pages < 2")
      ids.sortDescriptors = [NSSortDescriptor(key: "pages", ascending: false)]
      try #expect(context.fetch(ids).map { context.object(with: $0).text("title") } == ["b1", "b0"])
      let counts = NSFetchRequest<NSNumber>(entityName: "Book")
      counts.resultType = .countResultType
      try #expect(context.fetch(counts) == [10])
      let rows = NSFetchRequest<NSDictionary>(entityName: "Book")
      rows.resultType = .dictionaryResultType
      rows.propertiesToFetch = ["title", "pages", "author"]
      rows.predicate = NSPredicate(format: "title == 'b3'")
      let row = try #require(context.fetch(rows).first)
      #expect(row["title"] as? String == "b3" && row["pages"] as? Int == 3 && row.count == 3)
      #expect((row["author"] as? NSManagedObjectID)?.entity.name == "Author")
      let groups = NSFetchRequest<NSDictionary>(entityName: "Book")
      groups.resultType = .dictionaryResultType
      let sum = NSExpressionDescription()
      sum.name = "sum"
      sum.expression = NSExpression(forFunction: "sum:", arguments: [NSExpression(forKeyPath: "pages")])
      sum.expressionResultType = .integer64AttributeType
      groups.propertiesToFetch = ["author.name", sum]
      groups.propertiesToGroupBy = ["author.name"]
      groups.sortDescriptors = [NSSortDescriptor(key: "author.name", ascending: true)]
      try #expect(context.fetch(groups).map { $0["sum"] as? Int } == [20, 25])
      // The type of the results must be the request's.
      let wrong = NSFetchRequest<NSDictionary>(entityName: "Book")
      #expect(throws: (any Error).self) { _ = try context.fetch(wrong) as [NSDictionary] }
      let any = NSFetchRequest<any NSFetchRequestResult>(entityName: "Book")
      try #expect((context.fetch(any) as [any NSFetchRequestResult]).count == 10)
    }
  }

  @Test func aBatchSizeBoundsWhatIsFilledAtOnce() throws {
    try library().read { context in
      let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
      request.fetchBatchSize = 4
      request.sortDescriptors = [NSSortDescriptor(key: "pages", ascending: true)]
      let books = try context.fetch(request)
      #expect(books.count == 10 && books.allSatisfy(\.isFault))
      #expect(books.map { $0.text("title") } == (0..<10).map { "b\($0)" })
      // Edits between the batches are kept.
      context.reset()
      let again = try context.fetch(request)
      again[5].setValue("edited", forKey: "title")
      #expect(again[4].text("title") == "b4" && again[5].text("title") == "edited" && again[9].text("title") == "b9")
    }
  }

  @Test func sortingGoesBySeveralKeysAndThroughRelationships() throws {
    try library().read { context in
      let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
      request.sortDescriptors = [
        NSSortDescriptor(key: "author.name", ascending: false), NSSortDescriptor(key: "pages", ascending: true),
      ]
      let expected = ["b1", "b3", "b5", "b7", "b9", "b0", "b2", "b4", "b6", "b8"]
      try #expect(context.fetch(request).map { $0.text("title") } == expected)
      context.make("Book", ["title": "nobody's", "pages": 4])
      try #expect(context.fetch(request).map { $0.text("title") } == expected + ["nobody's"])
    }
  }

  @Test func prefetchedRelationshipsAreFilled() throws {
    try library().read { context in
      let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
      request.relationshipKeyPathsForPrefetching = ["author", "tags"]
      let books = try context.fetch(request)
      #expect(books.allSatisfy { !$0.hasFault(forRelationshipNamed: "tags") })
      #expect(Set(books.compactMap { $0.object("author")?.text("name") }) == ["Ada", "Bob"])
    }
  }

  @Test func aRequestRunsInTheContextOfItsBlockAndFailsOutside() throws {
    let store = try library()
    let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
    try store.read { _ in try #expect(request.execute().count == 10) }
    #expect(throws: (any Error).self) { try request.execute() }
    let copy = try #require(request.copy() as? NSFetchRequest<NSManagedObject>)
    copy.fetchLimit = 2
    try store.read { _ in try #expect(copy.execute().count == 2 && request.execute().count == 10) }
  }

  @Test func whatCannotBeFetchedIsAnErrorThatNamesIt() throws {
    try library().read { context in
      for (entity, format, word) in [("Nothing", nil, "Nothing"), ("Book", "colour == 1", "colour")]
        as [(String, String?, String)]
      {
        #expect {
          _ = try context.all(entity, where: format)
        } throws: { error in
          (error as NSError).domain == NSCocoaErrorDomain && (error as NSError).localizedDescription.contains(word)
        }
      }
    }
  }

  @Test func aSubclassIsWhatATypedRequestGives() throws {
    let store = try TemporaryStore(LibraryModel.makeWithClasses())
    try store.save { $0.make("Book", ["title": "One"]) }
    try store.read { context in
      let books = try context.fetch(NSFetchRequest<RecordingBook>(entityName: "Book"))
      #expect(books.count == 1 && books[0].entity.name == "Book")
      #expect(throws: (any Error).self) {
        _ = try context.fetch(NSFetchRequest<NamedAuthor>(entityName: "Book")) as [NamedAuthor]
      }
      #expect(RecordingBook.fetchRequest().entityName == "Book")
    }
  }
}

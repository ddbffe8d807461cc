import CoreData
import Testing

/// Fetches of an entity that several stores hold.
@Suite struct SeveralStoresFetchTests {
  private let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
  private let file: TemporaryStore
  /// A SQLite file and a store in memory.
  private let stores: [NSPersistentStore]
  private let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)

  init() throws {
    file = try TemporaryStore()
    stores = [
      try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: file.url),
      try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil),
    ]
    context.persistentStoreCoordinator = coordinator
  }

  private func make(_ title: String, pages: Int = 0, in store: Int) -> NSManagedObject {
    let book = context.make("Book", ["title": title, "pages": pages])
    context.assign(book, to: stores[store])
    return book
  }

  private func request() -> NSFetchRequest<NSManagedObject> {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
    request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
    return request
  }

  @Test func unsavedObjectsOfOtherStoresAreNoResults() throws {
    try context.performAndWait {
      // Given a stored book of each store that a change makes match, and new ones: assigned, and with the first store.
      let saved = [make("a", in: 0), make("b", in: 1)]
      try context.save()
      for book in saved { book.setValue(9, forKey: "pages") }
      _ = make("c", pages: 9, in: 1)
      context.make("Book", ["title": "d", "pages": 9])
      let request = request()
      request.predicate = NSPredicate(format: "pages == 9")
      // Then each store's request has its own.
      for (store, titles) in zip(stores, [["a", "d"], ["b", "c"]]) {
        request.affectedStores = [store]
        try #expect(context.fetch(request).map { $0.text("title") } == titles)
        try #expect(context.count(for: request) == 2)
        let child = context.child()
        let ids = context.registeredObjects.map(\.objectID)
        try child.performAndWait {
          // A change in the child does not bring in what the parent leaves out.
          for id in ids { child.object(with: id).setValue(9, forKey: "pages") }
          try #expect(child.fetch(request).map { $0.text("title") } == titles)
        }
      }
      request.affectedStores = nil
      try #expect(context.count(for: request) == 4)
    }
  }

  // MARK: Counts and dictionaries

  /// Five books with 1 to 5 pages: three in the file and two in memory, each by an Ada of its store.
  private func fill() throws {
    for (store, books) in [(0, [("a", 1), ("b", 2), ("a", 3)]), (1, [("a", 4), ("c", 5)])] {
      let author = context.make("Author", ["name": "Ada"])
      context.assign(author, to: stores[store])
      for (title, pages) in books { make(title, pages: pages, in: store).setValue(author, forKey: "author") }
    }
    try context.save()
  }

  private func dictionaries(_ columns: [Any], _ configure: (NSFetchRequest<NSDictionary>) -> Void = { _ in }) throws
    -> [NSDictionary]
  {
    let request = NSFetchRequest<NSDictionary>(entityName: "Book")
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = columns
    configure(request)
    return try context.fetch(request)
  }

  private func column(_ name: String, _ format: String, _ type: NSAttributeType = .integer64AttributeType)
    -> NSExpressionDescription
  {
    let description = NSExpressionDescription()
    description.name = name
    description.expression = NSExpression(format: format)
    description.expressionResultType = type
    return description
  }

  @Test func countsAreOfAllStores() throws {
    try context.performAndWait {
      try fill()
      for (limit, offset, count) in [(0, 0, 5), (4, 0, 4), (4, 3, 2)] {
        let request = NSFetchRequest<NSNumber>(entityName: "Book")
        request.resultType = .countResultType
        (request.fetchLimit, request.fetchOffset) = (limit, offset)
        try #expect(context.fetch(request) == [NSNumber(value: count)])
        try #expect(context.count(for: request) == count)
      }
    }
  }

  @Test func aStoreThatIsNamedTwiceIsAskedOnce() throws {
    try context.performAndWait {
      try fill()
      let request = request()
      request.sortDescriptors = nil
      request.affectedStores = [stores[1], stores[0], stores[1], stores[0]]
      // The first store that is named is asked first.
      let owners = try context.fetch(request).map { $0.objectID.persistentStore }
      #expect(owners == [stores[1], stores[1], stores[0], stores[0], stores[0]])
      try #expect(context.count(for: request) == 5)
      let total = try dictionaries([column("total", "sum:(pages)")]) { $0.affectedStores = request.affectedStores }
      #expect(total == [["total": 15]])
    }
  }

  @Test func orderWindowAndDistinctResultsAreOfAllStores() throws {
    try context.performAndWait {
      try fill()
      let window = try dictionaries(["pages"]) {
        $0.sortDescriptors = [NSSortDescriptor(key: "pages", ascending: false)]
        ($0.fetchLimit, $0.fetchOffset) = (3, 1)
      }
      #expect(window.map { $0["pages"] as? Int } == [4, 3, 2])
      let titles = try dictionaries(["title", "author.name"]) {
        $0.returnsDistinctResults = true
        $0.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
      }
      #expect(titles.map { $0["title"] as? String } == ["a", "b", "c"])
      #expect(titles.allSatisfy { $0["author.name"] as? String == "Ada" })
    }
  }

  @Test func aggregatesAndGroupsAreOfAllStores() throws {
    try context.performAndWait {
      try fill()
      let total = column("total", "sum:(pages)")
      let all = try dictionaries([
        total, column("number", "count:(SELF)"), column("least", "min:(pages)"), column("most", "max:(pages)"),
        column("mean", "average:(pages)", .doubleAttributeType),
      ])
      #expect(all == [["total": 15, "number": 5, "least": 1, "most": 5, "mean": 3.0]])
      let groups = try dictionaries(["title", total]) {
        $0.propertiesToGroupBy = ["title"]
        $0.havingPredicate = NSPredicate(format: "$total > 2")
        $0.sortDescriptors = [NSSortDescriptor(key: "total", ascending: false)]
      }
      #expect(groups == [["title": "a", "total": 8], ["title": "c", "total": 5]])
      let authors = try dictionaries(["author.name", total]) { $0.propertiesToGroupBy = ["author.name"] }
      #expect(authors == [["author.name": "Ada", "total": 15]])
    }
  }

  @Test func theExplainedStatementReadsTheStoresRows() throws {
    try context.performAndWait {
      try fill()
      let request = NSFetchRequest<NSDictionary>(entityName: "Book")
      request.resultType = .dictionaryResultType
      request.propertiesToFetch = [column("total", "sum:(pages)")]
      request.fetchLimit = 1
      let explanation = try context.explain(request)
      #expect(explanation.resultCount == 1 && explanation.statements.count == 1)
      let sql = explanation.statements[0].sql
      #expect(!sql.uppercased().contains("SUM(") && !sql.contains("LIMIT"), "\(sql)")
    }
  }

  @Test func aControllerKeepsTheStoresOfItsLastFetch() throws {
    try context.performAndWait {
      let request = request()
      request.affectedStores = [stores[0]]
      let controller = NSFetchedResultsController(
        fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
      try controller.performFetch()
      let delegate = Follower()
      controller.delegate = delegate
      // When the request gets another store, and new objects come to both.
      request.affectedStores = [stores[1]]
      let books = [make("a", in: 0), make("b", in: 1)]
      context.processPendingChanges()
      // Then the controller follows the former store until it fetches again.
      #expect(controller.fetchedObjects == [books[0]])
      try controller.performFetch()
      #expect(controller.fetchedObjects == [books[1]] && controller.delegate === delegate)
    }
  }

  /// The assignment ends when a new object leaves the context, and comes back with what undo brings back.
  @Test func anAssignmentGoesWithTheObjectAndComesBackWithUndo() throws {
    try context.performAndWait {
      let (forgotten, restored) = (make("a", in: 1), make("b", in: 1))
      context.processPendingChanges()
      context.delete(forgotten)
      context.processPendingChanges()
      context.insert(forgotten)
      context.undoManager = UndoManager()
      context.delete(restored)
      context.undo()
      context.redo()
      #expect(context.insertedObjects == [forgotten])
      context.undo()
      #expect(context.insertedObjects == [forgotten, restored])
      try context.save()
      #expect(forgotten.objectID.persistentStore === stores[0])
      #expect(restored.objectID.persistentStore === stores[1])
    }
  }
}

/// A delegate, without which a controller follows nothing.
private final class Follower: NSObject, NSFetchedResultsControllerDelegate {}

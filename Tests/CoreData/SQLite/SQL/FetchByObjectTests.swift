import Testing

@testable import CoreData

/// Predicates that name objects, in a model where a to-one relationship leads to an entity with sub-entities.
@Suite struct FetchByObjectTests {
  private static func model() -> NSManagedObjectModel {
    let page = LibraryModel.entity("Page", [LibraryModel.attribute("number", .integer32AttributeType)])
    let book = LibraryModel.entity("Book", [LibraryModel.attribute("title", .stringAttributeType)])
    let comic = LibraryModel.entity("Comic", [])
    let shelf = LibraryModel.entity("Shelf", [LibraryModel.attribute("name", .stringAttributeType)])
    book.subentities = [comic]
    LibraryModel.relate(book, "pages", page, "book", toMany: (true, false))
    LibraryModel.relate(shelf, "books", book, "shelves", toMany: (true, true))
    let model = NSManagedObjectModel()
    model.entities = [page, book, comic, shelf]
    return model
  }

  private struct Library {
    let book: NSManagedObject
    let comic: NSManagedObject
    let pages: [NSManagedObject]
    let shelf: NSManagedObject
  }

  private func fill(_ context: NSManagedObjectContext) throws -> Library {
    let book = context.make("Book", ["title": "Book"])
    let comic = context.make("Comic", ["title": "Comic"])
    let pages = [(1, book), (2, comic), (3, comic)].map { context.make("Page", ["number": $0.0, "book": $0.1]) }
    let loose = context.make("Page", ["number": 4])
    let shelf = context.make("Shelf", ["name": "s", "books": NSSet(array: [comic])])
    _ = context.make("Shelf", ["name": "empty"])
    try context.save()
    return Library(book: book, comic: comic, pages: pages + [loose], shelf: shelf)
  }

  private func numbers(_ context: NSManagedObjectContext, _ format: String, _ arguments: Any...) throws -> [Int] {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Page")
    request.predicate = NSPredicate(format: format, argumentArray: arguments)
    request.sortDescriptors = [NSSortDescriptor(key: "number", ascending: true)]
    return try context.fetch(request).compactMap { $0.value(forKey: "number") as? Int }
  }

  @Test("Objects and object IDs find what is related to them")
  func objects() throws {
    let store = try TemporaryStore(Self.model())
    let context = store.context()
    try context.performAndWait {
      let library = try fill(context)
      let (book, comic, pages) = (library.book, library.comic, library.pages)
      #expect(try numbers(context, "book == %@", comic) == [2, 3])
      #expect(try numbers(context, "book == %@", comic.objectID) == [2, 3])
      #expect(try numbers(context, "%@ == book", book) == [1])
      #expect(try numbers(context, "book.self == %@ OR book.objectID == %@", book, comic.objectID) == [1, 2, 3])
      #expect(try numbers(context, "book != %@", comic) == [1])
      #expect(try numbers(context, "NOT book == %@", comic) == [1, 4])
      #expect(try numbers(context, "book IN %@", [book, comic.objectID]) == [1, 2, 3])
      #expect(try numbers(context, "book IN %@", NSSet(array: [book])) == [1])
      #expect(try numbers(context, "book IN %@", [NSManagedObject]()) == [])
      #expect(try numbers(context, "NOT book IN %@", [book]) == [2, 3, 4])
      #expect(try numbers(context, "book == nil") == [4])
      #expect(try numbers(context, "SELF == %@", pages[1]) == [2])
      #expect(try numbers(context, "SELF IN %@", [pages[0], pages[3].objectID]) == [1, 4])
      #expect(try numbers(context, "objectID IN %@", pages.map(\.objectID)) == [1, 2, 3, 4])
      #expect(try numbers(context, "self == %@ OR SELF.objectID == %@", pages[0], pages[1]) == [1, 2])
      #expect(try numbers(context, "%@ IN book.pages", pages[1]) == [2, 3])
      #expect(try numbers(context, "book.pages CONTAINS %@", pages[1]) == [2, 3])
      #expect(try numbers(context, "ANY book.shelves == %@", library.shelf) == [2, 3])
      #expect(try numbers(context, "ANY book.pages IN %@", [pages[0]]) == [1])
      // The relationship never leads to this object's entity.
      #expect(try numbers(context, "book == %@", pages[0]) == [])
      #expect(try numbers(context, "NOT book == %@", library.shelf) == [1, 2, 3, 4])
      // The entity's number is compared beside the key: an object of another entity with the same key is another
      // object.
      let sql = try sql(in: store, of: "Page", "book == %@", comic)
      #expect(sql == "(t0.ZBOOK = ? AND t0.Z1_BOOK = 2)")
    }
  }

  @Test("A reference without the entity's number is one to the destination itself", arguments: ["NULL", "0"])
  func withoutNumber(number: String) throws {
    let store = try TemporaryStore(Self.model())
    let context = store.context()
    try context.performAndWait {
      let library = try fill(context)
      _ = try store.sql("UPDATE ZPAGE SET Z1_BOOK = \(number) WHERE ZNUMBER = 1")
      #expect(try numbers(context, "book == %@", library.book) == [1])
      #expect(try numbers(context, "book IN %@", [library.book]) == [1])
      #expect(try numbers(context, "book != %@", library.book) == [2, 3])
      #expect(try numbers(context, "book == %@", library.comic) == [2, 3])
      #expect(try numbers(context, "ANY book.pages.book == %@", library.book) == [1])
    }
  }

  @Test("An unsaved object matches nothing in the store")
  func unsaved() throws {
    let store = try TemporaryStore(Self.model())
    let context = store.context()
    try context.performAndWait {
      _ = try fill(context)
      let unsaved = context.make("Book", ["title": "new"])
      #expect(try sql(in: store, of: "Page", "book == %@", unsaved) == "(FALSE)")
      #expect(try numbers(context, "book == %@", unsaved) == [])
      #expect(try numbers(context, "NOT book == %@", unsaved) == [1, 2, 3, 4])
      let page = context.make("Page", ["number": 9, "book": unsaved])
      #expect(try numbers(context, "book == %@", unsaved) == [9])
      context.delete(page)
    }
  }

  @Test("An object of another store matches nothing")
  func otherStore() throws {
    let store = try TemporaryStore(Self.model())
    let context = store.context()
    let other = try TemporaryStore(Self.model())
    let otherContext = other.context()
    let foreign = try otherContext.performAndWait { try fill(otherContext).comic.objectID }
    try context.performAndWait {
      _ = try fill(context)
      #expect(try numbers(context, "book == %@", foreign) == [])
      #expect(try numbers(context, "book IN %@", [foreign]) == [])
    }
  }

  @Test("Long lists of objects and of values are one parameter")
  func longLists() throws {
    let store = try TemporaryStore(Self.model())
    let context = store.context()
    try context.performAndWait {
      let pages = (0..<3000).map { context.make("Page", ["number": $0]) }
      for (index, page) in pages.enumerated() {
        page.setValue(context.make("Book", ["title": "b\"\(index)é"]), forKey: "book")
      }
      try context.save()
      #expect(try numbers(context, "SELF IN %@", Array(pages[1000...])).count == 2000)
      #expect(try numbers(context, "number IN %@", Array(0..<1500)) == Array(0..<1500))
      #expect(try numbers(context, "book.title IN %@", (10..<1510).map { "b\"\($0)é" }) == Array(10..<1510))
      #expect(try numbers(context, "NOT number IN %@", Array(0..<2999)) == [2999])
      #expect(try numbers(context, "number IN %@", (0..<1000).map { Double($0) + 0.5 } + [7.0]) == [7])
      let sql = try sql(in: store, of: "Page", "SELF IN %@", pages)
      #expect(sql == "(t0.Z_PK IN (SELECT value FROM json_each(?)))")
    }
  }

  @Test("Thousands of conditions are one query")
  func manyConditions() throws {
    let store = try TemporaryStore(Self.model())
    let context = store.context()
    try context.performAndWait {
      for number in 0..<10 { _ = context.make("Page", ["number": number]) }
      try context.save()
      let request = NSFetchRequest<NSManagedObject>(entityName: "Page")
      let parts = (5..<5005).map { NSPredicate(format: "number == %d", $0) }
      request.predicate = NSCompoundPredicate(orPredicateWithSubpredicates: parts)
      #expect(try context.fetch(request).count == 5)
      request.predicate = NSCompoundPredicate(
        andPredicateWithSubpredicates: parts.map { NSCompoundPredicate(notPredicateWithSubpredicate: $0) })
      #expect(try context.fetch(request).count == 5)
    }
  }

  @Test("An entity's rows are told from its relatives'")
  func entities() throws {
    let store = try TemporaryStore(Self.model())
    let context = store.context()
    try context.performAndWait {
      _ = try fill(context)
      let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
      #expect(try context.fetch(request).count == 2)
      request.includesSubentities = false
      #expect(try context.fetch(request).count == 1)
      #expect(try context.all("Comic").count == 1)
      #expect(try context.all("Comic", where: "pages.@count == 2").count == 1)
      #expect(try context.all("Comic", where: "title == 'Book' OR title == 'x'").isEmpty)
    }
  }

  private func sql(
    in store: TemporaryStore, of entity: String, _ format: String, _ arguments: Any...
  ) throws -> String {
    let sqlite = try #require(store.coordinator.persistentStores.first as? SQLiteStore)
    return try sqlite.generator(for: entity).whereClause(NSPredicate(format: format, argumentArray: arguments)).text
  }
}

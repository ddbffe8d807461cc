import Testing

@testable import CoreData

@Suite struct SQLGenerationErrorTests {
  @Test(
    "What SQL cannot say is an error that names what is wrong",
    arguments: [
      ("titel == 'x'", SQLGenerationError.unknownKey("titel", entity: "Book")),
      ("author.nam == 'x'", .unknownKey("nam", entity: "Author")),
      ("title.foo == 'x'", .unknownKey("title.foo", entity: "Book")),
      ("note == 'x'", .notStored("note", entity: "Book")),
      ("tags == 'x'", .toManyWithoutModifier("tags")),
      ("tags.label == 'x'", .toManyWithoutModifier("tags.label")),
      ("tags.label BEGINSWITH 'x'", .toManyWithoutModifier("tags.label")),
      ("tags.label > 'x'", .toManyWithoutModifier("tags.label")),
      ("tags.label IN {'x'}", .toManyWithoutModifier("tags.label")),
      ("ANY title == 'x'", .notToMany("title")),
      ("ALL author.name == 'x'", .notToMany("author.name")),
      ("ANY tags.books.title == 'x'", .severalToManySteps("tags.books.title")),
      ("tags.books.@count == 1", .severalToManySteps("tags.books")),
      ("title == $x", .unboundVariable("x")),
      ("title == $x.name", .unboundVariable("x")),
      ("median:(tags.label) == 1", .unsupportedExpression("median of tags.label")),
      ("random() < pages", .unsupportedFunction("random")),
      ("FUNCTION(pages, 'uppercaseString') == 1", .unsupportedFunction("uppercaseString")),
      ("tags.@distinctUnionOfObjects.label == 1", .toManyWithoutModifier("tags.label")),
      ("mode:(author.books.pages) == 1", .unsupportedFunction("mode:")),
      ("tags[0] == 1", .unsupportedFunction("objectFrom:withIndex:")),
      ("author.books.@sum.extra == 1", .unsupportedExpression("sum of books.extra")),
      ("extra == 'x'", .incomparable("transformable values")),
      ("title MATCHES '('", .invalidPattern),
      ("ANYKEY == 1", .unsupportedExpression("ANYKEY")),
    ])
  func refuses(format: String, error: SQLGenerationError) throws {
    let generator = try generator()
    let predicate = try NSPredicate.parse(format: format)
    #expect(throws: error) { try generator.whereClause(predicate) }
  }

  @Test("Blocks are refused")
  func blocks() throws {
    let generator = try generator()
    #expect(throws: SQLGenerationError.blockPredicate) {
      try generator.whereClause(NSPredicate(block: { _, _ in true }))
    }
    #expect(throws: SQLGenerationError.comparatorSort) {
      try generator.orderClause([
        NSSortDescriptor(key: "title", ascending: true, comparator: { _, _ in .orderedSame })
      ])
    }
    #expect(throws: SQLGenerationError.toManySort("tags.label")) {
      try generator.orderClause([NSSortDescriptor(key: "tags.label", ascending: true)])
    }
  }

  @Test("A fetch reports such an error, and the context stays usable")
  func fetch() throws {
    let store = try TemporaryStore()
    let context = store.context()
    try context.performAndWait { () throws -> Void in
      let error = #expect(throws: NSError.self) { try context.all("Book", where: "titel == 'x'") }
      #expect(error?.domain == NSCocoaErrorDomain)
      #expect(error?.localizedDescription == "The entity Book has no property \"titel\".")
      #expect(try context.all("Book").isEmpty)
    }
  }

  @Test("Values never show in the text of SQL")
  func injection() throws {
    let store = try TemporaryStore()
    let context = store.context()
    try context.performAndWait {
      _ = context.make("Book", ["title": "x'; DROP TABLE ZBOOK; --"])
      try context.save()
      let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
      request.predicate = NSPredicate(format: "title == %@", "x'; DROP TABLE ZBOOK; --")
      #expect(try context.fetch(request).count == 1)
    }
    #expect(throws: SQLGenerationError.self) {
      try generator().whereClause(NSPredicate(format: "%K == 1", "ZTITLE = 1 OR 1"))
    }
  }

  @Test("Joins are shared by condition and order, and NULL-safe below NOT")
  func text() throws {
    let generator = try generator()
    let condition = try generator.whereClause(
      NSPredicate(format: "author.name == 'a' AND NOT author.born != %@", Date(timeIntervalSinceReferenceDate: 1)))
    let order = try generator.orderClause([
      NSSortDescriptor(key: "author.name", ascending: false, selector: "caseInsensitiveCompare:")
    ])
    #expect(condition.text == "((t1.ZNAME = ?) AND ((t1.ZBORN IS NOT ?) IS NOT TRUE))")
    #expect(order.text == "t1.ZNAME COLLATE CD_CASE_INSENSITIVE DESC")
    #expect(generator.joins == " LEFT JOIN ZAUTHOR t1 ON t1.Z_PK = t0.ZAUTHOR")
    #expect(condition.values == [.text("a"), .real(1)])
    #expect(generator.entityRestriction(includesSubentities: true) == nil)
    #expect(generator.entityRestriction(includesSubentities: false) == "t0.Z_ENT = 2")
  }

  private func generator() throws -> SQLGenerator {
    let schema = try StoreSchema(entities: LibraryModel.make().entities, prefix: "Z")
    return SQLGenerator(schema: schema, entity: try #require(schema.entitiesByName["Book"]))
  }
}

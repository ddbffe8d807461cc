import CoreData
import Testing

/// Predicates on the entity of an object, in a file, in memory and on objects.
@Suite struct EntityPredicateTests {
  private func stack(_ type: String) throws -> NSManagedObjectContext {
    let context = try libraryContext(type)
    try context.performAndWait {
      let author = context.make("Author", ["name": "Ada"])
      let tag = context.make("Tag", ["label": "x"])
      context.make("Book", ["title": "B", "author": author, "tags": Set([tag])])
      context.make("Comic", ["title": "C", "author": author])
      context.make("Book", ["title": "D"])
      context.make("Author", ["name": "Bob"])
      try context.save()
    }
    return context
  }

  private static let questions: [(entity: String, format: String, count: Int)] = [
    ("Book", "entity == $comic", 1), ("Book", "entity == $book", 2), ("Book", "entity != $comic", 2),
    ("Book", "NOT entity == $comic", 2), ("Book", "entity IN $both", 3), ("Book", "entity IN {$comic, $author}", 1),
    ("Book", "entity == $author", 0), ("Book", "$comic == entity", 1),
    ("Book", "entity.name == 'Comic'", 1), ("Book", "entity.name BEGINSWITH[c] 'b'", 2),
    ("Book", "entity.name IN {'Comic', 'Tag'}", 1), ("Book", "entity.name.length == 5", 1),
    ("Book", "SELF.entity == $comic", 1), ("Book", "objectID.entity == $comic", 1),
    ("Book", "author.entity == $author", 2), ("Book", "author.entity.name == 'Author'", 2),
    ("Book", "author.entity == nil", 1),
    ("Author", "ANY books.entity == $comic", 1), ("Author", "ALL books.entity == $comic", 1),
    ("Author", "NONE books.entity.name == 'Comic'", 1), ("Author", "$comic IN books.entity", 1),
    ("Author", "SUBQUERY(books, $b, $b.entity == $comic).@count == 1", 1),
    ("Author", "SUBQUERY(books, $b, $b.entity IN $both AND $b.entity.name == 'Book').@count == 1", 1),
    ("Tag", "ANY books.author.entity == $author", 1),
  ]

  @Test(
    "Objects are found by their entity and its name, through relationships and in SUBQUERY",
    arguments: [NSSQLiteStoreType, NSInMemoryStoreType])
  func entities(type: String) throws {
    let context = try stack(type)
    try context.performAndWait {
      let model = try #require(context.persistentStoreCoordinator?.managedObjectModel)
      let entities = model.entitiesByName
      let variables: [String: Any] = [
        "comic": entities["Comic"]!, "book": entities["Book"]!, "author": entities["Author"]!,
        "both": [entities["Book"]!, entities["Comic"]!],
      ]
      for (entity, format, count) in Self.questions {
        let predicate = NSPredicate(format: format).withSubstitutionVariables(variables)
        let request = NSFetchRequest<NSManagedObject>(entityName: entity)
        let all = try context.fetch(request)
        request.predicate = predicate
        #expect(try context.fetch(request).count == count, "\(entity): \(format)")
        #expect(all.filter { predicate.evaluate(with: $0) }.count == count, "on objects, \(entity): \(format)")
      }
    }
  }

  @Test("A dictionary can hold the entity's name", arguments: [NSSQLiteStoreType])
  func columns(type: String) throws {
    let context = try stack(type)
    try context.performAndWait {
      let request = NSFetchRequest<NSDictionary>(entityName: "Book")
      request.resultType = .dictionaryResultType
      let name = NSExpressionDescription()
      name.name = "kind"
      name.expression = CoreData.NSExpression(forKeyPath: "entity.name")
      request.propertiesToFetch = [name]
      let names = try context.fetch(request).compactMap { $0["kind"] as? String }
      #expect(names.sorted() == ["Book", "Book", "Comic"])
    }
  }
}

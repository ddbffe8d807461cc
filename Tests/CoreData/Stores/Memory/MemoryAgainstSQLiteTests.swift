import Testing

@testable import CoreData

/// The store in memory evaluates fetches as SQLite does.
@Suite struct MemoryAgainstSQLiteTests {
  /// The same objects in both stores.
  private static func contexts() throws -> [NSManagedObjectContext] {
    try [StoreKind.file, .memory].map { kind in
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
      try coordinator.addPersistentStore(
        ofType: kind.type, configurationName: nil, at: URL(fileURLWithPath: "/dev/null"))
      let context = coordinator.context()
      try context.performAndWait { try fill(context) }
      return context
    }
  }

  private static func fill(_ context: NSManagedObjectContext) throws {
    let authors = ["Ada", "Bob", "Émile"].map { context.make("Author", ["name": $0]) }
    let tags = (0..<4).map { context.make("Tag", ["label": "t\($0)"]) }
    for number in 0..<60 {
      let book = context.make(
        number % 7 == 0 ? "Comic" : "Book",
        ["title": "\(number % 2 == 0 ? "Été" : "ete") \(number)", "pages": number % 10])
      if number % 3 != 0 { book.setValue(authors[number % 2], forKey: "author") }
      if number % 4 != 0 { book.setValue(Double(number) / 4, forKey: "rating") }
      if number % 5 == 0 { book.setValue(NSDecimalNumber(value: number), forKey: "price") }
      book.setValue(Set(tags.prefix(number % 4)), forKey: "tags")
      book.setValue(number % 6 == 0, forKey: "isRead")
    }
    try context.save()
    context.reset()
  }

  private static let conditions = [
    "pages > 3", "pages BETWEEN {2, 4}", "title BEGINSWITH[cd] 'ete 1'", "title LIKE '*9'", "title MATCHES '.*[13]'",
    "title ENDSWITH '0' OR rating < 2.5", "NOT (pages IN {1, 2, 3})", "author.name == 'Ada'", "author == nil",
    "rating != nil",
    "author.name ==[d] 'Emile'", "ANY tags.label == 't2'", "tags.@count == 3", "tags.@count > 1 AND isRead == YES",
    "SUBQUERY(tags, $t, $t.label > 't1').@count > 0", "NONE tags.label == 't0'", "ALL tags.label < 't2'",
    "author.books.@count > 10", "price >= 10", "pages * 2 + 1 == 9", "uppercase(title) CONTAINS 'ETE'", "TRUEPREDICATE",
    "FALSEPREDICATE", "pages == rating", "artist == nil", "entity.name == 'Comic' OR pages == 1",
  ]

  @Test func predicatesFindTheSameObjectsInTheSameOrder() throws {
    let contexts = try Self.contexts()
    for condition in Self.conditions {
      let results = contexts.map { context in
        context.performAndWait { () -> [String?]? in
          let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
          request.predicate = NSPredicate(format: condition)
          request.sortDescriptors = [
            NSSortDescriptor(key: "author.name", ascending: true), NSSortDescriptor(key: "title", ascending: false),
          ]
          // What SQLite cannot evaluate is an error there, and nothing to compare.
          guard let all = try? context.fetch(request), let count = try? context.count(for: request) else { return nil }
          #expect(count == all.count, "\(condition)")
          request.fetchOffset = 2
          request.fetchLimit = 5
          let window = try? context.fetch(request)
          #expect(window == Array(all.dropFirst(2).prefix(5)), "\(condition)")
          return all.map { $0.text("title") }
        }
      }
      #expect(results[1] != nil, "\(condition)")
      if results[0] != nil { #expect(results[0] == results[1], "\(condition)") }
    }
  }

  private static func sum(_ name: String, function: String, of key: String, type: NSAttributeType)
    -> NSExpressionDescription
  {
    let description = NSExpressionDescription()
    description.name = name
    description.expression = NSExpression(forFunction: function, arguments: [NSExpression(forKeyPath: key)])
    description.expressionResultType = type
    return description
  }

  @Test func dictionariesGroupsAndAggregatesAreTheSame() throws {
    let contexts = try Self.contexts()
    func request(_ configure: (NSFetchRequest<NSDictionary>) -> Void) -> NSFetchRequest<NSDictionary> {
      let request = NSFetchRequest<NSDictionary>(entityName: "Book")
      request.resultType = .dictionaryResultType
      configure(request)
      return request
    }
    let requests: [NSFetchRequest<NSDictionary>] = [
      request {
        $0.propertiesToFetch = ["title", "pages", "author.name"]
        $0.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
        $0.fetchLimit = 7
        $0.fetchOffset = 3
      },
      request {
        $0.propertiesToFetch = ["pages"]
        $0.returnsDistinctResults = true
        $0.sortDescriptors = [NSSortDescriptor(key: "pages", ascending: false)]
      },
      request {
        $0.propertiesToFetch = [
          Self.sum("total", function: "sum:", of: "pages", type: .integer64AttributeType),
          Self.sum("most", function: "max:", of: "rating", type: .doubleAttributeType),
          Self.sum("least", function: "min:", of: "title", type: .stringAttributeType),
          Self.sum("mean", function: "average:", of: "pages", type: .doubleAttributeType),
          Self.sum("number", function: "count:", of: "rating", type: .integer32AttributeType),
        ]
      },
      request {
        $0.predicate = NSPredicate(value: false)
        $0.propertiesToFetch = [
          Self.sum("total", function: "sum:", of: "pages", type: .integer64AttributeType),
          Self.sum("number", function: "count:", of: "pages", type: .integer64AttributeType),
        ]
      },
      request {
        $0.propertiesToFetch = [
          "author.name", Self.sum("total", function: "sum:", of: "pages", type: .integer64AttributeType),
        ]
        $0.propertiesToGroupBy = ["author.name"]
        $0.sortDescriptors = [NSSortDescriptor(key: "author.name", ascending: true)]
      },
      request {
        $0.propertiesToFetch = [
          "pages", Self.sum("number", function: "count:", of: "title", type: .integer64AttributeType),
        ]
        $0.propertiesToGroupBy = ["pages"]
        $0.havingPredicate = NSPredicate(format: "pages > 4")
        $0.sortDescriptors = [NSSortDescriptor(key: "pages", ascending: true)]
      },
    ]
    for (index, request) in requests.enumerated() {
      let results = try contexts.map { context in try context.performAndWait { try context.fetch(request) } }
      #expect(!results[0].isEmpty && results[0] == results[1], "\(index): \(results)")
    }
    let ungrouped = request {
      $0.propertiesToFetch = ["title", Self.sum("total", function: "sum:", of: "pages", type: .integer64AttributeType)]
      $0.propertiesToGroupBy = ["pages"]
    }
    for context in contexts { context.performAndWait { expectError(134070) { try context.fetch(ungrouped) } } }
  }

  @Test func derivedAttributesFollowWhatTheyAreDerivedFrom() throws {
    let model = LibraryModel.make()
    func derive(_ entity: String, name: String, type: NSAttributeType, format: String) {
      let attribute = NSDerivedAttributeDescription()
      attribute.name = name
      attribute.attributeType = type
      attribute.derivationExpression = NSExpression(format: format)
      model.entitiesByName[entity]?.properties += [attribute]
    }
    derive("Author", name: "bookCount", type: .integer64AttributeType, format: "books.@count")
    derive("Author", name: "pageCount", type: .integer64AttributeType, format: "books.@sum.pages")
    derive("Book", name: "searchTitle", type: .stringAttributeType, format: "canonical:(title)")
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    let context = coordinator.context()
    func check(_ count: Int, _ pages: Int) throws {
      context.reset()
      let author = try #require(context.all("Author").first)
      #expect(author.value(forKey: "bookCount") as? Int == count && author.value(forKey: "pageCount") as? Int == pages)
      try #expect(context.all("Author", where: "bookCount == \(count)").count == 1)
    }
    try context.performAndWait {
      let author = context.make("Author", ["name": "Ada"])
      for pages in 1...3 { context.make("Book", ["title": "Été \(pages)", "pages": pages, "author": author]) }
      try context.save()
      try check(3, 6)
      try #expect(context.all("Book", where: "searchTitle == 'ete 2'").count == 1)
      try context.all("Book", where: "pages == 3")[0].setValue(10, forKey: "pages")
      context.delete(try context.all("Book", where: "pages == 1")[0])
      try context.save()
      try check(2, 12)
      try context.all("Book", where: "pages == 10")[0].setValue(nil, forKey: "author")
      try context.save()
      try check(1, 2)
    }
  }
}

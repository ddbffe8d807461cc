import Testing

@testable import CoreData

@Suite struct DictionaryResultTests {
  private func fill(_ context: NSManagedObjectContext) throws {
    let ada = context.make("Author", ["name": "Ada", "born": Date(timeIntervalSinceReferenceDate: 10)])
    let bob = context.make("Author", ["name": "Bob"])
    for (title, pages, price, author) in [
      ("One", 10, "1.5", ada), ("Two", 20, "2", ada), ("Three", 30, "3", bob),
    ] {
      _ = context.make(
        "Book", ["title": title, "pages": pages, "price": NSDecimalNumber(string: price), "author": author])
    }
    _ = context.make("Comic", ["title": "Four", "pages": 20])
    try context.save()
  }

  private func rows(_ configure: (NSFetchRequest<NSDictionary>) -> Void) throws -> [[String: Any]] {
    let store = try TemporaryStore()
    let context = store.context()
    return try context.performAndWaitWith { context in
      try fill(context)
      let request = NSFetchRequest<NSDictionary>(entityName: "Book")
      request.resultType = .dictionaryResultType
      configure(request)
      return try context.fetch(request).map { $0 as? [String: Any] ?? [:] }
    }
  }

  private func column(_ name: String, _ format: String, _ type: NSAttributeType) -> NSExpressionDescription {
    let description = NSExpressionDescription()
    description.name = name
    description.expression = CoreData.NSExpression(format: format)
    description.expressionResultType = type
    return description
  }

  @Test("Columns come under their names, in their types; nil has no key")
  func columns() throws {
    let rows = try rows {
      $0.propertiesToFetch = ["title", "pages", "price", "author", "author.name", "rating", "isRead"]
      $0.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
    }
    #expect(rows.map { $0["title"] as? String } == ["Four", "One", "Three", "Two"])
    #expect(rows[1]["pages"] as? Int == 10)
    #expect(rows[1]["price"] as? NSDecimalNumber == NSDecimalNumber(string: "1.5"))
    #expect((rows[1]["author"] as? NSManagedObjectID)?.entity.name == "Author")
    #expect(rows[1]["author.name"] as? String == "Ada")
    #expect(rows[1]["isRead"] as? Bool == false)
    #expect(rows[0]["author"] == nil && rows[0]["rating"] == nil)
  }

  @Test("Without a list all attributes come")
  func allAttributes() throws {
    let rows = try rows { $0.predicate = NSPredicate(format: "title == 'One'") }
    #expect(rows.count == 1)
    #expect(Set(rows[0].keys) == ["title", "pages", "price", "isRead"])
  }

  @Test("Aggregates take all rows")
  func aggregates() throws {
    let rows = try rows {
      $0.propertiesToFetch = [
        column("total", "sum:(pages)", .integer64AttributeType),
        column("number", "count:(SELF)", .integer32AttributeType),
        column("least", "min:(pages)", .integer32AttributeType), column("most", "max:(price)", .decimalAttributeType),
        column("mean", "average:(pages)", .doubleAttributeType),
      ]
    }
    #expect(rows.count == 1)
    #expect(rows[0]["total"] as? Int == 80 && rows[0]["number"] as? Int == 4 && rows[0]["least"] as? Int == 10)
    #expect(rows[0]["most"] as? NSDecimalNumber == 3 && rows[0]["mean"] as? Double == 20)
  }

  @Test("Groups are counted, restricted and sorted")
  func groups() throws {
    let count = column("count", "count:(title)", .integer32AttributeType)
    let rows = try rows {
      $0.propertiesToFetch = ["author.name", count]
      $0.propertiesToGroupBy = ["author.name"]
      $0.havingPredicate = NSPredicate(format: "count:(title) > 1")
    }
    #expect(rows.count == 1 && rows[0]["author.name"] as? String == "Ada" && rows[0]["count"] as? Int == 2)
    let all = try self.rows {
      $0.propertiesToFetch = ["author.name", count]
      $0.propertiesToGroupBy = ["author.name"]
      $0.havingPredicate = NSPredicate(format: "$count >= 1")
      $0.sortDescriptors = [
        NSSortDescriptor(key: "count", ascending: false), NSSortDescriptor(key: "author.name", ascending: false),
      ]
    }
    #expect(all.map { $0["author.name"] as? String } == ["Ada", "Bob", nil])
  }

  @Test("A column beside groups must be one of them")
  func ungrouped() throws {
    let error = #expect(throws: NSError.self) {
      try rows {
        $0.propertiesToFetch = ["title", "pages"]
        $0.propertiesToGroupBy = ["title"]
      }
    }
    #expect(error?.localizedDescription.contains("\"pages\" is fetched but not grouped by") == true)
  }

  @Test("Equal rows come once where asked")
  func distinct() throws {
    let rows = try rows {
      $0.propertiesToFetch = ["pages"]
      $0.returnsDistinctResults = true
      $0.sortDescriptors = [NSSortDescriptor(key: "pages", ascending: true)]
      $0.fetchLimit = 2
      $0.fetchOffset = 1
    }
    #expect(rows.map { $0["pages"] as? Int } == [20, 30])
  }

  @Test("Computed columns of each row, and the row itself")
  func computed() throws {
    let identity = NSExpressionDescription()
    identity.name = "id"
    identity.expression = CoreData.NSExpression.expressionForEvaluatedObject()
    identity.expressionResultType = .objectIDAttributeType
    let rows = try rows {
      $0.predicate = NSPredicate(format: "pages BETWEEN {20, 25} AND title BEGINSWITH %@", "F")
      $0.propertiesToFetch = [
        identity, column("double", "pages * 2", .integer32AttributeType),
        column("upper", "uppercase:(title)", .stringAttributeType),
        column("tagCount", "tags.@count", .integer32AttributeType), column("constant", "'c'", .stringAttributeType),
      ]
    }
    #expect(rows.count == 1)
    #expect((rows[0]["id"] as? NSManagedObjectID)?.entity.name == "Comic")
    #expect(rows[0]["double"] as? Int == 40 && rows[0]["upper"] as? String == "FOUR")
    #expect(rows[0]["tagCount"] as? Int == 0 && rows[0]["constant"] as? String == "c")
  }
}

import CoreData
import Testing

/// The statements, plans and costs of fetches.
@Suite struct ExplainTests {
  private func request(_ format: String? = nil) -> NSFetchRequest<NSManagedObject> {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
    request.predicate = format.map { NSPredicate(format: $0) }
    return request
  }

  private func store() throws -> TemporaryStore {
    let model = LibraryModel.make()
    let element = NSFetchIndexElementDescription(
      property: model.entitiesByName["Book"]!.propertiesByName["pages"]!, collationType: .binary)
    model.entitiesByName["Book"]?.indexes = [NSFetchIndexDescription(name: "byPages", elements: [element])]
    let store = try TemporaryStore(model)
    try store.save { context in
      for number in 1...5 { context.make("Book", ["title": "\(number)", "pages": number]) }
    }
    return store
  }

  @Test func aFetchIsExplainedByItsStatementAndPlan() throws {
    let store = try store()
    try store.read { context in
      let scan = try context.explain(request("title == '3'"))
      let statement = try #require(scan.statements.first)
      #expect(scan.statements.count == 1 && statement.storeURL == store.url)
      #expect(statement.sql.hasPrefix("SELECT ") && statement.sql.contains("ZTITLE = ?"))
      #expect(statement.plan.contains { $0.contains("SCAN") }, "\(statement.plan)")
      #expect(scan.resultCount == 1 && scan.duration > .zero)

      let search = try context.explain(request("pages == 3"))
      #expect(search.statements[0].plan.contains { $0.contains("SEARCH") }, "\(search)")
      let text = search.description
      #expect(text.contains(search.statements[0].sql + "\n  ") && text.contains("1 result in 0."), "\(text)")
    }
  }

  @Test func theResultTypeAndTheWindowAreThoseOfTheFetch() throws {
    let store = try store()
    try store.read { context in
      let sorted = request()
      sorted.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
      sorted.fetchLimit = 2
      let objects = try context.explain(sorted)
      #expect(objects.resultCount == 2 && objects.statements[0].sql.contains("LIMIT 2"))
      #expect(objects.statements[0].plan.contains { $0.contains("ORDER BY") }, "\(objects)")

      let ids = NSFetchRequest<NSManagedObjectID>(sorted)
      ids.resultType = .managedObjectIDResultType
      #expect(try !context.explain(ids).statements[0].sql.contains("t0.ZPAGES"))

      let sums = NSFetchRequest<NSDictionary>(entityName: "Book")
      let sum = NSExpressionDescription()
      sum.name = "sum"
      sum.expression = NSExpression(format: "sum:(pages)")
      sum.expressionResultType = .integer64AttributeType
      sums.resultType = .dictionaryResultType
      sums.propertiesToFetch = [sum]
      let total = try context.explain(sums)
      #expect(total.resultCount == 1 && total.statements[0].sql.uppercased().contains("SUM("), "\(total)")

      // With unsaved changes the window is cut in memory.
      context.make("Book", ["title": "0"])
      let whole = try context.explain(sorted)
      #expect(whole.resultCount == 2 && !whole.statements[0].sql.contains("LIMIT"))
    }
  }

  @Test func aChildExplainsItsParentsFetch() throws {
    let store = try store()
    let child = store.context().child()
    try child.performAndWait {
      let explanation = try child.explain(request("pages > 3"))
      #expect(explanation.statements.count == 1 && explanation.resultCount == 2)
    }
  }

  @Test func aStoreWithoutSQLHasNoStatement() throws {
    let context = try libraryContext(NSInMemoryStoreType)
    try context.performAndWait {
      context.make("Book", ["title": "A"])
      let explanation = try context.explain(request())
      #expect(explanation.statements.isEmpty && explanation.resultCount == 1)
    }
  }

  @Test func whatCannotBeFetchedIsNotExplained() throws {
    let store = try store()
    try store.read { context in
      let unknown = request("publisher == 'P'")
      expectError(134070) { try context.explain(unknown) }
    }
  }
}

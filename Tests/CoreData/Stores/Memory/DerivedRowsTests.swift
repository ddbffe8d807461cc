import Testing

@testable import CoreData

/// Derived attributes whose source is a row at the other end of a relationship, in every store that computes them.
@Suite("Derived attributes of other rows", .serialized) struct DerivedRowsTests {
  private static let kinds = StoreKind.allCases.filter { $0 != .shelf && $0 != .cards }

  private let model = LibraryModel.makeWithDerivedAttributes([
    "upper", "authorName", "authorUpper", "tagCount", "tagsOfBooks", "lastTag",
  ])

  @Test("They follow a row that changes alone, in the store and in objects that are refreshed", arguments: kinds)
  func following(kind: StoreKind) throws {
    let stack = try StoreStack(kind, model)
    let context = stack.context()
    try context.performAndWait {
      let (author, tag) = (context.make("Author", ["name": "Ada"]), context.make("Tag", ["label": "a"]))
      let book = context.make("Book", ["title": "Notes", "author": author, "tags": Set([tag])])
      try context.save()
      func check(_ name: String, _ label: String, count: Int) throws {
        context.refreshAllObjects()
        #expect(book.value(forKey: "d_authorName") as? String == name)
        #expect(book.value(forKey: "d_authorUpper") as? String == name.uppercased())
        #expect(book.value(forKey: "d_lastTag") as? String == label)
        #expect(author.value(forKey: "d_tagsOfBooks") as? Int == count)
        try #expect(context.all("Book", where: "d_authorName == '\(name)' AND d_lastTag == '\(label)'") == [book])
      }
      try check("Ada", "a", count: 1)
      author.setValue("Bob", forKey: "name")
      try context.save()
      try check("Bob", "a", count: 1)
      tag.setValue("b", forKey: "label")
      try context.save()
      try check("Bob", "b", count: 1)
      book.setValue(Set([tag, context.make("Tag", ["label": "c"])]), forKey: "tags")
      try context.save()
      try check("Bob", "c", count: 2)
    }
    // It removes the store's files when it is freed.
    withExtendedLifetime(stack) {}
  }

  /// `@avg` takes nil as 0, and is 0 without members; `average:` leaves nil out, and is nil without a value.
  @Test("Averages are those of predicates and of dictionaries", arguments: kinds)
  func averages(kind: StoreKind) throws {
    let model = LibraryModel.makeWithDerivedAttributes(["mean"])
    let known = NSDerivedAttributeDescription()
    (known.name, known.attributeType) = ("d_known", .doubleAttributeType)
    known.derivationExpression = NSExpression(format: "average:(books.pages)")
    model.entitiesByName["Author"]?.properties.append(known)
    let stack = try StoreStack(kind, model)
    let context = stack.context()
    try context.performAndWait {
      let author = context.make("Author", ["name": "Ada"])
      context.make("Author", ["name": "of no books"])
      func check(_ mean: Double, _ known: Double?, line: Int = #line) throws {
        try context.save()
        context.refreshAllObjects()
        #expect(author.value(forKey: "d_mean") as? Double == mean, "line \(line)")
        #expect(author.value(forKey: "d_known") as? Double == known, "line \(line)")
        let equalsKnown = known.map { "average(books.pages) == \($0)" } ?? "average(books.pages) == nil"
        for format in ["books.@avg.pages == \(mean)", "d_mean == \(mean)", equalsKnown] {
          try #expect(context.all("Author", where: format).contains(author), "\(format), line \(line)")
        }
        let expected: [[String: Double?]] = [["mean": mean, "known": known], ["mean": 0, "known": nil]]
        try #expect(fetchedAverages(context) == expected.map { $0.compactMapValues(\.self) }, "line \(line)")
      }
      try check(0, nil)
      let books = [100, 200, nil].map { pages in
        let book = context.make("Book", ["title": "a", "author": author])
        book.setValue(pages, forKey: "pages")
        return book
      }
      try check(100, 150)
      for book in books.prefix(2) { context.delete(book) }
      try check(0, nil)
      books[2].setValue(7, forKey: "pages")
      try check(7, 7)
      context.delete(books[2])
      try check(0, nil)
    }
    withExtendedLifetime(stack) {}
  }

  /// The averages of each author as a fetch of dictionaries computes them.
  private func fetchedAverages(_ context: NSManagedObjectContext) throws -> [[String: Double]] {
    func column(_ name: String, _ expression: NSExpression) -> NSExpressionDescription {
      let column = NSExpressionDescription()
      (column.name, column.expression, column.expressionResultType) = (name, expression, .doubleAttributeType)
      return column
    }
    let request = NSFetchRequest<NSDictionary>(entityName: "Author")
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = [
      column("mean", NSExpression(forKeyPath: "books.@avg.pages")),
      column("known", NSExpression(format: "average:(books.pages)")),
    ]
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    return try context.fetch(request).map { dictionary in
      var values: [String: Double] = [:]
      for name in ["mean", "known"] { values[name] = dictionary[name] as? Double }
      return values
    }
  }
}

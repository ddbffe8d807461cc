import CoreData
import Testing

/// A column compares constants of another kind as SQLite does: a column of text as text, one of numbers as numbers.
@Suite struct ConstantAffinityTests {
  @Test(
    "Constants take the kind of the column",
    arguments: [
      ("title IN {9, 10}", ["10", "9"]), ("title IN %@", ["10", "9"]), ("title == 9", ["9"]), ("9 == title", ["9"]),
      ("title != 9 AND title != 10", ["2.5", "x"]), ("title BETWEEN {9, 10}", []),
      ("title BETWEEN {10, 9}", ["10", "2.5", "9"]),
      ("title == 2.5", ["2.5"]), ("title < 2", ["10"]), ("title IN {artist, 9}", ["9"]),
      ("pages == '9'", ["9"]), ("pages IN {'9', '10.0'}", ["10", "9"]), ("pages > '9'", ["10"]), ("pages == 'x'", []),
      ("rating == '2.5'", ["2.5"]), ("author.name == 7", ["9"]), ("NOT title IN {9, 10}", ["2.5", "x"]),
      ("SUBQUERY(author.books, $b, $b.title == 9).@count == 1", ["9"]), ("ANY author.books.title == 9", ["9"]),
      ("9 IN author.books.title", ["9"]), ("author.books.title CONTAINS 9", ["9"]),
    ] as [(String, [String])])
  func constants(format: String, titles: [String]) throws {
    for type in [NSSQLiteStoreType, NSInMemoryStoreType] {
      let context = try libraryContext(type)
      try context.performAndWait {
        let author = context.make("Author", ["name": "7"])
        context.make("Comic", ["title": "9", "pages": 9, "author": author])
        context.make("Comic", ["title": "10", "pages": 10])
        context.make("Comic", ["title": "2.5", "pages": 0, "rating": 2.5])
        context.make("Comic", ["title": "x", "pages": 1])
        try context.save()
        let request = NSFetchRequest<NSManagedObject>(entityName: "Comic")
        let all = try context.fetch(request)
        request.predicate = try NSPredicate.parse(format: format, arguments: [[9, 10]])
        let matchingTitles = try context.fetch(request).compactMap { $0.value(forKey: "title") as? String }
        #expect(matchingTitles.sorted() == titles, "\(type)")
        let evaluated = all.filter { request.predicate?.evaluate(with: $0) ?? false }
        #expect(evaluated.compactMap { $0.value(forKey: "title") as? String }.sorted() == titles, "on objects")
      }
    }
  }

  @Test("Values that are no columns keep their kinds")
  func plainValues() {
    #expect(!NSPredicate(format: "SELF == 9").evaluate(with: "9"))
    #expect(!NSPredicate(format: "n IN {'9'}").evaluate(with: ["n": 9]))
  }
}

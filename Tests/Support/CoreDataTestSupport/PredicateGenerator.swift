import CoreData
import TestFiles

/// Makes rows of the library model, and predicates over them that mean the same in memory and in SQL.
package struct PredicateGenerator {
  package var random: SeededGenerator
  /// Objects that `fill` made and predicates may name.
  package var people: [NSManagedObject?] = []
  package var books: [NSManagedObject?] = []
  /// The entities of the rows, which predicates may name.
  package var entities: [NSEntityDescription] = []

  package init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  package static let texts = [
    "", "a", "A", "ä", "Ä", "a\u{308}", "ab", "AB", "Straße", "STRASSE", "x*y", "x?y", "100%", "ß", "_", "b", "é", "日本",
    "a'b", "a\\b", "\u{10FFFF}", "\u{D7FF}", "\u{E000}", "2", "2.5",
  ]
  package static var numbers: [Any] {
    [-2, -1, 0, 1, 2, 3, 5, 2.5, 0.5, -0.5, true, NSDecimalNumber(string: "1.5"), 1e10]
  }
  package static let dates = [0.0, 1, 86400, -1, 1.5].map { Date(timeIntervalSinceReferenceDate: $0) }
  package static let uuids = (0..<3).map { UUID(uuid: ($0, 200, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)) }
  package static let links = ["https://a.example/", "https://b.example/x"].compactMap(URL.init(string:))

  package mutating func pick<T>(_ items: [T]) -> T {
    items[Int.random(in: 0..<items.count, using: &random)]
  }

  package mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

  // MARK: Rows

  package mutating func fill(_ context: NSManagedObjectContext) {
    entities = (context.persistentStoreCoordinator?.managedObjectModel.entities ?? []).filter {
      ["Author", "Book", "Comic", "Tag"].contains($0.name)
    }
    let passports = (0..<4).map { _ in context.make("Passport", optional(["number": pick(Self.texts)])) }
    let tags = (0..<8).map { _ in context.make("Tag", optional(["label": pick(Self.texts)])) }
    for tag in tags { tag.setValue(NSOrderedSet(array: tags.filter { _ in chance(20) }), forKey: "ordered") }
    var authors: [NSManagedObject] = []
    for index in 0..<12 {
      var values = optional(["born": pick(Self.dates)])
      values["name"] = pick(Self.texts)
      if index < passports.count { values["passport"] = passports[index] }
      authors.append(context.make("Author", values))
    }
    people = authors
    for _ in 0..<60 {
      var values = optional([
        "pages": pick([0, 1, 2, 3, 5]), "rating": pick([-0.5, 0, 1, 2.5]),
        "price": NSDecimalNumber(string: pick(["0.1", "1.5", "2", "3"])), "weight": pick([0.5, 1, 2.5] as [Float]),
        "isRead": pick([true, false]), "uuid": pick(Self.uuids), "link": pick(Self.links),
        "cover": pick([Data(), Data([1]), Data([1, 2])]), "author": pick(authors),
      ])
      values["title"] = pick(Self.texts)
      let isComic = chance(30)
      if isComic { values["artist"] = chance(70) ? pick(Self.texts) : nil }
      let book = context.make(isComic ? "Comic" : "Book", values)
      books.append(book)
      book.mutableSetValue(forKey: "tags").addObjects(from: tags.filter { _ in chance(25) })
    }
  }

  /// Saves rows with one context, and returns another one, whose objects the predicates name.
  package mutating func storeRows(_ makeContext: () -> NSManagedObjectContext) throws -> NSManagedObjectContext {
    let writer = makeContext()
    let ids = try writer.performAndWait {
      fill(writer)
      try writer.save()
      return (people.map { $0?.objectID }, books.map { $0?.objectID })
    }
    let reader = makeContext()
    reader.performAndWait {
      people = ids.0.map { $0.map { reader.object(with: $0) } }
      books = ids.1.map { $0.map { reader.object(with: $0) } }
    }
    return reader
  }

  /// Some of the values; the others are nil despite their defaults.
  private mutating func optional(_ values: [String: Any]) -> [String: Any] {
    var result: [String: Any] = [:]
    for (key, value) in values.sorted(by: { $0.key < $1.key }) {
      result[key] = chance(70) ? value : (key == "author" ? nil : NSNull())
    }
    return result
  }
}

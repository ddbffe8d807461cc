import TestFiles
import Testing

@testable import CoreData

/// Sums and averages of texts, data and dates. Each store adds what SQLite adds in a file: a date's seconds, and the
/// number that a text or bytes begin with, or 0.
@Suite struct SumOfAnyKindTests {
  /// The sample of an app's own atomic store keeps no links.
  static let kinds = StoreKind.grouping.filter { $0 != .cards }

  private static let titles = ["12", "3.5 kg", " -2e1x", "kg", ".5", "1e"]
  private static let link = URL(string: "https://example.org/1")!
  /// The bytes of "41 more", and others.
  private static let uuid = UUID(uuidString: "34312006-D6F7-4265-8000-000000000000")!

  private static func fill(_ context: NSManagedObjectContext) throws {
    let ada = context.make("Author", ["name": "Ada", "born": Date(timeIntervalSinceReferenceDate: 10)])
    context.make("Author", ["name": "7 of nine", "born": Date(timeIntervalSinceReferenceDate: 20.5)])
    context.make("Author", ["name": "7"])
    for title in titles { context.make("Book", ["title": title, "author": ada]) }
    let books = try context.all("Book", sort: "title")
    books[0].setValue(Data("7 bytes".utf8), forKey: "cover")
    books[1].setValue(Data([0xff, 0x31]), forKey: "cover")
    books[0].setValue(link, forKey: "link")
    books[0].setValue(uuid, forKey: "uuid")
    try context.save()
    context.reset()
  }

  private static func column(_ function: String, _ key: String, _ type: NSAttributeType = .undefinedAttributeType)
    -> NSExpressionDescription
  {
    let description = NSExpressionDescription()
    description.name = "\(function)\(key)"
    description.expression = NSExpression(forFunction: function, arguments: [NSExpression(forKeyPath: key)])
    description.expressionResultType = type
    return description
  }

  private static func rows(
    _ context: NSManagedObjectContext, _ entity: String, _ columns: [NSExpressionDescription], groups: [String]? = nil
  ) throws -> [NSDictionary] {
    let request = NSFetchRequest<NSDictionary>(entityName: entity)
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = (groups ?? []) as [Any] + columns
    request.propertiesToGroupBy = groups
    request.sortDescriptors = groups?.map { NSSortDescriptor(key: $0, ascending: true) }
    return try context.fetch(request)
  }

  @Test(arguments: kinds)
  func everyStoreAddsTheSame(kind: StoreKind) throws {
    try StoreStack(kind).perform { context in
      try Self.fill(context)
      let books = try Self.rows(
        context, "Book",
        [
          Self.column("sum:", "title"), Self.column("average:", "title", .doubleAttributeType),
          Self.column("sum:", "cover", .integer64AttributeType), Self.column("average:", "cover"),
          Self.column("sum:", "link"), Self.column("sum:", "uuid"),
        ])
      #expect(
        books == [
          [
            "sum:title": -3.0, "average:title": -0.5, "sum:cover": 7, "average:cover": 3.5, "sum:link": 0,
            "sum:uuid": 41,
          ]
        ])
      let authors = try Self.rows(
        context, "Author",
        [
          Self.column("sum:", "born"), Self.column("average:", "born", .dateAttributeType), Self.column("sum:", "name"),
        ])
      #expect(
        authors == [
          ["sum:born": 30.5, "average:born": Date(timeIntervalSinceReferenceDate: 15.25), "sum:name": 14]
        ])
      let groups = try Self.rows(context, "Author", [Self.column("sum:", "born")], groups: ["name"])
      #expect(groups == [["name": "7"], ["name": "7 of nine", "sum:born": 20.5], ["name": "Ada", "sum:born": 10]])
    }
  }

  @Test(arguments: kinds)
  func predicatesCompareSuchSums(kind: StoreKind) throws {
    try StoreStack(kind).perform { context in
      try Self.fill(context)
      for (format, count) in [
        ("books.@sum.title == -3", 1), ("books.@avg.title == -0.5", 1), ("sum(books.title) < -2", 1),
        ("average(books.title) == -0.5", 1), ("books.@sum.cover == 7", 1), ("average(books.cover) == 3.5", 1),
        ("books.@sum.title == 0", 2),
      ] {
        let predicate = NSPredicate(format: format)
        try #expect(context.all("Author", where: format).count == count, "\(format)")
        try #expect(context.all("Author").filter { predicate.evaluate(with: $0) }.count == count, "\(format)")
      }
    }
  }

  @Test(arguments: kinds)
  func listsOfARowsValuesAreAddedToo(kind: StoreKind) throws {
    try StoreStack(kind).perform { context in
      try Self.fill(context)
      for (format, count) in [
        ("sum({pages, 1}) == 1", 6), ("sum({title, pages, 1}) == 13", 1), ("average({title, 4}) == 8", 1),
        ("max({pages, 1}) == 1", 6), ("count({pages, title}) == 2", 6), ("sum({cover, uuid}) == 48", 1),
        ("sum({author.born, 1}) == 11", 6), ("average({author.born, 20}) == 15", 6),
      ] {
        let predicate = NSPredicate(format: format)
        try #expect(context.all("Book", where: format).count == count, "\(format)")
        try #expect(context.all("Book").filter { predicate.evaluate(with: $0) }.count == count, "\(format)")
      }
    }
  }

  /// SQLite itself is the witness: what a file's `sum` makes of a text is what memory makes of it.
  @Test func sqliteAddsWhatMemoryAdds() throws {
    var random = SystemRandomNumberGenerator()
    let characters = Array("0123456789..--++eE  \tx")
    let texts = Set(
      (0..<3_000).map { _ in
        String((0..<Int.random(in: 0...9, using: &random)).map { _ in characters.randomElement(using: &random)! })
      } + ["9223372036854775807", "9223372036854775808", "1e400", "-1e400", "+", ".", "12 ", "0x10", "12\u{0}34", "١"])
    let store = try TemporaryStore()
    try store.save { context in for text in texts { context.make("Tag", ["label": text]) } }
    for row in try store.sql("SELECT hex(ZLABEL), sum(ZLABEL) FROM ZTAG GROUP BY ZLABEL") {
      let text = String(decoding: Self.bytes(ofHex: row[0] ?? ""), as: UTF8.self)
      let expected = try #require(row[1])
      let sum = PredicateValue(PredicateFunction.sum.value(of: [[text]]))
      if case .integer(let sum) = sum {
        #expect("\(sum)" == expected, "\(text.debugDescription)")
      } else {
        let (sum, expected) = (try #require(sum.double), try #require(Double(expected)))
        // SQLite prints 15 digits.
        #expect(sum == expected || abs(sum - expected) <= abs(expected) * 1e-14, "\(text.debugDescription)")
      }
    }
  }

  private static func bytes(ofHex hex: String) -> [UInt8] {
    let digits = hex.compactMap { UInt8(String($0), radix: 16) }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }
}

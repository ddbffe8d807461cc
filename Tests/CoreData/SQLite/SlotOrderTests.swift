import TestFiles
import Testing

@testable import CoreData

/// Rows that are sorted after they were read are in the order that SQLite gives them, where a limit makes it sort.
@Suite struct SlotOrderTests {
  private static func makeModel() -> NSManagedObjectModel {
    let attributes: [(String, NSAttributeType)] = [
      ("text", .stringAttributeType), ("number", .integer64AttributeType), ("flag", .booleanAttributeType),
      ("real", .doubleAttributeType), ("single", .floatAttributeType), ("moment", .dateAttributeType),
      ("indexed", .integer16AttributeType),
    ]
    let cell = LibraryModel.entity("Cell", attributes.map { LibraryModel.attribute($0, $1) })
    let tile = LibraryModel.entity("Tile", [LibraryModel.attribute("colour", .stringAttributeType)])
    cell.subentities = [tile]
    let element = NSFetchIndexElementDescription(property: cell.propertiesByName["indexed"]!, collationType: .binary)
    cell.indexes = [NSFetchIndexDescription(name: "byIndexed", elements: [element])]
    let model = NSManagedObjectModel()
    model.entities = [cell, tile]
    return model
  }

  private static let long = String(repeating: "long ", count: 500)
  private static let texts: [String?] = [
    nil, "", "\0", "a", "a\0", "a\0b", "abcdefg", "abcdefgh", "abcdefgh\0", "abcdefghi", "abcdefghijklmnop",
    "abcdefghijklmnopq", "abcdefghijklmnoqp", "é", "e\u{301}", "ß", "\u{10ffff}", "Z", long, long + "a", long + "\0",
  ]
  private static let numbers: [Int64?] = [nil, .min, .min + 1, -1, 0, 1, 300, .max]
  private static let reals: [Double?] = [
    nil, -.infinity, -1e300, -1.5, -0.0, 0, .leastNonzeroMagnitude, 0.5, 1, 1e300, .infinity,
  ]
  private static let singles: [Float?] = [nil, -0.5, 0.1, 3]

  /// Few different values, so that many rows are equal by the first terms.
  private static func fill(_ context: NSManagedObjectContext, _ count: Int, beginning: String) {
    var random = SeededGenerator(seed: 17)
    for number in 0..<count {
      let cell = context.make(number % 3 == 0 ? "Tile" : "Cell")
      let text = texts.randomElement(using: &random) ?? nil
      cell.setValue(text.map { beginning + $0 }, forKey: "text")
      cell.setValue(numbers.randomElement(using: &random) ?? nil, forKey: "number")
      cell.setValue(Bool.random(using: &random), forKey: "flag")
      cell.setValue(reals.randomElement(using: &random) ?? nil, forKey: "real")
      cell.setValue(singles.randomElement(using: &random) ?? nil, forKey: "single")
      let seconds = Double.random(in: -10...10, using: &random)
      cell.setValue(number % 7 == 0 ? nil : Date(timeIntervalSinceReferenceDate: seconds), forKey: "moment")
      cell.setValue(number % 5, forKey: "indexed")
    }
  }

  private func request(_ order: [String], limit: Int = 0) -> NSFetchRequest<NSManagedObject> {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Cell")
    request.sortDescriptors = order.map {
      NSSortDescriptor(key: String($0.drop { $0 == "-" }), ascending: !$0.hasPrefix("-"))
    }
    request.fetchLimit = limit
    return request
  }

  private func plan(_ request: NSFetchRequest<NSManagedObject>, _ context: NSManagedObjectContext) throws -> String {
    try #require(try context.explain(request).statements.first).plan.joined(separator: "\n")
  }

  @Test(arguments: ["", "the same beginning of all "])
  func theOrderIsThatOfSQLite(beginning: String) throws {
    let store = try TemporaryStore(Self.makeModel())
    try store.save { Self.fill($0, 300, beginning: beginning) }
    try store.read { context in
      let orders = [
        ["text"], ["-text"], ["number"], ["-number"], ["flag"], ["real"], ["-real"], ["single"], ["moment"],
        ["-moment"],
        ["flag", "-text", "number"], ["text", "real"], ["-number", "text"], ["real", "-flag", "moment"],
      ]
      for order in orders + orders.map({ $0 + ["-objectID"] }) {
        let (whole, limited) = (request(order + ["objectID"]), request(order + ["objectID"], limit: 1000))
        let plans = try (plan(whole, context), plan(limited, context))
        #expect(plans.0.contains("SORT IN MEMORY") && plans.1.contains("TEMP B-TREE"), "\(plans)")
        let (sorted, expected) = try (context.fetch(whole), context.fetch(limited))
        #expect(sorted == expected, "\(order)")
      }
    }
  }

  /// Rows that are equal stay in the order in which they were read.
  @Test func equalRowsKeepTheirOrder() throws {
    let store = try TemporaryStore(Self.makeModel())
    try store.save { Self.fill($0, 300, beginning: "") }
    try store.read { context in
      for order in [["flag"], ["-flag"], ["-flag", "text"]] {
        let (sorted, expected) = try (context.fetch(request(order)), context.fetch(request(order + ["objectID"])))
        #expect(sorted == expected, "\(order)")
      }
    }
  }

  @Test func whatTheSlotsDoNotTellIsSortedBySQLite() throws {
    let store = try TemporaryStore(Self.makeModel())
    try store.save { Self.fill($0, 10, beginning: "") }
    try store.read { context in
      for order in [["indexed", "text"], ["objectID"], ["-objectID", "text"], []] {
        let plan = try plan(request(order), context)
        #expect(!plan.contains("SORT IN MEMORY"), "\(order): \(plan)")
      }
      let localized = request([])
      localized.sortDescriptors = [
        NSSortDescriptor(key: "text", ascending: true, selector: Selector("localizedCompare:"))
      ]
      let plan = try plan(localized, context)
      #expect(plan.contains("TEMP B-TREE"), "\(plan)")
      let ids = NSFetchRequest<NSManagedObjectID>(request(["text"]))
      ids.resultType = .managedObjectIDResultType
      let statement = try #require(context.explain(ids).statements.first)
      #expect(statement.sql.contains("ORDER BY"))
    }
  }
}

import Testing

@testable import CoreData

@Suite struct SQLAgainstMemoryTests {
  @Test("The store finds what the same predicate holds for in memory", arguments: 1...8 as ClosedRange<UInt64>)
  func predicates(seed: UInt64) throws {
    let store = try TemporaryStore()
    var generator = PredicateGenerator(seed: seed)
    let writer = store.context()
    try writer.performAndWait {
      generator.fill(writer)
      try writer.save()
    }
    let reader = store.context()
    try reader.performAndWait {
      let all = try reader.all("Book")
      #expect(all.count == 60)
      for _ in 0..<400 {
        let made = generator.predicate()
        let predicate = try NSPredicate.parse(format: made.format, arguments: made.arguments)
        let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
        request.predicate = predicate
        let found = Set(try reader.fetch(request).map(\.objectID))
        let expected = Set(all.filter { predicate.evaluate(with: $0) }.map(\.objectID))
        guard found != expected else { continue }
        let (sql, bindings) = try SQLAgainstMemoryTests.sql(predicate, store)
        let wrong = all.filter { found.contains($0.objectID) != expected.contains($0.objectID) }
        Issue.record(
          "\(predicate.canonicalFormat)\nfound \(found.count), expected \(expected.count)\n\(sql)\n\(bindings)\n\(wrong.first.map { $0.committedValues(forKeys: nil) } ?? [:])"
        )
        return
      }
    }
  }

  @Test("The store sorts as memory does", arguments: 1...3 as ClosedRange<UInt64>)
  func sorting(seed: UInt64) throws {
    let store = try TemporaryStore()
    var generator = PredicateGenerator(seed: seed)
    let context = store.context()
    try context.performAndWait {
      generator.fill(context)
      try context.save()
      let all = try context.all("Book")
      let selectors: [Selector?] = [nil] + StringOrdering.allCases.map { Selector($0.rawValue) }
      for key in ["title", "pages", "price", "author.name", "author.born", "author.passport.number", "uuid", "link"] {
        for selector in selectors {
          for ascending in [true, false] {
            let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
            let descriptor = NSSortDescriptor(key: key, ascending: ascending, selector: selector)
            request.sortDescriptors = [descriptor, NSSortDescriptor(key: "objectID", ascending: true)]
            let found = try context.fetch(request)
            #expect(found.count == all.count)
            let isSorted = zip(found, found.dropFirst()).allSatisfy {
              descriptor.compare($0, to: $1) != .orderedDescending
            }
            #expect(isSorted, "\(descriptor)")
          }
        }
      }
    }
  }

  static func sql(_ predicate: NSPredicate, _ store: TemporaryStore) throws -> (String, [SQLiteValue]) {
    let sqlite = try #require(store.coordinator.persistentStores.first as? SQLiteStore)
    let generator = sqlite.generator(for: "Book")
    let condition = try generator.whereClause(predicate)
    return ("\(generator.joins) WHERE \(condition)", generator.bindings)
  }
}

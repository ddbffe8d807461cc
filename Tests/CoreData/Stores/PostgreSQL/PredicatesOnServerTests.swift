import TestFiles
import Testing

@testable import CoreData

/// The random predicates of `SQLAgainstMemoryTests` on a PostgreSQL server.
@Suite(.enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"))
struct PredicatesOnServerTests {
  private static let cases =
    ProcessInfo.processInfo.environment["WORKERPOOL_PREDICATE_CASES"].flatMap(Int.init) ?? 200
  private static let firstSeed =
    ProcessInfo.processInfo.environment["WORKERPOOL_PREDICATE_SEED"].flatMap(UInt64.init) ?? 1

  @Test(arguments: 0..<4 as Range<UInt64>)
  func theServerFindsWhatThePredicateHoldsForInMemory(number: UInt64) throws {
    let seed = Self.firstSeed + number
    let stack = try StoreStack(.server)
    let store = try #require(stack.store as? ServerStore)
    var generator = PredicateGenerator(seed: seed)
    let writer = stack.context()
    try writer.performAndWait {
      generator.fill(writer)
      try writer.save()
    }
    let reader = stack.context()
    let ids = writer.performAndWait { (generator.people.map { $0?.objectID }, generator.books.map { $0?.objectID }) }
    try reader.performAndWait {
      generator.people = ids.0.map { $0.map { reader.object(with: $0) } }
      generator.books = ids.1.map { $0.map { reader.object(with: $0) } }
      let entities = ["Book", "Comic", "Author", "Tag"]
      let all = try entities.map { try reader.all($0) }
      var understood = 0
      for index in 0..<Self.cases {
        let entity = entities[index % 5 % 4]
        let made = generator.predicate(over: entity)
        let predicate = try NSPredicate.parse(format: made.format, arguments: made.arguments)
        let isUnderstood = try store.understands(RowFetch(entityName: entity, predicate: predicate))
        understood += isUnderstood ? 1 : 0
        let request = NSFetchRequest<NSManagedObject>(entityName: entity)
        request.predicate = predicate
        let found: Set<NSManagedObjectID>
        do {
          found = Set(try reader.fetch(request).map(\.objectID))
        } catch {
          Issue.record("seed \(seed), \(entity): \(made.format)\n\(sql(predicate, store, entity))\n\(error)")
          return
        }
        let expected = Set(all[index % 5 % 4].filter { predicate.evaluate(with: $0) }.map(\.objectID))
        if found == expected { continue }
        let wrong = all[index % 5 % 4].first { found.contains($0.objectID) != expected.contains($0.objectID) }
        Issue.record(
          """
          seed \(seed), \(entity): found \(found.count), expected \(expected.count)
          \(predicate.canonicalFormat)
          \(sql(predicate, store, entity))
          \(wrong.map { "\($0.objectID) \($0.committedValues(forKeys: nil))" } ?? "")
          """)
        return
      }
      // A third and more never become rows in memory.
      #expect(understood * 3 >= Self.cases, "\(understood) of \(Self.cases)")
    }
  }

  private func sql(_ predicate: NSPredicate, _ store: ServerStore, _ entity: String) -> String {
    let generator = store.generator(for: entity)
    guard let condition = try? generator.whereClause(predicate) else { return "in memory" }
    return "\(generator.joins) WHERE \(condition)\n\(generator.bindings)"
  }

  @Test(arguments: 1...2 as ClosedRange<UInt64>)
  func theServerSortsAsMemoryDoes(seed: UInt64) throws {
    let stack = try StoreStack(.server)
    var generator = PredicateGenerator(seed: seed)
    try stack.perform { context in
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
}

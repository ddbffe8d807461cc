import Testing

@testable import CoreData

@Suite struct SQLAgainstMemoryTests {
  /// The number of predicates for each seed. `WORKERPOOL_PREDICATE_CASES=100000` tries more;
  /// `WORKERPOOL_PREDICATE_SEED=7` starts with another seed than 1. A failure prints its seed.
  private static let cases = environment("WORKERPOOL_PREDICATE_CASES") ?? 200
  private static let firstSeed = UInt64(environment("WORKERPOOL_PREDICATE_SEED") ?? 1)

  private static func environment(_ name: String) -> Int? {
    ProcessInfo.processInfo.environment[name].flatMap(Int.init)
  }

  @Test("The store finds what the same predicate holds for in memory", arguments: 0..<8 as Range<UInt64>)
  func predicates(number: UInt64) throws {
    let seed = Self.firstSeed + number
    let store = try TemporaryStore()
    var generator = PredicateGenerator(seed: seed)
    let reader = try generator.storeRows { store.context() }
    try reader.performAndWait {
      let entities = ["Book", "Comic", "Author", "Tag"]
      let all = try entities.map { try reader.all($0) }
      #expect(all.map(\.count) == [60, all[1].count, 12, 8])
      for index in 0..<Self.cases {
        let entity = entities[index % 5 % 4]
        let made = generator.predicate(over: entity)
        let predicate = try NSPredicate.parse(format: made.format, arguments: made.arguments)
        try compare(
          predicate, format: made.format, entity: entity, among: all[index % 5 % 4], store: store, in: reader,
          seed: seed)
      }
    }
  }

  private func compare(
    _ predicate: NSPredicate, format: String, entity: String, among all: [NSManagedObject], store: TemporaryStore,
    in context: NSManagedObjectContext, seed: UInt64
  ) throws {
    // The printed predicate gives the same result, if it can be parsed: data and objects have no textual form.
    let text = predicate.canonicalFormat
    if let again = try? NSPredicate.parse(format: text).canonicalFormat {
      try #expect(NSPredicate.parse(format: again).canonicalFormat == again, "seed \(seed): \(format)")
    }
    let request = NSFetchRequest<NSManagedObject>(entityName: entity)
    request.predicate = predicate
    let fetchedIDs: Set<NSManagedObjectID>
    do {
      fetchedIDs = Set(try context.fetch(request).map(\.objectID))
    } catch {
      Issue.record("seed \(seed), \(entity): \(format)\n\(predicate.canonicalFormat)\n\(error)")
      throw error
    }
    let expected = Set(all.filter { predicate.evaluate(with: $0) }.map(\.objectID))
    guard fetchedIDs != expected else { return }
    let (sql, bindings) = try SQLAgainstMemoryTests.sql(predicate, store, entity)
    let wrong = all.first { fetchedIDs.contains($0.objectID) != expected.contains($0.objectID) }
    Issue.record(
      """
      seed \(seed), \(entity): found \(fetchedIDs.count), expected \(expected.count)
      \(predicate.canonicalFormat)
      \(sql)
      \(bindings)
      \(wrong.map { "\($0.objectID) \($0.committedValues(forKeys: nil))" } ?? "")
      """)
    throw CancellationError()
  }

  @Test(
    "Questions about to-many relationships, of every kind of relationship",
    arguments: [
      ("Author", "ANY books.pages > 1"), ("Author", "ALL books.pages > 0"), ("Author", "NONE books.pages == 1"),
      ("Author", "ALL books.title == 'none'"), ("Author", "ANY books.isRead == YES AND NOT ANY books.pages == 2"),
      ("Author", "books.@count == 0"), ("Author", "books.@count > 3 OR passport.number == nil"),
      ("Author", "books.@sum.pages > 5"), ("Author", "books.@avg.rating > 0.5"), ("Author", "books.@min.price < 1"),
      ("Author", "books.@max.title > 'b'"), ("Author", "books.@max.uuid != nil"),
      ("Author", "ANY books.author == SELF"),
      ("Author", "SUBQUERY(books, $b, $b.pages > 1 AND $b.isRead == NO).@count >= 2"),
      ("Author", "SUBQUERY(books, $b, ANY $b.tags.label ==[cd] 'a').@count > 0"),
      ("Author", "SUBQUERY(books, $b, SUBQUERY($b.tags, $t, $t.books.@count > 10).@count > 0).@count > 0"),
      ("Author", "SUBQUERY(books, $b, $b.tags.@count == 0 AND $b.author.name == name).@count == 1"),
      ("Author", "SUBQUERY(books, $b, $b.title == name).@sum.pages == 0"),
      ("Author", "ANY SUBQUERY(books, $b, $b.pages > 2).title CONTAINS[c] 'a'"),
      ("Author", "passport.holder == SELF"), ("Author", "passport.holder.books.@count == books.@count"),
      ("Author", "name IN books.title"), ("Author", "NOT books.title CONTAINS name"),
      ("Author", "count:(books) == 2 OR sum:(books.pages) == 7 OR average:(books.pages) == 1"),
      ("Author", "ANY books.title.length > 3"), ("Author", "ALL books.rating != 1"),
      ("Author", "NONE books.rating != 1"),
      ("Tag", "ANY books.author.name == 'a'"), ("Tag", "ALL books.author != nil"), ("Tag", "books.@avg.pages > 1"),
      ("Tag", "SUBQUERY(books, $b, $b.author.passport != nil AND $b.author.name BEGINSWITH[cd] 'a').@count > 1"),
      ("Tag", "ANY ordered.label == label"), ("Tag", "ordered.@count > 0 OR orderedBy.@count > 1"),
      ("Tag", "SELF IN ordered"), ("Tag", "ANY orderedBy == SELF"), ("Tag", "NONE ordered.label == nil"),
      ("Passport", "holder.books.@count > 2"), ("Passport", "ANY holder.books.pages == nil"),
      ("Passport", "holder == nil"),
      ("Comic", "ANY tags.label == 'a' OR artist == nil"), ("Comic", "author.name != nil AND pages <= 2"),
      ("Comic", "SELF IN author.books"), ("Comic", "tags.@count == author.books.@count"),
    ])
  func relationships(entity: String, format: String) throws {
    let store = try TemporaryStore()
    var generator = PredicateGenerator(seed: 42)
    let context = store.context()
    let predicate = try NSPredicate.parse(format: format)
    try context.performAndWait {
      generator.fill(context)
      let tags = try context.all("Tag", sort: "label")
      for (tag, next) in zip(tags, tags.dropFirst()) {
        tag.setValue(NSOrderedSet(array: generator.chance(50) ? [tag, next] : [next]), forKey: "ordered")
      }
      try context.save()
      let all = try context.all(entity)
      let expected = Set(all.filter { predicate.evaluate(with: $0) }.map(\.objectID))
      let fetchedIDs = Set(try context.all(entity, where: format).map(\.objectID))
      #expect(fetchedIDs == expected, "found \(fetchedIDs.count), expected \(expected.count) of \(all.count)")
    }
  }

  private static func sql(_ predicate: NSPredicate, _ store: TemporaryStore, _ entity: String) throws -> (
    String, [SQLiteValue]
  ) {
    let sqlite = try #require(store.coordinator.persistentStores.first as? SQLiteStore)
    let generator = sqlite.generator(for: entity)
    let condition = try generator.whereClause(predicate)
    return ("\(generator.joins) WHERE \(condition.text)", condition.values)
  }
}

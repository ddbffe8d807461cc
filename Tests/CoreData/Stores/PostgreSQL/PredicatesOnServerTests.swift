import TestFiles
import Testing

@testable import CoreData
@testable import CoreDataPostgreSQL

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
    let stack = try StoreStack(.server, Self.model())
    let store = try #require(stack.store as? ServerStore)
    var generator = PredicateGenerator(seed: seed)
    let reader = try generator.storeRows { stack.context() }
    try reader.performAndWait {
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
        let fetchedIDs: Set<NSManagedObjectID>
        do {
          fetchedIDs = Set(try reader.fetch(request).map(\.objectID))
        } catch {
          Issue.record("seed \(seed), \(entity): \(made.format)\n\(sql(predicate, store, entity))\n\(error)")
          return
        }
        let expected = Set(all[index % 5 % 4].filter { predicate.evaluate(with: $0) }.map(\.objectID))
        if fetchedIDs == expected {
          // Batch and dictionary requests take the same predicates, about every second of them.
          guard index % 2 == 0 else { continue }
          let others = try requests(predicate, of: entity, number: index, in: reader)
          if others.dictionaries == expected, others.updated == expected { continue }
          Issue.record(
            """
            seed \(seed), \(entity): dictionaries \(others.dictionaries.count), updated \(others.updated.count), \
            expected \(expected.count)
            \(predicate.canonicalFormat)
            \(sql(predicate, store, entity))
            """)
          return
        }
        let wrong = all[index % 5 % 4].first { fetchedIDs.contains($0.objectID) != expected.contains($0.objectID) }
        Issue.record(
          """
          seed \(seed), \(entity): found \(fetchedIDs.count), expected \(expected.count)
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

  /// The library with an attribute that no predicate reads.
  private static func model() -> NSManagedObjectModel {
    let model = LibraryModel.make()
    for name in ["Author", "Book", "Tag"] {
      model.entitiesByName[name]?.properties.append(LibraryModel.attribute("visits", .integer64AttributeType))
    }
    return model
  }

  /// The objects that a fetch of dictionaries finds, and those that a batch update changes.
  private func requests(
    _ predicate: NSPredicate, of entity: String, number: Int, in context: NSManagedObjectContext
  ) throws -> (dictionaries: Set<NSManagedObjectID>, updated: Set<NSManagedObjectID>) {
    let fetch = NSFetchRequest<NSDictionary>(entityName: entity)
    fetch.resultType = .dictionaryResultType
    fetch.predicate = predicate
    let object = NSExpressionDescription()
    object.name = "object"
    object.expression = .expressionForEvaluatedObject()
    object.expressionResultType = .objectIDAttributeType
    fetch.propertiesToFetch = [object]
    let dictionaries = try context.fetch(fetch).compactMap { $0["object"] as? NSManagedObjectID }
    let update = NSBatchUpdateRequest(entityName: entity)
    update.predicate = predicate
    update.propertiesToUpdate = ["visits": number]
    update.resultType = .updatedObjectIDsResultType
    let result = try context.execute(update) as? NSBatchUpdateResult
    return (Set(dictionaries), Set(result?.result as? [NSManagedObjectID] ?? []))
  }

  private func sql(_ predicate: NSPredicate, _ store: ServerStore, _ entity: String) -> String {
    let generator = store.generator(for: entity)
    guard let condition = try? generator.whereClause(predicate) else { return "in memory" }
    return "\(generator.joins) WHERE \(condition.text)\n\(condition.values)"
  }

  @Test(
    "Requests with predicates that are evaluated in memory change the right rows only",
    arguments: [
      ("name MATCHES[c] '\\\\w+ 1.*'", [1, 10, 11]), ("name MATCHES '.*\\\\d' AND pages > 9", [10, 11]),
      ("abs:(pages - 5) < 2", [4, 5, 6]), ("ANY tags.label MATCHES '\\\\w\\\\d' AND pages != 3", [0, 6, 9]),
      ("modulus:by:(pages, 5) == 0 OR name ENDSWITH[cd] 'É 7'", [0, 5, 7, 10]),
    ] as [(String, [Int])])
  func requestsInMemory(format: String, expected: [Int]) throws {
    let stack = try StoreStack(.server)
    let context = stack.context()
    try context.performAndWait {
      let tag = context.make("Tag", ["label": "a1"])
      for number in 0..<12 {
        context.make(
          "Book", ["title": "Bé \(number)", "pages": number, "tags": number % 3 == 0 ? Set([tag]) : Set()])
      }
      try context.save()
      let predicate = NSPredicate(format: format.replacingOccurrences(of: "name", with: "title"))
      func pages(_ request: NSFetchRequest<NSDictionary>) throws -> [Int] {
        request.resultType = .dictionaryResultType
        request.predicate = predicate
        return try context.fetch(request).compactMap { $0["pages"] as? Int }
      }
      let fetch = NSFetchRequest<NSDictionary>(entityName: "Book")
      fetch.propertiesToFetch = ["pages"]
      fetch.sortDescriptors = [NSSortDescriptor(key: "pages", ascending: false)]
      try #expect(pages(fetch) == expected.reversed())
      fetch.fetchLimit = 2
      try #expect(pages(fetch) == Array(expected.reversed().prefix(2)))
      let sum = NSExpressionDescription()
      (sum.name, sum.expressionResultType) = ("pages", .integer64AttributeType)
      sum.expression = NSExpression(format: "sum:(pages)")
      let sums = NSFetchRequest<NSDictionary>(entityName: "Book")
      sums.propertiesToFetch = [sum]
      try #expect(pages(sums) == [expected.reduce(0, +)])
      // A limited update takes the first rows in its order.
      let update = NSBatchUpdateRequest(entityName: "Book")
      update.predicate = predicate
      update.propertiesToUpdate = ["rating": 1]
      (update.resultType, update.limit) = (.updatedObjectsCountResultType, 2)
      update.order = [NSSortDescriptor(key: "pages", ascending: true)]
      try #expect((context.execute(update) as? NSBatchUpdateResult)?.result as? Int == 2)
      context.refreshAllObjects()
      let rated = try context.all("Book", where: "rating == 1", sort: "pages")
      #expect(rated.compactMap { $0.value(forKey: "pages") as? Int } == Array(expected.prefix(2)))
      let doomed = NSFetchRequest<NSManagedObject>(entityName: "Book")
      doomed.predicate = predicate
      let deletion = NSBatchDeleteRequest(fetchRequest: doomed)
      deletion.resultType = .resultTypeCount
      try #expect((context.execute(deletion) as? NSBatchDeleteResult)?.result as? Int == expected.count)
      context.reset()
      try #expect(
        Set(context.all("Book").compactMap { $0.value(forKey: "pages") as? Int }) == Set(0..<12).subtracting(expected))
    }
  }

  /// A fetch of objects makes an object of each row that it reads.
  @Test(arguments: [
    ("title MATCHES '(?i)t.' AND pages > 7", 2), ("pages > 4 AND (title MATCHES '(?i)t.' AND pages < 7)", 2),
    ("title MATCHES '(?i)t.' OR pages > 7", 10),
  ])
  func onlyRowsThatFulfilTheRestOfThePredicateAreRead(format: String, expected: Int) throws {
    let stack = try StoreStack(.server)
    try stack.perform { context in
      for number in 0..<10 { context.make("Book", ["title": "T\(number)", "pages": number]) }
      try context.save()
    }
    let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
    request.predicate = NSPredicate(format: format)
    for counts in [false, true] {
      try stack.perform { context in
        context.retainsRegisteredObjects = true
        try #expect(counts ? context.count(for: request) == expected : context.fetch(request).count == expected)
        #expect(context.registeredObjects.count == expected)
      }
    }
  }

  @Test func anUpdateInMemoryWaitsForOthersAndLooksAgain() throws {
    //   this request                       | another transaction
    //   -----------------------------------+-----------------------------
    //                                      | gives row 1 another title
    //   finds rows 1 and 2 by MATCHES      |
    //   waits for row 1                    |
    //                                      | commits
    //   looks at row 1 again: only 2 fits  |
    let stack = try StoreStack(.server)
    let place = try ServerAddress(stack.url, nil)
    try stack.perform { context in
      for number in 1...2 { context.make("Book", ["title": "x\(number)", "pages": number]) }
      try context.save()
    }
    let other = try ServerDriver.open(PostgreSQLServer.shared.address())
    try other.run("BEGIN; UPDATE \(place.qualified("Book")) SET title = 'other' WHERE pages = 1")
    try commit(other, whenWaitedForIn: place)
    let count = try stack.perform { context -> Int? in
      let update = NSBatchUpdateRequest(entityName: "Book")
      update.predicate = NSPredicate(format: "title MATCHES 'x\\\\d'")
      update.propertiesToUpdate = ["rating": 1]
      update.resultType = .updatedObjectsCountResultType
      return (try context.execute(update) as? NSBatchUpdateResult)?.result as? Int
    }
    #expect(count == 1)
  }

  /// A limited update takes the first rows that are free and match: where the server evaluates the predicate,
  /// and where this process does.
  ///
  ///     another transaction         | this request, with the limit 2
  ///     ----------------------------+----------------------------------
  ///     has locked rows 1 and 2     |
  ///                                 | passes over them, takes 3 and 4
  ///     rolls back                  |
  @Test(arguments: ["title BEGINSWITH 'x'", "title MATCHES '(?i)X\\\\d'"])
  func aLimitCountsTheRowsThatOthersHaveNotLocked(format: String) throws {
    let stack = try StoreStack(.server)
    let place = try ServerAddress(stack.url, nil)
    // The keys are in another order than the pages.
    try stack.perform { context in
      for number in (1...6).reversed() { context.make("Book", ["title": "x\(number)", "pages": number]) }
      try context.save()
    }
    let other = try ServerDriver.open(PostgreSQLServer.shared.address())
    try other.run("BEGIN; UPDATE \(place.qualified("Book")) SET rating = 7 WHERE pages IN (1, 2)")
    func take(_ limit: Int) throws -> [Int] {
      try stack.perform { context in
        let update = NSBatchUpdateRequest(entityName: "Book")
        update.predicate = NSPredicate(format: "rating == nil AND \(format)")
        update.propertiesToUpdate = ["rating": 1]
        (update.limit, update.skipsLockedRows) = (limit, true)
        update.order = [NSSortDescriptor(key: "pages", ascending: true)]
        update.resultType = .updatedObjectIDsResultType
        let result = try context.execute(update) as? NSBatchUpdateResult
        let ids = result?.result as? [NSManagedObjectID] ?? []
        return ids.compactMap { context.object(with: $0).value(forKey: "pages") as? Int }.sorted()
      }
    }
    try #expect(take(2) == [3, 4])
    try other.run("ROLLBACK")
    other.close()
    try #expect(take(3) == [1, 2, 5])
    try #expect(take(3) == [6])
  }

  @Test func aLimitCountsTheRowsThatStillMatchAfterWaiting() throws {
    //   this request, with the limit 2     | another transaction
    //   -----------------------------------+-----------------------------
    //                                      | gives row 1 another title
    //   finds rows 1, 2 and 3 by MATCHES   |
    //   waits for row 1                    |
    //                                      | commits
    //   looks at 1 and 2 again: only 2 fits|
    //   takes 3 as well                    |
    let stack = try StoreStack(.server)
    let place = try ServerAddress(stack.url, nil)
    try stack.perform { context in
      for number in 1...3 { context.make("Book", ["title": "x\(number)", "pages": number]) }
      try context.save()
    }
    let other = try ServerDriver.open(PostgreSQLServer.shared.address())
    try other.run("BEGIN; UPDATE \(place.qualified("Book")) SET title = 'other' WHERE pages = 1")
    try commit(other, whenWaitedForIn: place)
    let pages = try stack.perform { context -> [Int] in
      let update = NSBatchUpdateRequest(entityName: "Book")
      update.predicate = NSPredicate(format: "title MATCHES '(?i)x\\\\d'")
      update.propertiesToUpdate = ["rating": 1]
      update.limit = 2
      update.order = [NSSortDescriptor(key: "pages", ascending: true)]
      try context.execute(update)
      return try context.all("Book", where: "rating == 1", sort: "pages").compactMap {
        $0.value(forKey: "pages") as? Int
      }
    }
    #expect(pages == [2, 3])
  }

  /// The server evaluates these conditions itself:
  ///
  ///     this request                 | another transaction
  ///     -----------------------------+-----------------------------
  ///                                  | gives row 1 another title
  ///                                  | deletes row 2
  ///     finds rows 1, 2 and 3        |
  ///     waits for row 1              |
  ///                                  | commits
  ///     changes or deletes row 3     |
  @Test(arguments: [false, true], [0, 3])
  func aBatchLeavesRowsThatMatchNoLongerAfterWaiting(isDeletion: Bool, limit: Int) throws {
    let stack = try StoreStack(.server)
    let place = try ServerAddress(stack.url, nil)
    try stack.perform { context in
      for number in 1...3 { context.make("Book", ["title": "x", "pages": number]) }
      try context.save()
    }
    let other = try ServerDriver.open(PostgreSQLServer.shared.address())
    try other.run(
      """
      BEGIN; UPDATE \(place.qualified("Book")) SET title = 'other' WHERE pages = 1; \
      DELETE FROM \(place.qualified("Book")) WHERE pages = 2
      """)
    try commit(other, whenWaitedForIn: place)
    try stack.perform { context in
      let matches = NSPredicate(format: "title == 'x'")
      let order = [NSSortDescriptor(key: "pages", ascending: true)]
      if isDeletion {
        let fetch = NSFetchRequest<any NSFetchRequestResult>(entityName: "Book")
        (fetch.predicate, fetch.fetchLimit, fetch.sortDescriptors) = (matches, limit, order)
        let deletion = NSBatchDeleteRequest(fetchRequest: fetch)
        deletion.resultType = .resultTypeCount
        #expect((try context.execute(deletion) as? NSBatchDeleteResult)?.result as? Int == 1)
      } else {
        let update = NSBatchUpdateRequest(entityName: "Book")
        (update.predicate, update.limit, update.order) = (matches, limit, order)
        update.propertiesToUpdate = ["rating": 1]
        update.resultType = .updatedObjectsCountResultType
        #expect((try context.execute(update) as? NSBatchUpdateResult)?.result as? Int == 1)
      }
      let rest = try context.all("Book", sort: "pages")
      #expect(rest.map { $0.value(forKey: "pages") as? Int } == (isDeletion ? [1] : [1, 3]))
      #expect(rest.first?.value(forKey: "rating") as? Int != 1)
    }
  }

  /// Commits a transaction on a thread of its own, as soon as a statement on the schema waits for a lock.
  private func commit(_ connection: any ServerConnection, whenWaitedForIn place: ServerAddress) throws {
    nonisolated(unsafe) let observer = try ServerDriver.open(PostgreSQLServer.shared.address())
    nonisolated(unsafe) let holder = connection
    let waits: SQL = """
      SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%\(raw: place.schema)%'
      """
    Thread {
      // An error ends the wait, and the test with it.
      while (try? observer.execute(waits).rowCount) == 0 {}
      try? holder.run("COMMIT")
    }.start()
  }
}

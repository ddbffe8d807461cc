import CSQLite
import Testing

@testable import CoreData

/// Values that SQLite refuses, or that are longer than its numbers.
@Suite struct BoundValueTests {
  /// A store whose connection takes values of at most so many bytes.
  private func library(_ largest: Int32) throws -> TemporaryStore {
    let store = try TemporaryStore()
    let file = try #require(store.coordinator.persistentStores[0] as? SQLiteStore)
    _ = try file.database.write { sqlite3_limit($0.handle, SQLITE_LIMIT_LENGTH, largest) }
    return store
  }

  private func expectRefusal(_ attribute: String, _ body: () throws -> Void) {
    let error = #expect(throws: NSError.self) { try body() }
    let text = "\(error?.localizedDescription ?? "") \(error?.localizedFailureReason ?? "") \(error?.userInfo ?? [:])"
    #expect(error?.domain == NSCocoaErrorDomain)
    #expect(text.contains(attribute), "\(text)")
  }

  /// With and without other rows in the statement.
  @Test(arguments: [1, 60])
  func aValueThatSQLiteRefusesEndsTheSave(rows: Int) throws {
    let store = try library(100_000)
    let long = String(repeating: "a", count: 100_001)
    let values: [(String, Any)] = [
      ("title", long), ("cover", Data(long.utf8)), ("link", try #require(URL(string: "a:\(long)"))),
    ]
    for (key, value) in values {
      try store.read { context in
        for _ in 1..<rows { context.make("Book", ["title": "short"]) }
        context.make("Book", ["title": "short"]).setValue(value, forKey: key)
        expectRefusal("the value of \(key) of Book/p") { try context.save() }
        #expect(context.insertedObjects.count == rows)
      }
    }
    try #expect(store.sql("SELECT count(*) FROM ZBOOK") == [["0"]])
    // The statements can still be used.
    try store.save { context in for _ in 1...rows { context.make("Book", ["title": "short"]) } }
    try #expect(store.sql("SELECT count(*) FROM ZBOOK WHERE ZTITLE = 'short'") == [["\(rows)"]])
  }

  @Test(arguments: [1, 60])
  func anUpdateToAValueThatSQLiteRefusesKeepsTheValueBefore(rows: Int) throws {
    let store = try library(100_000)
    try store.save { context in for _ in 1...rows { context.make("Book", ["title": "short"]) } }
    try store.read { context in
      for book in try context.all("Book") {
        book.setValue(String(repeating: "a", count: 100_001), forKey: "title")
      }
      expectRefusal("the value of title of Book/p") { try context.save() }
    }
    try #expect(store.sql("SELECT count(*) FROM ZBOOK WHERE ZTITLE = 'short'") == [["\(rows)"]])
  }

  /// SQLite takes each of the values, and not all of them in one row.
  @Test(arguments: [1, 60])
  func aRowThatIsTooLongAsAWholeIsNamed(rows: Int) throws {
    let store = try library(100_000)
    let long = String(repeating: "a", count: 60_000)
    try store.read { context in
      for _ in 1..<rows { context.make("Book", ["title": "short"]) }
      context.make("Book", ["title": long, "cover": Data(long.utf8)])
      expectRefusal("the row of Book/p") { try context.save() }
    }
    try #expect(store.sql("SELECT count(*) FROM ZBOOK") == [["0"]])
    try store.save { context in for _ in 1...rows { context.make("Book", ["title": "short"]) } }
    try store.read { context in
      for book in try context.all("Book") { book.setValue("long", forKey: "title") }
      try context.all("Book").last?.setValuesForKeys(["title": long, "cover": Data(long.utf8)])
      expectRefusal("the row of Book/p") { try context.save() }
    }
    try #expect(store.sql("SELECT count(*) FROM ZBOOK WHERE ZTITLE = 'short'") == [["\(rows)"]])
  }

  @Test func aBatchThatSQLiteRefusesWritesNothing() throws {
    let store = try library(100_000)
    let long = String(repeating: "a", count: 100_001)
    try store.save { $0.make("Book", ["title": "short"]) }
    try store.read { context in
      let insertion = NSBatchInsertRequest(entityName: "Book", objects: [["title": "new"], ["title": long]])
      expectRefusal("the value of title of Book") { try context.execute(insertion) }
      let update = NSBatchUpdateRequest(entityName: "Book")
      update.propertiesToUpdate = ["title": long]
      expectRefusal("the value of title of Book") { try context.execute(update) }
    }
    try #expect(store.sql("SELECT ZTITLE FROM ZBOOK") == [["short"]])
  }

  /// A fetch that cannot ask for a value finds nothing else instead.
  @Test func aPredicateWithAValueThatSQLiteRefusesIsAnError() throws {
    let store = try TemporaryStore()
    try store.save { $0.make("Tag", [:]) }
    let file = try #require(store.coordinator.persistentStores[0] as? SQLiteStore)
    _ = try file.database.read { sqlite3_limit($0.handle, SQLITE_LIMIT_LENGTH, 100_000) }
    try store.read { context in
      let request = NSFetchRequest<NSManagedObject>(entityName: "Tag")
      request.predicate = NSPredicate(format: "label == %@ OR label == nil", String(repeating: "a", count: 100_001))
      #expect(throws: NSError.self) { try context.fetch(request) }
    }
  }

  /// The value's memory is reserved and never touched.
  @Test func aValueAboveTwoGiBIsAnErrorOfTheSave() async throws {
    await #expect(processExitsWith: .success) {
      let store = try TemporaryStore()
      try store.read { context in
        context.make("Book", ["title": "short", "cover": Data(count: Int(Int32.max) + 1)])
        let error = #expect(throws: NSError.self) { try context.save() }
        let information = "\(error?.userInfo ?? [:])"
        #expect(information.contains("the value of cover of Book/p1"))
      }
      try #expect(store.sql("SELECT count(*) FROM ZBOOK") == [["0"]])
    }
  }
}

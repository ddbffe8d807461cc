import TestFiles
import Testing

@testable import CoreData

/// Rows that are written without objects.
@Suite struct NewRowsTests {
  private let store: TemporaryStore
  private let context: NSManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    context = store.context()
  }

  private func entity(_ name: String) throws -> NSEntityDescription {
    try #require(NSEntityDescription.entity(forEntityName: name, in: context))
  }

  private func insert(_ rows: [NewRows]) throws -> [[NSManagedObjectID]] {
    try context.performAndWait {
      try #require(context.persistentStoreCoordinator).insert(rows, by: context)
    }
  }

  @Test func rowsOfSeveralEntitiesGetConsecutiveKeysAndTheModelsDefaults() throws {
    let (book, author) = (try entity("Book"), try entity("Author"))
    let (title, pages) = (NewRow.Place("title", of: book), NewRow.Place("pages", of: book))
    let name = NewRow.Place("name", of: author)
    for _ in 1...2 {
      let ids = try insert([
        NewRows(of: book, count: 30, keepsIDs: true) { row, index in
          row.set("book \(index)", at: title)
          if index % 2 == 0 { row.set(Int64(index), at: pages) }
        },
        NewRows(of: author, count: 1, keepsIDs: false) { row, _ in row.set("A", at: name) },
      ])
      #expect(ids.map(\.count) == [30, 0])
    }
    try store.read { context in
      let books = try context.all("Book", sort: "objectID")
      #expect(books.map(\.objectID.rowKey) == (1...60).map { $0 })
      #expect(books.map { $0.text("title") } == (0..<60).map { "book \($0 % 30)" })
      #expect(books.map { $0.value(forKey: "pages") as? Int } == (0..<60).map { $0 % 2 == 0 ? $0 % 30 : 0 })
      #expect(books.allSatisfy { $0.value(forKey: "isRead") as? Bool == false })
      #expect(try context.all("Author").count == 2)
    }
  }

  @Test func anErrorInOneEntityLeavesNothingOfTheOthers() throws {
    struct Stop: Error {}
    let (book, author) = (try entity("Book"), try entity("Author"))
    let title = NewRow.Place("title", of: book)
    #expect(throws: Stop.self) {
      try insert([
        NewRows(of: book, count: 3, keepsIDs: false) { row, index in row.set("book \(index)", at: title) },
        NewRows(of: author, count: 1, keepsIDs: false) { _, _ in throw Stop() },
      ])
    }
    try #expect(store.sql("SELECT count(*) FROM ZBOOK") == [["0"]])
  }

  @Test func aUniqueValueThatIsTakenLeavesNothing() throws {
    let library = try UniqueLibrary()
    let context = library.context(.errorMergePolicyType)
    try context.performAndWait {
      let book = try #require(NSEntityDescription.entity(forEntityName: "Book", in: context))
      let title = NewRow.Place("title", of: book)
      #expect {
        _ = try #require(context.persistentStoreCoordinator).insert(
          [NewRows(of: book, count: 40, keepsIDs: false) { row, index in row.set("b\(index % 35)", at: title) }],
          by: context)
      } throws: { ($0 as NSError).code == NSManagedObjectConstraintMergeError }
      try #expect(library.books().isEmpty)
    }
  }

  // MARK: Rows by key

  @Test func objectsOfKeysHaveTheRowsOfThisMoment() throws {
    try store.save { context in for number in 0..<600 { context.make("Tag", ["label": "\(number)"]) } }
    let tag = try entity("Tag")
    try context.performAndWait {
      for count in [1, 2, 8, 9, 64, 300, 600] {
        let keys = (1...Int64(count)).reversed().map { $0 }
        let tags = try context.objects(of: tag, keys: keys + [4711])
        #expect(Set(tags.compactMap { $0.text("label") }) == Set((0..<count).map { "\($0)" }))
      }
      #expect(try context.objects(of: tag, keys: []).isEmpty)
      context.reset()
      // Given: another coordinator writes.
      let rival = try store.otherCoordinator().context()
      try rival.performAndWait {
        try #require(try rival.all("Tag", where: "label == '7'").first).setValue("new", forKey: "label")
        try rival.save()
      }
      #expect(try context.objects(of: tag, keys: [8]).first?.text("label") == "new")
    }
  }
}

import CoreData
import Foundation
import Testing

/// The number of statements that a fetch costs, counted in a process of its own that prints each of them.
@Suite struct FetchCostTests {
  /// Runs the body in a new context on a new file with forty books by four authors with three tags. The body prints "--
  /// name" to begin a section.
  static func count(_ body: (NSManagedObjectContext) throws -> Void) throws {
    setenv("com.apple.CoreData.SQLDebug", "1", 1)
    let store = try TemporaryStore()
    try store.save { context in
      let tags = (0..<3).map { context.make("Tag", ["label": "t\($0)"]) }
      for index in 0..<4 {
        let author = context.make("Author", ["name": "a\(index)"])
        author.setValue(context.make("Passport", ["number": "\(index)"]), forKey: "passport")
        for number in 0..<10 {
          context.make("Book", ["title": "b\(index)\(number)", "author": author, "tags": Set(tags.prefix(number % 4))])
        }
      }
    }
    // A new coordinator, whose cache is empty.
    let context = try store.otherCoordinator().context()
    try context.performAndWait {
      say("begin")
      try body(context)
      say("end")
    }
  }

  static func say(_ name: String) { FileHandle.standardError.write(Data("-- \(name)\n".utf8)) }

  /// The number of SELECTs in each section.
  static func selects(_ result: ExitTest.Result?) -> [String: Int] {
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    var section = ""
    var counts: [String: Int] = [:]
    for line in text.split(separator: "\n") {
      if line.hasPrefix("-- ") { section = String(line.dropFirst(3)) }
      if line.hasPrefix("CoreData: sql: SELECT") { counts[section, default: 0] += 1 }
    }
    return counts
  }

  private static func request() -> NSFetchRequest<NSManagedObject> {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
    request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
    return request
  }

  @Test func firingAFetchedFaultCostsNoStatement() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      try FetchCostTests.count { context in
        let books = try context.fetch(FetchCostTests.request())
        #expect(!books.contains { !$0.isFault })
        FetchCostTests.say("fire")
        for book in books { #expect(book.text("title")?.hasPrefix("b") == true) }
      }
    }
    #expect(Self.selects(result)["begin"] == 1 && Self.selects(result)["fire"] == nil)
  }

  @Test func withoutValuesTheFirstUseReadsTheRow() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      try FetchCostTests.count { context in
        let request = FetchCostTests.request()
        request.includesPropertyValues = false
        let books = try context.fetch(request)
        FetchCostTests.say("fire")
        for book in books.prefix(3) { #expect(book.text("title")?.hasPrefix("b") == true) }
      }
    }
    #expect(Self.selects(result)["begin"] == 1 && Self.selects(result)["fire"] == 3)
  }

  @Test func aBatchSizeReadsOneBatchAtATime() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      try FetchCostTests.count { context in
        let request = FetchCostTests.request()
        request.fetchBatchSize = 10
        let books = try context.fetch(request)
        for start in [0, 30] {
          FetchCostTests.say("batch at \(start)")
          for book in books[start..<start + 10] { #expect(book.text("title")?.hasPrefix("b") == true) }
        }
        FetchCostTests.say("rest")
        #expect(!books[10..<30].contains { !$0.isFault })
      }
    }
    let counts = Self.selects(result)
    #expect(counts["begin"] == 1 && counts["batch at 0"] == 1 && counts["batch at 30"] == 1 && counts["rest"] == nil)
  }

  @Test func prefetchingCostsOneStatementForEachStep() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      try FetchCostTests.count { context in
        let request = FetchCostTests.request()
        request.relationshipKeyPathsForPrefetching = ["author.passport", "tags.books"]
        let books = try context.fetch(request)
        FetchCostTests.say("use")
        for book in books {
          #expect(book.object("author")?.object("passport")?.text("number") != nil)
          for tag in book.members("tags") { #expect(tag.members("books").contains(book)) }
        }
        #expect(books.last?.members("tags").count == 1 && books.first?.members("tags").isEmpty == true)
      }
    }
    let counts = Self.selects(result)
    #expect(counts["begin"] == 5 && counts["use"] == nil, "\(counts)")
  }

  @Test func anObjectOfAnIDCostsNoStatementUntilItIsRead() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      try FetchCostTests.count { context in
        let request = NSFetchRequest<NSManagedObjectID>(entityName: "Book")
        request.resultType = .managedObjectIDResultType
        request.fetchLimit = 3
        let ids = try context.fetch(request)
        FetchCostTests.say("objects")
        let books = ids.map { context.object(with: $0) }
        #expect(ids.allSatisfy { context.registeredObject(for: $0)?.isFault == true })
        #expect(books.map(\.objectID) == ids && books[0].hasFault(forRelationshipNamed: "tags"))
        FetchCostTests.say("read")
        _ = try context.existingObject(with: ids[0])
      }
    }
    let counts = Self.selects(result)
    #expect(counts["begin"] == 1 && counts["objects"] == nil && counts["read"] == 1, "\(counts)")
  }

  @Test func countingReadsNoRow() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      try FetchCostTests.count { context in
        try #expect(context.count(for: FetchCostTests.request()) == 40)
        let request = NSFetchRequest<NSNumber>(entityName: "Book")
        request.resultType = .countResultType
        try #expect(context.fetch(request) == [40])
      }
    }
    #expect(Self.selects(result)["begin"] == 2)
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.components(separatedBy: "CoreData: sql: SELECT count(*) FROM ZBOOK").count == 3, "\(text)")
  }
}

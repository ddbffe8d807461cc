import CoreData
import Testing

@Suite struct SQLDebugTests {
  @Test func eachStatementIsPrintedWithItsTime() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      setenv("com.apple.CoreData.SQLDebug", "1", 1)
      try SQLDebugTests.fetchOne()
    }
    let lines = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self).split(separator: "\n")
    let fetches = lines.indices.filter {
      lines[$0].hasPrefix("CoreData: sql: SELECT") && lines[$0].contains("ZTITLE = ?")
    }
    #expect(fetches.count == 1, "\(lines)")
    for fetch in fetches {
      #expect(lines[fetch + 1].wholeMatch(of: /CoreData: annotation: \d+\.\d{4}s/) != nil)
    }
  }

  @Test func fromLevelThreeOnValuesArePrinted() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      setenv("com.apple.CoreData.SQLDebug", "3", 1)
      try SQLDebugTests.fetchOne()
    }
    expectSentence(result, "ZTITLE = 'One'")
  }

  @Test func nothingIsPrintedWithoutTheSwitch() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      unsetenv("com.apple.CoreData.SQLDebug")
      try SQLDebugTests.fetchOne()
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(!text.contains("CoreData:"))
  }

  private static func fetchOne() throws {
    let store = try TemporaryStore()
    try store.save { _ = $0.make("Book", ["title": "One"]) }
    try store.read { context in
      let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
      request.predicate = NSPredicate(format: "title == %@", "One")
      let books = try context.fetch(request)
      #expect(books.count == 1)
    }
  }
}

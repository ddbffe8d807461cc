import CoreData
import Testing

/// The switch that prints slow statements.
@Suite struct SlowStatementTests {
  @Test func aSlowStatementIsPrintedWithItsPlan() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      setenv("com.apple.CoreData.SlowStatements", "0", 1)
      try SlowStatementTests.fetchOne()
    }
    let lines = Self.lines(result)
    let fetches = lines.indices.filter { lines[$0].contains("ZTITLE = ?") }
    #expect(fetches.count == 1, "\(lines)")
    for fetch in fetches {
      #expect(lines[fetch].wholeMatch(of: /CoreData: slow: \d+\.\d{4}s: SELECT .*/) != nil, "\(lines[fetch])")
      #expect(lines[fetch + 1].wholeMatch(of: /CoreData: plan: SCAN .*/) != nil, "\(lines)")
    }
    #expect(!lines.contains { $0.contains("EXPLAIN") || $0.contains("CoreData: sql:") }, "\(lines)")
  }

  /// A plan costs more than the statement.
  @Test func aStatementThatRunsOftenIsPlannedRarely() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      setenv("com.apple.CoreData.SlowStatements", "0", 1)
      let store = try TemporaryStore()
      try store.save { $0.make("Book", ["title": "One"]) }
      for _ in 0..<100 {
        try store.read { context in
          let books = try context.all("Book", where: "title == 'One'")
          #expect(books.count == 1)
        }
      }
    }
    let lines = Self.lines(result)
    let fetches = lines.indices.filter { lines[$0].contains("ZTITLE = ?") }
    #expect(fetches.count == 100, "each run is told of")
    let plans = fetches.count { lines.indices.contains($0 + 1) && lines[$0 + 1].hasPrefix("CoreData: plan: ") }
    #expect((1..<30).contains(plans), "\(plans)")
  }

  @Test func aQuickStatementIsNot() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      setenv("com.apple.CoreData.SlowStatements", "3600", 1)
      try SlowStatementTests.fetchOne()
    }
    #expect(!Self.lines(result).contains { $0.hasPrefix("CoreData:") })
  }

  private static func lines(_ result: ExitTest.Result?) -> [Substring] {
    String(decoding: result?.standardErrorContent ?? [], as: UTF8.self).split(separator: "\n")
  }

  private static func fetchOne() throws {
    let store = try TemporaryStore()
    try store.save { $0.make("Book", ["title": "One"]) }
    try store.read { context in
      let books = try context.all("Book", where: "title == 'One'")
      #expect(books.count == 1)
    }
  }
}

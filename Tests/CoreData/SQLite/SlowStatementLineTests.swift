import Testing

@testable import CoreData

/// What a program prints of a slow statement, which a pool reads.
@Suite struct SlowStatementLineTests {
  @Test func aTextIsPlannedAgainWhenItTakesMoreThanTwiceAsLong() {
    var planned = PlannedStatements()
    let taken = [0.5, 0.6, 1, 1.1, 2, 0.5].map { planned.take("SELECT 1", $0) }
    #expect(taken == [true, false, false, true, false, false])
    let isOtherTaken = planned.take("SELECT 2", 0.5)
    #expect(isOtherTaken)
  }

  @Test func onlyTheSlowestOfManyTextsArePlanned() {
    var planned = PlannedStatements()
    let many = PlannedStatements.remembered
    let first = (1...many).map { planned.take("SELECT \($0)", Double($0)) }
    #expect(first.allSatisfy { $0 })
    // The quickest took a second.
    let taken = [("quick", 1), ("slow", 1.5), ("SELECT 1", 1.2), ("SELECT 2", 3)].map { planned.take($0, $1) }
    #expect(taken == [false, true, false, false])
  }

  @Test func whatIsPrintedCanBeRead() throws {
    let statement = SlowStatement(sql: "SELECT 1\nFROM t", seconds: 1.25, plan: ["SCAN t", "  SEARCH u"])
    #expect(
      statement.lines == [
        "CoreData: slow: 1.2500s: SELECT 1 FROM t", "CoreData: plan: SCAN t", "CoreData: plan:   SEARCH u",
      ])
    #expect(
      statement.lines.map(SlowStatement.Line.init) == [
        .statement(SlowStatement(sql: "SELECT 1 FROM t", seconds: 1.25, plan: [])), .plan("SCAN t"),
        .plan("  SEARCH u"),
      ])
  }

  @Test(arguments: [
    "", "CoreData: sql: SELECT 1", "CoreData: slow: ", "CoreData: slow: 1.0s", "CoreData: slow: xs: SELECT",
    "CoreData: slow: -1s: SELECT", "CoreData: slow: infs: SELECT", " CoreData: plan: SCAN t",
  ])
  func otherLinesAreNone(line: String) { #expect(SlowStatement.Line(line) == nil) }

  @Test func aReportIsBounded() {
    let long = SlowStatement(
      sql: String(repeating: "é", count: 100_000), seconds: 1,
      plan: Array(repeating: String(repeating: "x", count: 1000), count: 100))
    #expect(long.sql.count == SlowStatement.longestText && long.sql.last == "…")
    #expect(long.plan.count == SlowStatement.mostPlanLines)
    #expect(long.plan.allSatisfy { $0.count == SlowStatement.longestPlanLine })
  }
}

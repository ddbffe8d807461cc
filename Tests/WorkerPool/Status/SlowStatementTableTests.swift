import CoreData
import PoolClient
import PoolMetrics
import Testing

@testable import WorkerPool

/// What the pool keeps of slow statements.
@Suite struct SlowStatementTableTests {
  private let table = SlowStatementTable(limit: 0.5)
  private let one = WorkerID(number: 1)
  private let two = WorkerID(number: 2)

  private func statement(_ sql: String, _ seconds: Double, plan: [String] = []) -> SlowStatement {
    SlowStatement(sql: sql, seconds: seconds, plan: plan)
  }

  private func take(_ statement: SlowStatement, from worker: WorkerID, kind: String? = "index") {
    for line in statement.lines { #expect(table.take(line, from: worker, kind: kind)) }
  }

  @Test func runsOfATextAreCountedByKind() {
    take(statement("SELECT 1", 1, plan: ["SCAN t", "  SCAN u"]), from: one)
    take(statement("SELECT 1", 2, plan: ["SEARCH t"]), from: two)
    take(statement("SELECT 1", 1.5, plan: ["SCAN t"]), from: one)
    take(statement("SELECT 1", 0.5), from: one, kind: "mail")
    table.add(statement("SELECT 2", 3, plan: ["SCAN v"]), kind: nil)
    #expect(
      table.status
        == PoolStatus.SlowStatements(
          limit: 0.5, count: 5,
          statements: [
            .init(sql: "SELECT 2", kind: nil, count: 1, longest: 3, total: 3, plan: ["SCAN v"]),
            // The plan is that of the longest run, and serves the other kind, which came without one.
            .init(sql: "SELECT 1", kind: "index", count: 3, longest: 2, total: 4.5, plan: ["SEARCH t"]),
            .init(sql: "SELECT 1", kind: "mail", count: 1, longest: 0.5, total: 0.5, plan: ["SEARCH t"]),
          ]))
  }

  ///     worker 1          worker 2
  ///     slow: 1 s
  ///                       slow: 2 s, the same text
  ///     plan: SCAN t
  ///                       plan: SEARCH t
  @Test func linesOfTwoWorkersDoNotMix() {
    let (first, second) = (statement("S", 1, plan: ["SCAN t"]).lines, statement("S", 2, plan: ["SEARCH t"]).lines)
    for (line, worker) in [(first[0], one), (second[0], two), (first[1], one), (second[1], two)] {
      #expect(table.take(line, from: worker, kind: nil))
    }
    #expect(table.status.statements.map(\.plan) == [["SEARCH t"]])
  }

  /// A process does not plan each run.
  @Test func aPlanStaysUntilAnotherComes() {
    take(statement("S", 1, plan: ["SCAN t", "  SCAN u"]), from: one)
    take(statement("S", 1.5), from: one)
    #expect(table.status.statements.map(\.plan) == [["SCAN t", "  SCAN u"]])
    take(statement("S", 4, plan: ["SEARCH t"]), from: one)
    take(statement("S", 5), from: two)
    table.add(statement("S", 6), kind: "index")
    let slow = table.status
    #expect(slow.count == 5 && slow.statements.map(\.longest) == [6])
    #expect(slow.statements.map(\.plan) == [["SEARCH t"]])
  }

  @Test func otherOutputIsLeftToTheLog() {
    #expect(!table.take("CoreData: sql: SELECT 1", from: one, kind: nil))
    #expect(!table.take("indexed 3 documents", from: one, kind: nil))
    // A plan without a statement belongs to nothing.
    #expect(table.take("CoreData: plan: SCAN t", from: one, kind: nil))
    #expect(table.status.count == 0 && table.status.statements.isEmpty)
  }

  @Test func timesThatNobodyCanHaveMeasuredAreLeftToTheLog() throws {
    for time in ["1e308", "1e300", "1000000001", "inf", "nan", "-1"] {
      for _ in 1...2 { #expect(!table.take("CoreData: slow: \(time)s: SELECT 1", from: one, kind: nil)) }
    }
    for _ in 1...2 { #expect(table.take("CoreData: slow: 1e9s: SELECT 1", from: one, kind: nil)) }
    #expect(table.status.statements.map(\.total) == [2e9])
    #expect(StatusText.shortTime(2e9).isEmpty == false)
  }

  @Test func theSlowestTextsAreKept() {
    for number in 1...1000 { take(statement("SELECT \(number)", Double(number)), from: one) }
    take(statement("too quick", 0.5, plan: ["SCAN t"]), from: one)
    let status = table.status
    #expect(status.count == 1001 && status.statements.count == SlowStatementTable.kept)
    #expect(status.statements.first?.sql == "SELECT 1000" && status.statements.last?.longest == 981)
    #expect(status.statements.allSatisfy { $0.plan.isEmpty })
  }

  @Test func aPlanHasABound() {
    take(statement("SELECT 1", 1), from: one)
    for _ in 0..<1000 { _ = table.take("CoreData: plan: SCAN t", from: one, kind: nil) }
    #expect(table.status.statements.first?.plan.count == SlowStatement.mostPlanLines)
  }
}

/// What people see of them.
@Suite struct SlowStatementTextTests {
  private var status: PoolStatus {
    var status = PoolStatus(
      pid: 1, store: "/s", model: "/m", phase: "running", age: 60, isPaused: false, pausedQueues: [], pausedKinds: [],
      workerCount: 0, workers: [], plugins: [], waiting: [:], counters: .init(), restarts: 0, rates: [], problems: [])
    let statements = (1...7).map { number in
      PoolStatus.SlowStatement(
        sql: "SELECT \(number)\u{1B}[2J", kind: number == 1 ? nil : "index", count: number,
        longest: 10 - Double(number), total: 20, plan: ["SCAN t"])
    }
    status.slowStatements = .init(limit: 0.5, count: 28, statements: statements)
    return status
  }

  @Test func theFiveThatTookLongestAreShown() throws {
    let lines = StatusText.lines(status)
    let start = try #require(lines.firstIndex(of: "slow statements: 28 of 500 ms and longer"), "\(lines)")
    #expect(
      Array(lines[(start + 1)...].prefix(4)) == [
        #"  9.0 s, once, outside of jobs: SELECT 1\u{1b}[2J"#, "    SCAN t",
        #"  8.0 s at most, 2 times, 20.0 s in all, index: SELECT 2\u{1b}[2J"#, "    SCAN t",
      ])
    #expect(lines.count { $0.contains("SELECT") } == 5)
    #expect(StatusText.json(status).contains(#""count":7"#))
  }

  @Test func metricsCountThem() throws {
    #expect(PrometheusText.text(status).contains("\nworkerpool_slow_statements_total 28\n"))
    var without = status
    without.slowStatements = nil
    #expect(!PrometheusText.text(without).contains("slow_statements"))
    #expect(!StatusText.lines(without).contains { $0.hasPrefix("slow statements") })
  }
}

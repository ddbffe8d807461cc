import TestFiles
import Testing

@testable import CoreData
@testable import CoreDataPostgreSQL

/// Slow statements at a server, and their plans. All statements are slow here, and each is explained if nothing else is
/// said.
@Suite(.enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"))
struct MeasuredConnectionTests {
  private final class Reports {
    var all: [SlowStatement] = []
    func plan(of start: String) -> [String] { all.last { $0.sql.hasPrefix(start) }?.plan ?? [] }
  }

  /// A connection with a table of its own, and what it reports.
  private func connect(
    wantsPlan: @escaping (String, Double) -> Bool = { _, _ in true }
  ) throws -> (MeasuredConnection, Reports) {
    let reports = Reports()
    let connection = MeasuredConnection(
      try ServerDriver.open(PostgreSQLServer.shared.address()), limit: 0, wantsPlan: wantsPlan,
      report: { reports.all.append($0) })
    try connection.run("CREATE TEMP TABLE parcel (number int8 PRIMARY KEY, label text)")
    return (connection, reports)
  }

  private func parameters(_ values: SQLiteValue...) -> ServerParameters { ServerStatement.parameters(values) }

  @Test func aReadHasThePlanWithoutItsValues() throws {
    let (connection, reports) = try connect()
    try connection.execute("SELECT label FROM parcel WHERE label = $1", parameters(.text("for 'Ada'")))
    let report = try #require(reports.all.last)
    #expect(report.sql == "SELECT label FROM parcel WHERE label = $1" && report.seconds >= 0)
    #expect(report.plan.first?.hasPrefix("Seq Scan on parcel") == true, "\(report.plan)")
    #expect(report.plan.contains { $0.contains("Filter: (label = ?") }, "\(report.plan)")
    #expect(!connection.isInTransaction)
  }

  @Test func aStatementWhosePlanIsNotWantedIsReportedWithoutOne() throws {
    let (connection, reports) = try connect { sql, seconds in seconds >= 0 && !sql.contains("label") }
    try connection.execute("SELECT label FROM parcel", parameters())
    #expect(reports.all.last?.sql == "SELECT label FROM parcel" && reports.all.last?.plan == [])
    try connection.execute("SELECT number FROM parcel", parameters())
    #expect(reports.all.last?.plan.first?.hasPrefix("Seq Scan on parcel") == true, "\(reports.all)")
  }

  @Test(arguments: [false, true])
  func aWriteHappensOnce(inTransaction: Bool) throws {
    let (connection, reports) = try connect()
    if inTransaction { try connection.run("BEGIN") }
    try connection.execute("INSERT INTO parcel VALUES ($1, $2)", parameters(.integer(1), .text("one")))
    #expect(reports.plan(of: "INSERT").first?.hasPrefix("Insert on parcel") == true, "\(reports.all)")
    #expect(connection.isInTransaction == inTransaction)
    if inTransaction { try connection.run("COMMIT") }
    #expect(try connection.execute("SELECT count(*) FROM parcel", parameters()).integer(0, 0) == 1)
  }

  /// The server refuses all statements until the end of a failed transaction.
  @Test func afterAFailureThePlanComesWithTheEndOfTheTransaction() throws {
    let (connection, reports) = try connect()
    try connection.run("INSERT INTO parcel VALUES (1, 'one')")
    try connection.run("BEGIN")
    #expect(throws: ServerError.self) {
      try connection.execute("INSERT INTO parcel VALUES ($1, $2)", parameters(.integer(1), .null))
    }
    #expect(!reports.all.contains { $0.sql.contains("$1") } && connection.isInTransaction)
    try connection.run("ROLLBACK")
    #expect(reports.plan(of: "INSERT INTO parcel VALUES ($1").first?.hasPrefix("Insert on parcel") == true)
    #expect(!connection.isInTransaction)
  }

  @Test func aRoundTripIsOneReportOfItsDifferentStatements() throws {
    let (connection, reports) = try connect()
    let insertion = "INSERT INTO parcel VALUES ($1, NULL)"
    _ = try connection.pipeline(
      [("BEGIN", parameters())] + (1...3).map { (insertion, parameters(.integer($0))) })
    #expect(reports.all.last?.sql == "BEGIN; \(insertion)")
    #expect(reports.all.last?.plan.first?.hasPrefix("Insert on parcel") == true, "\(reports.all)")
    try connection.run("COMMIT")
    #expect(reports.all.last == SlowStatement(sql: "COMMIT", seconds: reports.all.last?.seconds ?? 0, plan: []))
  }

  /// Another session has the table for itself.
  @Test func aPlanWaitsForNobodyLong() throws {
    let (connection, reports) = try connect()
    let other = try ServerDriver.open(PostgreSQLServer.shared.address())
    let table = "locked_\(UUID().uuidString.prefix(8))".lowercased()
    try other.run("CREATE TABLE \(table) (number int8)")
    try other.run("BEGIN; LOCK TABLE \(table)")
    try connection.run("SET lock_timeout = '10ms'")
    #expect(throws: ServerError.self) { try connection.execute("SELECT * FROM \(table)", parameters()) }
    #expect(reports.all.last?.sql == "SELECT * FROM \(table)" && reports.all.last?.plan == [])
    // The session's own setting is as it was.
    #expect(try connection.execute("SHOW lock_timeout", parameters()).text(0, 0) == "10ms")
    try other.run("ROLLBACK; DROP TABLE \(table)")
  }

  @Test(arguments: [
    ("  Filter: (zpages > 300)", "  Filter: (zpages > ?)"),
    ("  Index Cond: (t0.zname = 'O''Hara, 3'::text)", "  Index Cond: (t0.zname = ?::text)"),
    ("  Sort Key: t0.\"Z 1\", (t0.z2 / 1.5)", "  Sort Key: t0.\"Z 1\", (t0.z2 / ?)"),
    ("  Filter: (name = 'no end", "  Filter: (name = ?"), ("  Filter: (n = $1)", "  Filter: (n = $1)"),
    ("->  Seq Scan on t2  (cost=0.00..35.50 rows=2 width=4)", "->  Seq Scan on t2  (cost=0.00..35.50 rows=2 width=4)"),
  ])
  func linesOfPlansHaveNoValues(line: String, shown: String) { #expect(PlanLine.withoutValues(line) == shown) }
}

import Testing

@testable import CoreData

/// The values of a row that are read together are those that the statement gives one by one.
@Suite struct RowReadingTests {
  @Test func theValuesOfARowLieOneAfterTheOther() { #expect(SQLiteRow.valueStride > 0) }

  // A program may keep the results of its rows in several places.
  @Test(arguments: [
    "VALUES (1, 2.5, 'three', NULL, x'343536', ''), ('12', 'a', 3.25, 4, NULL, 'ä€')",
    "SELECT 1, 2.5, 'three', NULL, x'343536', '' UNION ALL SELECT '12', 'a', 3.25, 4, NULL, 'ä€'",
    "SELECT 0, 0.0, x'', zeroblob(3), -1, 1e300 UNION SELECT NULL, NULL, NULL, NULL, NULL, NULL ORDER BY 1",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20) SELECT i, i * 0.5, 'n' || i FROM n",
  ])
  func everyColumnReadsAsTheStatementReadsIt(sql: String) throws {
    let connection = try SQLiteConnection(path: ":memory:", access: .create)
    defer { connection.close() }
    let together = try SQLiteStatement(sql: sql, connection: connection)
    let single = try SQLiteStatement(sql: sql, connection: connection)
    var rows = 0
    while try together.step() {
      #expect(try single.step())
      rows += 1
      let row = SQLiteRow(together)
      for column in 0..<together.columnCount {
        #expect(row.isNull(column) == single.isNull(column))
        #expect(row.key(column) == single.integer(column))
        #expect(row.integer(column) == (single.isNull(column) ? nil : single.integer(column)))
        #expect(row.real(column) == single.real(column))
        #expect(row.text(column).map(Array.init) == single.textBytes(column).map(Array.init))
      }
    }
    #expect(rows > 1)
  }
}

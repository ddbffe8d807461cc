extension SQLiteConnection {
  /// The lines of SQLite's plan for a statement, which is not run: parts of a line are indented below it.
  ///
  /// Source: https://www.sqlite.org/eqp.html. The columns are the line's number, that of the line above it, one that is
  /// not used, and the text.
  ///
  /// ```text
  /// SELECT … FROM ZBOOK t0 LEFT JOIN ZAUTHOR t1 ON t1.Z_PK = t0.ZAUTHOR ORDER BY t1.ZNAME
  ///
  /// SCAN t0                                                          each book
  /// SEARCH t1 USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN          its author, by key
  /// USE TEMP B-TREE FOR ORDER BY                                     all are sorted before the first comes
  /// ```
  func plan(of sql: String) throws -> [String] {
    var depths: [Int64: Int] = [:]
    // Not a cached statement: it would take the place of one that runs often.
    let statement = try SQLiteStatement(sql: "EXPLAIN QUERY PLAN " + sql, connection: self)
    var lines: [String] = []
    while try statement.step() {
      let depth = depths[statement.integer(1)].map { $0 + 1 } ?? 0
      depths[statement.integer(0)] = depth
      lines.append(String(repeating: "  ", count: depth) + (statement.text(3) ?? ""))
    }
    return lines
  }
}

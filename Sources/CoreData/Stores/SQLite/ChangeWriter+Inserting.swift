/// Writes a save's new rows, in groups.
extension ChangeWriter {
  /// Writes table by table, the rows of each in the save's order: of two rows with the same unique values the later one
  /// is rejected.
  func writeInserts() throws {
    for rows in insertsByTable() {
      var rest = rows[...]
      while let first = rest.first {
        let writer = insertedWriters[first]
        let run = rest.prefix { insertedWriters[$0] === writer }
        rest = rest[run.endIndex...]
        try WriteGroups.divide(run, groups.inserts) { try insert($0, writer) }
      }
    }
  }

  private func insertsByTable() -> [[Int]] {
    var tables: [(root: Int, rows: [Int])] = []
    var current = 0
    for (index, writer) in insertedWriters.enumerated() {
      let root = writer.mapping.rootNumber
      // Rows of one table mostly follow each other.
      if current >= tables.count || tables[current].root != root {
        current = tables.firstIndex { $0.root == root } ?? tables.count
        if current == tables.count { tables.append((root, [])) }
      }
      tables[current].rows.append(index)
    }
    return tables.map(\.rows)
  }

  /// Inserts rows of one entity with one statement. If a constraint refuses it, SQLite takes back all its rows, with
  /// what their triggers did; then each is written by itself, so that the error concerns one row.
  private func insert(_ rows: ArraySlice<Int>, _ writer: RowWriter) throws {
    let statement = try statement(writer.insertSQL(rows: rows.count))
    connection.boundTexts.clear()
    var column: Int32 = 1
    for index in rows { column = bind(index, writer, to: statement, at: column) }
    if rows.count == 1 {
      try run(statement, for: .inserted(rows[rows.startIndex]))
    } else if try !runGroup(statement) {
      for position in rows.indices { try insert(rows[position...position], writer) }
    }
  }

  private func bind(_ index: Int, _ writer: RowWriter, to statement: SQLiteStatement, at column: Int32) -> Int32 {
    let values = changes.inserted[index].values
    statement.bind(saved.keys[index], at: column)
    statement.bind(Int64(writer.mapping.number), at: column + 1)
    statement.bind(1 as Int64, at: column + 2)
    var column = column + 3
    for step in writer.steps {
      column = writer.bind(step, of: values, to: statement, at: column, resolving: resolve)
    }
    return column
  }
}

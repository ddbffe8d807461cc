/// Writes a save's new rows, in groups.
extension ChangeWriter {
  /// Writes table by table, the rows of each in the save's order: of two rows with the same unique values the later one
  /// is rejected.
  func writeInserts() throws {
    if insertRuns.count == 1 {
      return try WriteGroups.divide(insertRuns[0].rows, groups.inserts) { try insert($0, insertRuns[0].writer) }
    }
    for runs in runsByTable() {
      for run in runs { try WriteGroups.divide(run.rows, groups.inserts) { try insert($0, run.writer) } }
    }
  }

  /// The runs of each table; those of one entity that follow each other there are one.
  private func runsByTable() -> [[(writer: RowWriter, rows: [Int])]] {
    var tables: [(root: Int, runs: [(writer: RowWriter, rows: [Int])])] = []
    for run in insertRuns {
      let root = run.writer.mapping.rootNumber
      let table = tables.firstIndex { $0.root == root } ?? tables.count
      if table == tables.count { tables.append((root, [])) }
      let last = tables[table].runs.count - 1
      if last >= 0, tables[table].runs[last].writer === run.writer {
        tables[table].runs[last].rows += run.rows
      } else {
        tables[table].runs.append((run.writer, Array(run.rows)))
      }
    }
    return tables.map(\.runs)
  }

  /// Inserts rows of one entity with one statement. If a constraint refuses it, SQLite takes back all its rows, with
  /// what their triggers did; then each is written by itself, so that the error concerns one row.
  private func insert<Rows: RandomAccessCollection<Int>>(_ rows: Rows, _ writer: RowWriter) throws
  where Rows.SubSequence == Rows {
    let inserted = changes.inserted
    let shape = writer.insertShape(of: rows.lazy.map { inserted[$0].values })
    let statement = try statement(shape.sql(rows: rows.count))
    connection.boundTexts.clear()
    bind(rows, writer, shape, to: statement)
    if rows.count == 1 {
      for index in rows { try run(statement, for: .inserted(index)) }
    } else if try !runGroup(statement) {
      for position in rows.indices { try insert(rows[position...position], writer) }
    }
  }

  private func bind(
    _ rows: some Collection<Int>, _ writer: RowWriter, _ shape: InsertShape, to statement: SQLiteStatement
  ) {
    let (inserted, keys) = (changes.inserted, saved.keys)
    let number = Int64(writer.mapping.number)
    var column: Int32 = 1
    for index in rows {
      statement.bind(keys[index], at: column)
      statement.bind(number, at: column + 1)
      statement.bind(1 as Int64, at: column + 2)
      column = writer.bind(inserted[index].values, shape, to: statement, at: column + 3, resolving: resolve)
    }
  }
}

/// Writes a save's new rows, in groups.
extension SQLiteChangeWriter {
  /// 30 new books take three statements:
  ///
  /// ```text
  /// 20 rows   INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, …) VALUES (?, ?, ?, …), (?, ?, ?, …), …
  ///  5 rows   the same with five
  ///  5 rows
  /// ```
  ///
  /// With 33, the last three are written one by one. Most of a small statement's cost is its beginning and end, and
  /// each number of rows is a text to prepare: few numbers serve best.
  func insert(_ rows: [Int], of storedEntity: StoredEntity) throws {
    let writer = store.writer(storedEntity.number)
    try WriteGroups.divide(rows, groups.inserts) { try insert($0, writer) }
  }

  /// Inserts rows of one entity with one statement. If a constraint refuses it, SQLite takes back all its rows, with
  /// what their triggers did; then each is written by itself, so that the error concerns one row.
  private func insert(_ rows: ArraySlice<Int>, _ writer: RowWriter) throws {
    let inserted = changes.inserted
    let shape = writer.insertShape(of: rows.lazy.map { inserted[$0].values })
    let statement = try statement(shape.sql(rows: rows.count))
    connection.boundTexts.clear()
    bind(rows, writer, shape, to: statement)
    if rows.count == 1 {
      for index in rows {
        let row = (entity: inserted[index].values.layout.name, key: progress.saved.keys[index])
        if let message = try run(statement, for: row) { progress.reject(.inserted(index), message) }
      }
    } else if try !runGroup(statement) {
      for position in rows.indices { try insert(rows[position...position], writer) }
    }
  }

  private func bind(_ rows: ArraySlice<Int>, _ writer: RowWriter, _ shape: InsertShape, to statement: SQLiteStatement) {
    let (inserted, keys) = (changes.inserted, progress.saved.keys)
    let number = Int64(writer.mapping.number)
    var column: Int32 = 1
    for index in rows {
      statement.bind(keys[index], at: column)
      statement.bind(number, at: column + 1)
      statement.bind(1 as Int64, at: column + 2)
      column = writer.bind(inserted[index].values, shape, to: statement, at: column + 3, resolving: resolve)
      if statement.hasRefusedValue { statement.nameRefusedRow(keys[index]) }
    }
  }
}

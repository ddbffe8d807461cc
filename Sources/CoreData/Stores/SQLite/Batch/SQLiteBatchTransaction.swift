/// The transaction of a batch request in a SQLite file.
struct SQLiteBatchTransaction: BatchTransaction {
  let store: SQLiteStore
  let connection: SQLiteConnection
  /// Nil for a store without history.
  let history: HistoryRecorder?

  func execute(_ sql: SQL) throws -> Int {
    try connection.execute(sql.text, sql.values)
    return connection.changes
  }

  func integers(_ sql: SQL) throws -> [[Int64]] {
    let statement = try connection.statement(sql.text)
    statement.bind(sql.values)
    defer { statement.reset() }
    var rows: [[Int64]] = []
    while try statement.step() { rows.append((0..<statement.columnCount).map { statement.integer($0) }) }
    return rows
  }

  func noteUpdate(of mapping: TableMapping, key: Int64, changed: [String]) throws {
    try history?.noteUpdate(number: mapping.number, key: key, changed: changed)
  }

  func delete(_ mapping: TableMapping, keys: String) throws {
    try noteExternalFiles(of: mapping, keys)
    let condition = "\(mapping.names.key) IN (\(keys))"
    if let history {
      let rows = "SELECT \(mapping.names.key) FROM \(mapping.table) WHERE \(condition) ORDER BY \(mapping.names.key)"
      for row in try integers(SQL(raw: rows)) { try history.noteDelete(number: mapping.number, key: row[0]) }
    }
    try connection.execute("DELETE FROM \(mapping.table) WHERE \(condition)", [])
  }

  /// The files go once the transaction is committed.
  private func noteExternalFiles(of mapping: TableMapping, _ keys: String) throws {
    let writer = store.writer(mapping.number)
    // The history has the values that it preserves in the same files.
    let kept = store.history?.preserved(mapping.number).map(\.column) ?? []
    for column in writer.externalColumns where !kept.contains(column) {
      let condition = " WHERE t0.\(mapping.names.key) IN (\(keys))"
      store.externalFiles?.replaced += try writer.files(in: column, where: condition, [], connection)
    }
  }
}

/// The transaction of a batch request in a SQLite file.
final class SQLiteBatchTransaction: BatchTransaction {
  let store: SQLiteStore
  let connection: SQLiteConnection
  /// Nil for a store without history.
  let history: HistoryRecorder?
  /// Files of deleted rows, to be removed after the transaction is committed.
  private(set) var externalFiles: [URL] = []

  init(_ store: SQLiteStore, _ connection: SQLiteConnection, _ history: HistoryRecorder?) {
    self.store = store
    self.connection = connection
    self.history = history
  }

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

  private func noteExternalFiles(of mapping: TableMapping, _ keys: String) throws {
    for attribute in mapping.entity.attributesByName.values where attribute.allowsExternalBinaryDataStorage {
      guard let column = mapping.attributes[attribute.name]?.column else { continue }
      let rows = try connection.rows(
        """
        SELECT \(column) FROM \(mapping.table) WHERE \(mapping.names.key) IN (\(keys)) \
        AND substr(\(column), 1, 1) = x'02'
        """)
      for case .blob(let stored) in rows.map({ $0[0] }) {
        if let file = ExternalData.file(stored, of: store.url) { externalFiles.append(file) }
      }
    }
  }
}

/// The transaction of a batch request at a server.
struct ServerBatchTransaction: BatchTransaction {
  let store: ServerStore
  let connection: any ServerConnection
  /// Nil for a store without history.
  let history: ServerHistoryNotes?

  func execute(_ sql: SQL) throws -> Int {
    let statement = ServerStatement(sql)
    return try connection.execute(statement.sql, statement.parameters).affectedRows
  }

  func integers(_ sql: SQL) throws -> [[Int64]] {
    let statement = ServerStatement(sql)
    let result = try connection.execute(statement.sql, statement.parameters)
    return (0..<result.rowCount).map { row in (0..<result.columnCount).map { result.integer(row, $0) } }
  }

  func noteUpdate(of mapping: TableMapping, key: Int64, changed: [String]) {
    history?.noteUpdate(number: mapping.number, key: key, changed: changed)
  }

  func delete(_ mapping: TableMapping, keys: String) throws {
    let preserved = history?.preserved(mapping) ?? []
    let columns = preserved.map { ", \($0.column)" }.joined()
    let returning = history == nil ? "" : " RETURNING \(mapping.names.key)\(columns)"
    let rows = try connection.execute(
      "DELETE FROM \(mapping.table) WHERE \(mapping.names.key) IN (\(keys))\(returning)")
    guard let history else { return }
    for row in 0..<rows.rowCount {
      history.noteDelete(of: mapping, key: rows.integer(row, 0), in: rows, row: row, preserved: preserved)
    }
  }
}

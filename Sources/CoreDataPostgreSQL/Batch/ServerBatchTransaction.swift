/// The transaction of a batch request at a server, for `BatchUpdate` and `BatchDeletion`, which the SQLite store uses,
/// too.
struct ServerBatchTransaction: BatchTransaction {
  let store: ServerStore
  let connection: any ServerConnection
  /// Nil for a store without history.
  let history: ServerHistoryNotes?

  func writer(_ mapping: TableMapping) -> ServerRowWriter { store.writer(mapping.number) }

  /// Runs a statement. Each is a round trip: later statements of a batch depend on what earlier ones have found.
  func execute(_ sql: SQL) throws -> Int { try connection.execute(sql).affectedRows }

  func integers(_ sql: SQL) throws -> [[Int64]] { try connection.integers(sql) }

  /// A value of an attribute in the form of its column, or NULL; encoded as in a save, so that both refuse the same
  /// values.
  func parameter(_ value: Any, of attribute: NSAttributeDescription) throws -> SQL {
    var fields = ServerFields(capacity: 64)
    do { try fields.value(value, of: attribute) } catch { throw error.of(attribute) }
    return fields.values([ServerType(columnOf: attribute)])[0].map { "\(bind: $0)" } ?? "NULL"
  }

  /// Deletes rows, and notes them in the history with the values that are preserved.
  ///
  /// ```text
  /// DELETE FROM "app"."Author" WHERE _key IN (SELECT key FROM cd_doomed WHERE root = 1 AND entity = 1)
  /// RETURNING _key, "name"                     name has preservesValueInHistoryOnDeletion
  /// ```
  func delete(_ mapping: TableMapping, keys: SQL) throws {
    let preserved = history?.preserved(mapping) ?? []
    let columns = preserved.map { ", \($0.column)" }.joined()
    let returning = history == nil ? "" : " RETURNING \(mapping.names.key)\(columns)"
    let rows = try connection.execute(
      "DELETE FROM \(raw: mapping.table) WHERE \(raw: mapping.names.key) IN (\(keys))\(raw: returning)")
    guard let history else { return }
    for row in 0..<rows.rowCount {
      history.noteDelete(of: mapping, key: rows.integer(row, 0), in: rows, row: row, preserved: preserved)
    }
  }
}

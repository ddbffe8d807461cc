internal import CSQLite

/// The transaction of a batch request in a SQLite file.
struct SQLiteBatchTransaction: BatchTransaction {
  let store: SQLiteStore
  let connection: SQLiteConnection
  /// Nil for a store without history.
  let history: HistoryRecorder?

  func writer(_ mapping: TableMapping) -> RowWriter { store.writer(mapping.number) }

  func execute(_ sql: SQL) throws -> Int { try connection.run(sql) }

  func integers(_ sql: SQL) throws -> [[Int64]] { try connection.integers(sql) }

  /// The SQL function that gives what a row stores for an external value.
  private static let storedExternally = "cd_store_external"

  /// `cd_store_external(?)` runs once for each updated row and gives each a file of its own. With one file for all of
  /// them, deleting one row would take the value from the others.
  func parameter(_ value: Any, of attribute: NSAttributeDescription) throws -> SQL {
    let external = attribute.allowsExternalBinaryDataStorage ? value as? Data : nil
    let stored: SQLiteValue
    if let external {
      stored = .blob(external)
      guard connection.canBind(stored) else { throw RefusedValue(sqlite: SQLITE_TOOBIG) }
    } else {
      stored = try self.stored(value, attribute)
    }
    // The function gives each row a file of its own for a large value, which goes with the row.
    return external == nil ? "\(bind: stored)" : "\(raw: Self.storedExternally)(\(bind: stored))"
  }

  private func stored(_ value: Any, _ attribute: NSAttributeDescription) throws -> SQLiteValue {
    do {
      return try connection.stored { $0.value(value, of: attribute) }
    } catch let error as SQLiteError where error.isTooLong {
      // The error has no name of the attribute.
      throw RefusedValue(sqlite: SQLITE_TOOBIG)
    }
  }

  func externalColumns(of mapping: TableMapping) -> [String] { writer(mapping).externalColumns }

  /// Notes the files whose values the update replaces, and lets its statement write others.
  func willUpdate(_ columns: [String], of mapping: TableMapping, where condition: SQL) throws {
    let writer = writer(mapping)
    let columns = Set(columns).intersection(writer.externalColumns)
    guard !columns.isEmpty else { return }
    for column in columns {
      store.externalFiles?.replaced += try writer.files(in: column, where: condition, connection)
    }
    connection.register(
      SQLFunction(name: Self.storedExternally, argumentCount: 1, isDeterministic: false) { arguments in
        guard case .blob(let value) = arguments[0] else { return .null }
        return .blob(writer.external(value))
      })
  }

  /// With a history each row is looked up for its tombstone before it goes:
  ///
  /// ```text
  /// SELECT Z_PK FROM ZAUTHOR WHERE Z_PK IN (SELECT key FROM cd_doomed WHERE root = 1 AND entity = 1) ORDER BY Z_PK
  /// SELECT 1, … the preserved columns … FROM ZAUTHOR WHERE Z_PK = ?             for each
  /// INSERT INTO ACHANGE …                                                       for each
  /// DELETE FROM ZAUTHOR WHERE Z_PK IN (SELECT key FROM cd_doomed WHERE root = 1 AND entity = 1)
  /// ```
  func delete(_ mapping: TableMapping, keys: SQL) throws {
    try noteExternalFiles(of: mapping, keys)
    let condition: SQL = "\(raw: mapping.names.key) IN (\(keys))"
    if let history {
      let key = mapping.names.key
      let rows: SQL = "SELECT \(raw: key) FROM \(raw: mapping.table) WHERE \(condition) ORDER BY \(raw: key)"
      for row in try integers(rows) { try history.noteDelete(number: mapping.number, key: row[0]) }
    }
    _ = try connection.run("DELETE FROM \(raw: mapping.table) WHERE \(condition)")
  }

  /// The files go once the transaction is committed.
  private func noteExternalFiles(of mapping: TableMapping, _ keys: SQL) throws {
    let writer = writer(mapping)
    // The history has the values that it preserves in the same files.
    let kept = store.history?.preserved(mapping.number).map(\.column) ?? []
    for column in writer.externalColumns where !kept.contains(column) {
      store.externalFiles?.replaced += try writer.files(
        in: column, where: " WHERE t0.\(raw: mapping.names.key) IN (\(keys))", connection)
    }
  }
}

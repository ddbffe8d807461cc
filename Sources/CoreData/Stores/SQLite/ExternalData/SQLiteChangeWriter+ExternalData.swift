/// Files of external data go with their values.
extension SQLiteChangeWriter {
  /// The files of the rows that will be deleted, and of those whose external values may change.
  func replacedFiles() throws -> [ExternalFiles.Replaced] {
    guard store.hasExternalData else { return [] }
    var files: [ExternalFiles.Replaced] = []
    for row in changes.deleted {
      // The history has the values that it preserves in the same files.
      let kept = store.history?.preserved(row.storedEntity.number).map(\.column) ?? []
      try add(row.storedEntity.number, row.key, except: kept, to: &files)
    }
    for row in changes.updated where row.values != nil {
      let writer = store.writer(row.storedEntity.number)
      guard let base = row.base, let values = row.values else { continue }
      let changed = Set(writer.properties.changed(base, values).positions.flatMap { writer.columns[$0] })
      if !changed.isDisjoint(with: writer.externalColumns) { try add(row.storedEntity.number, row.key, to: &files) }
    }
    return files
  }

  private func add(
    _ number: Int, _ key: Int64, except kept: [String] = [], to files: inout [ExternalFiles.Replaced]
  ) throws {
    let writer = store.writer(number)
    for column in writer.externalColumns where !kept.contains(column) {
      files += try writer.files(in: column, where: " WHERE t0.Z_PK = \(bind: .integer(key))", connection)
    }
  }
}

extension RowWriter {
  /// The files that a column's values name in some rows of the table `t0`.
  ///
  /// For the cover of the book 2:
  ///
  /// ```text
  /// SELECT t0.Z_PK, t0.ZCOVER FROM ZBOOK AS t0
  ///   WHERE t0.Z_PK = ? AND length(t0.ZCOVER) = 38 AND substr(t0.ZCOVER, 1, 1) = x'02'
  /// ```
  ///
  /// `length` of a BLOB is known from the row's header: a large value that lies in the row is not read for it.
  func files(
    in column: String, where condition: SQL, _ connection: SQLiteConnection
  ) throws -> [ExternalFiles.Replaced] {
    let isFile = "length(t0.\(column)) = \(ExternalData.storedNameLength) AND substr(t0.\(column), 1, 1) = x'02'"
    let conditions: SQL = condition.isEmpty ? " WHERE \(raw: isFile)" : "\(condition) AND \(raw: isFile)"
    let sql: SQL = "SELECT t0.Z_PK, t0.\(raw: column) FROM \(raw: mapping.table) AS t0\(conditions)"
    let rows = try connection.rows(sql)
    return rows.compactMap { row in
      guard case .integer(let key) = row[0], case .blob(let stored) = row[1] else { return nil }
      return ExternalFiles.Replaced(table: mapping.table, column: column, key: key, stored: stored)
    }
  }
}

extension SQLiteStore {
  /// Removes the files of values that are gone, as far as nobody can need them.
  func removeReplacedFiles() {
    guard let externalFiles, hasExternalData, !externalFiles.isIdle else { return }
    // A database that was closed meanwhile leaves them.
    try? database.withWriter { externalFiles.didCommit($0) }
  }
}

/// Files of external data go with their values.
extension ChangeWriter {
  /// The files of the rows that will be deleted, and of those whose external values may change.
  func obsoleteFiles() throws -> [ObsoleteFile] {
    guard store.hasExternalData else { return [] }
    var files: [ObsoleteFile] = []
    for row in changes.deleted { try add(row.storedEntity.number, row.key, to: &files) }
    for row in changes.updated where row.values != nil {
      let writer = store.writer(row.storedEntity.number)
      guard let base = row.base, let values = row.values else { continue }
      let changed = Set(writer.changedSteps(base, values).positions.flatMap { writer.columns[$0] })
      if !changed.isDisjoint(with: writer.externalColumns) { try add(row.storedEntity.number, row.key, to: &files) }
    }
    return files
  }

  private func add(_ number: Int, _ key: Int64, to files: inout [ObsoleteFile]) throws {
    let writer = store.writer(number)
    for column in writer.externalColumns {
      files += try writer.files(in: column, where: " WHERE t0.Z_PK = ?", [.integer(key)], connection)
    }
  }
}

extension RowWriter {
  /// - Parameters:
  ///   - isUseless: whether no row will name the files.
  ///   - first: the number of files, of those that were written first, to leave alone.
  func forgetWrittenFiles(removing isUseless: Bool, after first: Int = 0) {
    guard writtenFiles.count > first else { return }
    if isUseless { for file in writtenFiles[first...] { try? FileManager.default.removeItem(at: file) } }
    writtenFiles.removeSubrange(first...)
  }

  /// The files that a column's values name in some rows of the table `t0`.
  func files(
    in column: String, where condition: String, _ values: [SQLiteValue], _ connection: SQLiteConnection
  ) throws -> [ObsoleteFile] {
    let isFile = "substr(t0.\(column), 1, 1) = x'02'"
    let rows = try connection.rows(
      "SELECT t0.Z_PK, t0.\(column) FROM \(mapping.table) AS t0\(condition.isEmpty ? " WHERE" : condition + " AND") \(isFile)",
      values)
    return rows.compactMap { row in
      guard case .integer(let key) = row[0], case .blob(let stored) = row[1] else { return nil }
      return ObsoleteFile(table: mapping.table, column: column, key: key, stored: stored)
    }
  }
}

extension SQLiteStore {
  var hasExternalData: Bool { !externalWriters.isEmpty }

  /// - Parameter isUseless: whether no row will name the files.
  func forgetWrittenFiles(removing isUseless: Bool) {
    for writer in externalWriters { writer.forgetWrittenFiles(removing: isUseless) }
  }

  /// Removes the files that no row names any more. A file that stays does no harm.
  func removeObsoleteFiles() {
    guard !obsoleteFiles.isEmpty else { return }
    let files = obsoleteFiles
    obsoleteFiles = []
    // A database that was closed meanwhile leaves them.
    try? database.withWriter { connection in
      for file in files {
        // A part of the transaction may have been taken back.
        let query = "SELECT 1 FROM \(file.table) WHERE Z_PK = ? AND \(file.column) = ?"
        let rows = try? connection.rows(query, [.integer(file.key), .blob(file.stored)])
        guard let rows, rows.isEmpty, let place = ExternalData.file(file.stored, of: self.url) else { continue }
        try? FileManager.default.removeItem(at: place)
      }
    }
  }
}

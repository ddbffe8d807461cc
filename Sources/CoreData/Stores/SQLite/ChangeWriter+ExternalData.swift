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
      let rows = try connection.rows(
        "SELECT \(column) FROM \(writer.mapping.table) WHERE Z_PK = ? AND substr(\(column), 1, 1) = x'02'",
        [.integer(key)])
      for case .blob(let stored) in rows.map({ $0[0] }) {
        files.append(ObsoleteFile(table: writer.mapping.table, column: column, key: key, stored: stored))
      }
    }
  }

  /// - Parameter isUseless: whether no row will name the files.
  func forgetWrittenFiles(removing isUseless: Bool) {
    guard store.hasExternalData else { return }
    for writer in store.externalWriters where !writer.writtenFiles.isEmpty {
      if isUseless { for file in writer.writtenFiles { try? FileManager.default.removeItem(at: file) } }
      writer.writtenFiles = []
    }
  }
}

extension SQLiteStore {
  var hasExternalData: Bool { !externalWriters.isEmpty }

  /// Removes the files that no row names any more. A file that stays does no harm.
  func removeObsoleteFiles() {
    guard !obsoleteFiles.isEmpty else { return }
    let files = obsoleteFiles
    obsoleteFiles = []
    database.withWriter { connection in
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

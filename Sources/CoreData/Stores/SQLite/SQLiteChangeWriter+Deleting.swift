/// Deletes a save's rows, in groups.
extension SQLiteChangeWriter {
  /// Deletes rows one by one, or in groups of 8 and 64.
  ///
  /// ```text
  /// 1 row       DELETE FROM ZBOOK WHERE Z_PK = 2 AND (Z_OPT = 1 OR 1 < 0)
  /// 8, 64 rows  DELETE FROM ZBOOK WHERE Z_PK BETWEEN 9 AND 16 AND Z_OPT = 2
  ///             DELETE FROM Z_1BOOKS WHERE Z_2BOOKS BETWEEN 9 AND 16             the rows of each join table
  /// ```
  ///
  /// If a group deletes fewer rows than it has, each of its rows is deleted by itself and finds its own conflict. What
  /// the group has deleted is gone, which is none. Before rows of different versions are deleted, their versions are
  /// looked at.
  ///
  /// `1 < 0` stands for "any version": a row that was never read binds -1 for its version. A row that is gone already
  /// is no conflict.
  func delete(_ rows: [Int], of storedEntity: StoredEntity, areRead: Bool) throws {
    let writer = store.writer(storedEntity.number)
    try WriteGroups.divide(rows, groups.deletes) { try delete($0, writer, areRead: areRead) }
  }

  private func delete(_ rows: ArraySlice<Int>, _ writer: RowWriter, areRead: Bool) throws {
    let versions = areRead ? rows.map { changes.deleted[$0].version ?? 0 } : []
    guard rows.count > 1, try deleteGroup(rows.map { changes.deleted[$0].key }, versions, writer) else {
      for index in rows { try delete(index) }
      return
    }
  }

  /// False, with nothing deleted, if a constraint refuses. Also false if not all rows have their versions: some may be
  /// deleted then.
  ///
  /// The rows of join tables go after the objects' own: if a constraint of a person's own refuses the rows, nothing of
  /// the group is gone.
  ///
  /// - Parameter versions: those of the rows, in the order of the keys; empty if the rows were never read.
  private func deleteGroup(_ keys: [Int64], _ versions: [Int64], _ writer: RowWriter) throws -> Bool {
    let shape = KeyShape(keys)
    let version = versions.first.flatMap { first in versions.allSatisfy { $0 == first } ? first : nil }
    if version == nil, !versions.isEmpty, try !self.versions(of: keys, shape, writer, are: { versions[$0] }) {
      return false
    }
    let table = writer.mapping.table
    let statement = try statement(writer.deleteSQL(from: table, where: "Z_PK", shape, ofVersion: version != nil))
    shape.bind(keys, to: statement)
    if let version { statement.bind(version, at: shape.parameterCount + 1) }
    guard try runGroup(statement), version == nil || connection.changes == keys.count else { return false }
    for case .join(_, let table, let ownerColumn, _, _) in writer.mapping.toManys.values {
      let statement = try self.statement(writer.deleteSQL(from: table, where: ownerColumn, shape))
      shape.bind(keys, to: statement)
      try statement.run()
    }
    return true
  }

  private func delete(_ index: Int) throws {
    let row = changes.deleted[index]
    let writer = store.writer(row.storedEntity.number)
    let version = row.version ?? -1
    try run(writer.deleteSQL, .integer(row.key), .integer(version), .integer(version))
    if connection.changes == 0, try self.version(of: row.key, writer) != nil {
      try noteConflict(.deleted(index), row.storedEntity, row.key)
    }
    for case .join(_, let table, let ownerColumn, _, _) in writer.mapping.toManys.values {
      try connection.run("DELETE FROM \(raw: table) WHERE \(raw: ownerColumn) = \(bind: .integer(row.key))")
    }
  }
}

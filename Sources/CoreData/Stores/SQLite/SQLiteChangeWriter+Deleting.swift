/// Deletes a save's rows, in groups.
extension SQLiteChangeWriter {
  /// Deletes rows one by one, or in groups of 8 and 64.
  ///
  /// ```text
  /// 1 row       DELETE FROM ZBOOK WHERE Z_PK = 2 AND (Z_OPT = 1 OR 1 < 0)
  /// 8, 64 rows  SELECT count(*) FROM ZBOOK WHERE Z_PK BETWEEN 9 AND 16 AND Z_OPT = 2
  ///             DELETE FROM ZBOOK WHERE Z_PK BETWEEN 9 AND 16
  ///             DELETE FROM Z_1BOOKS WHERE Z_2BOOKS BETWEEN 9 AND 16             the rows of each join table
  /// ```
  ///
  /// `1 < 0` stands for "any version": a row that was never read binds -1 for its version. A row that is gone already
  /// is no conflict.
  func delete(_ rows: [Int], of storedEntity: StoredEntity, areRead: Bool) throws {
    let writer = store.writer(storedEntity.number)
    try WriteGroups.divide(rows, groups.deletes) { try delete($0, writer, areRead: areRead) }
  }

  private func delete(_ rows: ArraySlice<Int>, _ writer: RowWriter, areRead: Bool) throws {
    let keys = rows.map { changes.deleted[$0].key }
    let shape = KeyShape(keys)
    let first = rows.startIndex
    guard rows.count > 1,
      try !areRead || versions(of: keys, shape, writer, are: { changes.deleted[rows[first + $0]].version ?? 0 }),
      try deleteGroup(keys, shape, writer)
    else {
      for index in rows { try delete(index) }
      return
    }
  }

  /// False, with nothing deleted, if a constraint refuses.
  ///
  /// The rows of join tables go after the objects' own: if a constraint of a person's own refuses the rows, nothing of
  /// the group is gone.
  private func deleteGroup(_ keys: [Int64], _ shape: KeyShape, _ writer: RowWriter) throws -> Bool {
    let statement = try statement(writer.deleteSQL(from: writer.mapping.table, where: "Z_PK", shape))
    shape.bind(keys, to: statement)
    guard try runGroup(statement) else { return false }
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

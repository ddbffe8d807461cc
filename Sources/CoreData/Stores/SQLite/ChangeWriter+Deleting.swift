/// Deletes a save's rows, in groups.
extension ChangeWriter {
  /// Rows of one entity form groups, those that were never read apart from the others: they cannot conflict.
  func writeDeletes() throws {
    var kinds: [(number: Int, isRead: Bool, rows: [Int])] = []
    var last = 0
    for (index, row) in changes.deleted.enumerated() {
      let number = row.storedEntity.number
      let isRead = row.version != nil
      if last >= kinds.count || kinds[last].number != number || kinds[last].isRead != isRead {
        last = kinds.firstIndex { $0.number == number && $0.isRead == isRead } ?? kinds.count
        if last == kinds.count { kinds.append((number, isRead, [])) }
      }
      kinds[last].rows.append(index)
    }
    for kind in kinds {
      let writer = store.writer(kind.number)
      try WriteGroups.divide(kind.rows, groups.deletes) { try delete($0, writer, isRead: kind.isRead) }
    }
  }

  private func delete(_ rows: ArraySlice<Int>, _ writer: RowWriter, isRead: Bool) throws {
    let sorted = sorted(rows) { changes.deleted[$0].key }
    let keys = sorted.map { changes.deleted[$0].key }
    let shape = KeyShape(keys)
    guard rows.count > 1,
      try !isRead || versions(of: keys, shape, writer, are: { changes.deleted[sorted[$0]].version ?? 0 })
    else {
      for index in rows { try delete(index) }
      return
    }
    guard try deleteGroup(keys, shape, writer) else {
      for index in rows { try delete(index) }
      return
    }
  }

  /// False, with nothing deleted, if a constraint refuses.
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
    try connection.execute(writer.deleteSQL, [.integer(row.key), .integer(version), .integer(version)])
    if connection.changes == 0, try connection.integer(writer.versionSQL, [.integer(row.key)]) != nil {
      try noteConflict(.deleted(index), row.storedEntity, row.key)
    }
    for case .join(_, let table, let ownerColumn, _, _) in writer.mapping.toManys.values {
      try connection.execute("DELETE FROM \(table) WHERE \(ownerColumn) = ?", [.integer(row.key)])
    }
  }
}

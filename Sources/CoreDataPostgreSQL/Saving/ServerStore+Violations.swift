extension ServerStore {
  func violations(of rejected: [RowChanges.Place], in changes: RowChanges) throws -> [ConstraintViolation] {
    try onTables("Looking for rows with the same unique values in \(address.description)") {
      try database.read { connection, _ in
        try ViolationFinder(changes, in: UniqueServerRows(store: self, connection: connection)).violations(of: rejected)
      }
    }
  }
}

/// Values are compared in the form in which they are sent to the server.
private struct UniqueServerRows: SQLUniqueRows {
  let store: ServerStore
  let connection: any ServerConnection

  func integers(_ sql: SQL) throws -> [[Int64]] { try connection.integers(sql) }

  func row(_ id: NSManagedObjectID) throws -> Snapshot? { try store.row(id, connection) }

  func values(
    of constraint: TableConstraint, in row: Snapshot, resolving resolve: (RelatedKey) -> RelatedKey?
  ) throws -> [SQLiteValue]? {
    let writer = store.writer(store.mapping(row.layout.name).number)
    let columns = writer.columns(writer.steps)
    var values: [SQLiteValue] = []
    for name in constraint.constraint.columns {
      guard let (step, column) = columns.first(where: { $0.column.name == name }) else { return nil }
      var bytes: [UInt8] = []
      guard try writer.append(step, column, of: row, to: &bytes, resolving: resolve) else { return nil }
      values.append(.encoded(bytes, type: column.type.rawValue))
    }
    return values
  }
}

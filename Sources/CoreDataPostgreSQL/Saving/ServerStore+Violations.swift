/// Which rows have the unique values of rejected ones. The coordinator asks after the save was rolled back, so what is
/// found is a snapshot of its own: the other row may be gone by then, and the merge policy tries again.
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
///
/// ```text
/// SELECT _key, _entity FROM "app"."Book" WHERE "isbn" = $1     $1 = '978-1'
/// ```
private struct UniqueServerRows: SQLUniqueRows {
  let store: ServerStore
  let connection: any ServerConnection

  func integers(_ sql: SQL) throws -> [[Int64]] { try connection.integers(sql) }

  func row(_ id: NSManagedObjectID) throws -> Snapshot? { try store.row(id, connection) }

  /// The values of a row's unique columns; nil if one is NULL, since NULLs are never equal in a unique index.
  func values(
    of constraint: TableConstraint, in row: Snapshot, resolving resolve: (RelatedKey) -> RelatedKey?
  ) throws -> [SQLiteValue]? {
    let writer = store.writer(store.mapping(row.layout.name).number)
    var values: [SQLiteValue] = []
    for column in constraint.constraint.columns {
      guard let value = try writer.value(column, of: row, resolving: resolve) else { return nil }
      values.append(value)
    }
    return values
  }
}

extension ServerStore {
  func violations(of rejected: [RowChanges.Place], in changes: RowChanges) throws -> [ConstraintViolation] {
    try CoreDataErrors.fromServer("Looking for rows with the same unique values in \(address.description)") {
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

  struct Value: Hashable {
    let type: ServerType
    let bytes: [UInt8]
  }

  func id(with values: [Value], _ constraint: TableConstraint) throws -> NSManagedObjectID? {
    var parameters = ServerParameters()
    for value in values { parameters.add(value.bytes, value.type) }
    let own = ServerLayout.ownColumns
    let condition = constraint.constraint.columns.enumerated().map { "\($1) = $\($0 + 1)" }.joined(separator: " AND ")
    let found = try connection.execute(
      "SELECT \(own.key), \(own.entity) FROM \(constraint.table) WHERE \(condition)", parameters)
    guard found.rowCount > 0 else { return nil }
    return store.objectID(number: Int(found.integer(0, 1)), key: found.integer(0, 0))
  }

  func row(_ id: NSManagedObjectID) throws -> Snapshot? { try store.row(id, connection) }

  func values(
    of constraint: TableConstraint, in row: Snapshot, resolving resolve: (RelatedKey) -> RelatedKey?
  ) throws -> [Value]? {
    let writer = store.writer(store.mapping(row.layout.name).number)
    let columns = writer.columns(writer.steps)
    var values: [Value] = []
    for name in constraint.constraint.columns {
      guard let (step, column) = columns.first(where: { $0.column.name == name }) else { return nil }
      var bytes: [UInt8] = []
      guard try writer.append(step, column, of: row, to: &bytes, resolving: resolve) else { return nil }
      values.append(Value(type: column.type, bytes: bytes))
    }
    return values
  }
}

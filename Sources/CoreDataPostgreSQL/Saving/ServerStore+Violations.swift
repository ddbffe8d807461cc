extension ServerStore {
  func violations(of rejected: [RowChanges.Place], in changes: RowChanges) throws -> [ConstraintViolation] {
    try CoreDataErrors.fromServer("Looking for rows with the same unique values in \(address.description)") {
      try database.read { connection, _ in
        let rows = UniqueServerRows(store: self, connection: connection, permanentIDs: changes.permanentIDs)
        return try ViolationFinder(changes, in: rows).violations(of: rejected)
      }
    }
  }
}

/// Values are compared in the form in which they are sent to the server.
private struct UniqueServerRows: UniqueRows {
  let store: ServerStore
  let connection: any ServerConnection
  let permanentIDs: [Int64: NSManagedObjectID]

  struct Value: Hashable {
    let type: ServerType
    let bytes: [UInt8]
  }

  func id(with values: [Value], _ constraint: UniqueConstraint, _ table: String) throws -> NSManagedObjectID? {
    var parameters = ServerParameters()
    for value in values { parameters.add(value.bytes, value.type) }
    let own = ServerLayout.ownColumns
    let condition = constraint.columns.enumerated().map { "\($1) = $\($0 + 1)" }.joined(separator: " AND ")
    let found = try connection.execute(
      "SELECT \(own.key), \(own.entity) FROM \(table) WHERE \(condition)", parameters)
    guard found.rowCount > 0 else { return nil }
    return store.objectID(number: Int(found.integer(0, 1)), key: found.integer(0, 0))
  }

  func row(_ id: NSManagedObjectID) throws -> Snapshot? { try store.row(id, connection) }

  func values(of constraint: UniqueConstraint, in snapshot: Snapshot, _ mapping: TableMapping) throws -> [Value]? {
    let writer = store.writer(mapping.number)
    let columns = writer.columns(writer.steps)
    var values: [Value] = []
    for name in constraint.columns {
      guard let (step, column) = columns.first(where: { $0.column.name == name }) else { return nil }
      var bytes: [UInt8] = []
      // New objects keep their temporary keys here, which no row has.
      let hasValue = try writer.append(step, column, of: snapshot, to: &bytes) {
        permanentIDs[$0.key]?.relatedKey ?? $0
      }
      guard hasValue else { return nil }
      values.append(Value(type: column.type, bytes: bytes))
    }
    return values
  }
}

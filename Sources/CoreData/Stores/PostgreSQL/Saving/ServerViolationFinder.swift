/// Finds the rows behind violated constraints. Values are compared in the form in which they are sent to the server.
struct ServerViolationFinder {
  /// A value of a row in the server's form, with its type.
  private struct Value: Hashable {
    let type: ServerType
    let bytes: [UInt8]
  }

  private let store: ServerStore
  private let changes: RowChanges
  private let connection: any ServerConnection
  /// The save's rows that are in the database, by key and table.
  private var known: [Int32: [Int64: RowChanges.Place]] = [:]

  init(_ store: ServerStore, _ changes: RowChanges, _ connection: any ServerConnection) {
    self.store = store
    self.changes = changes
    self.connection = connection
    for (index, row) in changes.updated.enumerated() {
      known[row.storedEntity.table, default: [:]][row.key] = .updated(index)
    }
    for (index, row) in changes.deleted.enumerated() {
      known[row.storedEntity.table, default: [:]][row.key] = .deleted(index)
    }
  }

  func violations(of rejected: [RowChanges.Place]) throws -> [ConstraintViolation] {
    var constraints: [(root: Int, constraint: UniqueConstraint)] = []
    for place in rejected {
      guard let mapping = values(at: place).map({ store.mapping($0.layout.name) }) else { continue }
      for constraint in store.writer(mapping.number).constraints
      where !constraints.contains(where: { $0.root == mapping.rootNumber && $0.constraint == constraint }) {
        constraints.append((mapping.rootNumber, constraint))
      }
    }
    return try constraints.flatMap { try violations(of: rejected, $0.constraint, root: $0.root) }
  }

  private func violations(
    of rejected: [RowChanges.Place], _ constraint: UniqueConstraint, root: Int
  ) throws -> [ConstraintViolation] {
    var wanted: [[Value]] = []
    var rivals: [[Value]: [RowChanges.Place]] = [:]
    for place in rejected {
      guard let values = try uniqueValues(at: place, constraint, root), rivals[values] == nil else { continue }
      wanted.append(values)
      rivals[values] = []
    }
    let places =
      changes.updated.indices.map(RowChanges.Place.updated) + changes.inserted.indices.map(RowChanges.Place.inserted)
    for place in places {
      guard let values = try uniqueValues(at: place, constraint, root), rivals[values] != nil else { continue }
      rivals[values]?.append(place)
    }
    return try wanted.compactMap { values in
      let stored = try row(with: values, constraint, root)
      let others = (rivals[values] ?? []).filter { stored == nil || key(at: $0) != stored?.id.key }
      guard others.count > (stored == nil ? 1 : 0) else { return nil }
      return ConstraintViolation(names: constraint.names, rivals: others, stored: stored)
    }
  }

  /// The row with the values, unless this save deletes or changes it.
  private func row(
    with values: [Value], _ constraint: UniqueConstraint, _ root: Int
  ) throws -> (id: NSManagedObjectID, values: Snapshot?)? {
    guard let mapping = store.schema.entitiesByNumber[root] else { return nil }
    var parameters = ServerParameters()
    for value in values { parameters.add(value.bytes, value.type) }
    let condition = constraint.columns.enumerated().map { "\($1) = $\($0 + 1)" }.joined(separator: " AND ")
    let found = try connection.execute(
      "SELECT \(mapping.names.key), \(mapping.names.entity) FROM \(mapping.table) WHERE \(condition)", parameters)
    guard found.rowCount > 0,
      let id = store.objectID(number: Int(found.integer(0, 1)), key: found.integer(0, 0))
    else { return nil }
    if let place = known[id.storedEntity.table]?[id.key] {
      if case .deleted = place { return nil }
      if let own = try uniqueValues(at: place, constraint, root), own != values { return nil }
    }
    return (id, try store.row(id, connection))
  }

  private func values(at place: RowChanges.Place) -> Snapshot? {
    switch place {
    case .inserted(let index): changes.inserted[index].values
    case .updated(let index): changes.updated[index].values
    case .deleted, .checked: nil
    }
  }

  private func key(at place: RowChanges.Place) -> Int64? {
    switch place {
    case .inserted(let index): changes.inserted[index].key
    case .updated(let index): changes.updated[index].key
    case .deleted, .checked: nil
    }
  }

  /// The values as they are written; nil if one is NULL, or the constraint does not concern the row.
  private func uniqueValues(
    at place: RowChanges.Place, _ constraint: UniqueConstraint, _ root: Int
  ) throws -> [Value]? {
    guard let snapshot = values(at: place) else { return nil }
    let mapping = store.mapping(snapshot.layout.name)
    guard mapping.rootNumber == root, mapping.columns(of: constraint.names) == constraint.columns else { return nil }
    let writer = store.writer(mapping.number)
    let columns = writer.columns(writer.steps)
    var values: [Value] = []
    for name in constraint.columns {
      guard let (step, column) = columns.first(where: { $0.column.name == name }) else { return nil }
      var bytes: [UInt8] = []
      // New objects keep their temporary keys here, which no row has.
      let hasValue = try writer.append(step, column, of: snapshot, to: &bytes) {
        changes.permanentIDs[$0.key]?.relatedKey ?? $0
      }
      guard hasValue else { return nil }
      values.append(Value(type: column.type, bytes: bytes))
    }
    return values
  }
}

extension SQLiteStore {
  /// The constraints on rows of the entity.
  func uniqueConstraints(of mapping: TableMapping) -> [UniqueConstraint] { schema.uniqueConstraints(of: mapping) }
}

extension SQLiteStore {
  func violations(of rejected: [RowChanges.Place], in changes: RowChanges) throws -> [ConstraintViolation] {
    try CoreDataErrors.translating("Looking for rows with the same unique values") {
      // On the writer, so that this coordinator's last commits are seen.
      try database.withWriter { connection in
        try ConstraintViolationFinder(self, changes, connection).violations(of: rejected)
      }
    }
  }
}

/// Finds the rows behind violated constraints.
private struct ConstraintViolationFinder {
  let store: SQLiteStore
  let changes: RowChanges
  let connection: SQLiteConnection
  /// The save's rows that are in the file, by key and table.
  private var known: [Int32: [Int64: RowChanges.Place]] = [:]

  init(_ store: SQLiteStore, _ changes: RowChanges, _ connection: SQLiteConnection) {
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
      for constraint in store.uniqueConstraints(of: mapping)
      where !constraints.contains(where: { $0.root == mapping.rootNumber && $0.constraint == constraint }) {
        constraints.append((mapping.rootNumber, constraint))
      }
    }
    return try constraints.flatMap { try violations(of: rejected, $0.constraint, root: $0.root) }
  }

  private func violations(of rejected: [RowChanges.Place], _ constraint: UniqueConstraint, root: Int) throws
    -> [ConstraintViolation]
  {
    var wanted: [[SQLiteValue]] = []
    var rivals: [[SQLiteValue]: [RowChanges.Place]] = [:]
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
  private func row(with values: [SQLiteValue], _ constraint: UniqueConstraint, _ root: Int) throws
    -> (id: NSManagedObjectID, values: Snapshot?)?
  {
    guard let table = store.schema.entitiesByNumber[root]?.table else { return nil }
    let condition = constraint.columns.map { "\($0) = ?" }.joined(separator: " AND ")
    let found = try connection.rows("SELECT Z_PK, Z_ENT FROM \(table) WHERE \(condition)", values).first
    guard let found, case .integer(let key) = found[0], case .integer(let number) = found[1],
      let id = store.objectID(number: Int(number), key: key)
    else { return nil }
    if let place = known[id.storedEntity.table]?[key] {
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
  private func uniqueValues(at place: RowChanges.Place, _ constraint: UniqueConstraint, _ root: Int) throws
    -> [SQLiteValue]?
  {
    guard let snapshot = self.values(at: place) else { return nil }
    let layout = snapshot.layout
    let mapping = store.mapping(layout.name)
    guard mapping.rootNumber == root, mapping.columns(of: constraint.names) == constraint.columns else { return nil }
    let writer = store.writer(mapping.number)
    let permanentIDs = changes.permanentIDs
    var values: [SQLiteValue] = []
    for name in constraint.names {
      let path = name.components(separatedBy: ".")
      guard let slot = layout.slot(path[0]), let step = writer.steps.first(where: { $0.slot == slot }) else {
        return nil
      }
      // SQLite converts the values as it would store them. A to-one relationship may bind its entity too.
      let statement = try connection.statement("SELECT ?1, ?2")
      defer { statement.reset() }
      // New objects keep their temporary keys here, which no row has.
      if let leaf = mapping.composites[path[0]]?.leaves.first(where: { $0.column.name == name }) {
        StoredValue.bind(snapshot.element(at: name), leaf.attribute, statement, 1)
      } else {
        _ = writer.bind(step, of: snapshot, to: statement, at: 1) { permanentIDs[$0.key]?.relatedKey ?? $0 }
      }
      guard try statement.step() else { return nil }
      switch statement.value(0) {
      case .null: return nil
      case .real(let real) where Int64(exactly: real) != nil: values.append(.integer(Int64(real)))
      case let value: values.append(value)
      }
    }
    return values
  }
}

/// The rows of one database among which violated constraints are looked for.
package protocol UniqueRows {
  associatedtype Store: SQLStore
  /// A value in the form in which the database compares it.
  associatedtype Value: Hashable
  var store: Store { get }

  /// The values of the constraint's columns as they are written; nil if one is NULL.
  func values(of constraint: UniqueConstraint, in snapshot: Snapshot, _ mapping: TableMapping) throws -> [Value]?

  /// The row with these values in the constraint's columns.
  func id(with values: [Value], _ constraint: UniqueConstraint, _ table: String) throws -> NSManagedObjectID?

  func row(_ id: NSManagedObjectID) throws -> Snapshot?
}

/// Finds the rows behind violated constraints: rows of the save among themselves, and rows of the store.
package struct ViolationFinder<Rows: UniqueRows> {
  private let rows: Rows
  private let changes: RowChanges
  /// The save's rows that the store has already, by key and table.
  private var known: [Int32: [Int64: RowChanges.Place]] = [:]

  package init(_ changes: RowChanges, in rows: Rows) {
    self.rows = rows
    self.changes = changes
    for (index, row) in changes.updated.enumerated() {
      known[row.storedEntity.table, default: [:]][row.key] = .updated(index)
    }
    for (index, row) in changes.deleted.enumerated() {
      known[row.storedEntity.table, default: [:]][row.key] = .deleted(index)
    }
  }

  package func violations(of rejected: [RowChanges.Place]) throws -> [ConstraintViolation] {
    var constraints: [(root: TableMapping, constraint: UniqueConstraint)] = []
    for place in rejected {
      guard let mapping = values(at: place).map({ rows.store.mapping($0.layout.name) }),
        let root = rows.store.schema.entitiesByNumber[mapping.rootNumber]
      else { continue }
      for constraint in rows.store.schema.uniqueConstraints(of: mapping)
      where !constraints.contains(where: { $0.root === root && $0.constraint == constraint }) {
        constraints.append((root, constraint))
      }
    }
    return try constraints.flatMap { try violations(of: rejected, $0.constraint, $0.root) }
  }

  private func violations(
    of rejected: [RowChanges.Place], _ constraint: UniqueConstraint, _ root: TableMapping
  ) throws -> [ConstraintViolation] {
    var wanted: [[Rows.Value]] = []
    var rivals: [[Rows.Value]: [RowChanges.Place]] = [:]
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
    with values: [Rows.Value], _ constraint: UniqueConstraint, _ root: TableMapping
  ) throws -> (id: NSManagedObjectID, values: Snapshot?)? {
    guard let id = try rows.id(with: values, constraint, root.table) else { return nil }
    if let place = known[id.storedEntity.table]?[id.key] {
      if case .deleted = place { return nil }
      if let own = try uniqueValues(at: place, constraint, root), own != values { return nil }
    }
    return (id, try rows.row(id))
  }

  /// The values as they are written; nil if one is NULL, or the constraint does not concern the row.
  private func uniqueValues(
    at place: RowChanges.Place, _ constraint: UniqueConstraint, _ root: TableMapping
  ) throws -> [Rows.Value]? {
    guard let snapshot = values(at: place) else { return nil }
    let mapping = rows.store.mapping(snapshot.layout.name)
    guard mapping.rootNumber == root.number, mapping.columns(of: constraint.names) == constraint.columns else {
      return nil
    }
    return try rows.values(of: constraint, in: snapshot, mapping)
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
}

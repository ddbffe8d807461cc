/// The rows of one store among which violated constraints are looked for.
package protocol UniqueRows {
  /// A constraint on the rows of one table.
  associatedtype Constraint: Hashable
  /// A value in the form in which the store compares it.
  associatedtype Value: Hashable

  /// The constraints on rows with the layout.
  func constraints(_ layout: EntityLayout) throws -> [Constraint]

  /// The names of the properties whose values are unique.
  func names(_ constraint: Constraint) -> [String]

  /// The unique values of a row as they are written; nil if one is nil.
  ///
  /// - Parameter resolve: gives the permanent key of a row that a to-one relationship refers to.
  func values(
    of constraint: Constraint, in row: Snapshot, resolving resolve: (RelatedKey) -> RelatedKey?
  ) throws -> [Value]?

  /// The stored row with these values.
  func id(with values: [Value], _ constraint: Constraint) throws -> NSManagedObjectID?

  func row(_ id: NSManagedObjectID) throws -> Snapshot?
}

/// Finds the rows behind violated constraints: rows of the save among themselves, and rows of the store. Used after the
/// rejected save was rolled back.
///
/// A save inserts two books "Kindred", and the store has one:
///
/// ```text
/// rejected    the first new book, by the stored one
/// found       ConstraintViolation(names: ["title"], rivals: [inserted 0, inserted 1], stored: p1)
/// ```
///
/// The merge policy then decides: with "object trump" the stored row gets the new values, and the new objects go. It
/// needs all rivals at once, not only the row that SQLite refused.
package struct ViolationFinder<Rows: UniqueRows> {
  private let rows: Rows
  private let changes: RowChanges
  /// The constraints of the save's rows, by the serial number of their layout.
  private var constraints: [UInt64: [Rows.Constraint]] = [:]
  /// The save's rows that the store has already, by table and key.
  private var storedPlaces: [Int32: [Int64: RowChanges.Place]] = [:]

  @_semantics("optimize.sil.specialize.generic.never")  // a copy for each store takes long to compile
  package init(_ changes: RowChanges, in rows: Rows) throws {
    self.rows = rows
    self.changes = changes
    for row in changes.updated.compactMap(\.values) + changes.inserted.map(\.values)
    where constraints[row.layout.serial] == nil {
      constraints[row.layout.serial] = try rows.constraints(row.layout)
    }
    for (index, row) in changes.updated.enumerated() {
      storedPlaces[row.storedEntity.table, default: [:]][row.key] = .updated(index)
    }
    for (index, row) in changes.deleted.enumerated() {
      storedPlaces[row.storedEntity.table, default: [:]][row.key] = .deleted(index)
    }
  }

  @_semantics("optimize.sil.specialize.generic.never")  // a copy for each store takes long to compile
  package func violations(of rejected: [RowChanges.Place]) throws -> [ConstraintViolation] {
    var violated: [Rows.Constraint] = []
    for place in rejected {
      for constraint in constraints(at: place) where !violated.contains(constraint) { violated.append(constraint) }
    }
    return try violated.flatMap { try violations(of: rejected, $0) }
  }

  /// Rejected rows say which values are in question; all rows of the save with these values are rivals, the rejected
  /// ones among them. A value that only one row of the save has, and no stored row, is no violation any more: the other
  /// one may have been deleted meanwhile.
  private func violations(
    of rejected: [RowChanges.Place], _ constraint: Rows.Constraint
  ) throws -> [ConstraintViolation] {
    var rejectedValues: [[Rows.Value]] = []
    var rivals: [[Rows.Value]: [RowChanges.Place]] = [:]
    for place in rejected {
      guard let values = try uniqueValues(at: place, constraint), rivals[values] == nil else { continue }
      rejectedValues.append(values)
      rivals[values] = []
    }
    let places =
      changes.updated.indices.map(RowChanges.Place.updated) + changes.inserted.indices.map(RowChanges.Place.inserted)
    for place in places {
      guard let values = try uniqueValues(at: place, constraint), rivals[values] != nil else { continue }
      rivals[values]?.append(place)
    }
    return try rejectedValues.compactMap { values in
      let stored = try row(with: values, constraint)
      let others = (rivals[values] ?? []).filter { stored == nil || key(at: $0) != stored?.id.key }
      guard others.count > (stored == nil ? 1 : 0) else { return nil }
      return ConstraintViolation(names: rows.names(constraint), rivals: others, stored: stored)
    }
  }

  /// The row with the values, unless this save deletes or changes it.
  ///
  /// A stored row that this save deletes, or gives another value, does not have the value in the state that the save
  /// makes.
  private func row(
    with values: [Rows.Value], _ constraint: Rows.Constraint
  ) throws -> (id: NSManagedObjectID, values: Snapshot?)? {
    guard let id = try rows.id(with: values, constraint) else { return nil }
    if let place = storedPlaces[id.storedEntity.table]?[id.key] {
      if case .deleted = place { return nil }
      if let newValues = try uniqueValues(at: place, constraint), newValues != values { return nil }
    }
    return (id, try rows.row(id))
  }

  /// The values as they are written; nil if one is nil, or the constraint does not concern the row.
  private func uniqueValues(at place: RowChanges.Place, _ constraint: Rows.Constraint) throws -> [Rows.Value]? {
    guard let row = row(at: place), constraints(at: place).contains(constraint) else { return nil }
    // New objects keep their temporary keys here, which no row has.
    return try rows.values(of: constraint, in: row) { [changes] in changes.permanentIDs[$0.key]?.relatedKey ?? $0 }
  }

  private func constraints(at place: RowChanges.Place) -> [Rows.Constraint] {
    row(at: place).flatMap { constraints[$0.layout.serial] } ?? []
  }

  private func row(at place: RowChanges.Place) -> Snapshot? {
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

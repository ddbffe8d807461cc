/// Finds the rows behind violated constraints. Used with the store's turn to write, after the rejected save was rolled
/// back.
struct MemoryViolations {
  let memory: MemoryRows
  let changes: RowChanges
  private var schema: MemorySchema { memory.schema }

  init(_ memory: MemoryRows, _ changes: RowChanges) {
    self.memory = memory
    self.changes = changes
  }

  func find(_ rejected: [RowChanges.Place]) -> [ConstraintViolation] {
    var constraints: [Int] = []
    for place in rejected {
      for constraint in entity(at: place)?.constraints ?? [] where !constraints.contains(constraint) {
        constraints.append(constraint)
      }
    }
    return constraints.flatMap { violations(of: $0, rejected) }
  }

  private func violations(of constraint: Int, _ rejected: [RowChanges.Place]) -> [ConstraintViolation] {
    var wanted: [[PredicateValue]] = []
    var rivals: [[PredicateValue]: [RowChanges.Place]] = [:]
    for place in rejected {
      guard let values = values(at: place, constraint), rivals[values] == nil else { continue }
      wanted.append(values)
      rivals[values] = []
    }
    let places =
      changes.updated.indices.map(RowChanges.Place.updated) + changes.inserted.indices.map(RowChanges.Place.inserted)
    for place in places {
      guard let values = values(at: place, constraint), rivals[values] != nil else { continue }
      rivals[values]?.append(place)
    }
    return wanted.compactMap { values in
      let stored = stored(values, constraint)
      let others = (rivals[values] ?? []).filter { stored == nil || key(at: $0) != stored?.id.key }
      guard others.count > (stored == nil ? 1 : 0) else { return nil }
      return ConstraintViolation(names: schema.constraints[constraint].names, rivals: others, stored: stored)
    }
  }

  /// The row with the values, unless this save deletes or changes it.
  private func stored(_ wanted: [PredicateValue], _ constraint: Int) -> (id: NSManagedObjectID, values: Snapshot?)? {
    guard let key = memory.owner(of: wanted, constraint),
      let number = schema.entities.indices.first(where: {
        schema.entities[$0]?.constraints.contains(constraint) ?? false && memory.contents.row(key, $0) != nil
      })
    else { return nil }
    let storedEntity = schema.entity(number).storedEntity
    let isDeleted = changes.deleted.contains { $0.key == key && $0.storedEntity.table == storedEntity.table }
    if isDeleted { return nil }
    let update = changes.updated.firstIndex { $0.key == key && $0.storedEntity.table == storedEntity.table }
    if let update, let own = values(at: .updated(update), constraint), own != wanted { return nil }
    return (NSManagedObjectID(storedEntity: storedEntity, key: key), memory.contents.row(key, number))
  }

  private func row(at place: RowChanges.Place) -> Snapshot? {
    switch place {
    case .inserted(let index): changes.inserted[index].values
    case .updated(let index): changes.updated[index].values
    case .deleted, .checked: nil
    }
  }

  private func entity(at place: RowChanges.Place) -> MemorySchema.Entity? {
    row(at: place).flatMap { try? schema.entity(named: $0.layout.name) }
  }

  private func key(at place: RowChanges.Place) -> Int64? {
    switch place {
    case .inserted(let index): changes.inserted[index].key
    case .updated(let index): changes.updated[index].key
    case .deleted, .checked: nil
    }
  }

  private func values(at place: RowChanges.Place, _ constraint: Int) -> [PredicateValue]? {
    guard let row = row(at: place), entity(at: place)?.constraints.contains(constraint) ?? false else { return nil }
    // New objects keep their temporary keys here, which no row has.
    return schema.uniqueValues(row, constraint) { changes.permanentIDs[$0.key]?.relatedKey ?? $0 }
  }
}

/// Writes the rows of one save into memory, inside a transaction. Used once.
final class MemoryWriter {
  private let store: any ObjectStore
  private let memory: MemoryRows
  private let schema: MemorySchema
  private let changes: RowChanges
  private var saved = SavedRows()
  private var conflicts: [RowConflicts.Conflict] = []
  private var rejected: [RowChanges.Place] = []
  /// The entities of the inserted rows, in their order.
  private var insertedEntities: [MemorySchema.Entity] = []
  /// The new values of the updated rows; nil for no change and for a conflict.
  private var updatedRows: [Snapshot?] = []
  /// Rows whose derived attributes may have changed.
  private var derived = DerivedRows()

  init(_ changes: RowChanges, to store: any ObjectStore, _ memory: MemoryRows) {
    self.store = store
    self.memory = memory
    self.changes = changes
    schema = memory.schema
  }

  /// Writes everything. Throws the conflicts after all were found, those of versions first.
  func write() throws -> SavedRows {
    memory.noteChange()
    try assignKeys()
    var history = memory.history.map { _ in [MemoryHistory.Change]() }
    for index in changes.checked.indices { check(index) }
    for index in changes.deleted.indices { delete(index, &history) }
    for index in changes.updated.indices { update(index) }
    let insertedRows = changes.inserted.map { row in
      made(row.values, schema.entity(store.storedEntities.byName[row.values.layout.name]?.number ?? 0), version: 1)
    }
    for (index, row) in insertedRows.enumerated() {
      memory.set(row, saved.keys[index], insertedEntities[index])
      derived.note(row, saved.keys[index], insertedEntities[index], in: schema)
      history?.append(MemoryHistory.Change(.insert, insertedEntities[index].storedEntity, saved.keys[index]))
    }
    takeUniqueValues(insertedRows)
    for (index, row) in changes.inserted.enumerated() where !row.members.isEmpty {
      try writeMembers(row.members, of: saved.keys[index], insertedEntities[index])
    }
    for (index, row) in changes.updated.enumerated() {
      if !row.members.isEmpty { try writeMembers(row.members, of: row.key, schema.entity(row.storedEntity.number)) }
      guard updatedRows[index] != nil, history != nil else { continue }
      history?.append(MemoryHistory.Change(.update, row.storedEntity, row.key, changed: changedNames(of: row)))
    }
    if !conflicts.isEmpty { throw RowConflicts(store: store, conflicts: conflicts) }
    if !rejected.isEmpty {
      throw RejectedRows(store: store, places: rejected, message: "another row has the same unique values")
    }
    if schema.hasDerived { derived.compute(in: memory) }
    if let history, !history.isEmpty { memory.history?.append(history, changes.origin) }
    return saved
  }

  // MARK: Keys

  private func assignKeys() throws {
    saved.keys.reserveCapacity(changes.inserted.count)
    insertedEntities.reserveCapacity(changes.inserted.count)
    for row in changes.inserted {
      let entity = try schema.entity(named: row.values.layout.name)
      insertedEntities.append(entity)
      guard row.key < 0 else {
        saved.keys.append(row.key)
        continue
      }
      memory.lastKeys[entity.root] += 1
      let key = memory.lastKeys[entity.root]
      saved.keys.append(key)
      saved.assigned[row.key] = RelatedKey(key: key, number: Int64(entity.storedEntity.number))
    }
  }

  private func resolve(_ related: RelatedKey) -> RelatedKey? {
    related.key > 0 ? related : saved.assigned[related.key] ?? changes.permanentIDs[related.key]?.relatedKey
  }

  // MARK: Rows

  /// The row for the store: with permanent keys, and without transient values and those that the store computes.
  private func made(_ values: Snapshot, _ entity: MemorySchema.Entity, version: Int64) -> Snapshot {
    let row = Snapshot.make(values.layout, version: version)
    for slot in entity.storedSlots where values.layout.slots[slot].kind != .toOne {
      row.assign(slot: slot, from: values)
    }
    for toOne in entity.toOnes { assign(values.related(toOne.slot), to: row, toOne) }
    return row
  }

  private func assign(_ related: RelatedKey?, to row: Snapshot, _ toOne: MemorySchema.ToOneSlot) {
    guard !row.layout.slots[toOne.slot].isTransient, var found = related.flatMap(resolve) else {
      return row.setNil(toOne.slot)
    }
    if found.number == 0 {
      // The relationship's own destination or a subentity.
      found.number = Int64(
        memory.contents.number(of: found.key, among: toOne.destinations) ?? toOne.destinations.first ?? 0)
    }
    row.assign(slot: toOne.slot, to: found)
  }

  private func update(_ index: Int) {
    let row = changes.updated[index]
    let entity = schema.entity(row.storedEntity.number)
    let stored = memory.contents.row(row.key, row.storedEntity.number)
    updatedRows.append(nil)
    guard let values = row.values, let base = row.base else {
      // The row was never read: it cannot conflict, only members changed.
      saved.versions.append(0)
      if row.members.isEmpty { return }
      guard let stored else { return noteConflict(.updated(index), row.storedEntity, row.key) }
      let touched = stored.copy()
      touched.version = stored.version.nextVersion
      return set(touched, index, entity)
    }
    let changed = entity.storedSlots.filter { !base.isEqual(values, slot: $0) }
    guard !changed.isEmpty || !row.members.isEmpty else { return saved.versions.append(base.version) }
    let version = base.version.nextVersion
    saved.versions.append(version)
    guard let stored, stored.version == base.version else {
      return noteConflict(.updated(index), row.storedEntity, row.key)
    }
    let new = stored.copy()
    new.version = version
    for slot in changed where values.layout.slots[slot].kind != .toOne { new.assign(slot: slot, from: values) }
    for toOne in entity.toOnes where changed.contains(toOne.slot) { assign(values.related(toOne.slot), to: new, toOne) }
    giveUpUniqueValues(of: stored, row.key, entity, unless: new)
    derived.note(stored, row.key, entity, in: schema)
    set(new, index, entity)
  }

  private func set(_ new: Snapshot, _ index: Int, _ entity: MemorySchema.Entity) {
    updatedRows[index] = new
    memory.set(new, changes.updated[index].key, entity)
    derived.note(new, changes.updated[index].key, entity, in: schema)
  }

  private func check(_ index: Int) {
    let row = changes.checked[index]
    let version = memory.contents.row(row.key, row.storedEntity.number)?.version
    if version != row.version { noteConflict(.checked(index), row.storedEntity, row.key) }
  }

  private func delete(_ index: Int, _ history: inout [MemoryHistory.Change]?) {
    let row = changes.deleted[index]
    guard let stored = memory.contents.row(row.key, row.storedEntity.number) else { return }
    if let version = row.version, version != stored.version {
      return noteConflict(.deleted(index), row.storedEntity, row.key)
    }
    let entity = schema.entity(row.storedEntity.number)
    if history != nil {
      let kept = entity.preserved.compactMap { slot in stored.value(slot).map { (stored.layout.slots[slot].name, $0) } }
      history?.append(
        MemoryHistory.Change(.delete, row.storedEntity, row.key, tombstone: Dictionary(kept, uniquingKeysWith: { $1 })))
    }
    giveUpUniqueValues(of: stored, row.key, entity, unless: nil)
    for list in entity.toManys.values where !list.followsToOne {
      for member in memory.contents.members[list.number][row.key] ?? [] {
        guard let inverse = list.inverse else { continue }
        memory.contents.remove(row.key, from: inverse, of: member, isOrdered: schema.isOrdered[inverse])
      }
      memory.contents.setMembers([], list.number, of: row.key)
    }
    derived.note(stored, row.key, entity, in: schema)
    memory.set(nil, row.key, entity)
  }

  /// The store's rows are those of its coordinator: no other program changes them.
  private func noteConflict(_ place: RowChanges.Place, _ storedEntity: StoredEntity, _ key: Int64) {
    let stored = memory.reader.contents.row(key, storedEntity.number)
    conflicts.append(RowConflicts.Conflict(place: place, stored: stored, cached: stored))
  }

  // MARK: Unique values

  private func giveUpUniqueValues(of row: Snapshot, _ key: Int64, _ entity: MemorySchema.Entity, unless new: Snapshot?)
  {
    for constraint in entity.constraints {
      guard let values = schema.uniqueValues(row, constraint), memory.owner(of: values, constraint) == key,
        new.flatMap({ schema.uniqueValues($0, constraint) }) != values
      else { continue }
      memory.setOwner(of: values, constraint, nil)
    }
  }

  /// Assigns values to changed rows before new ones, because a change may free the value that a new row takes.
  private func takeUniqueValues(_ insertedRows: [Snapshot]) {
    guard !schema.constraints.isEmpty else { return }
    for (index, row) in updatedRows.enumerated() {
      guard let row else { continue }
      let update = changes.updated[index]
      take(row, update.key, schema.entity(update.storedEntity.number), .updated(index))
    }
    for (index, row) in insertedRows.enumerated() {
      take(row, saved.keys[index], insertedEntities[index], .inserted(index))
    }
  }

  private func take(_ row: Snapshot, _ key: Int64, _ entity: MemorySchema.Entity, _ place: RowChanges.Place) {
    for constraint in entity.constraints {
      guard let values = schema.uniqueValues(row, constraint) else { continue }
      switch memory.owner(of: values, constraint) {
      case nil: memory.setOwner(of: values, constraint, key)
      case key: break
      default: return rejected.append(place)
      }
    }
  }

  // MARK: To-many relationships

  private func writeMembers(_ members: [MemberChange], of owner: Int64, _ entity: MemorySchema.Entity) throws {
    for change in members {
      guard let list = entity.toManys[change.relationship.name] else { continue }
      derived.note(owner, entity)
      // Then new members need not be checked one by one.
      let setsAll = change.order != nil && change.isWhole
      if !list.followsToOne {
        for member in change.removed where member > 0 {
          memory.contents.remove(member, from: list.number, of: owner, isOrdered: list.isOrdered)
          guard let inverse = list.inverse else { continue }
          memory.contents.remove(owner, from: inverse, of: member, isOrdered: schema.isOrdered[inverse])
        }
        for member in try change.added.map({ try permanentKey($0, of: change) }) {
          memory.contents.add(member, to: list.number, of: owner, isOrdered: list.isOrdered && !setsAll)
          guard let inverse = list.inverse else { continue }
          memory.contents.add(owner, to: inverse, of: member, isOrdered: schema.isOrdered[inverse])
        }
      }
      guard list.isOrdered, let order = try change.order?.map({ try permanentKey($0, of: change) }) else { continue }
      let known = memory.contents.members[list.number][owner] ?? []
      let (moved, there) = (Set(order), Set(known))
      // An object that another save removed stays removed.
      let rest = change.isWhole ? known.filter { !moved.contains($0) } : []
      let first = change.isWhole ? [] : known.filter { !moved.contains($0) }
      memory.contents.setMembers(first + order.filter(there.contains) + rest, list.number, of: owner)
    }
  }

  private func permanentKey(_ member: Int64, of change: MemberChange) throws -> Int64 {
    if let found = resolve(RelatedKey(key: member, number: 0)) { return found.key }
    let relationship = change.relationship
    throw CoreDataErrors.error(
      .persistentStoreSave,
      "\(relationship.owner?.name ?? "").\(relationship.name) has a new member that is not saved to the same store.")
  }

  /// The properties that an update changes.
  private func changedNames(of row: RowChanges.Update) -> [String] {
    let names = row.members.map(\.relationship.name)
    guard let values = row.values, let base = row.base else { return names }
    return names
      + schema.entity(row.storedEntity.number).storedSlots.filter { !base.isEqual(values, slot: $0) }
      .map { row.storedEntity.layout.slots[$0].name }
  }
}

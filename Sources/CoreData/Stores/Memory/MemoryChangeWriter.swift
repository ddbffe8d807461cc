/// Writes the rows of one save into memory.
///
/// The order of work is that of `ChangeWriter`, the same as for SQLite. What is different: rows are written at once and
/// not in groups, for a group saves nothing here, and a written row can be looked at during the transaction.
///
/// It is generic over the store because an atomic store of a program's own saves its rows with it as well.
final class MemoryChangeWriter<Store: ObjectStore>: ChangeWriter {
  let store: Store
  let changes: RowChanges
  var progress = SaveProgress()
  private let memory: MemoryRows
  private let schema: MemorySchema
  private let notes: MemoryHistory.Notes?
  /// Rows whose derived attributes may have changed.
  private var derived = DerivedRows()

  init(_ changes: RowChanges, to store: Store, _ memory: MemoryRows) {
    self.store = store
    self.memory = memory
    self.changes = changes
    schema = memory.schema
    notes = memory.history.map { _ in MemoryHistory.Notes(memory.schema.storedEntities) }
  }

  // MARK: Beginning and end

  var history: (any HistoryNotes)? { notes }

  /// `noteChange` makes the transaction's end commit and persist. A save of metadata alone comes through here too.
  func begin() {
    memory.noteChange()
    guard let notes else { return }
    for deletion in changes.deleted {
      let number = deletion.storedEntity.number
      guard let row = memory.contents.row(deletion.key, number) else { continue }
      let values = schema.entity(number).preserved.compactMap { slot in
        row.value(slot).map { (row.layout.slots[slot].name, $0) }
      }
      notes.noteDelete(number: number, key: deletion.key, Dictionary(values, uniquingKeysWith: { $1 }))
    }
  }

  func finish(_ noteRows: () throws -> Void) throws {
    try throwRefusals()
    derived.compute(in: memory)
    try noteRows()
    if let notes, !notes.changes.isEmpty { memory.history?.append(notes.changes, changes.origin) }
  }

  // MARK: Entities and keys

  func properties(_ storedEntity: StoredEntity) -> WrittenProperties { schema.entity(storedEntity.number).properties }

  func keyGroup(_ storedEntity: StoredEntity) -> Int { schema.entity(storedEntity.number).root }

  func takeKeys(_ count: Int, _ group: Int) -> [Range<Int64>] { [memory.takeKeys(count, group)] }

  /// The committed row: this save may have changed the other.
  func currentRow(_ id: NSManagedObjectID) -> Snapshot? {
    memory.reader.contents.row(id.key, id.storedEntity.number)
  }

  /// The store's rows are those of its coordinator: no other program changes them.
  func cachedRow(_ id: NSManagedObjectID) -> Snapshot? { currentRow(id) }

  // MARK: Checks and deletions

  func check(_ rows: [Int], of storedEntity: StoredEntity) throws {
    for index in rows {
      let check = changes.checked[index]
      if check.accepts(memory.contents.row(check.key, storedEntity.number)?.version) { continue }
      try noteConflict(.checked(index), storedEntity, check.key)
    }
  }

  /// A row that is gone already is no conflict, as in SQL.
  func delete(_ rows: [Int], of storedEntity: StoredEntity, areRead: Bool) throws {
    let entity = schema.entity(storedEntity.number)
    for index in rows {
      let (key, version) = (changes.deleted[index].key, changes.deleted[index].version)
      guard let row = memory.contents.row(key, storedEntity.number) else { continue }
      if areRead, row.version != version {
        try noteConflict(.deleted(index), storedEntity, key)
      } else {
        delete(row, key, entity)
      }
    }
  }

  /// What refers to a deleted row by a list goes here. To-one references of other rows are changed by the save itself:
  /// its delete rules have made updates of them.
  private func delete(_ row: Snapshot, _ key: Int64, _ entity: MemorySchema.Entity) {
    giveUpUniqueValues(of: row, key, entity)
    derived.note(row, key, entity, in: memory)
    for list in entity.toManys.values where !list.followsToOne {
      for member in memory.contents.members[list.number][key] ?? [] {
        guard let inverse = list.inverse else { continue }
        memory.contents.remove(key, from: inverse, of: member, isOrdered: schema.isOrdered[inverse])
      }
      memory.contents.setMembers([], list.number, of: key)
    }
    memory.set(nil, key, entity)
  }

  // MARK: New rows

  /// A row whose unique values another one has is written all the same: the save fails at its end, and the whole state
  /// is thrown away. Until then it can be found, and be named with its rivals.
  func insert(_ rows: [Int], of storedEntity: StoredEntity) throws {
    let entity = schema.entity(storedEntity.number)
    for index in rows {
      let row = made(changes.inserted[index].values, entity)
      let key = progress.saved.keys[index]
      if let message = takeUniqueValues(of: row, key, entity) { progress.reject(.inserted(index), message) }
      memory.set(row, key, entity)
      derived.note(row, key, entity, in: memory)
    }
  }

  /// The row for the store: with permanent keys, and without transient values and those that the store computes.
  ///
  /// A copy, because the object goes on using its own snapshot, which may get new transient values at any time.
  private func made(_ values: Snapshot, _ entity: MemorySchema.Entity) -> Snapshot {
    let row = Snapshot.make(values.layout, version: 1)
    for slot in entity.storedSlots where values.layout.slots[slot].kind != .toOne {
      row.assign(slot: slot, from: values)
    }
    for toOne in entity.toOnes { assign(values.related(toOne.slot), to: row, toOne) }
    return row
  }

  /// A number of 0 says only that the key is one of the destination's hierarchy; the row that has the key says more.
  private func assign(_ related: RelatedKey?, to row: Snapshot, _ toOne: MemorySchema.ToOneSlot) {
    guard !row.layout.slots[toOne.slot].isTransient, var relatedKey = related.flatMap(resolve) else {
      return row.setNil(toOne.slot)
    }
    if relatedKey.number == 0 {
      // The relationship's own destination or a subentity.
      relatedKey.number = Int64(
        memory.contents.number(of: relatedKey.key, among: toOne.destinations) ?? toOne.destinations.first ?? 0)
    }
    row.assign(slot: toOne.slot, to: relatedKey)
  }

  // MARK: Changed rows

  var updateGroupSize: Int { 1 }

  func update(_ rows: [Int], _ kind: UpdateKind) throws {
    for index in rows {
      if let message = try updateUnique(index, kind) { progress.reject(.updated(index), message) }
    }
  }

  /// Replaces a row by its next version, in five steps:
  ///
  /// ```text
  /// 1. the stored row, with the version that was read         else a conflict
  /// 2. a copy with the next version and the changed values
  /// 3. the new unique values are taken                        else refused: nothing has changed yet
  /// 4. the old unique values are given up
  /// 5. the copy takes the row's place; lists of members follow
  /// ```
  ///
  /// Taking before giving up keeps the order of SQL: an index refuses the new value while the old row is there.
  func updateUnique(_ index: Int, _ kind: UpdateKind) throws -> String? {
    let (key, number) = (changes.updated[index].key, kind.storedEntity.number)
    guard let stored = memory.contents.row(key, number),
      !kind.isRead || stored.version == changes.updated[index].base?.version
    else {
      try noteConflict(.updated(index), kind.storedEntity, key)
      return nil
    }
    let entity = schema.entity(number)
    let new = stored.copy()
    new.version = stored.version.nextVersion
    if kind.isRead, let values = changes.updated[index].values { assign(kind.changed, of: values, to: new, entity) }
    if !kind.changed.isDisjoint(with: entity.properties.unique) {
      if let message = takeUniqueValues(of: new, key, entity) { return message }
      giveUpUniqueValues(of: stored, key, entity, replacedBy: new)
    }
    derived.note(stored, key, entity, in: memory)
    memory.set(new, key, entity)
    derived.note(new, key, entity, in: memory)
    return nil
  }

  private func assign(_ changed: StepSet, of values: Snapshot, to row: Snapshot, _ entity: MemorySchema.Entity) {
    for position in changed.positions {
      let slot = entity.storedSlots[position]
      if let toOne = entity.toOnes.first(where: { $0.slot == slot }) {
        assign(values.related(slot), to: row, toOne)
      } else {
        row.assign(slot: slot, from: values)
      }
    }
  }

  // MARK: Unique values

  /// Only the table of unique values changes: the row keeps its value until the second attempt, which replaces it or
  /// ends the save.
  func clearUnique(_ row: Int, _ kind: UpdateKind) {
    let key = changes.updated[row].key
    guard let stored = memory.contents.row(key, kind.storedEntity.number) else { return }
    giveUpUniqueValues(of: stored, key, schema.entity(kind.storedEntity.number))
  }

  private func giveUpUniqueValues(
    of row: Snapshot, _ key: Int64, _ entity: MemorySchema.Entity, replacedBy new: Snapshot? = nil
  ) {
    for constraint in entity.constraints {
      guard let values = schema.uniqueValues(row, constraint), memory.owner(of: values, constraint) == key,
        new.flatMap({ schema.uniqueValues($0, constraint) }) != values
      else { continue }
      memory.setOwner(of: values, constraint, nil)
    }
  }

  /// All or nothing: with two constraints, a row that violates the second must not hold the values of the first.
  ///
  /// - Returns: a sentence if another row has the values of a constraint. The row takes none then.
  private func takeUniqueValues(of row: Snapshot, _ key: Int64, _ entity: MemorySchema.Entity) -> String? {
    let uniqueValues = entity.constraints.compactMap { constraint in
      schema.uniqueValues(row, constraint).map { (constraint, values: $0, owner: memory.owner(of: $0, constraint)) }
    }
    if uniqueValues.contains(where: { ($0.owner ?? key) != key }) { return "another row has the same unique values" }
    for (constraint, values, owner) in uniqueValues where owner == nil { memory.setOwner(of: values, constraint, key) }
    return nil
  }

  // MARK: To-many relationships

  /// Changes a list of members and, where there is one, the list at the other end.
  ///
  /// ```text
  /// books of the author 1 now         [4, 2, 7]         another save has removed 9 meanwhile
  /// order of this save                [7, 9, 4, 2]      it has read them before
  /// written                           [7, 4, 2]
  /// ```
  func write(_ change: MemberChange, of owner: Int64, _ storedEntity: StoredEntity) {
    let entity = schema.entity(storedEntity.number)
    guard let list = entity.toManys[change.relationship.name] else { return }
    let number = storedEntity.number
    derived.noteOwner(owner, number, in: memory)
    defer { derived.noteOwner(owner, number, in: memory) }
    if !list.followsToOne {
      noteMembers(change, list)
      defer { noteMembers(change, list) }
      // Then new members need not be checked one by one.
      let setsAll = change.order != nil && change.isWhole
      for member in change.removed {
        memory.contents.remove(member, from: list.number, of: owner, isOrdered: list.isOrdered)
        guard let inverse = list.inverse else { continue }
        memory.contents.remove(owner, from: inverse, of: member, isOrdered: schema.isOrdered[inverse])
      }
      for member in change.added {
        memory.contents.add(member, to: list.number, of: owner, isOrdered: list.isOrdered && !setsAll)
        guard let inverse = list.inverse else { continue }
        memory.contents.add(owner, to: inverse, of: member, isOrdered: schema.isOrdered[inverse])
      }
    }
    guard list.isOrdered, let order = change.order else { return }
    let presentMembers = memory.contents.members[list.number][owner] ?? []
    let (moved, there) = (Set(order), Set(presentMembers))
    // An object that another save removed stays removed.
    let unmovedMembers = change.isWhole ? presentMembers.filter { !moved.contains($0) } : []
    let first = change.isWhole ? [] : presentMembers.filter { !moved.contains($0) }
    memory.contents.setMembers(first + order.filter(there.contains) + unmovedMembers, list.number, of: owner)
  }

  /// The other ends of a list that changes: values may be derived from the owner.
  private func noteMembers(_ change: MemberChange, _ list: MemorySchema.ToManyList) {
    guard schema.storedEntities.derivedDependents != nil else { return }
    for member in change.removed + change.added {
      if let number = memory.contents.number(of: member, among: list.destinations) {
        derived.noteOwner(member, number, in: memory)
      }
    }
  }
}

/// The derived attributes that a save may change, with their rows.
///
/// ```text
/// what changes                     what is computed anew
/// -------------------------------  --------------------------------------------------
/// a book's pages                   the book's, and its author's books.@sum.pages
/// a book moves to another author   the book's, the old and the new author's
/// an author's name                 the author's, and author.name of all of the author's books
/// ```
///
/// They are computed once at the end of the save, with the rows as they are then: ten changed books of one author cost
/// one sum. A row keeps its version if only derived attributes change, as with the triggers of a SQLite file.
struct DerivedRows {
  private struct Place: Hashable {
    let number: Int
    let key: Int64
  }

  private var slots: [Place: Set<Int>] = [:]
  /// The slots of all rows of an entity, by its number.
  private var slotsOfAll: [Int: Set<Int>] = [:]

  /// Notes a row that changes, and what is derived from it, as the relationships are at this moment. Called before a
  /// change and after it, since the change may be one of relationships.
  mutating func note(_ row: Snapshot, _ key: Int64, _ entity: MemorySchema.Entity, in memory: MemoryRows) {
    guard let dependents = memory.schema.storedEntities.derivedDependents else { return }
    note(key, entity)
    noteDependents(of: row, key, dependents.byNumber[entity.storedEntity.number], entity, in: memory) { $1 }
  }

  /// Notes a row whose list of members changes, before and after that.
  mutating func noteOwner(_ key: Int64, _ number: Int, in memory: MemoryRows) {
    guard memory.schema.storedEntities.derivedDependents != nil, let row = memory.contents.row(key, number) else {
      return
    }
    note(row, key, memory.schema.entity(number), in: memory)
  }

  private mutating func note(_ key: Int64, _ entity: MemorySchema.Entity) {
    if entity.derivedSlots.isEmpty { return }
    slots[Place(number: entity.storedEntity.number, key: key), default: []].formUnion(entity.derivedSlots)
  }

  /// - Parameter chosen: gives those of an entity's slots that are to be computed.
  private mutating func noteDependents(
    of row: Snapshot, _ key: Int64, _ dependents: [DerivedDependents.Dependent], _ entity: MemorySchema.Entity,
    in memory: MemoryRows, _ chosen: (Int, Set<Int>) -> Set<Int>
  ) {
    for dependent in dependents {
      let slots = dependent.slots.reduce(into: [:]) { $0[$1.key] = chosen($1.key, $1.value) }
      if slots.values.allSatisfy(\.isEmpty) { continue }
      guard let inverses = dependent.inverses else {
        slotsOfAll.merge(slots) { $0.union($1) }
        continue
      }
      var rows: [(place: Place, row: Snapshot?)] = [(Place(number: entity.storedEntity.number, key: key), row)]
      for inverse in inverses { rows = rows.flatMap { DerivedRows.related($0, inverse, in: memory) } }
      for (place, _) in rows {
        if let slots = slots[place.number], !slots.isEmpty { self.slots[place, default: []].formUnion(slots) }
      }
    }
  }

  /// The rows to which a relationship leads, whether they are written already or not.
  private static func related(
    _ start: (place: Place, row: Snapshot?), _ name: String, in memory: MemoryRows
  ) -> [(place: Place, row: Snapshot?)] {
    let entity = memory.schema.entity(start.place.number)
    if let list = entity.toManys[name] {
      return (memory.contents.members[list.number][start.place.key] ?? []).compactMap { key in
        memory.contents.number(of: key, among: list.destinations).map {
          (Place(number: $0, key: key), memory.contents.row(key, $0))
        }
      }
    }
    guard let slot = entity.storedEntity.layout.slot(name), let related = start.row?.related(slot),
      memory.schema.entities.indices.contains(Int(related.number)), memory.schema.entities[Int(related.number)] != nil
    else { return [] }
    let place = Place(number: Int(related.number), key: related.key)
    return [(place, memory.contents.row(place.key, place.number))]
  }

  /// Computes what was noted. Where a derived attribute is derived from another one, it follows in a next round.
  mutating func compute(in memory: MemoryRows) {
    guard let dependents = memory.schema.storedEntities.derivedDependents else { return }
    for _ in 0..<dependents.longestChain {
      for (number, slots) in slotsOfAll {
        memory.contents.rows[number].forEach { key, _ in
          self.slots[Place(number: number, key: key), default: []].formUnion(slots)
          return true
        }
      }
      let places = slots
      (slots, slotsOfAll) = ([:], [:])
      if places.isEmpty { return }
      for (place, slots) in places {
        guard let row = memory.contents.row(place.key, place.number),
          let new = DerivedRows.computed(slots, of: row, place, in: memory)
        else { continue }
        memory.contents.set(new, place.key, place.number)
        if dependents.secondary.isEmpty { continue }
        if let own = dependents.secondary[place.number] { self.slots[place, default: []].formUnion(own) }
        noteDependents(
          of: new, place.key, dependents.byNumber[place.number], memory.schema.entity(place.number), in: memory
        ) { $1.intersection(dependents.secondary[$0] ?? []) }
      }
    }
  }

  /// The row with the computed slots; nil if they have the same values already.
  private static func computed(
    _ slots: Set<Int>, of row: Snapshot, _ place: Place, in memory: MemoryRows
  ) -> Snapshot? {
    let reader = MemoryReader(memory.schema, memory.contents)
    let object = MemoryRow(
      reader, of: memory.schema.entity(place.number).storedEntity, key: place.key, values: row)
    let new = row.copy()
    for slot in slots {
      let attribute = row.layout.slots[slot].property as? NSDerivedAttributeDescription
      let value = attribute?.derivationExpression?.value(in: EvaluationContext(object: object, variables: [:]))
      if value.map({ !new.assignConverted($0, slot: slot) }) ?? true { new.setNil(slot) }
    }
    return slots.allSatisfy { new.isEqual(row, slot: $0) } ? nil : new
  }
}

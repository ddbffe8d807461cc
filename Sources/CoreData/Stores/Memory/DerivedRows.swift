/// The rows of a save whose derived attributes may change.
///
/// ```text
/// what changes                     which rows are computed anew
/// -------------------------------  --------------------------------------------------
/// a book's pages                   the book, and its author: books.@sum.pages
/// a book moves to another author   the book, the old and the new author
/// ```
///
/// They are computed once at the end of the save, with the rows as they are then: ten changed books of one author cost
/// one sum.
struct DerivedRows {
  private struct Place: Hashable {
    let number: Int
    let key: Int64
  }

  private var places: Set<Place> = []

  mutating func note(_ key: Int64, _ entity: MemorySchema.Entity) {
    if !entity.derivedSlots.isEmpty { places.insert(Place(number: entity.storedEntity.number, key: key)) }
  }

  /// Notes a row, and the rows that it is a member of.
  mutating func note(_ row: Snapshot, _ key: Int64, _ entity: MemorySchema.Entity, in schema: MemorySchema) {
    guard schema.hasDerived else { return }
    note(key, entity)
    for toOne in entity.toOnes {
      guard let owner = row.related(toOne.slot), schema.entities.indices.contains(Int(owner.number)),
        let entity = schema.entities[Int(owner.number)]
      else { continue }
      note(owner.key, entity)
    }
  }

  /// Computes the rows' derived attributes.
  func compute(in memory: MemoryRows) {
    for place in places {
      guard let row = memory.contents.row(place.key, place.number) else { continue }
      let entity = memory.schema.entity(place.number)
      let reader = MemoryReader(memory.schema, memory.contents)
      let object = MemoryRow(reader, of: entity.storedEntity, key: place.key, values: row)
      let new = row.copy()
      for slot in entity.derivedSlots {
        let attribute = row.layout.slots[slot].property as? NSDerivedAttributeDescription
        let value = attribute?.derivationExpression?.value(in: EvaluationContext(object: object, variables: [:]))
        if value.map({ !new.assignConverted($0, slot: slot) }) ?? true { new.setNil(slot) }
      }
      memory.contents.set(new, place.key, place.number)
    }
  }
}

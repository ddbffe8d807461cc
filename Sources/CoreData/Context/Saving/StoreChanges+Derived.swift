/// Finds the rows outside of the save whose derived attributes the store's triggers have computed anew.
extension StoreChanges {
  /// Rows that the row cache must not keep, and tables of which any row may have changed.
  ///
  /// ```text
  /// Author.totalPages = books.@sum.pages    a book is saved          its author, before and now: two rows
  /// Book.authorName = author.name           an author's name         the rows of all books: the keys are not known
  ///                                         an author's birth date   nothing
  /// ```
  ///
  /// Rows of the save itself are not among them: `apply` drops those with derived attributes in any case. The other end
  /// of a relationship that changes belongs to the save.
  var derivedRows: (rows: [(key: Int64, table: Int32)], tables: Set<Int32>) {
    guard let dependents = store.storedEntities.derivedDependents else { return ([], []) }
    var stale = StaleRows(entities: store.storedEntities, dependents: dependents)
    for (object, row) in zip(inserted, rows.inserted) { stale.note(object.storedEntity, [row.values], changed: nil) }
    for (object, row) in zip(updated, rows.updated) {
      let (base, values) = (row.base, row.values)
      stale.note(object.storedEntity, [base, values].compactMap(\.self)) { name in
        guard let slot = object.layout.slot(name), !object.layout.slots[slot].isDerived else { return true }
        guard let base, let values else { return false }
        return !base.isEqual(values, slot: slot)
      }
    }
    for object in deleted {
      stale.note(object.storedEntity, [object.committed ?? object.snapshot].compactMap(\.self), changed: nil)
    }
    stale.followChains()
    return (stale.rows, stale.tables)
  }
}

private struct StaleRows {
  let entities: StoredEntities
  let dependents: DerivedDependents
  var rows: [(key: Int64, table: Int32)] = []
  var tables: Set<Int32> = []
  /// The derived slots that have changed in rows outside of the save, by the number of their entity.
  private var slots: [Int: Set<Int>] = [:]

  init(entities: StoredEntities, dependents: DerivedDependents) {
    self.entities = entities
    self.dependents = dependents
  }

  /// - Parameters:
  ///   - values: the row before and after the save, as far as it was read.
  ///   - changed: whether a property has another value; nil for a row that was inserted or deleted, whose
  ///     relationships lead to rows of the save.
  mutating func note(_ storedEntity: StoredEntity, _ values: [Snapshot], changed: ((String) -> Bool)?) {
    for dependent in dependents.byNumber[storedEntity.number] {
      if let slot = toOne(of: dependent, storedEntity) {
        if values.isEmpty { addTables(of: dependent) }
        for related in values.compactMap({ $0.related(slot) }) {
          for number in dependent.slots.keys {
            if let table = entities[number]?.table { rows.append((related.key, table)) }
          }
        }
      } else if let changed,
        dependent.names.contains(where: changed) || dependent.names.isEmpty && isUnbounded(dependent)
      {
        addTables(of: dependent)
      } else {
        continue
      }
      slots.merge(dependent.slots) { $0.union($1) }
    }
  }

  private func isUnbounded(_ dependent: DerivedDependents.Dependent) -> Bool { dependent.inverses == nil }

  /// The slot of the only relationship on the way, if that is a to-one relationship.
  private func toOne(of dependent: DerivedDependents.Dependent, _ storedEntity: StoredEntity) -> Int? {
    guard let inverses = dependent.inverses, inverses.count == 1, let slot = storedEntity.layout.slot(inverses[0]),
      storedEntity.layout.slots[slot].kind == .toOne
    else { return nil }
    return slot
  }

  private mutating func addTables(of dependent: DerivedDependents.Dependent) {
    for number in dependent.slots.keys {
      if let table = entities[number]?.table { tables.insert(table) }
    }
  }

  /// Follows derived attributes that are derived from derived ones, in rows whose keys are not known.
  mutating func followChains() {
    if dependents.secondary.isEmpty { return }
    for _ in 0..<dependents.longestChain {
      let before = slots
      for (number, changed) in before {
        guard let layout = entities[number]?.layout else { continue }
        if let own = dependents.secondary[number] { slots[number, default: []].formUnion(own) }
        let names = changed.map { layout.slots[$0].name }
        for dependent in dependents.byNumber[number] where !dependent.names.isDisjoint(with: names) {
          addTables(of: dependent)
          slots.merge(dependent.slots) { $0.union($1) }
        }
      }
      if slots == before { return }
    }
  }
}

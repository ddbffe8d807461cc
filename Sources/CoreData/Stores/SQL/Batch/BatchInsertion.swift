/// The new rows of a batch, which come one after the other, and what became of them.
package final class BatchInsertion {
  package let source: BatchRows
  package let mapping: TableMapping
  package let layout: EntityLayout
  package private(set) var result = BatchResult()
  /// By slot: the properties to which the last row gives values.
  package private(set) var named: [Bool]
  private let storedEntity: StoredEntity
  private let rules: BatchRowRules
  private let history: (any HistoryNotes)?

  /// - Parameters:
  ///   - encoder: writes the rows.
  ///   - history: takes the written rows; nil for a store without history.
  package init(
    _ source: BatchRows, in store: some SQLStore, _ encoder: RowEncoder, _ history: (any HistoryNotes)?
  ) throws {
    self.source = source
    self.history = history
    mapping = store.mapping(source.entityName)
    guard let storedEntity = store.storedEntities.byNumber[mapping.number] else {
      throw CoreDataErrors.error(.persistentStoreOperation, "The store holds no entity \(source.entityName).")
    }
    self.storedEntity = storedEntity
    layout = storedEntity.layout
    rules = BatchRowRules(layout, slots: encoder.steps.map(\.slot))
    named = Array(repeating: false, count: layout.slotCount)
  }

  /// A row to be filled, in memory of its own.
  package func newRow() -> Snapshot { layout.defaults.copy() }

  /// Fills a row; false if there are no more.
  ///
  /// - Throws: 1570, 1610 or 1620 for a row without a mandatory value, or with a number that does not fit.
  package func fill(_ row: Snapshot) throws -> Bool {
    row.reset(to: layout.defaults)
    for slot in named.indices { named[slot] = false }
    guard try source.next(row, &named) else { return false }
    try rules.check(row)
    return true
  }

  /// Counts a row that was inserted.
  package func noteInsert(_ key: Int64) throws {
    count(key)
    try history?.noteInsert(number: mapping.number, key: key)
  }

  /// Counts a row that was there before, and got the values of a new one.
  ///
  /// - Parameter named: as of that new one.
  package func noteUpdate(_ key: Int64, _ named: [Bool]) throws {
    count(key)
    guard let history else { return }
    let names = layout.slots.indices.filter { named[$0] }.map { layout.slots[$0].name }
    try history.noteUpdate(number: mapping.number, key: key, changed: names)
  }

  private func count(_ key: Int64) {
    result.count += 1
    if source.keepsIDs { result.ids.append(NSManagedObjectID(storedEntity: storedEntity, key: key)) }
  }
}

/// Reads the new rows of a batch one by one, and counts those that are inserted and updated. It also holds the
/// transaction and the row writer that write them.
///
/// Who calls what, for each row of a batch:
///
/// ```text
/// SQLiteBatchInsertion.run
///   fill(row)      takes the next dictionary or object of the program, checks mandatory values and widths
///   …              binds the row, or collects it until a group is full
///   noteInsert     counts it, keeps its ID if the request asks for IDs, tells the history
///   noteUpdate     the same for a row that was there and got new values
/// ```
///
/// Objects are not made, so neither `awakeFromInsert` nor a class's own validation runs.
package final class BatchInsertion<Transaction: BatchTransaction> {
  package let source: BatchRows
  package let mapping: TableMapping
  package let layout: EntityLayout
  package private(set) var result = BatchResult()
  /// By slot: the properties to which the last row gives values.
  package private(set) var named: [Bool]
  private let storedEntity: StoredEntity
  private let rules: BatchRowRules
  private let history: (any HistoryNotes)?
  package let transaction: Transaction
  package let writer: Transaction.Writer

  /// What is the same for all rows is found here once: the entity's mapping, its writer, the rules, the entity of the
  /// IDs.
  package init(_ source: BatchRows, in transaction: Transaction) throws {
    self.source = source
    self.transaction = transaction
    let store = transaction.store
    history = transaction.history
    mapping = store.mapping(source.entityName)
    writer = transaction.writer(mapping)
    guard let storedEntity = store.storedEntities[mapping.number] else {
      throw CoreDataErrors.error(.persistentStoreOperation, "The store holds no entity \(source.entityName).")
    }
    self.storedEntity = storedEntity
    layout = storedEntity.layout
    rules = BatchRowRules(layout, slots: writer.encoder.steps.map(\.slot))
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

  /// IDs are kept only if the request's result type asks for them: a million of them are 32 MB and more.
  private func count(_ key: Int64) {
    result.count += 1
    if source.keepsIDs { result.ids.append(NSManagedObjectID(storedEntity: storedEntity, key: key)) }
  }
}

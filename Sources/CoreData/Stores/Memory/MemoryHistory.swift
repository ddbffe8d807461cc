/// The transactions of a store that keeps its rows in memory.
///
/// The same transactions, numbers and tokens as in a file's tables, in an array. It ends with the store: nobody else
/// can read it, so it serves programs that follow their own changes, and tests.
struct MemoryHistory {
  /// A tombstone has the values under their names; in a file it has them in columns.
  struct Change {
    let type: NSPersistentHistoryChangeType
    let storedEntity: StoredEntity
    let key: Int64
    let changed: [String]
    let tombstone: [String: Any]

    init(
      _ type: NSPersistentHistoryChangeType, _ storedEntity: StoredEntity, _ key: Int64, changed: [String] = [],
      tombstone: [String: Any] = [:]
    ) {
      self.type = type
      self.storedEntity = storedEntity
      self.key = key
      self.changed = changed
      self.tombstone = tombstone
    }
  }

  /// Takes the changes of one transaction.
  ///
  /// Changes are collected during the save and become a transaction at its end: a save that is refused leaves none.
  final class Notes: HistoryNotes {
    private let storedEntities: StoredEntities
    private(set) var changes: [Change] = []

    init(_ storedEntities: StoredEntities) { self.storedEntities = storedEntities }

    func noteInsert(number: Int, key: Int64) { note(number) { Change(.insert, $0, key) } }

    func noteUpdate(number: Int, key: Int64, changed: [String]) {
      note(number) { Change(.update, $0, key, changed: changed) }
    }

    func noteDelete(number: Int, key: Int64, _ tombstone: [String: Any]) {
      note(number) { Change(.delete, $0, key, tombstone: tombstone) }
    }

    private func note(_ number: Int, _ change: (StoredEntity) -> Change) {
      if let storedEntity = storedEntities[number] { changes.append(change(storedEntity)) }
    }
  }

  private struct Transaction {
    let number: Int64
    let time: Date
    let origin: ChangeOrigin
    /// The number of its first change.
    let firstChange: Int64
    let changes: [Change]
  }

  private var transactions: [Transaction] = []
  private(set) var lastNumber: Int64 = 0
  private var lastChange: Int64 = 0

  mutating func append(_ changes: [Change], _ origin: ChangeOrigin) {
    lastNumber += 1
    transactions.append(
      Transaction(number: lastNumber, time: Date(), origin: origin, firstChange: lastChange + 1, changes: changes))
    lastChange += Int64(changes.count)
  }

  /// Removes the transactions that a failed save appended.
  ///
  /// Several stores may share a transaction that fails late: this one has appended its part already then.
  mutating func removeTransactions(after number: Int64) {
    while let last = transactions.last, last.number > number {
      lastChange = last.firstChange - 1
      transactions.removeLast()
    }
    lastNumber = number
  }

  // MARK: Reading and deleting

  /// - Throws: 134301 if transactions after the place were deleted.
  func transactions(_ query: HistoryQuery, _ store: String) throws -> [NSPersistentHistoryTransaction] {
    try query.checkNothingIsMissing(in: store) { (lastNumber, transactions.first?.number ?? 0) }
    return transactions.filter { Self.isAfter($0, query.place, store) }.map { made($0, query, store) }
  }

  mutating func delete(before place: NSPersistentHistoryChangeRequest.Place, _ store: String) -> Int {
    let before = transactions.count
    transactions.removeAll { transaction in
      switch place {
      case .date(let date): transaction.time < date
      case .token(let token): transaction.number < token?.numbers[store] ?? 0
      }
    }
    return before - transactions.count
  }

  private static func isAfter(
    _ transaction: Transaction, _ place: NSPersistentHistoryChangeRequest.Place, _ store: String
  ) -> Bool {
    switch place {
    case .date(let date): transaction.time > date
    case .token(let token): transaction.number > token?.numbers[store] ?? 0
    }
  }

  /// Objects for the program are made when it asks: the history itself keeps keys and names.
  private func made(
    _ transaction: Transaction, _ query: HistoryQuery, _ store: String
  ) -> NSPersistentHistoryTransaction {
    let name = ProcessInfo.processInfo.processName
    let made = NSPersistentHistoryTransaction(
      number: transaction.number, storeID: store, timestamp: transaction.time, author: transaction.origin.author,
      bundleID: Bundle.main.bundleIdentifier ?? name, contextName: transaction.origin.contextName, processID: name)
    guard query.includesChanges else { return made }
    made.changes = transaction.changes.enumerated().map { index, change in
      NSPersistentHistoryChange(
        id: transaction.firstChange + Int64(index),
        objectID: NSManagedObjectID(storedEntity: change.storedEntity, key: change.key),
        type: change.type, tombstone: change.tombstone.isEmpty ? nil : change.tombstone,
        updatedProperties: change.type == .update
          ? Set(change.changed.compactMap { change.storedEntity.entity.propertiesByName[$0] }) : nil,
        transaction: made, isAlone: query.changesAreAlone)
    }
    return made
  }
}

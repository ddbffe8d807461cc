/// The implementation that stores share whose rows are all in memory while they are open.
///
/// `MemoryStore`, `FileStore` (binary and XML) and `NSAtomicStore` have all their rows in memory, and differ in where
/// these come from and where a commit leaves them: in `load`, and in the closures `prepare`, `persist` and `discard` of
/// their `MemoryRows`.
package protocol MemoryBacked: PlacedStore, HistoryStore, NumberedStore {
  var memory: MemoryRows { get }
}

extension MemoryBacked {
  package var storedEntities: StoredEntities { memory.schema.storedEntities }
  package var rowCache: RowCache { memory.rowCache }

  /// Nobody else writes to the rows.
  package func validateRowCache() {}

  // MARK: Reading

  package func understands(_ fetch: RowFetch) throws -> Bool { memory.schema.understands(fetch) }

  package func fetch(_ fetch: RowFetch, _ body: (StoredEntity, Int64, __owned Snapshot?) -> Void) throws {
    guard memory.schema.understands(fetch) else {
      throw CoreDataErrors.error(
        .persistentStoreOperation,
        "The fetch of \(fetch.entityName) cannot be evaluated on rows: its predicate or order needs objects.")
    }
    for row in try memory.reader.find(fetch) {
      body(row.storedEntity, row.key, fetch.includesValues ? row.values : nil)
    }
  }

  package func count(_ fetch: RowFetch) throws -> Int { try memory.reader.count(fetch) }

  package func dictionaries(_ settings: FetchSettings, _ fetch: RowFetch) throws -> [NSDictionary] {
    try MemoryDictionaries(memory.reader, settings, fetch).all()
  }

  package func row(_ id: NSManagedObjectID, in generation: QueryGeneration?) throws -> Snapshot? {
    memory.reader.contents.row(id.key, id.storedEntity.number)
  }

  package func rows(
    _ keys: [Int64], of storedEntity: StoredEntity, in generation: QueryGeneration?, _ body: (Int64, Snapshot) -> Void
  ) throws {
    let contents = memory.reader.contents
    for key in keys {
      if let row = contents.row(key, storedEntity.number) { body(key, row) }
    }
  }

  package func members(
    of id: NSManagedObjectID, _ relationship: NSRelationshipDescription, in generation: QueryGeneration?,
    _ body: (StoredEntity, Int64, Snapshot) -> Void
  ) throws {
    memory.reader.members(of: id.key, id.storedEntity, relationship, body)
  }

  package func members(
    ofEach keys: [Int64], _ storedEntity: StoredEntity, _ relationship: NSRelationshipDescription,
    in generation: QueryGeneration?, _ body: (Int64, StoredEntity, Int64, Snapshot) -> Void
  ) throws {
    let reader = memory.reader
    for key in keys { reader.members(of: key, storedEntity, relationship) { body(key, $0, $1, $2) } }
  }

  /// Only SQLite's files can be pinned, as on Apple's platforms: a context on rows in memory reads the newest state.
  package func pin(beside others: [any PinnedStore]) throws -> (any PinnedStore)? { nil }

  // MARK: Writing

  package var writeScope: any WriteScope { memory }

  func write(_ changes: RowChanges) throws -> SavedRows { try MemoryChangeWriter(changes, to: self, memory).write() }

  package func didCommit() { memory.commitObserver?(lastTransaction) }

  /// With the turn to write: the rows and the table of unique values are looked at as they are after the rejected save
  /// was taken back.
  package func violations(of rejected: [RowChanges.Place], in changes: RowChanges) throws -> [ConstraintViolation] {
    var violations: [ConstraintViolation] = []
    try memory.exclusively {
      violations = try ViolationFinder(changes, in: UniqueMemoryRows(memory: memory)).violations(of: rejected)
    }
    return violations
  }

  func newIDs(for rows: [Snapshot]) throws -> [NSManagedObjectID] {
    var ids: [NSManagedObjectID] = []
    try memory.exclusively {
      ids = try self.ids(of: rows) { memory.takeKeys(1, memory.schema.entity($0.number).root).lowerBound }
    }
    return ids
  }

  package func lastKey(of storedEntity: StoredEntity) throws -> Int64 {
    var key: Int64 = 0
    try memory.exclusively { key = memory.lastKeys[memory.schema.entity(storedEntity.number).root] }
    return key
  }

  package func skipKeys(through key: Int64, of storedEntity: StoredEntity) throws {
    try memory.exclusively {
      let root = memory.schema.entity(storedEntity.number).root
      memory.lastKeys[root] = max(memory.lastKeys[root], key)
    }
  }

  // MARK: History

  package var keepsHistory: Bool { memory.keepsHistory }

  private var lastTransaction: Int64? {
    var number: Int64?
    // Taking a turn in memory throws only what the body throws, here nothing.
    try? memory.exclusively { number = memory.history?.lastNumber }
    return number
  }

  package func lastTransactionNumber() throws -> Int64? { lastTransaction }

  package func history(_ query: HistoryQuery) throws -> [NSPersistentHistoryTransaction] {
    var transactions: [NSPersistentHistoryTransaction] = []
    try memory.exclusively { transactions = try memory.history?.transactions(query, identifier) ?? [] }
    return transactions
  }

  package func deleteHistory(before place: NSPersistentHistoryChangeRequest.Place) throws -> Int {
    var count = 0
    try memory.exclusively { count = memory.history?.delete(before: place, identifier) ?? 0 }
    return count
  }

  // MARK: Opening and closing

  /// Only this coordinator writes to the rows. Another process that replaces an XML file is noticed at the next save,
  /// which fails.
  package func observeCommits(_ body: @escaping @Sendable (Int64?) -> Void) throws -> @Sendable () -> Void {
    try memory.exclusively { memory.commitObserver = body }
    // It throws what its body throws, and this body throws nothing.
    return { [memory] in try? memory.exclusively { memory.commitObserver = nil } }
  }

  package func close(beside others: [any ObjectStore]) {}

  package var files: [URL] { [] }

  /// Within one class the rows need no conversion: the copy takes the state over, which costs a reference, and writes
  /// its own file.
  func copy(to opening: StoreOpening) throws -> (any ObjectStore)? {
    let kind: any PlacedStore.Type = Swift.type(of: self)
    guard let copy = try kind.openReplacing(opening, closing: {}) as? any MemoryBacked else { return nil }
    copy.metadata = NSPersistentStore.merging(metadata ?? [:], into: copy.metadata ?? [:])
    try memory.exclusively {
      try copy.writeScope.transaction("Copying") { copy.memory.takeOver(memory) }
    }
    return copy
  }
}

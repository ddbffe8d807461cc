/// Where dictionary results get their rows from: the rows of one store in memory, or those of several stores.
protocol RowSource {
  /// Tells which properties rows have, and which predicates and expressions they can answer.
  var schema: MemorySchema { get }

  /// The rows of a fetch without a window, in its order.
  func rows(_ fetch: RowFetch) throws -> [MemoryRow]

  /// Throws what kept related rows from being read since `rows(_:)`: reading a property of a row cannot throw.
  func checkRelatedRows() throws
}

/// Reads the rows to which a row's relationships lead.
protocol RelatedRowReader: AnyObject {
  /// The row of a to-one relationship; nil for none.
  func row(_ related: RelatedKey) -> MemoryRow?

  /// The rows of a to-many relationship, in order if it has one.
  func members(of owner: Int64, _ storedEntity: StoredEntity, _ relationship: NSRelationshipDescription) -> [MemoryRow]
}

extension MemoryReader: RelatedRowReader, RowSource {
  func rows(_ fetch: RowFetch) throws -> [MemoryRow] {
    try find(fetch).map { MemoryRow(self, of: $0.storedEntity, key: $0.key, values: $0.values) }
  }

  func checkRelatedRows() throws {}
}

extension [any ObjectStore] {
  /// The dictionaries of a fetch over these stores, which hold the entity.
  ///
  /// One store evaluates all of it. Several give their rows, since their groups, sums and windows cannot simply be put
  /// together.
  func dictionaries(_ settings: FetchSettings, _ fetch: RowFetch) throws -> [NSDictionary] {
    if isEmpty { return [] }
    if count == 1 { return try self[0].dictionaries(settings, fetch) }
    return try MemoryDictionaries(source: RowsOfSeveralStores(self, fetch), settings, fetch).all()
  }
}

/// The rows of several stores that hold one entity.
///
/// Each store gives its rows, and the groups, aggregates and windows are evaluated here: a store's own average, its
/// first ten groups or its distinct names say nothing of all stores.
///
/// ```text
/// first store     SELECT … FROM ZBOOK t0 WHERE t0.ZPAGES > ? ORDER BY t0.ZTITLE
/// second store    the same
/// here            merged by title, then as MemoryDictionaries evaluates rows in memory
/// ```
///
/// So such a fetch has all matching rows in memory, and reads the rows behind relationships one by one.
private struct RowsOfSeveralStores: RowSource {
  let schema: MemorySchema
  private let readers: [StoreRowReader]

  /// - Parameter stores: at least one. All have been opened with the coordinator's one model.
  init(_ stores: [any ObjectStore], _ fetch: RowFetch) {
    schema = MemorySchema(stores[0].storedEntities, sharesKeys: true)
    readers = stores.map { StoreRowReader($0, fetch.generation) }
  }

  func rows(_ fetch: RowFetch) throws -> [MemoryRow] {
    let rows = try readers.flatMap { try $0.rows(fetch) }
    if fetch.sortDescriptors.isEmpty { return rows }
    return rows.sorted(by: fetch.sortDescriptors.map(MemoryReader.keyed))
  }

  func checkRelatedRows() throws {
    for reader in readers {
      if let error = reader.error { throw error }
    }
  }
}

/// Reads rows of one store through the seam, and those to which their relationships lead.
///
/// Used by one fetch, on its queue.
private final class StoreRowReader: RelatedRowReader {
  private let store: any ObjectStore
  private let generation: QueryGeneration?
  /// The rows of to-one relationships: many books lead to one author. Without the rows' objects, which hold this.
  private var related: [RelatedKey: Snapshot] = [:]
  /// What kept a related row from being read.
  private(set) var error: (any Error)?

  init(_ store: any ObjectStore, _ generation: QueryGeneration?) {
    self.store = store
    self.generation = generation
  }

  func rows(_ fetch: RowFetch) throws -> [MemoryRow] {
    var rows: [MemoryRow] = []
    // An incremental store gives keys without values.
    var keys: [NSManagedObjectID] = []
    try store.fetch(fetch) { storedEntity, key, values in
      if let values {
        rows.append(MemoryRow(self, of: storedEntity, key: key, values: values))
      } else {
        keys.append(NSManagedObjectID(storedEntity: storedEntity, key: key))
      }
    }
    for id in keys {
      guard let values = try store.row(id, in: generation) else { continue }
      rows.append(MemoryRow(self, of: id.storedEntity, key: id.key, values: values))
    }
    return rows
  }

  func row(_ key: RelatedKey) -> MemoryRow? {
    guard let storedEntity = store.storedEntities[Int(key.number)] else { return nil }
    if related[key] == nil {
      let id = NSManagedObjectID(storedEntity: storedEntity, key: key.key)
      noteError { related[key] = try store.row(id, in: generation) }
    }
    return related[key].map { MemoryRow(self, of: storedEntity, key: key.key, values: $0) }
  }

  func members(of owner: Int64, _ storedEntity: StoredEntity, _ relationship: NSRelationshipDescription) -> [MemoryRow]
  {
    var members: [MemoryRow] = []
    let id = NSManagedObjectID(storedEntity: storedEntity, key: owner)
    noteError {
      try store.members(of: id, relationship, in: generation) {
        members.append(MemoryRow(self, of: $0, key: $1, values: $2))
      }
    }
    return members
  }

  private func noteError(_ body: () throws -> Void) {
    do { try body() } catch { self.error = self.error ?? error }
  }
}

/// Reads one state of the rows in memory, which no longer changes.
///
/// `@unchecked Sendable`: immutable; the rows are never written.
///
/// It is what a fetch gets from `MemoryRows.reader`. All reads of one request go through one reader, so they see one
/// state.
package final class MemoryReader: @unchecked Sendable {
  let schema: MemorySchema
  let contents: MemoryContents

  init(_ schema: MemorySchema, _ contents: MemoryContents) {
    self.schema = schema
    self.contents = contents
  }

  /// A row that a fetch finds.
  package struct Match {
    package let storedEntity: StoredEntity
    package let key: Int64
    package let values: Snapshot
  }

  // MARK: By key

  func row(_ related: RelatedKey) -> MemoryRow? {
    guard let values = contents.row(related.key, Int(related.number)),
      let storedEntity = schema.storedEntities[Int(related.number)]
    else { return nil }
    return MemoryRow(self, of: storedEntity, key: related.key, values: values)
  }

  /// Gives the body the members of a to-many relationship that have rows.
  func members(
    of owner: Int64, _ storedEntity: StoredEntity, _ relationship: NSRelationshipDescription,
    _ body: (StoredEntity, Int64, Snapshot) -> Void
  ) {
    guard let list = schema.entity(storedEntity.number).toManys[relationship.name] else { return }
    for key in contents.members[list.number][owner] ?? [] {
      guard let number = contents.number(of: key, among: list.destinations), let row = contents.row(key, number),
        let storedEntity = schema.storedEntities[number]
      else { continue }
      body(storedEntity, key, row)
    }
  }

  func members(of owner: Int64, _ storedEntity: StoredEntity, _ relationship: NSRelationshipDescription) -> [MemoryRow]
  {
    var rows: [MemoryRow] = []
    members(of: owner, storedEntity, relationship) { rows.append(MemoryRow(self, of: $0, key: $1, values: $2)) }
    return rows
  }

  // MARK: Fetching

  /// The rows of a fetch, in its order and window.
  ///
  /// ```text
  /// predicate, no order, limit 20     ends after 20 matches
  /// predicate, order, limit 20        goes through all rows, sorts the matches, takes 20
  /// no order                          by key, as SQLite mostly gives rows
  /// ```
  ///
  /// There are no indexes: a fetch costs all rows of the entity. Looking up by key and through relationships costs no
  /// search.
  package func find(_ fetch: RowFetch) throws -> [Match] {
    let isSorted = !fetch.sortDescriptors.isEmpty
    let limit = isSorted ? .max : fetch.mostMatches
    var matches: [Match] = []
    try forEach(fetch) { storedEntity, key, row in
      matches.append(Match(storedEntity: storedEntity, key: key, values: row))
      return matches.count < limit
    }
    matches = try sorted(matches, fetch)
    if fetch.offset > 0 { matches = Array(matches.dropFirst(fetch.offset)) }
    return fetch.limit > 0 ? Array(matches.prefix(fetch.limit)) : matches
  }

  /// Without a predicate the tables know their counts.
  func count(_ fetch: RowFetch) throws -> Int {
    let most = fetch.mostMatches
    var count = 0
    if fetch.predicate == nil {
      let numbers = try numbers(fetch)
      count = min(most, numbers.reduce(0) { $0 + contents.rows[$1].count })
    } else {
      try forEach(fetch) { _, _, _ in
        count += 1
        return count < most
      }
    }
    return max(0, count - fetch.offset)
  }

  /// Gives the body each row that matches, in the order of the keys, until it returns false.
  ///
  /// Keys of a hierarchy are given by one counter, so those of `Book` and `Novel` are interleaved: rows of several
  /// tables are put together and sorted.
  private func forEach(_ fetch: RowFetch, _ body: (StoredEntity, Int64, Snapshot) -> Bool) throws {
    let tables = try numbers(fetch).filter { contents.rows[$0].count > 0 }
    if tables.count == 1 { return try forEach(of: tables[0], fetch, body) }
    var matches: [Match] = []
    for number in tables {
      try forEach(of: number, fetch) { storedEntity, key, row in
        matches.append(Match(storedEntity: storedEntity, key: key, values: row))
        return true
      }
    }
    matches.sort { $0.key < $1.key }
    for row in matches where !body(row.storedEntity, row.key, row.values) { return }
  }

  private func numbers(_ fetch: RowFetch) throws -> [Int] {
    let entity = try schema.entity(named: fetch.entityName)
    return fetch.includesSubentities ? entity.numbers : [entity.storedEntity.number]
  }

  /// An asynchronous fetch is cancelled between two rows, with Cocoa's error of a person's cancellation, as SQLite's
  /// fetch is interrupted.
  private func forEach(of number: Int, _ fetch: RowFetch, _ body: (StoredEntity, Int64, Snapshot) -> Bool) throws {
    let storedEntity = schema.entity(number).storedEntity
    let condition = fetch.predicate.map { MemoryCondition($0, storedEntity) }
    try contents.rows[number].forEach { key, row in
      if let control = fetch.control {
        if control.isCancelled { throw CocoaError(.userCancelled) }
        control.countRow()
      }
      guard condition?.holds(self, key, row) ?? true else { return true }
      return body(storedEntity, key, row)
    }
  }

  // MARK: Sorting

  private func sorted(_ matches: [Match], _ fetch: RowFetch) throws -> [Match] {
    let layout = try schema.entity(named: fetch.entityName).storedEntity.layout
    if let order = SlotOrder(fetch.sortDescriptors, of: layout, ordersByKeys: false) {
      return order.places(of: matches.count) { (matches[$0].key, matches[$0].values.slots) }.map { matches[$0] }
    }
    return matches.sorted(by: fetch.sortDescriptors.map(MemoryReader.keyed), key: sortKey(of:_:))
  }

  /// A descriptor with the name of its Swift key path.
  static func keyed(_ descriptor: NSSortDescriptor) -> NSSortDescriptor {
    guard !(descriptor is KeyedSortDescriptor), let key = descriptor.key else { return descriptor }
    return NSSortDescriptor(key: key, ascending: descriptor.ascending)
  }

  /// Values are read once for each row, not once for each comparison.
  private func sortKey(of row: Match, _ descriptor: NSSortDescriptor) -> SortKey {
    guard let keyed = descriptor as? KeyedSortDescriptor, keyed.block == nil else {
      return .any(MemoryRow(self, of: row.storedEntity, key: row.key, values: row.values))
    }
    return .value(value(at: keyed.keys[...], row.storedEntity, row.key, row.values))
  }

  // MARK: Values

  /// The value at a key path as predicates compare it.
  ///
  /// `author.name` is two look-ups and no object: the slot of `author` has the key, and the row of that key has the
  /// name.
  func value(at keys: ArraySlice<String>, _ storedEntity: StoredEntity, _ key: Int64, _ row: Snapshot) -> PredicateValue
  {
    guard let name = keys.first else { return .object(NSManagedObjectID(storedEntity: storedEntity, key: key)) }
    let remainingKeys = keys.dropFirst()
    if case .slot(let slot)? = storedEntity.layout.locations[name] {
      if storedEntity.layout.slots[slot].kind == .toOne {
        guard let related = row.related(slot), let relatedRow = self.row(related) else { return .null }
        return value(at: remainingKeys, relatedRow.storedEntity, relatedRow.key, relatedRow.values)
      }
      if remainingKeys.isEmpty { return row.predicateValue(slot) }
    }
    return PredicateValue(KeyValueReading.value(at: keys, of: MemoryRow(self, of: storedEntity, key: key, values: row)))
  }
}

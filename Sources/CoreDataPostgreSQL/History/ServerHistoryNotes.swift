/// The changes of one transaction, which are written into the store's history at its end. A transaction without changes
/// leaves no record.
///
/// ```text
/// "_transactions"   number | at                         | author | context | bundle | process
///                        1 | 2026-11-28 09:41:49.512+00 |        |         | shop   | shop
/// "_changes"        transaction | number | type | entity | key | properties | tombstone
///                             1 |      1 |    0 |      1 |   1 |            |                an author was inserted
///                             1 |      2 |    0 |      2 |   2 |            |                a book was inserted
///                             2 |      1 |    1 |      2 |   2 | isRead     |                a book was changed
///                             3 |      1 |    2 |      1 |   1 |            | \x62706c69…    an author was deleted
/// ```
///
/// `type` is the raw value of `NSPersistentHistoryChangeType`, `entity` the number that `_entities` gives a name to,
/// and `properties` has names with spaces between. A tombstone is a keyed archive of a dictionary.
///
/// Changes that other programs make by SQL are not recorded, nor are those of triggers of derived attributes.
final class ServerHistoryNotes: HistoryNotes {
  private let store: ServerStore
  private let origin: ChangeOrigin
  private var types = ServerArray(.int8)
  private var entities = ServerArray(.int8)
  private var keys = ServerArray(.int8)
  private var properties = ServerArray(.text)
  private var tombstones = ServerArray(.bytes)

  init(_ store: ServerStore, _ origin: ChangeOrigin) {
    self.store = store
    self.origin = origin
  }

  func noteInsert(number: Int, key: Int64) { note(.insert, of: number, key: key) }

  func noteUpdate(number: Int, key: Int64, changed: [String]) {
    note(.update, of: number, key: key, changed: changed.joined(separator: " "))
  }

  /// The attributes of an entity whose values are preserved when a row is deleted.
  func preserved(_ mapping: TableMapping) -> [AttributeColumn] {
    mapping.entity.attributesByName.values.filter(\.preservesValueInHistoryOnDeletion).sorted { $0.name < $1.name }
      .flatMap { attribute -> [AttributeColumn] in
        if let composite = mapping.composites[attribute.name] { return composite.leaves.map(\.column) }
        return mapping.attributes[attribute.name].map { [$0] } ?? []
      }
  }

  /// Notes a deleted row.
  ///
  /// - Parameter row: the row of the answer, which has the preserved values from the second column on.
  func noteDelete(
    of mapping: TableMapping, key: Int64, in result: any ServerResult, row: Int, preserved: [AttributeColumn]
  ) {
    var tombstone: [String: Any] = [:]
    for (offset, column) in preserved.enumerated() {
      let path = column.name.components(separatedBy: ".")
      guard let attribute = mapping.entity.attribute(at: path), let bytes = result.bytes(row, offset + 1),
        let value = ServerValue.value(
          bytes, ofType: result.type(offset + 1), as: attribute.attributeType, of: attribute)
      else { continue }
      CompositeValue.set(value, at: path[...], in: &tombstone)
    }
    // If a value cannot be archived, the deletion is noted without a tombstone.
    let archive =
      tombstone.isEmpty
      ? nil : try? NSKeyedArchiver.archivedData(withRootObject: tombstone as NSDictionary, requiringSecureCoding: false)
    note(.delete, of: mapping.number, key: key, tombstone: archive)
  }

  private func note(
    _ type: NSPersistentHistoryChangeType, of number: Int, key: Int64, changed: String? = nil, tombstone: Data? = nil
  ) {
    types.append(Int64(type.rawValue))
    entities.append(Int64(number))
    keys.append(key)
    properties.append {
      $0 += (changed ?? "").utf8
      return changed != nil
    }
    tombstones.append {
      $0 += tombstone ?? Data()
      return tombstone != nil
    }
  }

  /// Writes the transaction, in a round trip of its own: of a batch, whose rows are known at the end.
  func write(_ connection: any ServerConnection) throws {
    if let (sql, parameters) = statement { try connection.execute(sql, parameters) }
  }

  /// The statement that writes the transaction; nil for one without changes. It locks the row of the store until the
  /// commit, so that transactions are numbered in the order of their commits.
  ///
  /// ```text
  /// WITH counted AS (UPDATE "app"."_store" SET last_transaction = last_transaction + 1
  ///                  RETURNING last_transaction AS number),
  /// written AS (INSERT INTO "app"."_transactions" (number, at, author, context, bundle, process)
  ///             SELECT number, clock_timestamp(), $6, $7, $8, $9 FROM counted)
  /// INSERT INTO "app"."_changes" (transaction, number, type, entity, key, properties, tombstone)
  /// SELECT counted.number, c.number, c.type, c.entity, c.key, c.properties, c.tombstone
  /// FROM counted, unnest($1, $2, $3, $4, $5) WITH ORDINALITY AS c (type, entity, key, properties, tombstone, number)
  /// ```
  ///
  /// ```text
  /// save 1                                   save 2
  /// INSERT …                                 INSERT …
  /// counts: 7, locks the row of _store
  ///                                          waits for the row
  /// COMMIT
  ///                                          counts: 8
  ///                                          COMMIT
  /// ```
  ///
  /// Without the lock 8 could be committed before 7, and a program that has read up to 8 would never see 7. A sequence
  /// would be faster, and has this fault. The statement comes last, so that other saves wait for one round trip and the
  /// COMMIT only. `clock_timestamp()` is taken under the lock, so later numbers have later times, unless the server's
  /// clock is set back.
  ///
  /// Source: the page "WITH Queries (Common Table Expressions)", "Data-Modifying Statements in WITH".
  var statement: (sql: String, parameters: ServerParameters)? {
    if types.count == 0 { return nil }
    var parameters = ServerParameters()
    for array in [types, entities, keys, properties, tombstones] { parameters.add(array) }
    let process = ProcessInfo.processInfo.processName
    for name in [origin.author, origin.contextName, Bundle.main.bundleIdentifier ?? process, process] {
      if let name { parameters.add(name) } else { parameters.addNull(.text) }
    }
    let sql = """
      WITH counted AS (UPDATE \(store.ownTable(.store)) SET last_transaction = last_transaction + 1 \
      RETURNING last_transaction AS number), \
      written AS (INSERT INTO \(store.ownTable(.transactions)) (number, at, author, context, bundle, process) \
      SELECT number, clock_timestamp(), $6, $7, $8, $9 FROM counted) \
      INSERT INTO \(store.ownTable(.changes)) (transaction, number, type, entity, key, properties, tombstone) \
      SELECT counted.number, c.number, c.type, c.entity, c.key, c.properties, c.tombstone FROM counted, \
      unnest($1, $2, $3, $4, $5) WITH ORDINALITY AS c (type, entity, key, properties, tombstone, number)
      """
    return (sql, parameters)
  }
}

/// Deletes the rows that a fetch finds, and all rows that delete rules take along, in SQL.
///
/// A temporary table first collects the keys of the doomed rows, round by round along the Cascade rules. Then Deny
/// rules are checked, references from remaining rows are cleared, and the rows deleted. Entities without relationships
/// need none of that: their rows are found and deleted.
///
/// Deleting all authors, where `books` has the rule Nullify:
///
/// ```text
/// CREATE TEMP TABLE IF NOT EXISTS cd_doomed (root INTEGER, key BIGINT, entity INTEGER, round INTEGER,
///                                            PRIMARY KEY (root, key))
/// DELETE FROM cd_doomed
/// INSERT INTO cd_doomed (root, key, entity, round) SELECT 1, t0.Z_PK, t0.Z_ENT, 0 FROM ZAUTHOR t0
/// SELECT DISTINCT entity FROM cd_doomed WHERE round = 0 ORDER BY entity          -- cascade: nothing to follow
/// SELECT DISTINCT entity FROM cd_doomed ORDER BY entity                          -- the entities of doomed rows
/// UPDATE ZBOOK SET ZAUTHOR = NULL, Z_OPT = Z_OPT % 9223372036854775807 + 1       -- clearReferences
///   WHERE ZAUTHOR IN (SELECT key FROM cd_doomed WHERE root = 1 AND entity = 1)
///     AND Z_PK NOT IN (SELECT key FROM cd_doomed WHERE root = 2) RETURNING Z_PK, Z_ENT
/// SELECT entity, key FROM cd_doomed ORDER BY round, root, key                    -- the result
/// DELETE FROM ZAUTHOR WHERE Z_PK IN (SELECT key FROM cd_doomed WHERE root = 1 AND entity = 1)
/// DELETE FROM cd_doomed
/// ```
///
/// `root` names the table: keys of authors and books are counted apart and may be equal. `round` is the step of the
/// cascade in which the row was found; a round asks only for what the last one added, and ends the loop when it adds
/// nothing. A cycle ends too, since each row is doomed once (ON CONFLICT DO NOTHING).
///
/// Temporary tables are the connection's own and not in the file (https://www.sqlite.org/lang_createtable.html): other
/// processes do not see it, and a killed one leaves nothing.
package struct BatchDeletion<Transaction: BatchTransaction> {
  private let transaction: Transaction
  private let schema: StoreSchema
  private let ownColumns: OwnColumns

  package init(_ transaction: Transaction) {
    self.transaction = transaction
    schema = transaction.store.schema
    ownColumns = schema.ownColumns
  }

  /// Whether the rows of the fetch's entity may be related to others, so that a temporary table is needed.
  package func needsTable(_ fetch: RowFetch) -> Bool {
    transaction.store.mapping(fetch.entityName).numbersIncludingSubentities.contains {
      schema.entitiesByNumber[$0]?.entity.relationshipsByName.isEmpty == false
    }
  }

  @_semantics("optimize.sil.specialize.generic.never")  // a copy for each store takes long to compile
  package func run(_ fetch: RowFetch) throws -> BatchResult {
    guard needsTable(fetch) else { return try deleteUnrelated(fetch) }
    try transaction.execute(
      """
      CREATE TEMP TABLE IF NOT EXISTS cd_doomed \
      (root INTEGER, key BIGINT, entity INTEGER, round INTEGER, PRIMARY KEY (root, key))
      """)
    try transaction.execute("DELETE FROM cd_doomed")
    let root = transaction.store.mapping(fetch.entityName).rootNumber
    let selection = try selection("\(root), t0.\(ownColumns.key), t0.\(ownColumns.entity), 0", of: fetch)
    try transaction.execute("INSERT INTO cd_doomed (root, key, entity, round) \(selection)")
    try cascade()
    let mappings = try doomedMappings()
    for mapping in mappings {
      try checkDenyRules(of: mapping)
      try clearReferences(to: mapping)
    }
    let result = try result()
    for mapping in mappings { try transaction.delete(mapping, keys: SQL(raw: doomed(mapping))) }
    try transaction.execute("DELETE FROM cd_doomed")
    return result
  }

  /// The SELECT that finds the rows of the fetch. At a server it locks them: it waits for other transactions that have
  /// changed or deleted some, and returns those that are there and match afterwards.
  ///
  /// It is ordered only if the fetch has a window: which rows are the first hundred depends on the order then,
  /// otherwise it costs a sort for nothing.
  private func selection(_ columns: String, of fetch: RowFetch) throws -> SQL {
    var selection = try transaction.store.select(columns, fetch, isOrdered: fetch.limit > 0 || fetch.offset > 0)
    if let lock = transaction.store.dialect.rowLock { selection.text += " \(lock)" }
    return selection
  }

  /// Deletes rows to which no relationship leads, and from which none leads.
  private func deleteUnrelated(_ fetch: RowFetch) throws -> BatchResult {
    let selection = try selection("t0.\(ownColumns.entity), t0.\(ownColumns.key)", of: fetch)
    let rows = try transaction.integers(selection).sorted { $0[1] < $1[1] }
    let rowsByEntity = Dictionary(grouping: rows) { Int($0[0]) }
    for (number, rows) in rowsByEntity.sorted(by: { $0.key < $1.key }) {
      guard let mapping = schema.entitiesByNumber[number] else { continue }
      for start in stride(from: 0, to: rows.count, by: Self.mostKeys) {
        var keys: SQL = "NULL"
        for row in rows[start..<min(start + Self.mostKeys, rows.count)] {
          keys.text += ", ?"
          keys.values.append(.integer(row[1]))
        }
        try transaction.delete(mapping, keys: keys)
      }
    }
    var result = BatchResult()
    result.count = rows.count
    result.ids = rows.compactMap { transaction.store.objectID(number: Int($0[0]), key: $0[1]) }
    return result
  }

  /// Keys in one statement, whose text is the same for the same number of keys.
  private static var mostKeys: Int { 1000 }

  // MARK: Deleted rows

  /// With the rule Cascade for `Author.books`, round 1 is:
  ///
  /// ```text
  /// INSERT INTO cd_doomed (root, key, entity, round) SELECT 2, d.Z_PK, d.Z_ENT, 1 FROM ZBOOK d
  ///   WHERE d.ZAUTHOR IN (SELECT key FROM cd_doomed WHERE root = 1 AND entity = 1 AND round = 0)
  ///   ON CONFLICT DO NOTHING
  /// ```
  private func cascade() throws {
    var round = 0
    while true {
      var addedCount = 0
      for mapping in try doomedMappings(round: round) {
        for relationship in relationships(of: mapping, .cascadeDeleteRule) {
          guard let related = related(relationship, of: mapping, round: round) else { continue }
          addedCount += try transaction.execute(
            SQL(
              raw: """
                INSERT INTO cd_doomed (root, key, entity, round) \
                SELECT \(related.destination.rootNumber), d.\(ownColumns.key), d.\(ownColumns.entity), \(round + 1) \
                \(related.source) ON CONFLICT DO NOTHING
                """))
        }
      }
      if addedCount == 0 { return }
      round += 1
    }
  }

  /// The entities of doomed rows, in all rounds or in one.
  private func doomedMappings(round: Int? = nil) throws -> [TableMapping] {
    let condition = round.map { " WHERE round = \($0)" } ?? ""
    return try transaction.integers(SQL(raw: "SELECT DISTINCT entity FROM cd_doomed\(condition) ORDER BY entity"))
      .compactMap { schema.entitiesByNumber[Int($0[0])] }
  }

  private func relationships(of mapping: TableMapping, _ rule: NSDeleteRule) -> [NSRelationshipDescription] {
    mapping.entity.relationshipsByName.values.filter { $0.deleteRule == rule }.sorted(on: { $0.name })
  }

  /// The keys of the entity's doomed rows.
  private func doomed(_ mapping: TableMapping, round: Int? = nil) -> String {
    let condition = round.map { " AND round = \($0)" } ?? ""
    return "SELECT key FROM cd_doomed WHERE root = \(mapping.rootNumber) AND entity = \(mapping.number)\(condition)"
  }

  /// The keys of all doomed rows of the entity's table.
  private func doomedInTable(of mapping: TableMapping) -> String {
    "SELECT key FROM cd_doomed WHERE root = \(mapping.rootNumber)"
  }

  /// `FROM … WHERE …` of the rows, as `d`, to which a relationship of doomed rows leads; nil if it is not stored.
  ///
  /// ```text
  /// Author.books, from the doomed authors            FROM ZBOOK d WHERE d.ZAUTHOR IN (doomed)
  /// Book.author, from the doomed books               FROM ZAUTHOR d WHERE d.Z_PK IN
  ///                                       (SELECT t.ZAUTHOR FROM ZBOOK t WHERE t.Z_PK IN (doomed))
  /// Author.books, many-to-many                       FROM ZBOOK d WHERE d.Z_PK IN
  ///                                       (SELECT j.Z_2BOOKS FROM Z_1BOOKS j WHERE j.Z_1AUTHORS IN (doomed))
  /// ```
  private func related(
    _ relationship: NSRelationshipDescription, of mapping: TableMapping, round: Int? = nil
  ) -> (source: String, destination: TableMapping)? {
    let owners = doomed(mapping, round: round)
    func destination(_ name: String) -> TableMapping? { schema.entitiesByName[name] }
    if let toOne = mapping.toOnes[relationship.name], let destination = destination(toOne.destinationEntityName) {
      let keys = "SELECT t.\(toOne.column) FROM \(mapping.table) t WHERE t.\(ownColumns.key) IN (\(owners))"
      return ("FROM \(destination.table) d WHERE d.\(ownColumns.key) IN (\(keys))", destination)
    }
    switch mapping.toManys[relationship.name] {
    case .foreignKey(let name, let table, let inverse):
      guard let destination = destination(name) else { return nil }
      return ("FROM \(table) d WHERE d.\(inverse.column) IN (\(owners))", destination)
    case .join(let name, let table, let ownerColumn, let destinationColumn, _):
      guard let destination = destination(name) else { return nil }
      let keys = "SELECT j.\(destinationColumn) FROM \(table) j WHERE j.\(ownerColumn) IN (\(owners))"
      return ("FROM \(destination.table) d WHERE d.\(ownColumns.key) IN (\(keys))", destination)
    case nil: return nil
    }
  }

  // MARK: Remaining rows

  /// After the cascade, because a row that goes as well does not deny anything. Throws 1600
  /// (`validationRelationshipDeniedDelete`).
  private func checkDenyRules(of mapping: TableMapping) throws {
    for relationship in relationships(of: mapping, .denyDeleteRule) {
      guard let related = related(relationship, of: mapping) else { continue }
      let staying = "\(related.source) AND d.\(ownColumns.key) NOT IN (\(doomedInTable(of: related.destination)))"
      if try exists(staying) {
        throw CoreDataErrors.error(
          .validationRelationshipDeniedDelete,
          "\(mapping.name).\(relationship.name) denies the deletion: there are rows of \(related.destination.name) at "
            + "its other end.", [NSValidationKeyErrorKey: relationship.name])
      }
    }
  }

  /// A mandatory to-one relationship cannot become nil: the deletion throws 1570 instead, as the validation of the
  /// remaining object would in a save. Rows of join tables go without such a question.
  private func clearReferences(to mapping: TableMapping) throws {
    for relationship in mapping.entity.relationshipsByName.values.sorted(on: { $0.name }) {
      if case .join(_, let table, let ownerColumn, _, _) = mapping.toManys[relationship.name] {
        try transaction.execute(SQL(raw: "DELETE FROM \(table) WHERE \(ownerColumn) IN (\(doomed(mapping)))"))
        continue
      }
      guard relationship.deleteRule != .noActionDeleteRule, let inverse = relationship.inverseRelationship,
        let destination = schema.entitiesByName[relationship.destinationEntity?.name ?? ""],
        let toOne = destination.toOnes[inverse.name]
      else { continue }
      let staying =
        "WHERE \(toOne.column) IN (\(doomed(mapping))) AND \(ownColumns.key) NOT IN (\(doomedInTable(of: destination)))"
      if !inverse.isOptional, try exists("FROM \(destination.table) \(staying)") {
        throw CoreDataErrors.error(
          .validationMissingMandatoryProperty,
          "\(destination.name).\(inverse.name) needs a value, and leads to rows of \(mapping.name) that would be "
            + "deleted.",
          [NSValidationKeyErrorKey: inverse.name])
      }
      let columns = [toOne.column, toOne.entityColumn, toOne.orderColumn].compactMap { $0 }
      let rows = try transaction.integers(
        SQL(
          raw: """
            UPDATE \(destination.table) SET \(columns.map { "\($0) = NULL" }.joined(separator: ", ")), \
            \(ownColumns.version) = \(ownColumns.version.nextVersion) \(staying) \
            RETURNING \(ownColumns.key), \(ownColumns.entity)
            """))
      for row in rows {
        guard let changed = schema.entitiesByNumber[Int(row[1])] else { continue }
        try transaction.history?.noteUpdate(number: changed.number, key: row[0], changed: [inverse.name])
      }
    }
  }

  private func exists(_ source: String) throws -> Bool {
    try !transaction.integers(SQL(raw: "SELECT 1 \(source) LIMIT 1")).isEmpty
  }

  private func result() throws -> BatchResult {
    let rows = try transaction.integers("SELECT entity, key FROM cd_doomed ORDER BY round, root, key")
    var result = BatchResult()
    result.count = rows.count
    result.ids = rows.compactMap { transaction.store.objectID(number: Int($0[0]), key: $0[1]) }
    return result
  }
}

/// One UPDATE of all rows of an entity that match, in either database.
///
/// With `predicate` "author.name == 'Le Guin'" and `propertiesToUpdate` `["isRead": true, "pages": NSExpression(format:
/// "pages + 1")]`:
///
/// ```text
/// UPDATE ZBOOK AS t0 SET ZISREAD = ?, ZPAGES = CAST((t0.ZPAGES + ?) AS INTEGER),
///                        Z_OPT = t0.Z_OPT % 9223372036854775807 + 1
///   WHERE t0.Z_PK IN (SELECT t0.Z_PK FROM ZBOOK t0 LEFT JOIN ZAUTHOR t1 ON t1.Z_PK = t0.ZAUTHOR WHERE (t1.ZNAME = ?))
///   RETURNING Z_PK, Z_ENT
/// ```
///
/// The version is raised, so that a context with unsaved changes of such a row gets a conflict instead of overwriting
/// it. RETURNING (https://www.sqlite.org/lang_returning.html) is there only if the history or the result needs the
/// rows; without it SQLite just counts them.
package struct BatchUpdate<Transaction: BatchTransaction> {
  private let transaction: Transaction
  private let request: NSBatchUpdateRequest
  private let mapping: TableMapping
  private let targets: BatchUpdateTargets
  private var store: Transaction.Store { transaction.store }

  package init(_ transaction: Transaction, _ entityName: String, _ request: NSBatchUpdateRequest) {
    self.transaction = transaction
    self.request = request
    mapping = transaction.store.mapping(entityName)
    targets = BatchUpdateTargets(store: transaction.store, mapping: mapping)
  }

  /// The fetch that finds the rows; nil for all rows of the entity.
  package var rows: RowFetch? { targets.rows(of: request) }

  /// An Integer 16 or 32 could overflow by an expression, in rows that nobody has read. Therefore the extremes of the
  /// results are looked at before the update, in the same transaction:
  ///
  /// ```text
  /// SELECT CAST(min(result) AS bigint), CAST(max(result) AS bigint)
  ///   FROM (SELECT CAST((t0.ZRATING + ?) AS INTEGER) AS result FROM ZBOOK AS t0) AS updated
  /// ```
  ///
  /// - Parameter fetch: `rows`, as the database can evaluate them.
  @_semantics("optimize.sil.specialize.generic.never")  // a copy for each store takes long to compile
  package func run(_ fetch: RowFetch?) throws -> BatchResult {
    let (table, ownColumns) = (mapping.table, mapping.names)
    let newValues = request.propertiesToUpdate ?? [:]
    let names = try targets.names(newValues.keys)
    let assignments = try targets.assignments(newValues, externalColumns: transaction.externalColumns(of: mapping))
    let condition = try condition(fetch)
    for case .expression(let sql, let type, let attribute) in assignments.map(\.value)
    where attribute.type.integerRange != nil {
      let results: SQL =
        "SELECT \(store.dialect.assigned(sql, type, to: attribute)) AS result FROM \(raw: table) AS t0\(condition)"
      let extremes = try transaction.integers(
        "SELECT CAST(min(result) AS bigint), CAST(max(result) AS bigint) FROM (\(results)) AS updated")
      try targets.checkWidth(extremes.flatMap(\.self), attribute)
    }
    try transaction.willUpdate(assignments.map(\.column), of: mapping, where: condition)
    let sets: [SQL] = try assignments.map { "\(raw: $0.column) = \(try value($0))" }
    let needsRows = transaction.history != nil || request.resultType == .updatedObjectIDsResultType
    let update: SQL = """
      UPDATE \(raw: table) AS t0 SET \(sets.joined(", ")), \
      \(raw: ownColumns.version) = \(raw: "t0.\(ownColumns.version)".nextVersion)\
      \(condition)\(raw: needsRows ? " RETURNING \(ownColumns.key), \(ownColumns.entity)" : "")
      """
    var result = BatchResult()
    guard needsRows else {
      result.count = try transaction.execute(update)
      return result
    }
    for row in try transaction.integers(update) {
      let (key, number) = (row[0], Int(row[1]))
      if let id = store.objectID(number: number, key: key) { result.ids.append(id) }
      result.count += 1
      try transaction.history?.noteUpdate(number: number, key: key, changed: names)
    }
    return result
  }

  /// The WHERE clause. A predicate that needs other tables finds the keys first.
  ///
  /// ```text
  /// no predicate              nothing, or WHERE t0.Z_ENT = 2 where the table has other rows
  /// a predicate               WHERE t0.Z_PK IN (SELECT t0.Z_PK FROM …)
  /// a predicate, at a server  WHERE t0._key = ANY(ARRAY(SELECT t0._key FROM … FOR NO KEY UPDATE OF t0))
  /// limit 100, at a server    WHERE t0._key = ANY(ARRAY(SELECT … ORDER BY … LIMIT 100 FOR NO KEY UPDATE OF t0))
  /// ```
  ///
  /// A server's UPDATE that has waited for another transaction evaluates its condition again, but of a subquery it
  /// keeps the result: a row that matches no longer would be changed. The lock makes the subquery wait, and what it
  /// returns matches (page "Transaction Isolation", "Read Committed Isolation Level").
  private func condition(_ fetch: RowFetch?) throws -> SQL {
    guard let fetch else { return targets.restriction(of: request) }
    let key = mapping.names.key
    let keys = try store.select("t0.\(key)", fetch, isOrdered: fetch.limit > 0)
    guard let lock = store.dialect.rowLock else { return " WHERE t0.\(raw: key) IN (\(keys))" }
    let skipping = request.skipsLockedRows ? " SKIP LOCKED" : ""
    // As an array the rows are found once. As a subquery they might be found again for each row, and be too many.
    return " WHERE t0.\(raw: key) = ANY(ARRAY(\(keys) \(raw: lock + skipping)))"
  }

  /// A value that the store cannot hold is named with entity and attribute here: below, only its bytes are known.
  private func value(_ assignment: BatchAssignment) throws -> SQL {
    switch assignment.value {
    case .expression(let sql, let type, let attribute): return store.dialect.assigned(sql, type, to: attribute)
    case .key(let key?): return "\(bind: .integer(key))"
    case .key(nil), .constant(nil, _): return "NULL"
    case .constant(let value?, let attribute):
      do {
        return try transaction.parameter(value, of: attribute)
      } catch var refused as RefusedValue {
        refused.entity = refused.entity ?? mapping.name
        refused.attribute = refused.attribute ?? assignment.name
        throw refused
      }
    }
  }
}

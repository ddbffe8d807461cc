extension SQLGenerator {
  /// The statement of a fetch.
  ///
  /// ```text
  /// SELECT t0.Z_PK, t0.Z_OPT, t0.ZAUTHOR, t0.ZISREAD, t0.ZPAGES, t0.ZTITLE FROM ZBOOK t0
  ///   WHERE (t0.ZPAGES > ?) ORDER BY t0.ZTITLE ASC LIMIT 20 OFFSET 40
  /// ```
  ///
  /// The clauses are made before the text is put together, because each may add joins. A window without an order is
  /// legal and gives any rows: callers that page through rows need an order that is total, for example `title` and then
  /// `self`.
  ///
  /// OFFSET is counted off row by row (https://www.sqlite.org/lang_select.html, "The LIMIT clause"): page 1,000 costs a
  /// thousand pages. A predicate such as `SELF > last` begins where the last page ended.
  ///
  /// - Parameter groups: the groups and their columns, for a fetch of dictionaries.
  package func select(
    _ columns: SQL, _ fetch: RowFetch, isOrdered: Bool = true, groups: FetchSettings? = nil
  ) throws -> SQL {
    var conditions: [SQL] = []
    if let restriction = entityRestriction(includesSubentities: fetch.includesSubentities) {
      conditions.append(SQL(raw: restriction))
    }
    if let predicate = fetch.predicate { conditions.append(try whereClause(predicate)) }
    let grouping = try groups?.propertiesToGroupBy.map(groupClause) ?? ""
    let having = grouping.isEmpty ? "" : try groups?.havingPredicate.map(havingClause) ?? ""
    let order = isOrdered ? try orderClause(fetch.sortDescriptors) : ""
    let isDistinct = groups?.returnsDistinctResults ?? false
    // A server orders distinct rows by their columns only.
    if dialect.hasTextFunctions, isDistinct, order.text.contains("(") {
      throw SQLGenerationError.unsupportedExpression("an order of distinct rows by what is not a column")
    }
    var sql: SQL =
      "SELECT \(raw: isDistinct ? "DISTINCT " : "")\(columns) FROM \(raw: root.mapping.table) t0\(raw: joins)"
    if !conditions.isEmpty { sql += " WHERE \(conditions.joined(" AND "))" }
    if !grouping.isEmpty { sql += " GROUP BY \(grouping)" }
    if !having.isEmpty { sql += " HAVING \(having)" }
    if !order.isEmpty { sql += " ORDER BY \(order)" }
    if fetch.limit > 0 || fetch.offset > 0 {
      sql += " LIMIT \(raw: fetch.limit > 0 ? String(fetch.limit) : dialect.noLimit)"
      if fetch.offset > 0 { sql += " OFFSET \(raw: String(fetch.offset))" }
    }
    return sql
  }
}

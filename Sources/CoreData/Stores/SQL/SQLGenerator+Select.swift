extension SQLGenerator {
  /// The statement of a fetch.
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

extension SQLGenerator {
  /// The statement of a fetch. The clauses are made in the order of the text, since each appends its values.
  ///
  /// - Parameter groups: the groups and their columns, for a fetch of dictionaries.
  package func select(
    _ columns: String, _ fetch: RowFetch, isOrdered: Bool = true, groups: FetchSettings? = nil
  ) throws -> String {
    var conditions: [String] = []
    if let restriction = entityRestriction(includesSubentities: fetch.includesSubentities) {
      conditions.append(restriction)
    }
    if let predicate = fetch.predicate { conditions.append(try whereClause(predicate)) }
    let grouping = try groups?.propertiesToGroupBy.map(groupClause) ?? ""
    let having = grouping.isEmpty ? "" : try groups?.havingPredicate.map(havingClause) ?? ""
    let order = isOrdered ? try orderClause(fetch.sortDescriptors) : ""
    // A server orders distinct rows by their columns only.
    if dialect.hasTextFunctions, groups?.returnsDistinctResults ?? false, order.contains("(") {
      throw SQLGenerationError.unsupportedExpression("an order of distinct rows by what is not a column")
    }
    var sql = groups?.returnsDistinctResults ?? false ? "SELECT DISTINCT \(columns)" : "SELECT \(columns)"
    sql += " FROM \(root.mapping.table) t0\(joins)"
    if !conditions.isEmpty { sql += " WHERE \(conditions.joined(separator: " AND "))" }
    if !grouping.isEmpty { sql += " GROUP BY \(grouping)" }
    if !having.isEmpty { sql += " HAVING \(having)" }
    if !order.isEmpty { sql += " ORDER BY \(order)" }
    if fetch.limit > 0 || fetch.offset > 0 {
      sql += " LIMIT \(fetch.limit > 0 ? String(fetch.limit) : dialect.noLimit)"
      if fetch.offset > 0 { sql += " OFFSET \(fetch.offset)" }
    }
    return sql
  }
}

/// The server's plan for a fetch, by EXPLAIN, which plans the statement and does not run it. The parameters are sent
/// along, so the plan is that of these values. Source: the pages "EXPLAIN" and "Using EXPLAIN".
///
/// ```text
/// EXPLAIN SELECT _key, _entity, title FROM "app"."Book" WHERE pages > $1     $1 = 250
///
/// Seq Scan on "Book"  (cost=0.00..25.00 rows=400 width=44)
///   Filter: (pages > 250)
/// ```
///
/// In a pinned context it is the plan in that state. The server may choose another one for a prepared statement that
/// has run five times, which is planned without its values: see the page "PREPARE".
extension ServerStore: ExplainingStore {
  func explain(_ settings: FetchSettings, _ fetch: RowFetch) throws -> FetchExplanation.Statement {
    let statement = ServerStatement(try statement(settings, fetch))
    let result = try query(
      "Explaining the fetch of \(fetch.entityName)", in: fetch.generation, "EXPLAIN " + statement.sql,
      with: statement.parameters)
    let plan = (0..<result.rowCount).map { result.text($0, 0) ?? "" }
    return FetchExplanation.Statement(storeURL: url, sql: statement.sql, plan: plan)
  }
}

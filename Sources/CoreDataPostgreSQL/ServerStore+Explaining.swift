/// The server's plan for a fetch, by EXPLAIN, which plans the statement and does not run it. The parameters are sent
/// along, so the plan is that of these values. Source: the pages "EXPLAIN" and "Using EXPLAIN".
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

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

extension SQLiteStore: ExplainingStore {
  func explain(_ settings: FetchSettings, _ fetch: RowFetch) throws -> FetchExplanation.Statement {
    let sql = try statement(settings, fetch)
    let plan = try CoreDataErrors.translating("Explaining the fetch of \(fetch.entityName)") {
      try read(fetch.generation) { try $0.plan(of: sql.text) }
    }
    return FetchExplanation.Statement(storeURL: url, sql: sql.text, plan: plan)
  }
}

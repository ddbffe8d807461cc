/// For `title == "Kindred"` without an index: statement `SELECT … FROM ZBOOK t0 WHERE (t0.ZTITLE = ?)`, plan `SCAN
/// t0`. SCAN goes through all rows, SEARCH through a part of an index (https://www.sqlite.org/eqp.html).
extension SQLiteStore: ExplainingStore {
  func explain(_ settings: FetchSettings, _ fetch: RowFetch) throws -> FetchExplanation.Statement {
    let sql = try statement(settings, fetch)
    let plan = try CoreDataErrors.translating("Explaining the fetch of \(fetch.entityName)") {
      try read(fetch.generation) { try $0.plan(of: sql.text) }
    }
    return FetchExplanation.Statement(storeURL: url, sql: sql.text, plan: plan)
  }
}

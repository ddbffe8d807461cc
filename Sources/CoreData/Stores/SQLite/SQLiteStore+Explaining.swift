/// For `title == "Kindred"` without an index: statement `SELECT … FROM ZBOOK t0 WHERE (t0.ZTITLE = ?)`, plan `SCAN
/// t0`. SCAN goes through all rows, SEARCH through a part of an index (https://www.sqlite.org/eqp.html). A line of our
/// own says that the rows are sorted after SQLite has given them (`SlotOrder`).
extension SQLiteStore: ExplainingStore {
  func explain(_ settings: FetchSettings, _ fetch: RowFetch) throws -> FetchExplanation.Statement {
    let isSortedLater = settings.resultType != .dictionaryResultType && memoryOrder(of: fetch) != nil
    let sql = try statement(settings, fetch, isOrdered: !isSortedLater)
    var plan = try CoreDataErrors.translating("Explaining the fetch of \(fetch.entityName)") {
      try read(fetch.generation) { try $0.plan(of: sql.text) }
    }
    if isSortedLater { plan.append("SORT IN MEMORY") }
    return FetchExplanation.Statement(storeURL: url, sql: sql.text, plan: plan)
  }
}

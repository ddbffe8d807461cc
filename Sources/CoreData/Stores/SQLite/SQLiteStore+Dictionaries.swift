/// Dictionary results: columns, aggregates and groups, straight from the file.
extension SQLiteStore {
  /// No object and no snapshot is made: a column's value goes from SQLite into the dictionary. The row cache is neither
  /// asked nor filled.
  func dictionaries(_ settings: FetchSettings, _ fetch: RowFetch) throws -> [NSDictionary] {
    let (sql, columns) = try SQLGenerationError.translated {
      try select(settings, fetch, generator(for: fetch.entityName))
    }
    return try CoreDataErrors.translating("Fetching \(fetch.entityName)") {
      try read(fetch.generation, fetch.control) { connection in
        let statement = try connection.statement(sql)
        defer { statement.reset() }
        var results: [NSDictionary] = []
        while try statement.step() { results.append(try dictionary(columns, of: SQLiteRow(statement))) }
        return results
      }
    }
  }
}

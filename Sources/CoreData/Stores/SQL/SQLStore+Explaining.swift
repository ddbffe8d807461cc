extension SQLStore {
  /// The statement that a fetch of objects, IDs or dictionaries runs.
  ///
  /// The same code as that of the fetch itself makes it, so the explained statement is the one that would run.
  package func statement(_ settings: FetchSettings, _ fetch: RowFetch) throws -> SQL {
    guard settings.resultType == .dictionaryResultType else {
      let columns = plan(fetch).columnList(alias: "t0", areKeys: !fetch.includesValues)
      return try select(columns, fetch, isOrdered: true)
    }
    return try SQLGenerationError.translated { try select(settings, fetch, generator(for: fetch.entityName)).sql }
  }
}

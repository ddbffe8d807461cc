extension SQLStore {
  /// The statement that a fetch of objects, IDs or dictionaries runs.
  ///
  /// The same code as that of the fetch itself makes it, so the explained statement is the one that would run.
  ///
  /// - Parameter isOrdered: false for objects that are sorted after they were read.
  package func statement(_ settings: FetchSettings, _ fetch: RowFetch, isOrdered: Bool = true) throws -> SQL {
    guard settings.resultType == .dictionaryResultType else {
      let columns = plan(fetch).columnList(alias: "t0", areKeys: !fetch.includesValues)
      return try select(columns, fetch, isOrdered: isOrdered)
    }
    return try SQLGenerationError.translated { try select(settings, fetch, generator(for: fetch.entityName)).sql }
  }
}

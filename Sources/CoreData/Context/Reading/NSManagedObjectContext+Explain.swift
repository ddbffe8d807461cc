extension NSManagedObjectContext {
  /// Runs a fetch and says how: the statement of each store, the database's plan for it, the number of results and the
  /// time. An addition to Apple's API.
  ///
  /// ```swift
  /// let request = NSFetchRequest<Book>(entityName: "Book")
  /// request.predicate = NSPredicate(format: "title == %@", "Emma")
  /// let explanation = try context.explain(request)
  /// for statement in explanation.statements where statement.plan.contains(where: { $0.contains("SCAN") }) {
  ///   print("reads the whole table: \(statement.sql)")
  /// }
  /// ```
  ///
  /// `SCAN` in SQLite's plan means that a whole table or index is read, `SEARCH` that an index leads to the rows, and
  /// `USE TEMP B-TREE` that rows are sorted: a fetch index of the model on the compared or sorted attribute changes
  /// that. `SORT IN MEMORY` is no step of SQLite: CoreData sorts the rows after it has read them, and the statement has
  /// no ORDER BY. The switch `com.apple.CoreData.SlowStatements` prints the plans of slow statements as they run.
  ///
  /// The time is that of one fetch after the plan was asked for: objects that the context has already, rows in the
  /// caches and the statement's preparation make it shorter than a first fetch. The statements of prefetched
  /// relationships are not listed, their time is contained. A child context explains its parent's fetch. Call it on the
  /// context's queue.
  ///
  /// - Parameter request: the request as the program fetches it; it is not changed.
  /// - Returns: the statements with their plans, for each store that works with statements: none for stores in memory
  ///   and for binary and XML stores.
  /// - Throws: what `fetch(_:)` throws, and the database's error if it cannot explain the statement.
  ///
  /// Source: https://www.sqlite.org/eqp.html; https://www.postgresql.org/docs/15/using-explain.html.
  public final func explain<T>(_ request: NSFetchRequest<T>) throws -> FetchExplanation {
    if let parentContext { return try parentContext.performAndWait { try parentContext.explain(request) } }
    checkQueue()
    var settings = request.settings
    let entity = try entity(of: settings)
    var fetch = try storeFetch(settings, entity)
    switch settings.resultType {
    case .managedObjectResultType:
      fetch.includesValues = settings.includesPropertyValues && settings.fetchBatchSize == 0
    case .dictionaryResultType: break
    default: fetch.includesValues = false
    }
    if settings.resultType != .dictionaryResultType && settings.includesPendingChanges && hasChanges {
      // The window is applied when the unsaved changes are known.
      (fetch.limit, fetch.offset) = (0, 0)
    } else if settings.resultType == .managedObjectResultType, fetch.includesValues {
      fetch.properties = settings.partialProperties(of: entity)
    }
    let stores = try stores(holding: entity, settings.affectedStores)
    if stores.count > 1 {
      // Each store gives all its rows, and the window is cut when they are together.
      (fetch.limit, fetch.offset, fetch.properties) = (0, 0, nil)
      if settings.resultType == .dictionaryResultType {
        let isComputed = (settings.propertiesToFetch ?? []).contains { $0 is NSExpressionDescription }
        if isComputed || !(settings.propertiesToGroupBy ?? []).isEmpty { fetch.sortDescriptors = [] }
        settings.resultType = .managedObjectResultType
      }
    }
    let statements = try stores.compactMap { store in
      try store.understands(fetch) ? try (store as? any ExplainingStore)?.explain(settings, fetch) : nil
    }
    let start = ContinuousClock.now
    let count =
      request.resultType == .countResultType
      ? try self.count(for: request) : try fetchAll(NSFetchRequest<any NSFetchRequestResult>(request)).count
    return FetchExplanation(statements: statements, resultCount: count, duration: .now - start)
  }
}

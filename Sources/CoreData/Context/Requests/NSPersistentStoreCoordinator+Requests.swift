/// Requests that stores carry out as a whole.
extension NSPersistentStoreCoordinator {
  /// Executes a request on behalf of a context: gives the results of a fetch, an empty array for a save, or the result
  /// object of another request.
  ///
  /// ```swift
  /// let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Book")
  /// let books = try coordinator.execute(request, with: context) as? [Book]
  /// print(books?.count ?? 0)
  /// ```
  ///
  /// Call the context's `fetch(_:)` and `execute(_:)` instead, which give typed results; this method exists because
  /// Apple's coordinator has it. Call it on the context's queue.
  ///
  /// - Parameters:
  ///   - request: any request, except for an asynchronous fetch.
  ///   - context: the context whose objects, author and merge policy count.
  /// - Returns: an array for a fetch or a save, otherwise an `NSPersistentStoreResult`.
  /// - Throws: 134091 for an unknown kind of request, and the stores' errors.
  ///
  /// Source: Apple's documentation of `execute(_:with:)`.
  public final func execute(_ request: NSPersistentStoreRequest, with context: NSManagedObjectContext) throws -> Any {
    if let fetch = request as? any AnyFetchRequest {
      return try context.fetch(NSFetchRequest<any NSFetchRequestResult>(settingsOf: fetch)) as [Any]
    }
    if let request = request as? any SavingRequest {
      try context.save(only: request.changes)
      return [Any]()
    }
    return try result(of: request, for: context)
  }

  /// Carries out a request that concerns stores as a whole. The classes are few and Apple's, so a switch over them is
  /// the plainest way; a program's own subclass of `NSPersistentStoreRequest` throws.
  final func result(
    of request: NSPersistentStoreRequest, for context: NSManagedObjectContext
  ) throws -> NSPersistentStoreResult {
    switch request {
    case let request as NSBatchInsertRequest: try insert(request, for: context)
    case let request as NSBatchUpdateRequest: try update(request, for: context)
    case let request as NSBatchDeleteRequest: try delete(request, for: context)
    case let request as NSPersistentHistoryChangeRequest: try history(request)
    default:
      throw CoreDataErrors.error(
        .persistentStoreUnsupportedRequestType, "The stores do not know the request \(type(of: request)).")
    }
  }

  /// Writes the rows into the first store that takes them: rows without objects are assigned to no other store.
  private func insert(
    _ request: NSBatchInsertRequest, for context: NSManagedObjectContext
  ) throws -> NSBatchInsertResult {
    let entity = try entity(request.entity, request.entityName)
    guard !entity.isAbstract else {
      throw CoreDataErrors.error(
        .persistentStoreOperation, "\(request.entityName) is abstract: it can have no rows of its own.")
    }
    guard let store = try stores(for: request, entity).first else {
      throw CoreDataErrors.error(
        .persistentStoreOperation, "No open store that may be written holds the entity \(request.entityName).")
    }
    let rows = BatchRows(request, entity, context, to: store)
    return NSBatchInsertResult(try store.insert(rows, by: ChangeOrigin(context)), request.resultType)
  }

  /// Updates in each store that holds the entity. Each store's part is a transaction of its own: an error in the second
  /// store leaves the first one's changes.
  private func update(
    _ request: NSBatchUpdateRequest, for context: NSManagedObjectContext
  ) throws -> NSBatchUpdateResult {
    let entity = try entity(request.givenEntity, request.entityName)
    let values = request.withoutObjects
    var rows = BatchResult()
    for store in try stores(for: request, entity) {
      rows += try store.update(values, of: entity.name ?? "", by: ChangeOrigin(context))
    }
    return NSBatchUpdateResult(rows, request.resultType)
  }

  /// Deletes in each store that holds the entity, under the same rule.
  private func delete(
    _ request: NSBatchDeleteRequest, for context: NSManagedObjectContext
  ) throws -> NSBatchDeleteResult {
    let settings = request.settings
    // A deletion by IDs without any IDs.
    if settings.entity == nil && settings.entityName == nil {
      return NSBatchDeleteResult(BatchResult(), request.resultType)
    }
    let entity = try entity(settings.entity, settings.entityName ?? "")
    let fetch = RowFetch(settings, of: entity)
    var rows = BatchResult()
    for store in try stores(for: request, entity, fetchedFrom: settings.affectedStores) {
      rows += try store.delete(fetch, by: ChangeOrigin(context))
    }
    return NSBatchDeleteResult(rows, request.resultType)
  }

  /// The entity of a request: the given one, or the one of the name in this coordinator's model.
  private func entity(_ entity: NSEntityDescription?, _ name: String) throws -> NSEntityDescription {
    if let entity = entity ?? managedObjectModel.entitiesByName[name] { return entity }
    throw CoreDataErrors.error(.persistentStoreOperation, "The model has no entity named \"\(name)\".")
  }

  /// The stores that execute a batch request: the writable ones among those that hold the entity.
  ///
  /// A store that cannot take the request makes it fail, instead of being left out: a deletion that misses a store
  /// would be taken for done.
  ///
  /// - Parameter fetched: the `affectedStores` of the fetch that finds the rows: no other store has rows that it finds.
  private func stores(
    for request: NSPersistentStoreRequest, _ entity: NSEntityDescription,
    fetchedFrom fetched: [NSPersistentStore]? = nil
  ) throws -> [any BatchStore] {
    let holding = objectStores(among: request.affectedStores).filter { store in
      store.holds(entity) && fetched?.contains { $0 === store } ?? true
    }
    let stores = try holding.map { store in
      if let store = store as? any BatchStore { return store }
      throw CoreDataErrors.error(
        .persistentStoreUnsupportedRequestType,
        "A store of the type \(store.type) does not know batch requests; \(NSSQLiteStoreType) does, at /dev/null too.")
    }
    let writable = stores.filter { !$0.isReadOnly }
    if writable.isEmpty, let store = holding.first { throw store.readOnlyError }
    return writable
  }
}

extension NSBatchUpdateRequest {
  /// The request with IDs in place of objects: stores know no objects, and a value may be one, directly or as a
  /// constant expression.
  fileprivate var withoutObjects: NSBatchUpdateRequest {
    func identified(_ value: Any) -> Any {
      switch value {
      case let object as NSManagedObject: object.objectID
      case let expression as NSExpression where expression.expressionType == .constantValue:
        expression.constantValue.map(identified) ?? NSNull()
      default: value
      }
    }
    let request = NSBatchUpdateRequest(entity: givenEntity, name: entityName)
    request.predicate = predicate
    request.includesSubentities = includesSubentities
    request.resultType = resultType
    request.limit = limit
    request.order = order
    request.skipsLockedRows = skipsLockedRows
    request.propertiesToUpdate = propertiesToUpdate?.mapValues(identified)
    return request
  }
}

/// Requests that stores carry out as a whole.
extension NSPersistentStoreCoordinator {
  /// Executes a request on behalf of a context: gives the results of a fetch, an empty array for a save, or the result
  /// object of another request.
  /// Throws 134091 for an unknown kind of request, and the stores' errors. Contexts call it; on the context's queue.
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
    for store in try stores(for: request, entity) { rows += try store.delete(fetch, by: ChangeOrigin(context)) }
    return NSBatchDeleteResult(rows, request.resultType)
  }

  private func entity(_ entity: NSEntityDescription?, _ name: String) throws -> NSEntityDescription {
    if let entity = entity ?? managedObjectModel.entitiesByName[name] { return entity }
    throw CoreDataErrors.error(.persistentStoreOperation, "The model has no entity named \"\(name)\".")
  }

  /// The stores that execute a batch request.
  private func stores(
    for request: NSPersistentStoreRequest, _ entity: NSEntityDescription
  ) throws -> [any BatchStore] {
    let holding = objectStores(among: request.affectedStores).filter { $0.holds(entity) }
    let stores = try holding.map { store in
      if let store = store as? any BatchStore { return store }
      throw CoreDataErrors.error(
        .persistentStoreUnsupportedRequestType,
        "A store of the type \(store.type) does not know batch requests; \(NSSQLiteStoreType) does, at /dev/null too.")
    }
    let writable = stores.filter { !$0.isReadOnly }
    if writable.isEmpty, let store = holding.first {
      throw CoreDataErrors.error(
        .persistentStoreSave, "The store at \(store.url?.path ?? "") was opened read-only.")
    }
    return writable
  }
}

extension NSBatchUpdateRequest {
  /// The request with IDs in place of objects.
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

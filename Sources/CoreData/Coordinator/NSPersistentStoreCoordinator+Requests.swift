/// Requests that stores carry out as a whole.
extension NSPersistentStoreCoordinator {
  /// Has the stores do what the request says, on behalf of a context: the results of a fetch, or the result object of a batch
  /// request.
  public final func execute(_ request: NSPersistentStoreRequest, with context: NSManagedObjectContext) throws -> Any {
    if let fetch = request as? any FetchSettingsHolder {
      let erased = NSFetchRequest<any NSFetchRequestResult>()
      erased.settings = fetch.settings
      erased.affectedStores = request.affectedStores
      return try context.fetch(erased) as [Any]
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
    let policy = (context.mergePolicy as? NSMergePolicy)?.mergeType ?? .errorMergePolicyType
    let rows = try store.batch("Inserting rows of \(request.entityName)", ChangeOrigin(context)) {
      connection, recorder in
      let insertion = try BatchInsertion(
        store, entity.name ?? "", onDuplicate: BatchInsertion.OnDuplicate(policy),
        keepsIDs: request.resultType == .objectIDs, connection, recorder)
      return try insertion.run(request)
    }
    return NSBatchInsertResult(rows, request.resultType)
  }

  private func update(
    _ request: NSBatchUpdateRequest, for context: NSManagedObjectContext
  ) throws -> NSBatchUpdateResult {
    let entity = try entity(request.givenEntity, request.entityName)
    var rows = BatchResult()
    for store in try stores(for: request, entity) {
      rows += try store.batch("Updating rows of \(request.entityName)", ChangeOrigin(context)) { connection, recorder in
        try BatchUpdate(store, entity.name ?? "", request).run(connection, recorder)
      }
    }
    return NSBatchUpdateResult(rows, request.resultType)
  }

  private func delete(
    _ request: NSBatchDeleteRequest, for context: NSManagedObjectContext
  ) throws -> NSBatchDeleteResult {
    let settings = request.settings
    // No IDs, nothing to delete.
    if settings.entity == nil && settings.entityName == nil {
      return NSBatchDeleteResult(BatchResult(), request.resultType)
    }
    let entity = try entity(settings.entity, settings.entityName ?? "")
    let fetch = SQLiteStore.Fetch(
      entityName: entity.name ?? "", includesSubentities: settings.includesSubentities, predicate: settings.predicate,
      sortDescriptors: settings.sortDescriptors ?? [], limit: settings.fetchLimit, offset: settings.fetchOffset)
    var rows = BatchResult()
    for store in try stores(for: request, entity) {
      var files: [URL] = []
      rows += try store.batch("Deleting rows of \(entity.name ?? "")", ChangeOrigin(context)) { connection, recorder in
        let deletion = BatchDeletion(store, connection, recorder)
        let rows = try deletion.run(fetch)
        files = deletion.externalFiles
        return rows
      }
      // Only now is it certain that no row needs them; one that stays behind does no harm.
      for file in files { try? FileManager.default.removeItem(at: file) }
    }
    return NSBatchDeleteResult(rows, request.resultType)
  }

  private func entity(_ entity: NSEntityDescription?, _ name: String) throws -> NSEntityDescription {
    if let entity = entity ?? managedObjectModel.entitiesByName[name] { return entity }
    throw CoreDataErrors.error(.persistentStoreOperation, "The model has no entity named \"\(name)\".")
  }

  /// The stores that a batch request goes to.
  private func stores(for request: NSPersistentStoreRequest, _ entity: NSEntityDescription) throws -> [SQLiteStore] {
    let holding = (request.affectedStores ?? persistentStores).compactMap { $0 as? SQLiteStore }
      .filter { $0.holds(entity) }
    for store in holding where store.type != NSSQLiteStoreType {
      throw CoreDataErrors.error(
        .persistentStoreUnsupportedRequestType,
        "A store of the type \(store.type) does not know batch requests; \(NSSQLiteStoreType) does, at /dev/null too.")
    }
    let writable = holding.filter { !$0.isReadOnly }
    if writable.isEmpty, let store = holding.first {
      throw CoreDataErrors.error(
        .persistentStoreSave, "The store at \(store.url?.path ?? "") was opened read-only.")
    }
    return writable
  }
}

/// A fetch request, whatever its result type.
protocol FetchSettingsHolder: NSPersistentStoreRequest {
  var settings: FetchSettings { get }
}

extension NSFetchRequest: FetchSettingsHolder {}

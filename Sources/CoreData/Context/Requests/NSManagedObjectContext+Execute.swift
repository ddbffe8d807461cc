/// A request to save some of a context's changes.
protocol SavingRequest: NSPersistentStoreRequest {
  var changes: SavedChanges { get }
}

/// Requests that stores execute as a whole.
extension NSManagedObjectContext {
  /// Executes a batch insertion, update or deletion, or a request about history, and returns its result. An
  /// asynchronous fetch is started, from any thread, and delivers its results later on this queue.
  ///
  /// An `NSSaveChangesRequest` saves the objects that it names and no others, without hooks, validation and merge
  /// policy.
  ///
  /// A child context passes the request to its parent, under the parent's name and author. Batch requests ignore
  /// unsaved changes, and objects in contexts stay as they are.
  ///
  /// - Throws: 134091 for a request that the stores do not support, and the stores' errors.
  @discardableResult
  public final func execute(_ request: NSPersistentStoreRequest) throws -> NSPersistentStoreResult {
    if let request = request as? any AsynchronousRequest { return try request.start(in: self) }
    checkQueue()
    if let request = request as? any SavingRequest {
      try save(only: request.changes)
      return NSPersistentStoreResult()
    }
    if let parentContext { return try parentContext.performAndWait { try parentContext.execute(request) } }
    guard let coordinator = persistentStoreCoordinator else {
      throw CoreDataErrors.error(.persistentStoreOperation, "The context \(label) has no coordinator to ask.")
    }
    return try coordinator.result(of: request, for: self)
  }
}

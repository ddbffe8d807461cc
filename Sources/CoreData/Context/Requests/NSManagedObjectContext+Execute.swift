/// A request to save some of a context's changes: `NSSaveChangesRequest`, whose folder stands above this one.
protocol SavingRequest: NSPersistentStoreRequest {
  var changes: SavedChanges { get }
}

/// Requests that stores execute as a whole.
extension NSManagedObjectContext {
  /// `execute(_:)` without a subclass's override. An asynchronous fetch may be started on any thread, so it comes
  /// before the queue is checked. A child passes the request to its parent as it is: batch requests and history ignore
  /// unsaved changes.
  final func executeRequest(_ request: NSPersistentStoreRequest) throws -> NSPersistentStoreResult {
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

/// Requests that stores execute as a whole.
extension NSManagedObjectContext {
  /// Executes a batch insertion, update or deletion, or a request about history, and returns its result. An
  /// asynchronous fetch is started and delivers its results later, on this queue.
  ///
  /// A child context passes the request to its parent, under the parent's name and author. Batch requests ignore
  /// unsaved changes, and objects in contexts stay as they are.
  ///
  /// - Throws: 134091 for a request that the stores do not support, and the stores' errors.
  @discardableResult
  public final func execute(_ request: NSPersistentStoreRequest) throws -> NSPersistentStoreResult {
    checkQueue()
    if let request = request as? any AsynchronousRequest { return try request.start(in: self) }
    if let parentContext { return try parentContext.performAndWait { try parentContext.execute(request) } }
    guard let coordinator = persistentStoreCoordinator else {
      throw CoreDataErrors.error(.persistentStoreOperation, "The context \(label) has no coordinator to ask.")
    }
    return try coordinator.result(of: request, for: self)
  }
}

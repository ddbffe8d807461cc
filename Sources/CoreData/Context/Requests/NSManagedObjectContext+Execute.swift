/// Requests that go to the store as a whole.
extension NSManagedObjectContext {
  /// Has the stores do what the request says: batch insertions, updates and deletions, requests for history. An
  /// asynchronous fetch is started, and gives its results later, on this queue.
  ///
  /// A child has its parent ask, under the parent's name and author. To batches, what is changed in the context plays
  /// no part, and the objects in it stay as they are. Throws 134091 for a request that the stores do not know.
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

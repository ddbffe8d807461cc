/// Sessions with the server of a store. An addition to Apple's API.
extension NSPersistentStoreCoordinator {
  /// Opens a session with the server of a store; nil for a store in a file or in memory.
  ///
  /// - Parameters:
  ///   - store: one of the coordinator's stores.
  ///   - lock: the number of the lock that the session holds.
  ///   - body: called on a thread of the session.
  /// - Throws: `StoreLockTaken`, and an `NSError` if the server cannot be reached.
  package final func openSession(
    with store: NSPersistentStore, holding lock: Int64, _ body: @escaping @Sendable (StoreSessionEvent) -> Void
  ) throws -> (any StoreSession)? {
    try (store as? any ObjectStore)?.openSession(holding: lock, body)
  }
}

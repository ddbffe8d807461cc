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
    try (store as? any SessionStore)?.openSession(holding: lock, body)
  }

  /// Returns when all commits to the servers of the stores are on disk: a server with `synchronous_commit = off`
  /// answers before that.
  ///
  /// - Throws: an `NSError` if the server cannot be reached.
  package final func synchronizeCommits() throws {
    for store in objectStores { try (store as? any SessionStore)?.synchronizeCommits() }
  }

  /// The time by the clock of the server that has a store; nil without one.
  package final var serverDate: Date? {
    objectStores.lazy.compactMap { ($0 as? any SessionStore)?.serverDate }.first
  }
}

/// Stores at servers.
extension NSPersistentStoreCoordinator {
  /// Returns when all commits to the servers of the stores are on disk: a server with `synchronous_commit = off`
  /// answers before that.
  ///
  /// - Throws: an `NSError` if the server cannot be reached.
  package final func synchronizeCommits() throws {
    for store in objectStores { try (store as? any ConnectedStore)?.synchronizeCommits() }
  }

  /// The time by the clock of the server that has a store; nil without one.
  package final var serverDate: Date? {
    objectStores.lazy.compactMap { ($0 as? any ConnectedStore)?.serverDate }.first
  }

  /// Those of the advisory locks that a session with the server of a store holds; none without a server.
  ///
  /// - Throws: an `NSError` if the server cannot be reached.
  package final func heldLocks(among numbers: [Int64]) throws -> Set<Int64> {
    try objectStores.reduce(into: []) {
      $0.formUnion(try ($1 as? any ConnectedStore)?.heldLocks(among: numbers) ?? [])
    }
  }
}

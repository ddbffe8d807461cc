/// Stores at servers.
extension NSPersistentStoreCoordinator {
  /// Returns when all commits to the servers of the stores are on disk: a server with `synchronous_commit = off`
  /// answers before that (https://www.postgresql.org/docs/15/wal-async-commit.html).
  ///
  /// The pool calls it before it removes a job's file: the job must be as safe in the store as it was in the file. It
  /// does nothing for stores in files, whose log `StoreTools` synchronises, and costs a round trip for each server.
  package final func synchronizeCommits() throws {
    for store in objectStores { try (store as? any ConnectedStore)?.synchronizeCommits() }
  }

  /// The time by the clock of the server that has a store; nil without one. Pools on several hosts compare due times
  /// with it, since the clocks of the hosts differ.
  package final var serverDate: Date? {
    objectStores.lazy.compactMap { ($0 as? any ConnectedStore)?.serverDate }.first
  }

  /// What the clock of the server that has a store shows between the call and the return; nil without a server. Costs a
  /// round trip, and is no estimate as ``serverDate`` is: what a program did before the call is not later than this.
  package final func readServerClock() throws -> Date? {
    for store in objectStores {
      if let date = try (store as? any ConnectedStore)?.readServerClock() { return date }
    }
    return nil
  }

  /// Those of the advisory locks that a session with the server of a store holds; none without a server. A pool's
  /// identity is such a lock: if no session holds it, the pool's host or connection is gone.
  ///
  /// - Parameter numbers: the keys of the locks in question.
  package final func heldLocks(among numbers: [Int64]) throws -> Set<Int64> {
    try objectStores.reduce(into: []) {
      $0.formUnion(try ($1 as? any ConnectedStore)?.heldLocks(among: numbers) ?? [])
    }
  }
}

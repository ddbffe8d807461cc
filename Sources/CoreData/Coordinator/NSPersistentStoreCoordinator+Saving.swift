/// Saving rows to the stores that hold them.
extension NSPersistentStoreCoordinator {
  /// The store for a new object of the entity: the first that may be written and holds it.
  final func store(forInserted entity: NSEntityDescription) -> (any ObjectStore)? {
    objectStores.first { !$0.isReadOnly && $0.holds(entity) }
  }

  /// Writes the changes, each into its store: those on one file in one transaction, and none is committed before all are written.
  ///
  /// - Parameter apply: takes what the stores answered, in the order of the changes, before anybody else may write.
  final func save(
    _ changes: [(store: any ObjectStore, rows: RowChanges)], apply: ([SavedRows]) -> Void
  ) throws {
    let scopes = writeScopes(of: changes.map(\.store))
    try locking(scopes[...]) {
      var saved: [SavedRows] = []
      try writing(scopes[...]) { saved = try changes.map { try $0.store.write($0.rows) } }
      // The caches take rows over in the order of the commits: nobody else may write before they have these.
      apply(saved)
      for change in changes { change.store.didCommit() }
    }
  }

  /// What the stores write in, once each, and in the same order everywhere, so that two saves to the same files do not wait for
  /// each other.
  private func writeScopes(of stores: [any ObjectStore]) -> [any WriteScope] {
    var scopes: [any WriteScope] = []
    for store in stores where !scopes.contains(where: { $0 === store.writeScope }) { scopes.append(store.writeScope) }
    return scopes.sorted { one, other in
      // Those in memory have no name.
      one.name == other.name ? ObjectIdentifier(one) < ObjectIdentifier(other) : one.name < other.name
    }
  }

  /// Runs the body while nobody else writes in any of the scopes.
  private func locking(_ scopes: ArraySlice<any WriteScope>, _ body: () throws -> Void) throws {
    guard let scope = scopes.first else { return try body() }
    try scope.exclusively { try locking(scopes.dropFirst(), body) }
  }

  /// Runs the body in a transaction of each scope, each inside the one before.
  private func writing(_ scopes: ArraySlice<any WriteScope>, _ body: () throws -> Void) throws {
    guard let scope = scopes.first else { return try body() }
    try scope.transaction("Saving") { try writing(scopes.dropFirst(), body) }
  }

  /// Begins a writing transaction in each store, and ends it with nothing written. Not one of Apple's methods.
  ///
  /// It checks whether a save can succeed before work starts that is useless without the save. It waits for its turn and for locks
  /// as a save does, and costs a few microseconds. Whether the disk has room is not known before something is written.
  /// - Throws: what a save would throw: the store is locked, read-only, or its file cannot be used.
  public final func checkWritable() throws {
    for scope in writeScopes(of: objectStores) {
      try scope.transaction("Writing") {}
    }
  }
}

/// Saves rows to the stores that hold them.
extension NSPersistentStoreCoordinator {
  /// The store for a new object of the entity: the first writable one that holds it.
  final func store(forInserted entity: NSEntityDescription) -> (any ObjectStore)? {
    objectStores.first { !$0.isReadOnly && $0.holds(entity) }
  }

  /// Writes each change into its store: all stores of one file in one transaction. Nothing is committed before
  /// everything is written.
  ///
  /// Stores that cannot take back what they wrote come last: if another one fails before, they are untouched, and if
  /// they fail, the others are rolled back.
  ///
  /// - Parameter apply: gets the stores' answers, in the order of the changes, before anybody else can write.
  final func save(
    _ changes: [(store: any ObjectStore, rows: RowChanges)], apply: ([SavedRows]) -> Void
  ) throws {
    let scopes = writeScopes(of: changes.map(\.store))
    try locking(scopes[...]) {
      var saved: [SavedRows] = []
      try writing(scopes[...]) { saved = try write(changes, scopes) }
      // The caches get rows in the order of the commits, so no other save may write before these are in.
      apply(saved)
      for change in changes { change.store.didCommit() }
    }
  }

  /// Writes the changes in the open transactions of the scopes. Returns the answers in the order of the changes.
  private func write(
    _ changes: [(store: any ObjectStore, rows: RowChanges)], _ scopes: [any WriteScope]
  ) throws -> [SavedRows] {
    if scopes.count == 1 { return try changes.map { try $0.store.write($0.rows) } }
    var saved = Array(repeating: SavedRows(), count: changes.count)
    func write(where rollsBack: Bool) throws {
      for (index, change) in changes.enumerated() where change.store.writeScope.rollsBack == rollsBack {
        saved[index] = try change.store.write(change.rows)
      }
    }
    try write(where: true)
    for scope in scopes { try scope.prepareToCommit() }
    try write(where: false)
    return saved
  }

  /// The write scopes of the stores, each once and in the same order everywhere, so that two saves to the same files do
  /// not deadlock.
  private func writeScopes(of stores: [any ObjectStore]) -> [any WriteScope] {
    var scopes: [any WriteScope] = []
    for store in stores where !scopes.contains(where: { $0 === store.writeScope }) { scopes.append(store.writeScope) }
    return scopes.sorted { one, other in
      // Scopes in memory have no name.
      one.name == other.name ? ObjectIdentifier(one) < ObjectIdentifier(other) : one.name < other.name
    }
  }

  /// Runs the body while it has all scopes to itself.
  private func locking(_ scopes: ArraySlice<any WriteScope>, _ body: () throws -> Void) throws {
    guard let scope = scopes.first else { return try body() }
    try scope.exclusively { try locking(scopes.dropFirst(), body) }
  }

  /// Runs the body in nested transactions, one for each scope.
  private func writing(_ scopes: ArraySlice<any WriteScope>, _ body: () throws -> Void) throws {
    guard let scope = scopes.first else { return try body() }
    try scope.transaction("Saving") { try writing(scopes.dropFirst(), body) }
  }

  /// Begins a writing transaction in each store and ends it without writing. An addition to Apple's API.
  ///
  /// It tells whether a save can succeed before work starts that needs it. It waits for its turn and for locks as a
  /// save does, and costs a few microseconds. A full disk is only noticed when something is written.
  /// - Throws: the errors of a save: a store is locked, read-only, or its file cannot be used.
  public final func checkWritable() throws {
    for scope in writeScopes(of: objectStores) {
      try scope.transaction("Writing") {}
    }
  }
}

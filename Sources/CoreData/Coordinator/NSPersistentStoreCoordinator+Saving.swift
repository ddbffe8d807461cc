/// Saves rows to the stores that hold them.
extension NSPersistentStoreCoordinator {
  /// The store for a new object of the entity: the first writable one that holds it, in the order in which the stores
  /// were added. `NSManagedObjectContext.assign(_:to:)` overrides it for one object. Nil makes the save throw 134030.
  final func store(forInserted entity: NSEntityDescription) -> (any ObjectStore)? {
    objectStores.first { !$0.isReadOnly && $0.holds(entity) }
  }

  /// Writes each change into its store: all stores of one file in one transaction. Nothing is committed before
  /// everything is written.
  ///
  /// The order, for a context that saves to two files and an incremental store:
  ///
  ///     lock scopes A and B                 no other save of this coordinator writes there
  ///       BEGIN IMMEDIATE in A, then in B   no other process writes there
  ///         check                           what `check(inNextSave:)` has registered
  ///         write the rows of A and B
  ///         prepareToCommit of A and B      what may fail and can be taken back: a new file beside the old one
  ///         write to the incremental store  it cannot be taken back: last
  ///       COMMIT B, COMMIT A
  ///       apply                             the caches get the rows, before the locks are released
  ///     unlock
  ///
  /// Stores that cannot take back what they wrote come last: if another store fails before, they are untouched, and if
  /// the first of them fails, the others are rolled back. If a later one fails, those before it are saved, and the
  /// others are not. The same is true where a commit fails after another one has succeeded: of an XML file whose
  /// directory cannot be synchronised, after that of a SQLite file.
  ///
  /// `apply` runs under the locks, for the caches:
  ///
  ///     this save              another context's save of the same row
  ///     commits version 4
  ///                            waits for the lock
  ///     cache: version 4
  ///     unlocks
  ///                            commits version 5, cache: version 5
  ///
  /// Without the lock, version 4 could enter the cache after version 5, and a context that fills a fault would read it
  /// as the current row.
  ///
  /// - Parameters:
  ///   - changes: the rows of each store. A store occurs once.
  ///   - check: is called in the transaction, while no other writer can change the rows that the save concerns: before
  ///     the rows are written, or after it where only written rows are locked. An error that it throws ends the
  ///     transaction.
  ///   - apply: gets the stores' answers, in the order of the changes, before another save can write.
  ///   - applyPart: gets the answers of the stores that are saved although the save fails, by the index of the change.
  /// - Throws: `IncompleteSave` if a part is saved and another one is not.
  final func save(
    _ changes: [(store: any ObjectStore, rows: RowChanges)], check: () throws -> Void = {},
    apply: ([SavedRows]) -> Void,
    applyPart: ([Int: SavedRows]) -> Void = { _ in }
  ) throws {
    let scopes = writeScopes(of: changes.map(\.store))
    try locking(scopes[...]) {
      var saved: [SavedRows] = []
      var committed: [any WriteScope] = []
      do {
        func writeAll() throws { try writing(scopes[...], &committed) { saved = try write(changes, scopes, check) } }
        // Of several scopes another one may have written already.
        if scopes.count == 1 {
          try scopes[0].repeating { try writeAll() }
        } else {
          do {
            try writeAll()
          } catch {
            let parts = parts(of: changes, saved, in: committed)
            throw parts.isEmpty ? error : IncompleteSave(saved: parts, error: error)
          }
        }
      } catch let incomplete as IncompleteSave {
        applyPart(incomplete.saved)
        for index in incomplete.saved.keys { changes[index].store.didCommit() }
        throw incomplete
      }
      // The caches get rows in the order of the commits, so no other save may write before these are in.
      apply(saved)
      for change in changes { change.store.didCommit() }
    }
  }

  /// Writes metadata that was set since the last save, in a save without rows. A context without changes calls it, so
  /// that `setMetadata(_:for:)` and `save()` are enough to keep a value. It touches no store whose metadata is saved
  /// already.
  final func saveMetadata(_ origin: ChangeOrigin) throws {
    let stores = objectStores.filter { $0.openMetadata.isUnsaved && !$0.isReadOnly }
    if stores.isEmpty { return }
    do {
      try save(stores.map { ($0, RowChanges(origin: origin, permanentIDs: [:])) }) { _ in }
    } catch let incomplete as IncompleteSave {
      // The metadata that is not saved stays noted for the next save.
      throw incomplete.error
    }
  }

  /// Writes the changes in the open transactions of the scopes. Returns the answers in the order of the changes.
  ///
  /// The check comes before the rows where a transaction locks out all writers, since a SQLite file without a
  /// write-ahead log may lock out the readers of the check once its pages are written. At a server, where a transaction
  /// locks only rows that it has written, it comes after them: see `NSManagedObjectContext.check(inNextSave:)`.
  private func write(
    _ changes: [(store: any ObjectStore, rows: RowChanges)], _ scopes: [any WriteScope], _ check: () throws -> Void
  ) throws -> [SavedRows] {
    let isExclusive = scopes.allSatisfy(\.locksOutWriters)
    // Not later: without a write-ahead log, a file whose rows are being written may lock out readers.
    if isExclusive { try check() }
    if scopes.count == 1 {
      let saved = try changes.map { try $0.store.write($0.rows) }
      if !isExclusive { try check() }
      return saved
    }
    var saved = Array(repeating: SavedRows(), count: changes.count)
    for (index, change) in changes.enumerated() where change.store.writeScope.rollsBack {
      saved[index] = try change.store.write(change.rows)
    }
    if !isExclusive { try check() }
    for scope in scopes { try scope.prepareToCommit() }
    var lasting: [Int: SavedRows] = [:]
    for (index, change) in changes.enumerated() where !change.store.writeScope.rollsBack {
      do {
        saved[index] = try change.store.write(change.rows)
      } catch {
        throw lasting.isEmpty ? error : IncompleteSave(saved: lasting, error: error)
      }
      lasting[index] = saved[index]
    }
    return saved
  }

  /// The write scopes of the stores, each once and in the same order everywhere, so that two saves to the same files do
  /// not deadlock.
  ///
  /// The order is that of the names, which are equal in all processes. Scopes in memory belong to one process, so their
  /// addresses do.
  ///
  ///     process 1: files a, b      process 2: files b, a
  ///     locks a
  ///                                waits for a
  ///     locks b, saves, unlocks
  ///                                locks a, then b
  private func writeScopes(of stores: [any ObjectStore]) -> [any WriteScope] {
    var scopes: [any WriteScope] = []
    for store in stores where !scopes.contains(where: { $0 === store.writeScope }) { scopes.append(store.writeScope) }
    return scopes.sorted { one, other in
      // Scopes in memory have no name.
      one.name == other.name ? ObjectIdentifier(one) < ObjectIdentifier(other) : one.name < other.name
    }
  }

  /// Runs the body while it has all scopes to itself. Recursion nests the closures that a scope's lock takes; an array
  /// of scopes cannot be held otherwise without a way to unlock them one by one after an error.
  private func locking(_ scopes: ArraySlice<any WriteScope>, _ body: () throws -> Void) throws {
    guard let scope = scopes.first else { return try body() }
    try scope.exclusively { try locking(scopes.dropFirst(), body) }
  }

  /// Runs the body in nested transactions, one for each scope. An error that leaves the body rolls back each of them on
  /// its way out. If a commit fails, it rolls back this scope and those that have not committed yet:
  ///
  ///     scopes: memory of an XML store, SQLite file
  ///     COMMIT of the SQLite file             committed: SQLite
  ///     the XML file's rename fails           its memory has the former rows; the error leaves with SQLite committed
  private func writing(
    _ scopes: ArraySlice<any WriteScope>, _ committed: inout [any WriteScope], _ body: () throws -> Void
  ) throws {
    guard let scope = scopes.first else { return try body() }
    try scope.transaction("Saving") { try writing(scopes.dropFirst(), &committed, body) }
    committed.append(scope)
  }

  /// The answers of the stores whose part stays although another scope's commit has failed: those of committed scopes,
  /// and of stores that cannot take back what they wrote.
  private func parts(
    of changes: [(store: any ObjectStore, rows: RowChanges)], _ saved: [SavedRows], in committed: [any WriteScope]
  ) -> [Int: SavedRows] {
    var parts: [Int: SavedRows] = [:]
    // Without answers the error came before the first commit.
    if saved.isEmpty { return parts }
    for (index, change) in changes.enumerated() {
      let scope = change.store.writeScope
      if !scope.rollsBack || committed.contains(where: { $0 === scope }) { parts[index] = saved[index] }
    }
    return parts
  }

  /// Begins a writing transaction in each store and ends it without writing. An addition to Apple's API.
  ///
  /// ```swift
  /// try coordinator.checkWritable()  // throws 134090 here, not after an hour of work
  /// ```
  ///
  /// It tells whether the stores can be written now, before the program starts work that ends with a save. It waits for
  /// its turn and for locks as a save does, and costs a few microseconds for a file and a round trip for a server. It
  /// promises nothing about later: another process may lock the store after it, the connection may be lost, and a full
  /// disk is only noticed when something is written. Any thread.
  ///
  /// Read-only stores beside a writable one are passed over, as a save of new objects does:
  /// `NSPersistentStore.isReadOnly` tells which they are.
  ///
  /// - Throws: 134090 if a store is locked, 134080 if its file or server cannot be used, 134030 if all stores were
  ///   opened read-only.
  public final func checkWritable() throws {
    let writable = objectStores.filter { !$0.isReadOnly }
    if writable.isEmpty, let store = objectStores.first { throw store.readOnlyError }
    // A scope does not retain its store, which another thread may remove meanwhile.
    try withExtendedLifetime(writable) {
      for scope in writeScopes(of: writable) { try scope.transaction("Writing") {} }
    }
  }
}

/// The error for a save that some stores have committed and others have not. It stays inside the module: contexts make
/// a 134040 of it.
///
/// `@unchecked Sendable`: thrown and caught by the thread that saves.
struct IncompleteSave: Error, @unchecked Sendable {
  /// The answers of the stores that have their part, by the index of the change.
  let saved: [Int: SavedRows]
  /// The error of the store that failed.
  let error: any Error
}

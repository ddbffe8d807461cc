/// Checks whether a save can succeed before work starts that is useless without the save.
extension NSPersistentStoreCoordinator {
  /// Begins a writing transaction on each file, and ends it with nothing written. Not one of Apple's methods.
  ///
  /// It waits for its turn and for locks as a save does, and costs a few microseconds. Whether the disk has room is not known before
  /// something is written.
  /// - Throws: what a save would throw: the store is locked, read-only, or its file cannot be used.
  public final func checkWritable() throws {
    for case let store as SQLiteStore in persistentStores where isFirst(store) {
      try CoreDataErrors.translating("Writing to \(store.database.configuration.path)") {
        try store.database.write { _ in }
      }
    }
  }

  /// Whether no store before it has the same file.
  private func isFirst(_ store: SQLiteStore) -> Bool {
    persistentStores.first { ($0 as? SQLiteStore)?.database === store.database } === store
  }
}

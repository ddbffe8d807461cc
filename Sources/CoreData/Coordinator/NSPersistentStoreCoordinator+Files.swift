/// Stores' files as a whole: destroyed, replaced, copied.
extension NSPersistentStoreCoordinator {
  // MARK: Destroying

  /// Empties a store's file, with what lies beside it. The file itself stays, with nothing in it; others that have it open find an
  /// empty database. Where it is open in this coordinator, it is removed from it, and may be added again.
  ///
  /// Waits for whoever is writing, and throws 134090 if that takes longer than `NSPersistentStoreTimeoutOption`. Does nothing where
  /// there is no file. With `NSPersistentStoreTablePrefixOption` too, all stores in the file go.
  public final func destroyPersistentStore(
    at url: URL, ofType storeType: String, options: [AnyHashable: Any]? = nil
  ) throws {
    try Self.checkType(storeType)
    if SharedMemoryDatabases.isInMemory(url) {
      SharedMemoryDatabases.forget(url)
      return try removeStores(at: url)
    }
    guard FileManager.default.fileExists(atPath: url.path) else { return }
    try CoreDataErrors.translating("Destroying \(url.path)") {
      let connection = try SQLiteConnection(
        path: url.path, access: .readWrite, busyTimeout: SQLiteDatabase.Configuration.busyTimeout(options))
      defer { connection.close() }
      try connection.erase()
      try removeStores(at: url)
      // Takes the log away, unless somebody else has the file open.
      _ = try? connection.rows("PRAGMA journal_mode = DELETE")
    }
    try? FileManager.default.removeItem(at: ExternalData.supportFolder(of: url))
  }

  private func removeStores(at url: URL) throws {
    for store in persistentStores where store.url?.standardizedFileURL == url.standardizedFileURL { try remove(store) }
  }

  public final func destroyPersistentStore(
    at url: URL, type: NSPersistentStore.StoreType, options: [AnyHashable: Any]? = nil
  ) throws {
    try destroyPersistentStore(at: url, ofType: type.rawValue, options: options)
  }

  // MARK: Replacing

  /// Makes the store at one place a copy of the store at another, with the same UUID, in place: others that have it open find the
  /// new content. Makes the file where there is none.
  public final func replacePersistentStore(
    at destinationURL: URL, destinationOptions: [AnyHashable: Any]? = nil, withPersistentStoreFrom sourceURL: URL,
    sourceOptions: [AnyHashable: Any]? = nil, ofType storeType: String
  ) throws {
    try Self.checkType(storeType)
    if destinationURL.standardizedFileURL == sourceURL.standardizedFileURL { return }
    try CoreDataErrors.translating("Replacing \(destinationURL.path) with \(sourceURL.path)") {
      let source = try SQLiteConnection(path: sourceURL.path, access: .readWrite)
      defer { source.close() }
      // A file that is no store replaces none.
      _ = try SQLiteStore.readMetadata(StoreMetadata.prefix(sourceOptions), source)
      let destination = try SQLiteConnection(
        path: destinationURL.path, access: .create,
        busyTimeout: SQLiteDatabase.Configuration.busyTimeout(destinationOptions))
      defer { destination.close() }
      try destination.copy(from: source)
    }
    try copySupportFolder(from: sourceURL, to: destinationURL)
  }

  public final func replacePersistentStore(
    at destinationURL: URL, destinationOptions: [AnyHashable: Any]? = nil, withPersistentStoreFrom sourceURL: URL,
    sourceOptions: [AnyHashable: Any]? = nil, type: NSPersistentStore.StoreType
  ) throws {
    try replacePersistentStore(
      at: destinationURL, destinationOptions: destinationOptions, withPersistentStoreFrom: sourceURL,
      sourceOptions: sourceOptions, ofType: type.rawValue)
  }

  private func copySupportFolder(from source: URL, to destination: URL) throws {
    let (from, to) = (ExternalData.supportFolder(of: source), ExternalData.supportFolder(of: destination))
    try? FileManager.default.removeItem(at: to)
    if FileManager.default.fileExists(atPath: from.path) { try FileManager.default.copyItem(at: from, to: to) }
  }

  // MARK: Moving to another place

  /// Copies a store to another place, opens the copy and removes the original from the coordinator; the original's file stays.
  ///
  /// The copy has a UUID of its own, and so all its objects have new IDs: `NSPersistentStoreCoordinatorStoresDidChange` tells which.
  /// Contexts have to be reset. Whatever was at the place is replaced. History is not taken along.
  @discardableResult
  public final func migratePersistentStore(
    _ store: NSPersistentStore, to storeURL: URL, options: [AnyHashable: Any]? = nil, withType storeType: String
  ) throws -> NSPersistentStore {
    try Self.checkType(storeType)
    guard let old = store as? SQLiteStore, persistentStores.contains(where: { $0 === store }) else {
      throw CoreDataErrors.error(.persistentStoreOperation, "The store is not one of this coordinator.")
    }
    guard storeURL.standardizedFileURL != store.url?.standardizedFileURL else {
      throw CoreDataErrors.error(.persistentStoreOperation, "A store cannot be migrated to its own place.")
    }
    let center = NotificationCenter.default
    center.post(name: .NSPersistentStoreCoordinatorStoresWillChange, object: self)
    let isInMemory = storeType == NSInMemoryStoreType || SharedMemoryDatabases.isInMemory(storeURL)
    let prefix = old.schema.prefix
    let key = isInMemory ? "memory \(UUID().uuidString)" : storeURL.standardizedFileURL.path
    let configuration = SQLiteDatabase.Configuration(
      path: isInMemory ? "" : storeURL.standardizedFileURL.path, isInMemory: isInMemory, options: options)
    let new = try CoreDataErrors.translating("Migrating \(old.url?.path ?? "") to \(storeURL.path)") {
      let database = try SQLiteDatabase(configuration)
      try database.withWriter { destination in
        // On the writer, so that all that was saved is there.
        try old.database.withWriter { try destination.copy(from: $0) }
        try destination.immediateTransaction {
          let metadata = try SQLiteStore.readMetadata(prefix, destination).1
          try destination.execute("UPDATE \(prefix)_METADATA SET Z_UUID = ?", [.text(UUID().uuidString)])
          var renamed = metadata
          renamed[NSStoreTypeKey] = storeType
          try SQLiteStore.writeMetadata(renamed, prefix: prefix, destination)
          if let history = old.history?.tables {
            try destination.execute("DELETE FROM \(history.changes); DELETE FROM \(history.transactions)")
          }
        }
        if !isInMemory { _ = try destination.rows("PRAGMA journal_mode = WAL") }
      }
      return try add(
        database, key: key, type: storeType, configuration: old.configurationName, at: storeURL, options: options)
    }
    if !isInMemory, let url = old.url { try copySupportFolder(from: url, to: storeURL) }
    let ids = try renamedIDs(from: old, to: new)
    try remove(store)
    center.post(
      name: .NSPersistentStoreCoordinatorStoresDidChange, object: self,
      userInfo: [NSUUIDChangedPersistentStoresKey: [old, new] + ids])
    return new
  }

  @discardableResult
  public final func migratePersistentStore(
    _ store: NSPersistentStore, to storeURL: URL, options: [AnyHashable: Any]? = nil,
    type storeType: NSPersistentStore.StoreType
  ) throws -> NSPersistentStore {
    try migratePersistentStore(store, to: storeURL, options: options, withType: storeType.rawValue)
  }

  /// All objects' IDs, each old one before the new one.
  private func renamedIDs(from old: SQLiteStore, to new: SQLiteStore) throws -> [NSObject] {
    try new.database.read { connection in
      try new.schema.tables.flatMap { table in
        try connection.rows("SELECT Z_ENT, Z_PK FROM \(table.name) ORDER BY Z_PK").flatMap { row -> [NSObject] in
          guard case .integer(let number) = row[0], case .integer(let key) = row[1],
            let before = old.objectID(number: Int(number), key: key),
            let after = new.objectID(number: Int(number), key: key)
          else { return [] }
          return [before, after]
        }
      }
    }
  }

  /// Has a store leave its place: not possible while it is open. True only where it is at the place already.
  public final func setURL(_ url: URL, for store: NSPersistentStore) -> Bool {
    store.url?.standardizedFileURL == url.standardizedFileURL
  }
}

/// Store files as a whole: destroyed, replaced, copied.
extension NSPersistentStoreCoordinator {
  // MARK: Destroying

  /// Empties a store's place. If the store is open in this coordinator, it is removed from it and may be added again.
  ///
  /// ```swift
  /// try coordinator.destroyPersistentStore(at: url, type: .sqlite)
  /// try coordinator.addPersistentStore(type: .sqlite, at: url)
  /// ```
  ///
  /// Use it to begin anew, in tests and after a 134100 for a store whose content is not needed. To delete objects and
  /// keep the store, use `NSBatchDeleteRequest`.
  ///
  /// What it does depends on the type. A SQLite file stays, with nothing in it, and the files beside it are removed;
  /// other processes that have it open find an empty database. A binary or XML file is removed. At a PostgreSQL server
  /// the schema of the store is dropped with all that is in it. Of a SQLite store in memory at `/dev/null/NAME` the
  /// name is forgotten.
  ///
  /// It waits for a running writer of a SQLite file, and throws 134090 after `NSPersistentStoreTimeoutOption`. If there
  /// is no file any more, the store is removed from this coordinator all the same, what a SQLite store had beside the
  /// file goes, and an empty file takes its place. Stores in the same file under another
  /// `NSPersistentStoreTablePrefixOption` are destroyed too. History and metadata go with the rows.
  ///
  /// What happens otherwise: if `FileManager` removes the file of an open SQLite store, the processes that have it open
  /// go on writing to a file without a name, and SQLite may apply the old log to a new file of that name.
  ///
  /// Any thread may call it. Contexts that have objects of the store should be reset before.
  ///
  /// - Parameters:
  ///   - url: the place of the store.
  ///   - storeType: the type of the store there, which is not read from the file.
  ///   - options: the options that the store was opened with: the time limit, and at a server the connection's.
  /// - Throws: 134000 for an unknown type, and for a server's URL with the type of a file; 134080 if the file or the
  ///   server cannot be reached; 134090 if it stays locked.
  ///
  /// Source: https://www.sqlite.org/howtocorrupt.html on removing a database that is open.
  public final func destroyPersistentStore(
    at url: URL, ofType storeType: String, options: [AnyHashable: Any]? = nil
  ) throws {
    try Self.storeClass(storeType, at: url).destroy(at: url, options) { try removeStores(at: url) }
  }

  /// Removes this coordinator's stores at the place, also those that were opened by another path. The store's class
  /// calls it when the file has no content any more: earlier, an error would leave a coordinator without the store and
  /// a file that still has it.
  private func removeStores(at url: URL) throws {
    for store in objectStores where url.isSamePlace(as: store.url) { try remove(store) }
  }

  /// Empties a store's file, in the spelling of newer code: see `destroyPersistentStore(at:ofType:options:)`.
  public final func destroyPersistentStore(
    at url: URL, type: NSPersistentStore.StoreType, options: [AnyHashable: Any]? = nil
  ) throws {
    try destroyPersistentStore(at: url, ofType: type.rawValue, options: options)
  }

  // MARK: Replacing

  /// Replaces a store by a copy of another one, with the same UUID, in place: other processes that have it open find
  /// the new content. Creates the file if it is missing. Does nothing if both places are the same.
  ///
  /// ```swift
  /// let backup = url.deletingLastPathComponent().appendingPathComponent("backup.sqlite")
  /// try coordinator.replacePersistentStore(at: backup, withPersistentStoreFrom: url, type: .sqlite)  // backs up
  /// ```
  ///
  /// Programs use it to back up and to restore. The source may be open and in use: a SQLite file is copied by SQLite's
  /// backup, in one state, with what its log has and with the files of its external data. Copying the file itself
  /// misses what is only in the log. `StoreMaintenance` of the module `StoreTools` backs up in steps, so that writers
  /// wait less.
  ///
  /// Contexts are not told: reset those of a store that was replaced. A binary or XML store that is open must be
  /// removed from its coordinator first; it reads its file once, and its next save would throw 134030.
  ///
  /// It costs the reading and writing of the whole file. Any thread may call it.
  ///
  /// - Parameters:
  ///   - destinationURL: the place that gets the copy.
  ///   - destinationOptions: options for the destination, such as the time limit.
  ///   - sourceURL: the place of the store to copy.
  ///   - sourceOptions: options for the source, such as its table prefix.
  ///   - storeType: the type of both stores.
  /// - Throws: 134000 for an unknown type, and for a server's URL with the type of a file; 134070 for stores in memory,
  ///   at a PostgreSQL server, and of an app's own class; 134080 if the source cannot be opened or holds no store;
  ///   134090 if one of the files stays locked.
  ///
  /// Source: Apple's documentation of
  /// `replacePersistentStore(at:destinationOptions:withPersistentStoreFrom:sourceOptions:ofType:)`;
  /// https://www.sqlite.org/backup.html.
  public final func replacePersistentStore(
    at destinationURL: URL, destinationOptions: [AnyHashable: Any]? = nil, withPersistentStoreFrom sourceURL: URL,
    sourceOptions: [AnyHashable: Any]? = nil, ofType storeType: String
  ) throws {
    _ = try Self.storeClass(storeType, at: sourceURL)
    let kind = try Self.storeClass(storeType, at: destinationURL)
    if destinationURL.isSamePlace(as: sourceURL) { return }
    try kind.replace(
      StoreFile(url: destinationURL, options: destinationOptions),
      with: StoreFile(url: sourceURL, options: sourceOptions))
  }

  /// Replaces the content of a store, in the spelling of newer code: see
  /// `replacePersistentStore(at:destinationOptions:withPersistentStoreFrom:sourceOptions:ofType:)`.
  public final func replacePersistentStore(
    at destinationURL: URL, destinationOptions: [AnyHashable: Any]? = nil, withPersistentStoreFrom sourceURL: URL,
    sourceOptions: [AnyHashable: Any]? = nil, type: NSPersistentStore.StoreType
  ) throws {
    try replacePersistentStore(
      at: destinationURL, destinationOptions: destinationOptions, withPersistentStoreFrom: sourceURL,
      sourceOptions: sourceOptions, ofType: type.rawValue)
  }

  // MARK: Moving to another place

  /// Copies a store to another place, opens the copy and removes the original from the coordinator; the original's file
  /// stays.
  ///
  /// ```swift
  /// if let store = coordinator.persistentStore(for: url) {
  ///   let copy = url.deletingPathExtension().appendingPathExtension("xml")
  ///   try coordinator.migratePersistentStore(store, to: copy, type: .xml)
  /// }
  /// ```
  ///
  /// Use it to move a store, or to change its type. For a backup, use `replacePersistentStore`, which keeps the UUID.
  /// This method does not migrate to another model: for that, open the store with the options of migration.
  ///
  /// The copy has a UUID of its own, so all its objects have new IDs: `NSPersistentStoreCoordinatorStoresDidChange`
  /// lists them. Reset the contexts. History is not copied. A store at the new place is replaced; if this coordinator
  /// has it open, it is removed from it. A binary or XML file there is replaced in one step, once the copy is complete;
  /// a file of another type may be empty or incomplete after an error.
  ///
  /// Between SQLite files the pages are copied and keys stay; between other types each object is read and written, all
  /// of them in one transaction and in memory. It runs on the caller's thread; other threads and processes may read the
  /// original meanwhile.
  ///
  /// - Parameters:
  ///   - store: an open store of this coordinator.
  ///   - storeURL: the place of the copy.
  ///   - options: the options to open the copy with; those of the original are not taken over.
  ///   - storeType: the type of the copy.
  /// - Returns: the copy, which is open in this coordinator.
  /// - Throws: 134070 for another coordinator's store and for its own place; 134000 for an unknown type, and for a
  ///   server's URL with the type of a file; and what opening and writing the copy throws. The original is then still
  ///   open.
  ///
  /// Source: Apple's documentation of `migratePersistentStore(_:to:options:withType:)`.
  @discardableResult
  public final func migratePersistentStore(
    _ store: NSPersistentStore, to storeURL: URL, options: [AnyHashable: Any]? = nil, withType storeType: String
  ) throws -> NSPersistentStore {
    let kind = try Self.storeClass(storeType, at: storeURL)
    guard let old = objectStores.first(where: { $0 === store }) else {
      throw CoreDataErrors.error(.persistentStoreOperation, "The store is not one of this coordinator.")
    }
    guard !storeURL.isSamePlace(as: store.url) else {
      throw CoreDataErrors.error(.persistentStoreOperation, "A store cannot be migrated to its own place.")
    }
    let (new, ids) = try copy(
      old, to: opening(storeType, configuration: old.configurationName, at: storeURL, options: options), kind)
    _ = try adopt(new)
    try remove(store)
    let changes: [Any] = [old, new, ids.flatMap { [$0.old, $0.new] }]
    NotificationCenter.default.post(
      name: .NSPersistentStoreCoordinatorStoresDidChange, object: self,
      userInfo: [NSUUIDChangedPersistentStoresKey: changes])
    return new
  }

  /// Copies a store to another place and uses the copy, in the spelling of newer code: see
  /// `migratePersistentStore(_:to:options:withType:)`.
  @discardableResult
  public final func migratePersistentStore(
    _ store: NSPersistentStore, to storeURL: URL, options: [AnyHashable: Any]? = nil,
    type storeType: NSPersistentStore.StoreType
  ) throws -> NSPersistentStore {
    try migratePersistentStore(store, to: storeURL, options: options, withType: storeType.rawValue)
  }

  /// A copy of a store, opened, with all objects' IDs. It takes the place of what is there. A store of the same class
  /// keeps its keys.
  ///
  /// A store of this coordinator may have the new place open. It is closed when the copy needs the file, at the latest
  /// at the end: while the copy may still fail, the program keeps the store that it had.
  private func copy(
    _ old: any ObjectStore, to opening: StoreOpening, _ kind: any PlacedStore.Type
  ) throws -> (store: any ObjectStore, ids: [RenamedID]) {
    var opening = opening
    let place = opening.url
    func closeReplaced() throws { if let place { try removeStores(at: place) } }
    opening.others.removeAll { place?.isSamePlace(as: $0.url) ?? false }
    let copied = try fill(from: old, to: opening, as: kind, closing: closeReplaced)
    try closeReplaced()
    return copied
  }

  /// Copies with the class's own method, if both stores are of one class and it has one; otherwise row by row.
  private func fill(
    from old: any ObjectStore, to opening: StoreOpening, as kind: any PlacedStore.Type, closing: () throws -> Void
  ) throws -> (store: any ObjectStore, ids: [RenamedID]) {
    if kind == Swift.type(of: old), let new = try (old as? any PlacedStore)?.copy(to: opening) {
      return (new, try renamedIDs(from: old, to: new))
    }
    let new = try kind.openReplacing(opening, closing: closing)
    do {
      var copy = StoreCopy(old, to: new)
      try copy.run()
      return (new, copy.renamedIDs)
    } catch {
      new.close(beside: objectStores)
      throw error
    }
  }

  /// An object's ID in the original and in the copy, for the notification.
  private typealias RenamedID = (old: NSManagedObjectID, new: NSManagedObjectID)

  /// The IDs of all objects of a copy that kept the keys: only the store's part of them differs. Each hierarchy of
  /// entities is asked once, by its root.
  private func renamedIDs(from old: any ObjectStore, to new: any ObjectStore) throws -> [RenamedID] {
    var ids: [RenamedID] = []
    for case let root? in new.storedEntities.byNumber where !(root.entity.superentity.map(new.holds) ?? false) {
      try new.fetch(RowFetch(entityName: root.layout.name, includesValues: false)) { storedEntity, key, _ in
        guard let before = old.storedEntities.byName[storedEntity.layout.name] else { return }
        ids.append(
          (NSManagedObjectID(storedEntity: before, key: key), NSManagedObjectID(storedEntity: storedEntity, key: key)))
      }
    }
    return ids
  }

  /// Apple's method to move a store, which is not possible while it is open: it moves no file here.
  ///
  /// Use `migratePersistentStore(_:to:options:type:)` to move the content, or remove the store, move its file and the
  /// files beside it, and add it again.
  ///
  /// - Parameters:
  ///   - url: the place where the store should be.
  ///   - store: a store of this coordinator.
  /// - Returns: true only if the store is at the place already.
  public final func setURL(_ url: URL, for store: NSPersistentStore) -> Bool {
    url.isSamePlace(as: store.url)
  }
}

/// Store files as a whole: destroyed, replaced, copied.
extension NSPersistentStoreCoordinator {
  // MARK: Destroying

  /// Empties a store's file and removes the files beside it. The file itself stays, with nothing in it, and others that
  /// have it open find an empty database. If it is open in this coordinator, it is removed from it first and may be
  /// added again.
  ///
  /// ```swift
  /// try coordinator.destroyPersistentStore(at: url, type: .sqlite)
  /// try coordinator.addPersistentStore(type: .sqlite, at: url)
  /// ```
  ///
  /// Waits for a running writer; throws 134090 after `NSPersistentStoreTimeoutOption`. Without a file, a SQLite store
  /// gets an empty one, and nothing else happens. Stores in the same file under another
  /// `NSPersistentStoreTablePrefixOption` are destroyed too. Removing the file of an open store by other means, as with
  /// `FileManager`, leaves its processes with a file that nobody else sees.
  ///
  /// Source: https://www.sqlite.org/howtocorrupt.html on removing a database that is open.
  public final func destroyPersistentStore(
    at url: URL, ofType storeType: String, options: [AnyHashable: Any]? = nil
  ) throws {
    try Self.storeClass(storeType).destroy(at: url, options) { try removeStores(at: url) }
  }

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

  /// Replaces a store by a copy of another one, with the same UUID, in place: others that have it open find the new
  /// content. Creates the file if it is missing. Does nothing if both places are the same.
  ///
  /// ```swift
  /// let backup = url.deletingLastPathComponent().appendingPathComponent("backup.sqlite")
  /// try coordinator.replacePersistentStore(at: backup, withPersistentStoreFrom: url, type: .sqlite)  // backs up
  /// ```
  ///
  /// Programs use it to back up and to restore. Contexts are not told: reset those of a store that was replaced. A
  /// store at a PostgreSQL server refuses it with 134070.
  ///
  /// - Throws: 134000 for an unknown type, 134080 if the source cannot be opened or holds no store, 134090 if one of
  ///   the files stays locked.
  public final func replacePersistentStore(
    at destinationURL: URL, destinationOptions: [AnyHashable: Any]? = nil, withPersistentStoreFrom sourceURL: URL,
    sourceOptions: [AnyHashable: Any]? = nil, ofType storeType: String
  ) throws {
    let kind = try Self.storeClass(storeType)
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
  /// The copy has a UUID of its own, so all its objects have new IDs: `NSPersistentStoreCoordinatorStoresDidChange`
  /// lists them. Reset the contexts. History is not copied. A store at the new place is replaced; if this coordinator
  /// has it open, it is removed from it. A binary or XML file there is replaced in one step, once the copy is complete;
  /// a file of another type may be empty or incomplete after an error.
  ///
  /// Throws 134070 for another coordinator's store and for its own place.
  ///
  /// ```swift
  /// if let store = coordinator.persistentStore(for: url) {
  ///   let copy = url.deletingPathExtension().appendingPathExtension("xml")
  ///   try coordinator.migratePersistentStore(store, to: copy, type: .xml)
  /// }
  /// ```
  ///
  /// It also changes the type of a store. Between SQLite files the pages are copied and keys stay; between other types
  /// each object is read and written.
  @discardableResult
  public final func migratePersistentStore(
    _ store: NSPersistentStore, to storeURL: URL, options: [AnyHashable: Any]? = nil, withType storeType: String
  ) throws -> NSPersistentStore {
    let kind = try Self.storeClass(storeType)
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

  private typealias RenamedID = (old: NSManagedObjectID, new: NSManagedObjectID)

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

  /// Apple's method to move a store, which is not possible while it is open. True only if it is at the place already.
  public final func setURL(_ url: URL, for store: NSPersistentStore) -> Bool {
    url.isSamePlace(as: store.url)
  }
}

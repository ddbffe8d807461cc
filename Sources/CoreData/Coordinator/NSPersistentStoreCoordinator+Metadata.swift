/// The metadata of stores.
extension NSPersistentStoreCoordinator {
  /// The metadata of a store, with its UUID (`NSStoreUUIDKey`), its type and its model's version hashes. Empty before
  /// the store is open. It reads no file: changes of other processes show after `NSPersistentStore.loadMetadata()`.
  ///
  /// ```swift
  /// if let store = coordinator.persistentStores.first {
  ///   print(coordinator.metadata(for: store)[NSStoreUUIDKey] as? String ?? "")
  /// }
  /// ```
  ///
  /// Metadata suits a few values about the store as a whole, such as the time of the last import. It is read and
  /// written as one property list; anything that grows belongs in objects. Any thread.
  ///
  /// - Parameter store: an open store of this coordinator.
  ///
  /// Source: Apple's documentation of `metadata(for:)`.
  public final func metadata(for store: NSPersistentStore) -> [String: Any] { store.metadata ?? [:] }

  /// Replaces an open store's metadata; version hashes, type and UUID stay. The next save to the store writes it, also
  /// one without changes.
  ///
  /// ```swift
  /// if let store = coordinator.persistentStores.first {
  ///   var metadata = coordinator.metadata(for: store)
  ///   metadata["LastImport"] = Date()
  ///   coordinator.setMetadata(metadata, for: store)
  ///   try context.save()
  /// }
  /// ```
  ///
  /// Values must be those of a property list: strings, numbers, dates, data, arrays and dictionaries of these. Keys
  /// that begin with "NSStore", "NSPersistence" or "_NS" belong to the store.
  ///
  /// It replaces all of the program's entries: begin with `metadata(for:)`, as the example does, to keep the others.
  /// The metadata is part of the save's transaction, so it is stored exactly if the objects of that save are. Two
  /// processes that set it do not conflict: the last save wins, with the entries that its process knew. A program that
  /// ends before a save loses what it set. Any thread.
  ///
  /// - Parameters:
  ///   - metadata: the new entries; nil removes the program's.
  ///   - store: an open store of this coordinator, not a read-only one, whose metadata no save writes.
  ///
  /// Source: Apple's documentation of `setMetadata(_:for:)`.
  public final func setMetadata(_ metadata: [String: Any]?, for store: NSPersistentStore) {
    lock.withLock { store.metadata = NSPersistentStore.merging(metadata ?? [:], into: store.metadata ?? [:]) }
  }

  /// Reads the metadata of a store's file without a model.
  ///
  /// ```swift
  /// let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url)
  /// print(model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
  /// ```
  ///
  /// That tells whether opening the store would need a migration: a program can warn before one that takes long, make a
  /// backup, or refuse. Another process may change the file between this call and the opening.
  ///
  /// A SQLite file and its log are read by a connection of its own, which costs about as much as opening the file does;
  /// a binary or XML file is read as a whole. The file is not changed. Any thread.
  ///
  /// - Parameters:
  ///   - storeType: the type of the store.
  ///   - url: the place of the store.
  ///   - options: the options that the store was opened with, such as its table prefix.
  /// - Returns: the metadata, with the UUID under `NSStoreUUIDKey` and the hashes under `NSStoreModelVersionHashesKey`.
  /// - Throws: 134080 if the file cannot be opened or holds no store, 134010 if it is of another type, 134000 for an
  ///   unknown type, 134070 for a store in memory.
  ///
  /// Source: Apple's documentation of `metadataForPersistentStore(ofType:at:options:)`.
  public class func metadataForPersistentStore(
    ofType storeType: String, at url: URL, options: [AnyHashable: Any]? = nil
  ) throws -> [String: Any] {
    try storeClass(storeType, at: url).metadata(at: url, options)
  }

  /// The metadata in a store's file, in the spelling of newer code: see
  /// `metadataForPersistentStore(ofType:at:options:)`.
  public class func metadataForPersistentStore(
    type: NSPersistentStore.StoreType, at url: URL, options: [AnyHashable: Any]? = nil
  ) throws -> [String: Any] {
    try metadataForPersistentStore(ofType: type.rawValue, at: url, options: options)
  }

  /// Replaces the metadata in a store's file at once, except for what the store itself needs. No model is needed.
  ///
  /// ```swift
  /// var metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url)
  /// metadata["Origin"] = "restored from a backup"
  /// try NSPersistentStoreCoordinator.setMetadata(metadata, type: .sqlite, at: url)
  /// ```
  ///
  /// Use it for tools, on files that no coordinator has open: coordinators that have the store open keep the metadata
  /// that they have read, and write it back when they change their own. For an open store use the coordinator's
  /// `setMetadata(_:for:)`.
  ///
  /// It is one transaction for a SQLite file, and rewrites a binary or XML file. Any thread.
  ///
  /// - Parameters:
  ///   - metadata: the new entries; nil removes the program's.
  ///   - storeType: the type of the store.
  ///   - url: the place of the store.
  ///   - options: the options that the store was opened with, such as its table prefix.
  /// - Throws: as `metadataForPersistentStore(ofType:at:options:)` does, and 134090 if the file stays locked.
  ///
  /// Source: Apple's documentation of `setMetadata(_:forPersistentStoreOfType:at:options:)`.
  public class func setMetadata(
    _ metadata: [String: Any]?, forPersistentStoreOfType storeType: String, at url: URL,
    options: [AnyHashable: Any]? = nil
  ) throws {
    try storeClass(storeType, at: url).setMetadata(metadata ?? [:], at: url, options)
  }

  /// Replaces the metadata in a store's file, in the spelling of newer code: see
  /// `setMetadata(_:forPersistentStoreOfType:at:options:)`.
  public class func setMetadata(
    _ metadata: [String: Any]?, type: NSPersistentStore.StoreType, at url: URL, options: [AnyHashable: Any]? = nil
  ) throws {
    try setMetadata(metadata, forPersistentStoreOfType: type.rawValue, at: url, options: options)
  }

  /// The model that a store keeps in its file: that of the coordinator that created or migrated it last. With it a
  /// program can open a store of which it has only the file.
  ///
  /// ```swift
  /// let model = try NSPersistentStoreCoordinator.cachedModelForPersistentStore(at: url)
  /// let container = NSPersistentContainer(name: "Unknown", managedObjectModel: model)
  /// print(container.managedObjectModel.entities.compactMap(\.name))
  /// ```
  ///
  /// Use it for tools that show or convert any store, such as the pool's commands. A program with a model of its own
  /// opens the store with that: the copy may be older, and names classes that this program need not have.
  ///
  /// The model may be changed until a coordinator uses it. Apple's framework keeps this method to itself. Only SQLite
  /// stores keep their model, and not those of frameworks before 2015.
  ///
  /// It reads and decodes one row of the file. Any thread.
  ///
  /// - Parameters:
  ///   - url: the place of a SQLite store.
  ///   - options: the options that the store was opened with, such as its table prefix.
  /// - Returns: a model of its own for each call.
  /// - Throws: 134080 if the file cannot be opened, holds no store or keeps no model; 134010 if it is no SQLite file;
  ///   134020 if what it keeps is damaged or is not the model of its content; 134000 for a server's URL.
  public class func cachedModelForPersistentStore(
    at url: URL, options: [AnyHashable: Any]? = nil
  ) throws -> NSManagedObjectModel {
    guard let model = try storeClass(NSSQLiteStoreType, at: url).keptModel(at: url, options) else {
      throw CoreDataErrors.error(
        .persistentStoreOpen, "\(url.path) keeps no copy of its model: open it with the model's file.")
    }
    return model
  }
}

/// Brings a model and stores together: contexts fetch and save through it, several at once.
///
/// Source: Apple's documentation of `NSPersistentStoreCoordinator`.
///
/// `@unchecked Sendable`: the stores are changed under `lock`; stores and their databases do their own locking.
open class NSPersistentStoreCoordinator: NSObject, @unchecked Sendable {
  public let managedObjectModel: NSManagedObjectModel
  open var name: String?
  private let lock = NSRecursiveLock()
  private var stores: [NSPersistentStore] = []
  /// Stores that were removed: objects and IDs may still refer to their entities.
  private var removedStores: [NSPersistentStore] = []
  private var databases: [String: SQLiteDatabase] = [:]
  private let queue = DispatchQueue(label: "NSPersistentStoreCoordinator")

  /// - Parameter model: cannot be changed any more from now on.
  public init(managedObjectModel model: NSManagedObjectModel) {
    managedObjectModel = model
    super.init()
    model.freeze()
    LoadedModels.add(model)
    NSPersistentHistoryToken.register()
  }

  deinit {
    for database in databases.values { database.close() }
  }

  // MARK: Stores

  open var persistentStores: [NSPersistentStore] { lock.withLock { stores } }

  open func persistentStore(for url: URL) -> NSPersistentStore? {
    persistentStores.first { $0.url == url || $0.url?.standardizedFileURL == url.standardizedFileURL }
  }

  open func url(for store: NSPersistentStore) -> URL { store.url ?? URL(fileURLWithPath: "/dev/null") }

  /// Opens a store, or makes a new one where there is no file.
  ///
  /// Throws 134000 for an unknown type, 134080 where the file cannot be opened, 134100 where it was made with another model.
  @discardableResult
  open func addPersistentStore(
    ofType storeType: String, configurationName configuration: String?, at storeURL: URL?,
    options: [AnyHashable: Any]? = nil
  ) throws -> NSPersistentStore {
    guard storeType == NSSQLiteStoreType || storeType == NSInMemoryStoreType else {
      throw CoreDataErrors.error(
        .persistentStoreInvalidType,
        "There is no store type \(storeType) here; use \(NSSQLiteStoreType) or \(NSInMemoryStoreType).")
    }
    let entities: [NSEntityDescription]
    if let configuration {
      guard let named = managedObjectModel.entities(forConfigurationName: configuration) else {
        throw CoreDataErrors.error(.persistentStoreOpen, "The model has no configuration named \"\(configuration)\".")
      }
      entities = named
    } else {
      entities = managedObjectModel.entities
    }
    return try lock.withLock {
      let isInMemory = storeType == NSInMemoryStoreType || storeURL?.path == "/dev/null"
      if let storeURL, !isInMemory {
        let prefix = options?[NSPersistentStoreTablePrefixOption] as? String ?? "Z"
        let isOpen = stores.contains {
          $0.url?.standardizedFileURL == storeURL.standardizedFileURL && ($0 as? SQLiteStore)?.schema.prefix == prefix
        }
        if isOpen { throw CoreDataErrors.error(.persistentStoreOpen, "The store at \(storeURL.path) is open already.") }
      }
      let store = try CoreDataErrors.translating("Opening \(storeURL?.path ?? "a store in memory")") {
        let database = try database(for: storeURL, isInMemory: isInMemory, options)
        let opened = try SQLiteStore.open(
          database, model: managedObjectModel, entities: entities, options: options, type: storeType)
        return SQLiteStore(
          opened, entities: entities, coordinator: self, configurationName: configuration, url: storeURL,
          options: options,
          type: storeType)
      }
      stores.append(store)
      return store
    }
  }

  /// Opens a store, in the spelling of newer code.
  @discardableResult
  open func addPersistentStore(
    type: NSPersistentStore.StoreType, configuration: String? = nil, at storeURL: URL,
    options: [AnyHashable: Any]? = nil
  ) throws -> NSPersistentStore {
    try addPersistentStore(ofType: type.rawValue, configurationName: configuration, at: storeURL, options: options)
  }

  /// Opens the store that a description describes. The handler is called before this returns, or later on another thread if the
  /// description says so.
  open func addPersistentStore(
    with storeDescription: NSPersistentStoreDescription,
    completionHandler block: @escaping @Sendable (NSPersistentStoreDescription, (any Error)?) -> Void
  ) {
    let add: @Sendable () -> Void = {
      do {
        try self.addPersistentStore(
          ofType: storeDescription.type, configurationName: storeDescription.configuration, at: storeDescription.url,
          options: storeDescription.options)
        block(storeDescription, nil)
      } catch {
        block(storeDescription, error)
      }
    }
    if storeDescription.shouldAddStoreAsynchronously { queue.async(execute: add) } else { add() }
  }

  /// Closes a store. Its objects cannot be read or saved any more.
  open func remove(_ store: NSPersistentStore) throws {
    try lock.withLock {
      guard let index = stores.firstIndex(where: { $0 === store }) else {
        throw CoreDataErrors.error(.persistentStoreOperation, "The store is not one of this coordinator.")
      }
      stores.remove(at: index)
      removedStores.append(store)
      store.persistentStoreCoordinator = nil
      store.family.reference.store = nil
      guard let database = (store as? SQLiteStore)?.database else { return }
      if !stores.contains(where: { ($0 as? SQLiteStore)?.database === database }) {
        databases = databases.filter { $0.value !== database }
        database.close()
      }
    }
  }

  /// The database of the file: stores on one file share it, and so one transaction.
  private func database(for url: URL?, isInMemory: Bool, _ options: [AnyHashable: Any]?) throws -> SQLiteDatabase {
    let path = url?.standardizedFileURL.path ?? ""
    let key = isInMemory ? "memory \(UUID().uuidString)" : path
    if let known = databases[key] { return known }
    let database = try SQLiteDatabase(
      SQLiteDatabase.Configuration(path: path, isInMemory: isInMemory, options: options))
    databases[key] = database
    return database
  }

  // MARK: Metadata

  open func metadata(for store: NSPersistentStore) -> [String: Any] { store.metadata ?? [:] }

  /// Adds to what the store says of itself; written at once.
  open func setMetadata(_ metadata: [String: Any]?, for store: NSPersistentStore) {
    guard let store = store as? SQLiteStore else { return }
    lock.withLock {
      var merged = metadata ?? [:]
      // What the store itself depends on stays as it is.
      for (key, value) in store.metadata
      where key.hasPrefix("NSStore") || key.hasPrefix("NSPersistence") || key.hasPrefix("_NS") {
        merged[key] = value
      }
      store.metadata = merged
      _ = try? store.database.write { try SQLiteStore.writeMetadata(merged, prefix: store.schema.prefix, $0) }
    }
  }

  /// What a store's file says of itself; needs no model.
  open class func metadataForPersistentStore(
    ofType storeType: String, at url: URL, options: [AnyHashable: Any]? = nil
  ) throws -> [String: Any] {
    try CoreDataErrors.translating("Reading the metadata of \(url.path)") {
      let connection = try SQLiteConnection(path: url.path, access: .readWrite)
      return try SQLiteStore.readMetadata(options?[NSPersistentStoreTablePrefixOption] as? String ?? "Z", connection).1
    }
  }

  open class func metadataForPersistentStore(
    type: NSPersistentStore.StoreType, at url: URL, options: [AnyHashable: Any]? = nil
  ) throws -> [String: Any] {
    try metadataForPersistentStore(ofType: type.rawValue, at: url, options: options)
  }

  /// Removes a store's files, the write-ahead log among them.
  open func destroyPersistentStore(at url: URL, ofType storeType: String, options: [AnyHashable: Any]? = nil) throws {
    for suffix in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: url.path + suffix) {
      try FileManager.default.removeItem(atPath: url.path + suffix)
    }
  }

  open func destroyPersistentStore(
    at url: URL, type: NSPersistentStore.StoreType, options: [AnyHashable: Any]? = nil
  ) throws {
    try destroyPersistentStore(at: url, ofType: type.rawValue, options: options)
  }

  // MARK: IDs

  /// The ID that a URI names; nil where its store is not open here or has no such entity. Whether there is a row is not checked.
  open func managedObjectID(forURIRepresentation url: URL) -> NSManagedObjectID? {
    objectID(forURI: url.absoluteString)
  }

  /// The ID that the text of a URI names, without the cost of a URL.
  public final func objectID(forURI text: String) -> NSManagedObjectID? {
    guard let uri = ObjectURI(text),
      let store = persistentStores.first(where: { $0.identifier == uri.storeIdentifier }),
      let home = store.family.homesByName[uri.entityName]
    else { return nil }
    return NSManagedObjectID(home: home, key: uri.key)
  }

  // MARK: Queue

  open func perform(_ block: @escaping @Sendable () -> Void) { queue.async(execute: block) }

  open func performAndWait<T>(_ block: () throws -> T) rethrows -> T { try queue.sync(execute: block) }
}

extension SQLiteDatabase.Configuration {
  /// What a store's options say about its connections.
  init(path: String, isInMemory: Bool, options: [AnyHashable: Any]?) {
    self.init(path: path)
    self.isInMemory = isInMemory
    isReadOnly = (options?[NSReadOnlyPersistentStoreOption] as? NSNumber)?.boolValue ?? false
    if let timeout = options?[NSPersistentStoreTimeoutOption] as? NSNumber { busyTimeout = timeout.doubleValue }
    if let readers = options?[NSPersistentStoreConnectionPoolMaxSizeKey] as? NSNumber {
      maximumReaders = max(1, readers.intValue)
    }
    writeTurnPath = options?[NSPersistentStoreWriteTurnOption] as? String
    // Safe against the death of processes in WAL mode, and no fsync at each commit: https://www.sqlite.org/pragma.html
    var pragmas = ["synchronous": "NORMAL"]
    for (key, value) in options?[NSSQLitePragmasOption] as? [String: Any] ?? [:] { pragmas[key] = "\(value)" }
    connectionPragmas = pragmas.sorted { $0.key < $1.key }.filter { $0.key.isPragmaWord && $0.value.isPragmaWord }
      .map { "PRAGMA \($0.key) = \($0.value)" }
  }
}

extension String {
  /// A name or number that may stand in a PRAGMA as it is.
  fileprivate var isPragmaWord: Bool { !isEmpty && allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "-" } }
}

/// Brings a model and stores together: contexts fetch and save through it, several at once.
///
/// Source: Apple's documentation of `NSPersistentStoreCoordinator`.
///
/// `@unchecked Sendable`: the stores are changed under `lock`; stores and their databases do their own locking.
open class NSPersistentStoreCoordinator: NSObject, @unchecked Sendable {
  public let managedObjectModel: NSManagedObjectModel
  open var name: String?
  final let lock = NSRecursiveLock()
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
    queue.setSpecific(key: Self.queueKey, value: ObjectIdentifier(self))
  }

  deinit {
    for case let store as SQLiteStore in stores { store.stopPostingRemoteChanges() }
    for database in databases.values { database.giveUp() }
  }

  // MARK: Stores

  open var persistentStores: [NSPersistentStore] { lock.withLock { stores } }

  open func persistentStore(for url: URL) -> NSPersistentStore? {
    persistentStores.first { $0.url == url || $0.url?.standardizedFileURL == url.standardizedFileURL }
  }

  open func url(for store: NSPersistentStore) -> URL { store.url ?? URL(fileURLWithPath: "/dev/null") }

  /// Opens a store, or makes a new one where there is no file.
  ///
  /// Throws 134000 for an unknown type, 134080 where the file cannot be opened, 134100 where it was made with another model and
  /// the options do not ask for a migration, or what that throws.
  @discardableResult
  open func addPersistentStore(
    ofType storeType: String, configurationName configuration: String?, at storeURL: URL?,
    options: [AnyHashable: Any]? = nil
  ) throws -> NSPersistentStore {
    try Self.checkType(storeType)
    // A wrong name makes no file.
    _ = try entities(configuration)
    let isInMemory = storeType == NSInMemoryStoreType || storeURL.map(SharedMemoryDatabases.isInMemory) ?? false
    let store = try lock.withLock {
      if let storeURL, !isInMemory {
        let prefix = StoreMetadata.prefix(options)
        let isOpen = stores.contains {
          $0.url?.standardizedFileURL == storeURL.standardizedFileURL && ($0 as? SQLiteStore)?.schema.prefix == prefix
        }
        if isOpen { throw CoreDataErrors.error(.persistentStoreOpen, "The store at \(storeURL.path) is open already.") }
      }
      return try CoreDataErrors.translating("Opening \(storeURL?.path ?? "a store in memory")") {
        let (database, key) = try database(for: storeURL, isInMemory: isInMemory, options)
        return try add(
          database, key: key, type: storeType, configuration: configuration, at: storeURL, options: options)
      }
    }
    NotificationCenter.default.post(
      name: .NSPersistentStoreCoordinatorStoresDidChange, object: self,
      userInfo: [NSAddedPersistentStoresKey: [store]])
    return store
  }

  /// Opens a store in a database that becomes one of this coordinator's if it succeeds.
  final func add(
    _ database: SQLiteDatabase, key: String, type: String, configuration: String?, at url: URL?,
    options: [AnyHashable: Any]?
  ) throws -> SQLiteStore {
    try lock.withLock {
      do {
        let entities = try entities(configuration)
        let opened = try SQLiteStore.open(
          database, model: managedObjectModel, entities: entities, options: options, type: type)
        let store = SQLiteStore(
          opened, entities: entities, coordinator: self, configurationName: configuration, url: url, options: options,
          type: type)
        try store.startPostingRemoteChanges()
        databases[key] = database
        stores.append(store)
        store.didAdd(to: self)
        return store
      } catch {
        if databases[key] == nil { database.giveUp() }
        throw error
      }
    }
  }

  private func entities(_ configuration: String?) throws -> [NSEntityDescription] {
    guard let configuration, configuration != NSPersistentStore.defaultConfigurationName else {
      return managedObjectModel.entities
    }
    guard let named = managedObjectModel.entities(forConfigurationName: configuration) else {
      throw CoreDataErrors.error(.persistentStoreOpen, "The model has no configuration named \"\(configuration)\".")
    }
    return named
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
          options: storeDescription.allOptions)
        block(storeDescription, nil)
      } catch {
        block(storeDescription, error)
      }
    }
    if storeDescription.shouldAddStoreAsynchronously { queue.async(execute: add) } else { add() }
  }

  /// Closes a store. Its objects cannot be read or saved any more.
  open func remove(_ store: NSPersistentStore) throws {
    guard persistentStores.contains(where: { $0 === store }) else {
      throw CoreDataErrors.error(.persistentStoreOperation, "The store is not one of this coordinator.")
    }
    let info = [NSRemovedPersistentStoresKey: [store]]
    let center = NotificationCenter.default
    center.post(name: .NSPersistentStoreCoordinatorWillRemoveStore, object: self, userInfo: info)
    store.willRemove(from: self)
    (store as? SQLiteStore)?.stopPostingRemoteChanges()
    lock.withLock {
      guard let index = stores.firstIndex(where: { $0 === store }) else { return }
      stores.remove(at: index)
      removedStores.append(store)
      store.persistentStoreCoordinator = nil
      store.family.reference.store = nil
      guard let database = (store as? SQLiteStore)?.database else { return }
      if !stores.contains(where: { ($0 as? SQLiteStore)?.database === database }) {
        databases = databases.filter { $0.value !== database }
        database.giveUp()
      }
    }
    center.post(name: .NSPersistentStoreCoordinatorStoresDidChange, object: self, userInfo: info)
  }

  /// Makes the SQL statements that run now for this coordinator fail, from any thread: a fetch throws, a save is rolled back and
  /// throws. Not one of Apple's methods.
  public final func interruptStatements() {
    lock.withLock { Array(databases.values) }.forEach { $0.interrupt() }
  }

  /// The database of the file, and what it is known by here: stores on one file share it, and so one transaction.
  private func database(
    for url: URL?, isInMemory: Bool, _ options: [AnyHashable: Any]?
  ) throws -> (SQLiteDatabase, String) {
    let path = url?.standardizedFileURL.path ?? ""
    let name = isInMemory ? url.flatMap(SharedMemoryDatabases.name) : nil
    let key = isInMemory ? "memory \(name ?? UUID().uuidString)" : path
    if let known = databases[key] { return (known, key) }
    func make() throws -> SQLiteDatabase {
      var configuration = SQLiteDatabase.Configuration(path: path, isInMemory: isInMemory, options: options)
      configuration.sharedName = name
      return try SQLiteDatabase(configuration)
    }
    return (try name.map { try SharedMemoryDatabases.database(named: $0, make) } ?? make(), key)
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

  /// Runs the block on the coordinator's queue and waits for it; inline where the caller is on the queue already.
  open func performAndWait<T>(_ block: () throws -> T) rethrows -> T {
    if DispatchQueue.getSpecific(key: Self.queueKey) == ObjectIdentifier(self) { return try block() }
    return try queue.sync(execute: block)
  }

  /// Runs the block on the coordinator's queue and returns what it returns.
  public final func perform<T: Sendable, Failure: Error>(
    _ block: @escaping @Sendable () throws(Failure) -> T
  ) async throws(Failure) -> T {
    let result: Result<T, Failure> = await withCheckedContinuation { continuation in
      queue.async { continuation.resume(returning: Result(catching: block)) }
    }
    return try result.get()
  }

  /// Tells a coordinator's queue from others'.
  private static let queueKey = DispatchSpecificKey<ObjectIdentifier>()

  // MARK: Kinds of stores

  /// The kinds of stores that can be opened, with their classes.
  public class var registeredStoreTypes: [String: NSPersistentStore.Type] {
    [NSSQLiteStoreType: SQLiteStore.self, NSInMemoryStoreType: SQLiteStore.self]
  }

  /// Stores of one's own classes are not supported: adding one of this type throws 134000.
  public class func registerStoreClass(_ storeClass: AnyClass?, forStoreType storeType: String) {}

  /// Migrations are never put off, so there is nothing to be done.
  public final func finishDeferredLightweightMigration() throws {}

  /// Migrations are never put off, so there is nothing to be done.
  public final func finishDeferredLightweightMigrationTask() throws {}
}

extension SQLiteDatabase.Configuration {
  /// What a store's options say about its connections.
  init(path: String, isInMemory: Bool, options: [AnyHashable: Any]?) {
    self.init(path: path)
    self.isInMemory = isInMemory
    isReadOnly = (options?[NSReadOnlyPersistentStoreOption] as? NSNumber)?.boolValue ?? false
    busyTimeout = Self.busyTimeout(options)
    if let readers = options?[NSPersistentStoreConnectionPoolMaxSizeKey] as? NSNumber {
      maximumReaders = max(1, readers.intValue)
    }
    mustExist = (options?[NSPersistentStoreMustExistOption] as? NSNumber)?.boolValue ?? false
    writeTurnPath = options?[NSPersistentStoreWriteTurnOption] as? String
    // Safe against the death of processes in WAL mode, and no fsync at each commit: https://www.sqlite.org/pragma.html
    var pragmas = ["synchronous": "NORMAL"]
    for (key, value) in options?[NSSQLitePragmasOption] as? [String: Any] ?? [:] { pragmas[key] = "\(value)" }
    connectionPragmas = pragmas.sorted { $0.key < $1.key }.filter { $0.key.isPragmaWord && $0.value.isPragmaWord }
      .map { "PRAGMA \($0.key) = \($0.value)" }
  }

  /// Seconds to wait for another's lock.
  static func busyTimeout(_ options: [AnyHashable: Any]?) -> TimeInterval {
    (options?[NSPersistentStoreTimeoutOption] as? NSNumber)?.doubleValue ?? 30
  }
}

extension String {
  /// A name or number that may stand in a PRAGMA as it is.
  fileprivate var isPragmaWord: Bool { !isEmpty && allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "-" } }
}

package import ObjectIdentity

/// Connects a model with stores. Several contexts fetch and save through it at the same time, on any threads.
///
/// Source: Apple's documentation of `NSPersistentStoreCoordinator`.
///
/// `@unchecked Sendable`: `lock` protects the list of stores; stores and their databases do their own locking.
open class NSPersistentStoreCoordinator: NSObject, @unchecked Sendable {
  /// The model of all stores; each holds the entities of its configuration.
  public let managedObjectModel: NSManagedObjectModel
  /// A name for messages and debugging. Set it before other threads use the coordinator. Default: nil.
  open var name: String?
  final let lock = NSRecursiveLock()
  private var stores: [any ObjectStore] = []
  /// Removed stores, since objects and IDs may still refer to their entities.
  private var removedStores: [any ObjectStore] = []
  private let queue = DispatchQueue(label: "NSPersistentStoreCoordinator")

  /// A coordinator without stores.
  ///
  /// - Parameter model: the model of all its stores. It cannot be changed from now on.
  public required init(managedObjectModel model: NSManagedObjectModel) {
    managedObjectModel = model
    super.init()
    RuntimeAssumptions.check()
    model.freeze()
    LoadedModels.add(model)
    NSPersistentHistoryToken.register()
    queue.setSpecific(key: Self.queueKey, value: ObjectIdentifier(self))
  }

  /// A coordinator of a model without entities.
  public override convenience init() { self.init(managedObjectModel: NSManagedObjectModel()) }

  deinit {
    for (index, store) in stores.enumerated() {
      (store as? any HistoryStore)?.stopPostingRemoteChanges()
      store.close(beside: Array(stores[(index + 1)...]))
    }
  }

  // MARK: Stores

  /// The stores that are open, in the order in which they were added. May be read on any thread.
  open var persistentStores: [NSPersistentStore] { objectStores }

  final var objectStores: [any ObjectStore] { lock.withLock { stores } }

  /// This coordinator's stores among the given ones; all for nil.
  final func objectStores(among wanted: [NSPersistentStore]?) -> [any ObjectStore] {
    guard let wanted else { return objectStores }
    let all = objectStores
    return wanted.compactMap { store in all.first { $0 === store } }
  }

  /// The open store at a URL; nil if there is none.
  open func persistentStore(for url: URL) -> NSPersistentStore? {
    persistentStores.first { $0.url == url } ?? persistentStores.first { url.isSamePlace(as: $0.url) }
  }

  /// Where a store is; `file:///dev/null` for one that was opened without a URL.
  open func url(for store: NSPersistentStore) -> URL { store.url ?? URL(fileURLWithPath: "/dev/null") }

  /// Opens a store, or creates one if there is none.
  ///
  /// `NSPersistentStoreCoordinatorStoresDidChange` is posted on the caller's thread.
  ///
  /// - Throws: 134000 for an unknown type; 134080 if the file cannot be opened; 134100 if it was made with another
  ///   model and no migration is asked for; the errors of a migration.
  @discardableResult
  open func addPersistentStore(
    ofType storeType: String, configurationName configuration: String?, at storeURL: URL?,
    options: [AnyHashable: Any]? = nil
  ) throws -> NSPersistentStore {
    try addPersistentStore(
      ofType: storeType, configurationName: configuration, at: storeURL, options: options,
      allowing: AllowedMigration(options))
  }

  /// Opens a store, or creates one if there is none.
  ///
  /// - Parameter migration: what may be done with a store of another model, whatever the options say.
  package final func addPersistentStore(
    ofType storeType: String, configurationName configuration: String?, at storeURL: URL?,
    options: [AnyHashable: Any]? = nil, allowing migration: AllowedMigration
  ) throws -> NSPersistentStore {
    let kind = try Self.storeClass(storeType, at: storeURL)
    let store = try lock.withLock {
      try migrateBeforeOpening(storeType, configuration, storeURL, options, migration)
      return try adopt(kind.open(opening(storeType, configuration, storeURL, options, allowing: migration)))
    }
    NotificationCenter.default.post(
      name: .NSPersistentStoreCoordinatorStoresDidChange, object: self,
      userInfo: [NSAddedPersistentStoresKey: [store]])
    return store
  }

  final func opening(
    _ type: String, _ configuration: String?, _ url: URL?, _ options: [AnyHashable: Any]?,
    allowing migration: AllowedMigration? = nil
  ) throws -> StoreOpening {
    StoreOpening(
      type: type, url: url, options: options, configurationName: configuration, model: managedObjectModel,
      entities: try entities(type, configuration, url, options), others: objectStores, migration: migration,
      coordinator: self)
  }

  /// Adds an opened store to this coordinator.
  final func adopt(_ store: any ObjectStore) throws -> NSPersistentStore {
    try lock.withLock {
      store.persistentStoreCoordinator = self
      do {
        try (store as? any HistoryStore)?.startPostingRemoteChanges()
      } catch {
        store.close(beside: stores)
        throw error
      }
      stores.append(store)
      store.didAdd(to: self)
      return store
    }
  }

  /// The entities of a store: those of the configuration, and the ones below them that its file already has.
  private func entities(
    _ type: String, _ configuration: String?, _ url: URL?, _ options: [AnyHashable: Any]?
  ) throws -> [NSEntityDescription] {
    guard let configuration, configuration != NSPersistentStore.defaultConfigurationName else {
      return managedObjectModel.entities
    }
    guard let named = managedObjectModel.entities(forConfigurationName: configuration) else {
      throw CoreDataErrors.error(.persistentStoreOpen, "The model has no configuration named \"\(configuration)\".")
    }
    let below = managedObjectModel.entities.filter { entity in
      !named.contains { $0 === entity } && named.contains { entity.isKindOf(entity: $0) }
    }
    guard !below.isEmpty, let url, !url.isInMemoryStore,
      let metadata = try? Self.storeClass(type).metadata(at: url, options),
      let hashes = metadata[NSStoreModelVersionHashesKey] as? [String: Data]
    else { return named }
    return named + below.filter { hashes[$0.name ?? ""] != nil }
  }

  /// Opens a store, in the spelling of newer code. Throws as `addPersistentStore(ofType:configurationName:at:options:)`
  /// does.
  @discardableResult
  open func addPersistentStore(
    type: NSPersistentStore.StoreType, configuration: String? = nil, at storeURL: URL,
    options: [AnyHashable: Any]? = nil
  ) throws -> NSPersistentStore {
    try addPersistentStore(ofType: type.rawValue, configurationName: configuration, at: storeURL, options: options)
  }

  /// Opens the store of a description. The handler is called once, with the error if it failed: on this thread before
  /// this method returns, or later on the coordinator's queue if the description has `shouldAddStoreAsynchronously`.
  open func addPersistentStore(
    with storeDescription: NSPersistentStoreDescription,
    completionHandler block: @escaping (NSPersistentStoreDescription, (any Error)?) -> Void
  ) {
    // `nonisolated(unsafe)`: called once, and Apple's signature leaves it to the caller what the block captures.
    nonisolated(unsafe) let block = block
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

  /// Closes a store. Its objects can no longer be filled or saved. Throws 134070 for another coordinator's store.
  open func remove(_ store: NSPersistentStore) throws {
    guard let known = objectStores.first(where: { $0 === store }) else {
      throw CoreDataErrors.error(.persistentStoreOperation, "The store is not one of this coordinator.")
    }
    let info = [NSRemovedPersistentStoresKey: [store]]
    let center = NotificationCenter.default
    center.post(name: .NSPersistentStoreCoordinatorWillRemoveStore, object: store)
    store.willRemove(from: self)
    (known as? any HistoryStore)?.stopPostingRemoteChanges()
    lock.withLock {
      guard let index = stores.firstIndex(where: { $0 === store }) else { return }
      stores.remove(at: index)
      removedStores.append(known)
      known.persistentStoreCoordinator = nil
      known.storedEntities.reference.store = nil
      known.close(beside: stores)
    }
    center.post(name: .NSPersistentStoreCoordinatorStoresDidChange, object: self, userInfo: info)
  }

  /// Makes the stores' running statements fail, from any thread: a fetch throws, a save is rolled back and throws.
  /// Later ones are not affected. An addition to Apple's API.
  public final func interruptStatements() {
    for store in objectStores { (store as? any ConnectedStore)?.interrupt() }
  }

  /// Frees memory of the stores that holds what can be read again: for a process in a pause. From any thread.
  package final func releaseMemory() {
    for store in objectStores { (store as? any ConnectedStore)?.releaseMemory() }
  }

  // MARK: IDs

  /// The ID of a URI. Nil if its store is not open here or has no such entity; a missing row is not noticed.
  open func managedObjectID(forURIRepresentation url: URL) -> NSManagedObjectID? {
    objectID(forURI: url.absoluteString)
  }

  /// The ID for the text of a URI, without the cost of a URL.
  public final func objectID(forURI text: String) -> NSManagedObjectID? {
    ObjectURI(text).flatMap(objectID(for:)) ?? ObjectReferenceURI(text).flatMap(objectID(for:))
  }

  /// The ID of a URI; nil if its store is not open here or has no such entity.
  package final func objectID(for uri: ObjectURI) -> NSManagedObjectID? {
    guard let storedEntity = storedEntity(uri.entity, inStore: uri.store), storedEntity.storeReference?.names == nil
    else { return nil }
    return NSManagedObjectID(storedEntity: storedEntity, key: uri.key)
  }

  private func objectID(for uri: ObjectReferenceURI) -> NSManagedObjectID? {
    guard let storedEntity = storedEntity(uri.entity, inStore: uri.store),
      let key = storedEntity.storeReference?.names?.key(name: uri.name[...], storedEntity.number)
    else { return nil }
    return NSManagedObjectID(storedEntity: storedEntity, key: key)
  }

  private func storedEntity(_ entity: String, inStore identifier: String) -> StoredEntity? {
    objectStores.first { $0.identifier == identifier }?.storedEntities.byName[entity]
  }

  // MARK: Queue

  /// Runs the block on the coordinator's queue, later. Blocks run one after the other, in their order.
  open func perform(_ block: @escaping () -> Void) {
    // `nonisolated(unsafe)`: Apple's signature leaves it to the caller what the block captures.
    nonisolated(unsafe) let block = block
    queue.async { block() }
  }

  /// Runs the block on the coordinator's queue and waits for it; inline if the caller is on the queue.
  open func performAndWait(_ block: () -> Void) { runAndWait(block) }

  /// Runs the block on the coordinator's queue and waits for it; inline if the caller is on the queue.
  public final func performAndWait<T>(_ block: () throws -> T) rethrows -> T { try runAndWait(block) }

  private func runAndWait<T>(_ block: () throws -> T) rethrows -> T {
    if DispatchQueue.getSpecific(key: Self.queueKey) == ObjectIdentifier(self) { return try block() }
    return try queue.sync(execute: block)
  }

  /// Runs the block on the coordinator's queue and returns its result; throws the block's error with its type.
  nonisolated(nonsending) public final func perform<T, Failure: Error>(
    _ block: @escaping () throws(Failure) -> T
  ) async throws(Failure) -> T {
    // `nonisolated(unsafe)`: Apple's signature leaves it to the caller what the block captures.
    nonisolated(unsafe) let block = block
    let outcome: BlockOutcome<T, Failure> = await withCheckedContinuation { continuation in
      queue.async { continuation.resume(returning: BlockOutcome(block)) }
    }
    return try outcome.result.get()
  }

  /// Marks a coordinator's queue.
  private static let queueKey = DispatchSpecificKey<ObjectIdentifier>()

  // MARK: Migration

  /// Does what migrations of the open stores have left for later, each piece in a transaction of its own. Call it when
  /// the program has time, on any thread. Other processes may read and write meanwhile.
  ///
  /// - Throws: an error of the file. What is done stays done, and another call goes on.
  public final func finishDeferredLightweightMigration() throws {
    for store in deferringStores { while try store.finishDeferredMigrationTask() {} }
  }

  /// Does one piece of what migrations have left for later. While the metadata of a store have
  /// ``NSPersistentStoreDeferredLightweightMigrationOptionKey``, more is left.
  ///
  /// - Throws: an error of the file.
  public final func finishDeferredLightweightMigrationTask() throws {
    for store in deferringStores where try store.finishDeferredMigrationTask() { return }
  }

  private var deferringStores: [any DeferringStore] { objectStores.compactMap { $0 as? any DeferringStore } }
}

/// What a block returned or threw on a queue, on its way to the caller.
///
/// `@unchecked Sendable`: the queue makes it, and then only the caller uses it.
struct BlockOutcome<T, Failure: Error>: @unchecked Sendable {
  let result: Result<T, Failure>

  init(_ block: () throws(Failure) -> T) { result = Result(catching: block) }
}

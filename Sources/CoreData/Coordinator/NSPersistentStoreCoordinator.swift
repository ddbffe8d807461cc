package import ObjectIdentity

/// Connects a model with stores. Several contexts fetch and save through it at the same time, on any threads.
///
/// ```swift
/// let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
/// try coordinator.addPersistentStore(type: .sqlite, at: url)
/// let context = NSManagedObjectContext(.privateQueue)
/// context.persistentStoreCoordinator = coordinator
/// ```
///
/// `NSPersistentContainer` makes one for its contexts. All contexts of a coordinator share its cache of the rows that
/// were read last (`NSPersistentStoreRowCacheOption`), so a fault is often filled without a query. Stores in one SQLite
/// file share its connections and its transactions: a save to several of them is written to all or to none.
///
/// Each context retains its coordinator. The stores are closed when the coordinator is freed.
///
/// Programs use a coordinator directly to open stores without a container, to read metadata, to copy, replace and
/// delete files, and to resolve URIs. All of this may be done on any thread. A context without a coordinator throws
/// 134070 when it fetches.
///
/// Which threads may do what, and who waits:
///
/// - Fetches of several contexts run at the same time, each on a connection of its own to the file: eight at most, see
///   `NSPersistentStoreConnectionPoolMaxSizeKey`.
/// - Saves take turns for each file, and for each store in memory. Fetches from a file in WAL mode do not wait for
///   them.
/// - Adding and removing stores waits for the coordinator's lock. While a store is migrated, other threads that ask the
///   coordinator for its stores wait: migrate before contexts are in use, or by `NSMigrationManager` into another file.
///
/// Source: Apple's documentation of `NSPersistentStoreCoordinator`.
///
/// `@unchecked Sendable`: `lock` protects the list of stores; stores and their databases do their own locking.
open class NSPersistentStoreCoordinator: NSObject, @unchecked Sendable {
  /// The model of all stores; each store holds the entities of its configuration. A model cannot be changed once a
  /// coordinator has it: setting a property of one of its entities traps. Any thread may read it.
  public let managedObjectModel: NSManagedObjectModel
  /// A name for the program's own debugging: the framework does not read it. Set it before other threads use the
  /// coordinator. Default: nil.
  open var name: String?
  /// Protects the lists of stores and the metadata's replacement. It is recursive, since stores that are being opened
  /// ask their coordinator for its stores.
  final let lock = NSRecursiveLock()
  private var stores: [any ObjectStore] = []
  /// The entities of removed stores, to which objects and IDs may still refer: `StoredEntity.collection` does not
  /// retain them. The stores themselves, with their caches and connections, are freed.
  private var removedEntities: [StoredEntities] = []
  /// For the program's own blocks, and for stores that are added asynchronously. Contexts never use it.
  private let queue = DispatchQueue(label: "NSPersistentStoreCoordinator")

  /// A coordinator without stores.
  ///
  /// ```swift
  /// let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
  /// try coordinator.addPersistentStore(type: .inMemory, at: URL(fileURLWithPath: "/dev/null"))
  /// ```
  ///
  /// Changing the model afterwards traps: change a copy and make another coordinator with that.
  ///
  /// Making one costs little: no file is touched. A model that several coordinators use is shared by them.
  ///
  /// - Parameter model: the model of all its stores. It cannot be changed from now on.
  ///
  /// Source: Apple's documentation of `init(managedObjectModel:)`.
  public required init(managedObjectModel model: NSManagedObjectModel) {
    managedObjectModel = model
    super.init()
    RuntimeAssumptions.check()
    model.freeze()
    LoadedModels.add(model)
    NSPersistentHistoryToken.register()
    queue.setSpecific(key: Self.queueKey, value: ObjectIdentifier(self))
  }

  /// A coordinator of a model without entities, for operations on store files:
  ///
  /// ```swift
  /// try NSPersistentStoreCoordinator().destroyPersistentStore(at: url, type: .sqlite)
  /// ```
  public override convenience init() { self.init(managedObjectModel: NSManagedObjectModel()) }

  /// Closes the stores without `willRemove(from:)`, whose overrides could keep this object.
  deinit {
    LoadedModels.remove(managedObjectModel)
    for (index, store) in stores.enumerated() {
      (store as? any HistoryStore)?.stopPostingRemoteChanges()
      store.close(beside: Array(stores[(index + 1)...]))
    }
  }

  // MARK: Stores

  /// The stores that are open, in the order in which they were added. May be read on any thread.
  ///
  /// ```swift
  /// for store in coordinator.persistentStores { print(store.type, store.url?.path ?? "") }
  /// ```
  ///
  /// New objects go to the first writable store of the list that holds their entity. Reading it makes an array, and
  /// waits while a store is added, migrated or removed.
  ///
  /// Source: Apple's documentation of `persistentStores`.
  open var persistentStores: [NSPersistentStore] { objectStores }

  /// The same stores as the protocol that contexts use. Each call takes the lock once, so callers that look at several
  /// stores keep the array.
  final var objectStores: [any ObjectStore] { lock.withLock { stores } }

  /// This coordinator's stores among the given ones, each once, in the order in which they are named first; all for
  /// nil.
  final func objectStores(among requestedStores: [NSPersistentStore]?) -> [any ObjectStore] {
    guard let requestedStores else { return objectStores }
    let openStores = objectStores
    return requestedStores.reduce(into: []) { stores, requested in
      guard let store = openStores.first(where: { $0 === requested }), !stores.contains(where: { $0 === store })
      else { return }
      stores.append(store)
    }
  }

  /// The open store at a URL, also where another path or a link leads to the same file; nil if there is none. Of
  /// several stores in one file it is the first.
  ///
  /// ```swift
  /// if let store = coordinator.persistentStore(for: url) { try coordinator.remove(store) }
  /// ```
  ///
  /// It compares files and not texts, so it asks the file system. Any thread.
  ///
  /// - Parameter url: the place of the store, with or without links in its path.
  ///
  /// Source: Apple's documentation of `persistentStore(for:)`.
  open func persistentStore(for url: URL) -> NSPersistentStore? {
    persistentStores.first { $0.url == url } ?? persistentStores.first { url.isSamePlace(as: $0.url) }
  }

  /// Where a store is; `file:///dev/null` for one that was opened without a URL.
  ///
  /// ```swift
  /// if let store = book.objectID.persistentStore { print(coordinator.url(for: store).path) }
  /// ```
  ///
  /// It is the URL with which the store was opened: a file that was moved since is not followed.
  /// `NSPersistentStore.url` is the same as an optional. Any thread.
  ///
  /// - Parameter store: a store, of this coordinator or another.
  ///
  /// Source: Apple's documentation of `url(for:)`.
  open func url(for store: NSPersistentStore) -> URL { store.url ?? URL(fileURLWithPath: "/dev/null") }

  /// Opens a store, or creates one if there is none.
  ///
  /// ```swift
  /// try coordinator.addPersistentStore(
  ///   ofType: NSSQLiteStoreType, configurationName: nil, at: url,
  ///   options: [
  ///     NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
  ///     NSPersistentHistoryTrackingKey: true,
  ///   ])
  /// ```
  ///
  /// With the URL `file:///dev/null` a SQLite store is in memory; `file:///dev/null/NAME` is one that the coordinators
  /// of the process share under that name. The folder of a file must exist: only `NSPersistentContainer` creates it. A
  /// new SQLite file is in WAL mode with pages of 4,096 bytes, and an older file is put into WAL mode, unless
  /// `NSSQLitePragmasOption` names `journal_mode`; read-only stores are left as they are.
  ///
  /// It waits for locks of other processes for the seconds of `NSPersistentStoreTimeoutOption`, 30 by default. A
  /// migration takes time in proportion to the rows, on the calling thread. Call it on any thread;
  /// `NSPersistentStoreCoordinatorStoresDidChange` is posted there.
  ///
  /// What happens otherwise: a context that fetched before the store was added has found nothing, and has to fetch
  /// again. Other processes may have the file open and may write to it.
  ///
  /// - Parameters:
  ///   - storeType: `NSSQLiteStoreType`, `NSInMemoryStoreType`, `NSBinaryStoreType`, `NSXMLStoreType`,
  ///     `NSPostgreSQLStoreType`, or a type that was registered with `registerStoreClass(_:forStoreType:)`.
  ///   - configuration: the configuration of the model whose entities the store holds; nil for all entities.
  ///   - storeURL: the place of the store; nil for a store in memory.
  ///   - options: values by the constants whose names end in `Option` or `Key`, such as
  ///     `NSReadOnlyPersistentStoreOption`.
  /// - Returns: the store, which is the last one of `persistentStores` now.
  /// - Throws: 134000 for an unknown type; 134010 if the file holds something else; 134020 if its tables do not fit its
  ///   metadata; 134080 if the file cannot be opened, is open in this coordinator already, or the model lacks the
  ///   configuration; 134090 if another process kept it locked; 134100 if it was made with another model and no
  ///   migration is asked for, with the store's metadata under "metadata"; 134110 to 134190, 134504 and 134506 for a
  ///   migration that failed, which leaves the file as it was.
  ///
  /// Source: Apple's documentation; pages and journal as in Apple's own files.
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
  /// The pool's commands use it: an option of the command line decides about migration, not the description of the
  /// store. A migration that needs more than the store's file (stages, a mapping model) comes first, while no
  /// connection to the file is open here. All of it is under the lock, so that two threads that add the same file do
  /// not both migrate it.
  ///
  /// - Parameters:
  ///   - storeType: the type of the store.
  ///   - configuration: the configuration of the model whose entities it holds; nil for all.
  ///   - storeURL: its place; nil for a store in memory.
  ///   - options: values by the keys of `NSPersistentStore.swift`.
  ///   - migration: what may be done with a store of another model, whatever the options say.
  package final func addPersistentStore(
    ofType storeType: String, configurationName configuration: String?, at storeURL: URL?,
    options: [AnyHashable: Any]? = nil, allowing migration: AllowedMigration
  ) throws -> NSPersistentStore {
    let kind = try Self.storeClass(storeType, at: storeURL)
    let store = try lock.withLock {
      try migrateBeforeOpening(
        storeType, configuration: configuration, at: storeURL, options: options, allowing: migration)
      return try adopt(
        kind.open(opening(storeType, configuration: configuration, at: storeURL, options: options, allowing: migration))
      )
    }
    NotificationCenter.default.post(
      name: .NSPersistentStoreCoordinatorStoresDidChange, object: self,
      userInfo: [NSAddedPersistentStoresKey: [store]])
    return store
  }

  /// What a class of stores needs to open one. It includes the stores that are open, since stores of one file share a
  /// database: they write in one transaction, and two databases on one file in one process would wait for each other.
  final func opening(
    _ type: String, configuration: String?, at url: URL?, options: [AnyHashable: Any]?,
    allowing migration: AllowedMigration? = nil
  ) throws -> StoreOpening {
    StoreOpening(
      type: type, url: url, options: options, configurationName: configuration, model: managedObjectModel,
      entities: try entities(for: type, configuration: configuration, at: url, options: options), others: objectStores,
      migration: migration,
      coordinator: self)
  }

  /// Adds an opened store to this coordinator. If its commits cannot be observed as its options ask, it is closed
  /// again: a program that relies on notifications must not run without them.
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
  ///
  /// A file may have rows of subentities that the configuration does not name, in the table of the superentity that it
  /// names: one that was made for all entities, for example. The file's hashes list them. Left out, they would be rows
  /// of an unknown entity.
  private func entities(
    for type: String, configuration: String?, at url: URL?, options: [AnyHashable: Any]?
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
      let metadata = try? Self.storeClass(type, at: url).metadata(at: url, options),
      let hashes = metadata[NSStoreModelVersionHashesKey] as? [String: Data]
    else { return named }
    return named + below.filter { hashes[$0.name ?? ""] != nil }
  }

  /// Opens a store, in the spelling of newer code: see `addPersistentStore(ofType:configurationName:at:options:)`,
  /// which throws the same.
  @discardableResult
  open func addPersistentStore(
    type: NSPersistentStore.StoreType, configuration: String? = nil, at storeURL: URL,
    options: [AnyHashable: Any]? = nil
  ) throws -> NSPersistentStore {
    try addPersistentStore(ofType: type.rawValue, configurationName: configuration, at: storeURL, options: options)
  }

  /// Opens the store of a description. The handler is called once, with the error if it failed: on this thread before
  /// this method returns, or later on the coordinator's queue if the description has `shouldAddStoreAsynchronously`.
  ///
  /// ```swift
  /// let description = NSPersistentStoreDescription(url: url)
  /// description.shouldAddStoreAsynchronously = true
  /// coordinator.addPersistentStore(with: description) { description, error in
  ///   if let error { print("\(description.url?.path ?? "") cannot be opened: \(error)") }
  /// }
  /// ```
  ///
  /// The options are the description's, with its `timeout` of 240 seconds and migration switched on unless it says
  /// otherwise.
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

  /// Closes a store. Its objects can no longer be filled or saved: first reset the contexts that have some.
  ///
  /// ```swift
  /// context.reset()
  /// for store in coordinator.persistentStores { try coordinator.remove(store) }
  /// ```
  ///
  /// `NSPersistentStoreCoordinatorWillRemoveStore` is posted before and `NSPersistentStoreCoordinatorStoresDidChange`
  /// after, on the caller's thread. The file stays.
  ///
  /// What happens otherwise: in a context that still has objects of the store, a fault reads as one whose row is
  /// missing, which deletes the object in the context; `existingObject(with:)` throws 133000, and saving a change of
  /// one that was read throws 134030. Adding the store again does not revive these objects: they refer to the store
  /// that was removed.
  ///
  /// It waits for a statement that runs, and then closes the connections. The last connection to a SQLite file copies
  /// the log into the file. Any thread.
  ///
  /// - Parameter store: an open store of this coordinator.
  /// - Throws: 134070 for another coordinator's store.
  ///
  /// Source: Apple's documentation of `remove(_:)`.
  open func remove(_ store: NSPersistentStore) throws {
    guard let objectStore = objectStores.first(where: { $0 === store }) else {
      throw CoreDataErrors.error(.persistentStoreOperation, "The store is not one of this coordinator.")
    }
    let info = [NSRemovedPersistentStoresKey: [store]]
    let center = NotificationCenter.default
    center.post(name: .NSPersistentStoreCoordinatorWillRemoveStore, object: store)
    store.willRemove(from: self)
    (objectStore as? any HistoryStore)?.stopPostingRemoteChanges()
    lock.withLock {
      guard let index = stores.firstIndex(where: { $0 === store }) else { return }
      stores.remove(at: index)
      removedEntities.append(objectStore.storedEntities)
      objectStore.persistentStoreCoordinator = nil
      objectStore.storedEntities.reference.store = nil
      objectStore.close(beside: stores)
    }
    center.post(name: .NSPersistentStoreCoordinatorStoresDidChange, object: self, userInfo: info)
  }

  /// Makes the stores' running statements fail, from any thread: a fetch throws, a save is rolled back and throws.
  /// Later ones are not affected. An addition to Apple's API.
  ///
  /// ```swift
  /// Task {
  ///   try await Task.sleep(for: .seconds(10))
  ///   coordinator.interruptStatements()  // a fetch that still runs throws
  /// }
  /// ```
  ///
  /// Use it to end a fetch that takes too long, in any context. It has no effect on binary and XML stores and on those
  /// of the type `NSInMemoryStoreType`.
  ///
  /// Statements at a PostgreSQL server are cancelled there. The fetch throws 134180 with SQLite's code 9
  /// (SQLITE_INTERRUPT), and 134070 at a server; a context may be used on, and the next fetch is not affected.
  ///
  /// Source: https://www.sqlite.org/c3ref/interrupt.html.
  public final func interruptStatements() {
    for store in objectStores { (store as? any ConnectedStore)?.interrupt() }
  }

  /// Frees memory of the stores that holds what can be read again: for a process in a pause. From any thread.
  package final func releaseMemory() {
    for store in objectStores { (store as? any ConnectedStore)?.releaseMemory() }
  }

  // MARK: IDs

  /// The ID of a URI. Nil if its store is not open here or has no such entity; a missing row is not noticed.
  ///
  /// ```swift
  /// let uri = book.objectID.uriRepresentation()  // x-coredata://STORE-UUID/Book/p17
  /// if let id = coordinator.managedObjectID(forURIRepresentation: uri) {
  ///   let object = try context.existingObject(with: id)
  ///   print(object.objectID == id)
  /// }
  /// ```
  ///
  /// URIs of permanent IDs are valid in every process that has the store open, also after a restart. Those of temporary
  /// IDs are nil here. It reads nothing. Any thread.
  ///
  /// Keep URIs, not IDs, in files and messages: they are texts, and they survive the process. A URI names the store by
  /// its UUID, so a copy of the store by `migratePersistentStore` has other URIs, and a copy of the file the same ones.
  /// Use `existingObject(with:)` on the ID where the row may be gone: an ID does not prove that there is a row.
  ///
  /// - Parameter url: what `NSManagedObjectID.uriRepresentation()` gave.
  /// - Returns: an ID that is equal to that of the object; nil if this coordinator has no store with the UUID.
  ///
  /// Source: Apple's documentation of `managedObjectID(forURIRepresentation:)`.
  open func managedObjectID(forURIRepresentation url: URL) -> NSManagedObjectID? {
    objectID(forURI: url.absoluteString)
  }

  /// The ID for the text of a URI, without the cost of a URL; nil as for `managedObjectID(forURIRepresentation:)`. Any
  /// thread. An addition to Apple's API.
  ///
  /// ```swift
  /// let id = coordinator.objectID(forURI: book.objectID.uriString)
  /// print(id == book.objectID)  // true
  /// ```
  ///
  /// Use it where a program reads many URIs, such as one from each message: making a `URL` takes longer than all the
  /// rest.
  ///
  /// - Parameter text: a URI that `NSManagedObjectID.uriString` or `uriRepresentation().absoluteString` gave.
  public final func objectID(forURI text: String) -> NSManagedObjectID? {
    ObjectURI(text).flatMap(objectID(for:)) ?? ObjectReferenceURI(text).flatMap(objectID(for:))
  }

  /// The ID of a URI that is parsed already; nil if its store is not open here or has no such entity. The pool reads
  /// URIs from sockets as `ObjectURI`s.
  ///
  /// A store whose keys have names of its own (`KeyNames`) is left out: the number in such a URI is no key.
  package final func objectID(for uri: ObjectURI) -> NSManagedObjectID? {
    guard let storedEntity = storedEntity(uri.entity, inStore: uri.store), storedEntity.storeReference?.names == nil
    else { return nil }
    return NSManagedObjectID(storedEntity: storedEntity, key: uri.key)
  }

  /// The ID of a URI whose last part is a reference of an app's own store: text, UUID or number, for which the store
  /// keeps a key.
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

  /// Runs the block on the coordinator's queue, later. Blocks run one after the other, in their order. The queue is for
  /// the program's own work on stores, such as adding and removing them: contexts do not use it, so a block there holds
  /// up no fetch and no save.
  ///
  /// ```swift
  /// func printStores(of coordinator: NSPersistentStoreCoordinator) {
  ///   coordinator.perform {
  ///     for store in coordinator.persistentStores { print(store.identifier ?? "") }
  ///   }
  /// }
  /// ```
  ///
  /// Any thread may call it; it returns at once. Use it to keep the order of work that several threads ask for, for
  /// example removing a store and adding it again. It protects nothing by itself: `addPersistentStore` on another
  /// thread does not wait for these blocks.
  ///
  /// - Parameter block: runs once. Errors have to be handled inside.
  ///
  /// Source: Apple's documentation of `perform(_:)`.
  open func perform(_ block: @escaping () -> Void) {
    // `nonisolated(unsafe)`: Apple's signature leaves it to the caller what the block captures.
    nonisolated(unsafe) let block = block
    queue.async { block() }
  }

  /// Runs the block on the coordinator's queue and waits for it; inline if the caller is on the queue.
  ///
  /// It is the form that subclasses override; the generic form below is for results and errors. Blocks that were passed
  /// to `perform(_:)` before run first. A block that waits for a thread which waits for this queue never ends.
  ///
  /// - Parameter block: runs once, before the method returns.
  ///
  /// Source: Apple's documentation of `performAndWait(_:)`.
  open func performAndWait(_ block: () -> Void) { runAndWait(block) }

  /// Runs the block on the coordinator's queue and waits for it; inline if the caller is on the queue. Contexts do not
  /// use this queue.
  ///
  /// ```swift
  /// let paths = container.persistentStoreCoordinator.performAndWait {
  ///   container.persistentStoreCoordinator.persistentStores.compactMap(\.url?.path)
  /// }
  /// ```
  ///
  /// - Parameter block: runs once, before the method returns.
  /// - Returns: the block's result.
  /// - Throws: the block's error.
  public final func performAndWait<T>(_ block: () throws -> T) rethrows -> T { try runAndWait(block) }

  @_semantics("optimize.sil.specialize.generic.never")  // a copy for each caller takes long to compile
  private func runAndWait<T>(_ block: () throws -> T) rethrows -> T {
    if DispatchQueue.getSpecific(key: Self.queueKey) == ObjectIdentifier(self) { return try block() }
    return try queue.sync(execute: block)
  }

  /// Runs the block on the coordinator's queue and returns its result; throws the block's error with its type.
  ///
  /// ```swift
  /// let metadata = await coordinator.perform { coordinator.persistentStores.first?.metadata ?? [:] }
  /// ```
  ///
  /// The task is suspended until the block has run. Do not wait for this task in a block on the same queue: both would
  /// wait for each other without end.
  ///
  /// - Parameter block: runs once, on the queue; cancelling the task does not stop it.
  /// - Returns: the block's result.
  /// - Throws: the block's error.
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

  /// Marks a coordinator's queue, so that a block on it may call `performAndWait(_:)` inline. The value names the
  /// coordinator: a block on another coordinator's queue has to wait.
  private static let queueKey = DispatchSpecificKey<ObjectIdentifier>()

  // MARK: Migration

  /// Does what migrations of the open stores have left for later, each piece in a transaction of its own. Call it when
  /// the program has time, on any thread. Other processes may read and write meanwhile.
  ///
  /// ```swift
  /// let coordinator = container.persistentStoreCoordinator
  /// Task.detached { try coordinator.finishDeferredLightweightMigration() }
  /// ```
  ///
  /// Only SQLite stores that were opened with `NSPersistentStoreDeferredLightweightMigrationOptionKey` leave something:
  /// tables of the old model, whose space is not free until then, and indexes, without which some fetches take longer.
  /// Without anything left it returns at once.
  ///
  /// Each piece is a transaction that locks out other writers while it lasts; dropping a large table takes time in
  /// proportion to its pages. Call it while the program is idle, or piece by piece with
  /// `finishDeferredLightweightMigrationTask()` between other work. A program that never calls it loses only space, and
  /// time in some fetches.
  ///
  /// - Throws: an error of the file. What is done stays done, and another call goes on.
  ///
  /// Source: Apple's documentation of `finishDeferredLightweightMigration()`.
  public final func finishDeferredLightweightMigration() throws {
    for store in deferringStores { while try store.finishDeferredMigrationTask() {} }
  }

  /// Does one piece of what migrations have left for later: of the first store that has any. While the metadata of a
  /// store have `NSPersistentStoreDeferredLightweightMigrationOptionKey`, more is left.
  ///
  /// ```swift
  /// func hasMore(_ coordinator: NSPersistentStoreCoordinator) -> Bool {
  ///   coordinator.persistentStores.contains {
  ///     $0.metadata[NSPersistentStoreDeferredLightweightMigrationOptionKey] != nil
  ///   }
  /// }
  /// while hasMore(coordinator) { try coordinator.finishDeferredLightweightMigrationTask() }
  /// ```
  ///
  /// Use it where the program has short pauses, and `finishDeferredLightweightMigration()` where it has a thread for
  /// it. Any thread.
  ///
  /// - Throws: an error of the file. The piece is then undone, and the next call tries it again.
  ///
  /// Source: Apple's documentation of `finishDeferredLightweightMigrationTask()`.
  public final func finishDeferredLightweightMigrationTask() throws {
    for store in deferringStores where try store.finishDeferredMigrationTask() { return }
  }

  private var deferringStores: [any DeferringStore] { objectStores.compactMap { $0 as? any DeferringStore } }
}

/// What a block returned or threw on a queue, on its way to the caller. Coordinators and contexts use it: a `Result`
/// alone would have to be `Sendable`, and Apple's signatures leave it to the caller what crosses the queue.
///
/// `@unchecked Sendable`: the queue makes it, and then only the caller uses it.
struct BlockOutcome<T, Failure: Error>: @unchecked Sendable {
  let result: Result<T, Failure>

  init(_ block: () throws(Failure) -> T) { result = Result(catching: block) }
}

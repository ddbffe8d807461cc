internal import Synchronization

/// Migrates a store from one model to another, into a new file or into a store of the new model.
///
/// An inferred mapping model is carried out in the file: a SQLite, binary or XML file that keeps its type is copied and
/// the copy migrated, so that objects keep their keys and the store its UUID. With any other mapping model the objects
/// go one by one from `sourceContext` to `destinationContext`, by the mappings' expressions and policies; all of them
/// are in memory meanwhile, and get new keys. The new SQLite store has the UUID of the old one.
///
/// It runs on the caller's thread until it is done; another thread may cancel it.
///
/// ```swift
/// let newer = NSManagedObjectModel(contentsOf: URL(fileURLWithPath: "Library 2.xcdatamodel")) ?? model
/// let manager = NSMigrationManager(sourceModel: model, destinationModel: newer)
/// let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: model, destinationModel: newer)
/// let copy = url.deletingLastPathComponent().appendingPathComponent("new.sqlite")
/// try manager.migrateStore(from: url, type: .sqlite, mapping: mapping, to: copy, type: .sqlite)
/// ```
///
/// Opening a store with `NSMigratePersistentStoresAutomaticallyOption` migrates it in place and is enough for most
/// changes. Use a manager to set `userInfo` for policies, to cancel, and to keep the old file.
///
/// The source is never changed. A migration needs space for a second store. Changes that another
/// program makes to the source meanwhile are not in the new store; a migration by options, when a store is opened,
/// locks the source.
///
/// Source: Apple's documentation of `NSMigrationManager`.
open class NSMigrationManager: NSObject {
  /// The model that the source store was made with.
  ///
  /// Find it by the store's metadata: `NSManagedObjectModel.mergedModel(from:forStoreMetadata:)`.
  public let sourceModel: NSManagedObjectModel
  /// The model of the new store.
  ///
  /// The new store has all its entities, not those of a configuration.
  public let destinationModel: NSManagedObjectModel
  /// From 0 before the migration to 1 after it. It can be observed, on the thread that migrates.
  ///
  /// A migration in the file goes from 0 to 1 at once. Object by object it is 0.5 when all new objects exist, 0.8 when
  /// their relationships are set.
  ///
  /// ```swift
  /// let manager = NSMigrationManager(sourceModel: model, destinationModel: model)
  /// let observation = manager.observe(\.migrationProgress) { manager, _ in
  ///   print(Int(manager.migrationProgress * 100), "%")
  /// }
  /// observation.invalidate()
  /// ```
  open internal(set) var migrationProgress: Float = 0
  /// Whether an inferred mapping model is carried out in the file; otherwise object by object. Default: true.
  ///
  /// Set it to false to carry out an inferred mapping object by object too, which gives all objects new keys.
  open var usesStoreSpecificMigrationManager = true
  /// Notes of the developer, for policies. Default: nil.
  ///
  /// Expressions read it as `$manager.userInfo.KEY`.
  open var userInfo: [AnyHashable: Any]?
  /// The mapping model of the migration that runs, or ran last.
  ///
  /// Policies read it to find other mappings.
  open private(set) var mappingModel: NSMappingModel = NSMappingModel()

  /// The migration that runs object by object; nil before, afterwards and for a migration in the file.
  var run: MappedMigration?
  private let cancellation = MigrationCancellation()

  /// A manager for migrations between two models. Reads no file yet.
  ///
  /// Use a manager for one migration at a time; it belongs to the thread that calls `migrateStore`.
  public init(sourceModel: NSManagedObjectModel, destinationModel: NSManagedObjectModel) {
    self.sourceModel = sourceModel
    self.destinationModel = destinationModel
    super.init()
  }

  /// Migrates a store into a new file and leaves the source as it was. If the new place has a store of the destination
  /// model already, the new objects are added to it, object by object even for an inferred mapping model. So several
  /// mapping models, each for some of the entities, can fill one store.
  ///
  /// It returns when the new store is complete and closed. Neither store may be open in a coordinator of this program
  /// that writes to it.
  ///
  /// - Parameters:
  ///   - sourceURL: the file of the old store.
  ///   - sourceType: its type: `NSSQLiteStoreType`, or that of an app's own store class.
  ///   - options: the options with which the old store is opened.
  ///   - mappings: the mapping of each entity; nil is error 134140.
  ///   - destinationURL: the file of the new store, which must not be the source (134160).
  ///   - destinationType: the type of the new store, which may differ.
  ///   - destinationOptions: those of the new store, such as pragmas.
  ///
  /// - Throws: 134000 for an unknown type, and for a server's URL with the type of a file; 134140 without a mapping
  ///   model, 134110 for stores in memory, 134150 if the source cannot be opened, 134160 if the destination cannot be
  ///   written, 134190 if no mapping can be inferred, 134111 if a new uniqueness constraint does not hold, 134170 if
  ///   the program lacks the class of a policy, and the errors of policies, validation and
  ///   `cancelMigrationWithError(_:)`. The new file is then removed, with the files beside it; a store that was there
  ///   before is unchanged.
  open func migrateStore(
    from sourceURL: URL, sourceType: String, options: [AnyHashable: Any]? = nil, with mappings: NSMappingModel?,
    toDestinationURL destinationURL: URL, destinationType: String, destinationOptions: [AnyHashable: Any]? = nil
  ) throws {
    let (kind, newKind) = try (
      NSPersistentStoreCoordinator.storeClass(sourceType, at: sourceURL),
      NSPersistentStoreCoordinator.storeClass(destinationType, at: destinationURL)
    )
    guard sourceType != NSInMemoryStoreType, destinationType != NSInMemoryStoreType else {
      throw CoreDataErrors.error(.migration, "A store in memory has no file that could be migrated.")
    }
    guard let mappings else {
      throw CoreDataErrors.error(
        .migrationMissingMappingModel, "\(sourceURL.path) cannot be migrated without a mapping model.")
    }
    mappingModel = mappings
    setProgress(0)
    try cancellation.check()
    let source = StoreFile(url: sourceURL, options: options)
    let destination = StoreFile(url: destinationURL, options: destinationOptions)
    try destination.checkDifference(from: source)
    let isAppending = try destination.exists(as: destinationType)
    if mappings.isLightweight && usesStoreSpecificMigrationManager && !isAppending {
      if try kind != newKind || !kind.migrate(source, sourceModel, to: destination, destinationModel) {
        try copyRows(of: source, sourceType, to: destination, destinationType)
      }
    } else {
      mappings.resolve(sourceModel, destinationModel)
      try MappedMigration.run(
        self, from: source, ofType: sourceType, to: destination, ofType: destinationType, isAppending: isAppending,
        cancellation: cancellation)
    }
    setProgress(1)
  }

  /// Copies the rows of a store into a new one.
  ///
  /// For an inferred mapping where the store class cannot migrate its file, or the type changes: rows are converted one
  /// after the other, without objects, and get new keys.
  private func copyRows(of source: StoreFile, _ type: String, to destination: StoreFile, _ newType: String) throws {
    let mapping = try RowMapping(from: sourceModel.entities, to: destinationModel.entities)
    // Coordinators close their stores when they are freed.
    let from = NSPersistentStoreCoordinator(managedObjectModel: sourceModel)
    let to = NSPersistentStoreCoordinator(managedObjectModel: destinationModel)
    let old = try source.openForMigration(type, from)
    try withExtendedLifetime((from, to)) {
      try destination.createForMigration(newType, to) { new in
        var copy = StoreCopy(old, to: new, mapping: mapping)
        try CoreDataErrors.reportingNewConstraints { try copy.run() }
      }
    }
  }

  /// Migrates a store, as
  /// `migrateStore(from:sourceType:options:with:toDestinationURL:destinationType:destinationOptions:)` does, with the
  /// types as `NSPersistentStore.StoreType`.
  open func migrateStore(
    from sourceURL: URL, type sourceType: NSPersistentStore.StoreType, options: [AnyHashable: Any]? = nil,
    mapping: NSMappingModel, to destinationURL: URL, type destinationType: NSPersistentStore.StoreType,
    options destinationOptions: [AnyHashable: Any]? = nil
  ) throws {
    try migrateStore(
      from: sourceURL, sourceType: sourceType.rawValue, options: options, with: mapping,
      toDestinationURL: destinationURL, destinationType: destinationType.rawValue,
      destinationOptions: destinationOptions)
  }

  /// Cancels the running migration, which throws the error before its next object. Call `reset()` before you start
  /// another one. May be called on any thread.
  ///
  /// A migration that is carried out in the file is not interrupted: it notices a cancellation only before it begins.
  ///
  /// ```swift
  /// let manager = NSMigrationManager(sourceModel: model, destinationModel: model)
  /// manager.cancelMigrationWithError(CocoaError(.userCancelled))
  /// manager.reset()  // otherwise the next migration throws the error
  /// ```
  ///
  /// - Parameter error: what `migrateStore` throws.
  open func cancelMigrationWithError(_ error: any Error) { cancellation.cancel(error) }

  /// Makes the manager ready for another migration: drops associations and a cancellation.
  ///
  /// Call it between two migrations, also if the first one threw an error.
  open func reset() {
    run = nil
    cancellation.reset()
    setProgress(0)
  }
}

/// The error with which a migration was cancelled.
///
/// It is apart from the manager because another thread sets it, while everything else of a manager belongs to the
/// thread that migrates.
final class MigrationCancellation: Sendable {
  private let error = Mutex<(any Error)?>(nil)

  func cancel(_ error: any Error) { self.error.withLock { $0 = error } }
  func reset() { error.withLock { $0 = nil } }
  func check() throws { if let error = error.withLock({ $0 }) { throw error } }
}

extension StoreFile {
  /// Opens the source store of a migration, read-only.
  ///
  /// The option for automatic migration is taken out: the store must open with the old model or not at all. Reading the
  /// metadata first makes a missing file an error, where opening would create it.
  func openForMigration(_ type: String, _ coordinator: NSPersistentStoreCoordinator) throws -> any ObjectStore {
    try reporting(.migrationManagerSourceStore) {
      _ = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: type, at: url, options: options)
      let plain = (options ?? [:]).filter { $0.key.base as? String != NSMigratePersistentStoresAutomaticallyOption }
      return try coordinator.openStore(type, at: url, plain.merging([NSReadOnlyPersistentStoreOption: true]) { $1 })
    }
  }

  /// Whether a migration adds its objects to what is there: a file that is not empty, or a store at a server.
  func exists(as type: String) throws -> Bool {
    guard url.isAtServer else {
      // A file that cannot be looked at counts as none; making the store tells the error.
      let size = (try? FileManager.default.attributesOfItem(atPath: url.path))?[.size] as? Int
      return (size ?? 0) > 0
    }
    return try reporting(.migrationManagerDestinationStore) {
      do {
        _ = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: type, at: url, options: options)
        return true
      } catch let error as NSError where error.isForMissingStore {
        return false
      }
    }
  }

  /// Throws 134160 if this is the file of the source.
  ///
  /// Links are followed: two paths to one file are the same place.
  func checkDifference(from source: StoreFile) throws {
    guard url.isSamePlace(as: source.url) else { return }
    throw CoreDataErrors.error(
      .migrationManagerDestinationStore, "\(url.path) cannot be migrated onto itself: name another file.")
  }

  /// Opens the store of the new model that is there.
  func openToAppend(_ type: String, _ coordinator: NSPersistentStoreCoordinator) throws -> any ObjectStore {
    try reporting(.migrationManagerDestinationStore) {
      let plain = (options ?? [:]).filter { $0.key.base as? String != NSMigratePersistentStoresAutomaticallyOption }
      _ = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: type, at: url, options: options)
      return try coordinator.openStore(type, at: url, plain)
    }
  }

  /// Makes an empty store in place of a file that is there, or at a server, and has the body fill it. After an error
  /// nothing of it is left.
  func createForMigration(
    _ type: String, _ coordinator: NSPersistentStoreCoordinator, filling body: (any ObjectStore) throws -> Void
  ) throws {
    let kind = try NSPersistentStoreCoordinator.storeClass(type, at: url)
    func fill(_ options: [AnyHashable: Any]?) throws {
      do {
        try body(reporting(.migrationManagerDestinationStore) { try coordinator.openStore(type, at: url, options) })
      } catch {
        // A context that the program keeps must not keep the file open.
        for store in coordinator.persistentStores { try coordinator.remove(store) }
        throw error
      }
    }
    if url.isAtServer { return try createAtServer(kind, type, filling: fill) }
    try reporting(.migrationManagerDestinationStore) { try kind.destroy(at: url, options) {} }
    do {
      try fill(options)
    } catch {
      discard(kind)
      throw error
    }
  }

  /// Makes a store at a server, where none was a moment ago, in one transaction. A program that fails or is killed
  /// leaves nothing, and nothing is dropped there, so another program's store stays as it is.
  ///
  /// ```text
  /// migration 1                                    migration 2
  /// finds no store                                 finds no store
  /// BEGIN, the lock of the place
  /// CREATE SCHEMA, CREATE TABLE, INSERT            BEGIN, the lock is taken: 134160
  /// COMMIT
  ///                                                or, if it comes now: finds a store: 134160
  /// ```
  private func createAtServer(
    _ kind: any PlacedStore.Type, _ type: String, filling fill: ([AnyHashable: Any]) throws -> Void
  ) throws {
    func makesStore() -> NSError {
      CoreDataErrors.error(
        .migrationManagerDestinationStore,
        "Another program makes a store at the place of the new one, or has just made it. To add the objects to it, "
          + "migrate again.")
    }
    do {
      try kind.inOneTransaction(at: url) { connection in
        if try exists(as: type) { throw makesStore() }
        try fill((options ?? [:]).merging(connection) { $1 })
      }
    } catch is StoreLockTaken {
      throw makesStore()
    }
  }

  /// Removes the file that a failed migration has made, with those beside it.
  func discard(_ kind: any PlacedStore.Type) {
    do {
      try kind.destroy(at: url, options) {}
      try FileManager.default.removeItem(at: url)
    } catch {
      // The caller throws the migration's error. A file that another process uses by now stays.
    }
  }
}

extension NSPersistentStoreCoordinator {
  /// Opens a store without posting a notification and without migrating it.
  fileprivate func openStore(_ type: String, at url: URL, _ options: [AnyHashable: Any]?) throws -> any ObjectStore {
    let store = try Self.storeClass(type, at: url).open(opening(type, configuration: nil, at: url, options: options))
    _ = try adopt(store)
    return store
  }
}

/// Migrates a store from one model to another into a new file.
///
/// Here every migration is lightweight. Any mapping passed in must exist but is not read: the mapping is inferred from
/// the two models. Migration policies are not supported.
///
/// A SQLite, binary or XML file that keeps its type is copied and the copy migrated: objects keep their keys and the
/// store its UUID. Otherwise the rows are copied one by one into a new store, with keys and a UUID of its own.
///
/// It runs on the caller's thread until it is done and cannot be cancelled.
///
/// Source: Apple's documentation of `NSMigrationManager`.
open class NSMigrationManager: NSObject {
  /// The model that the source store was made with.
  public let sourceModel: NSManagedObjectModel
  /// The model of the new store.
  public let destinationModel: NSManagedObjectModel
  /// 0 before the migration, 1 after it. There are no steps between.
  open private(set) var migrationProgress: Float = 0
  /// Kept and without effect: there is one way to migrate. Default: true.
  open var usesStoreSpecificMigrationManager = true

  /// A manager for migrations between two models. Reads no file yet.
  public init(sourceModel: NSManagedObjectModel, destinationModel: NSManagedObjectModel) {
    self.sourceModel = sourceModel
    self.destinationModel = destinationModel
    super.init()
  }

  /// Migrates a store into a new file and leaves the source as it was.
  ///
  /// - Throws: 134140 without a mapping model, 134110 for stores in memory, 134150 if the source cannot be opened,
  ///   134160 if the destination cannot be written, 134190 if no mapping can be inferred, 134111 if a new uniqueness
  ///   constraint does not hold.
  open func migrateStore(
    from sourceURL: URL, sourceType: String, options: [AnyHashable: Any]? = nil, with mappings: NSMappingModel?,
    toDestinationURL destinationURL: URL, destinationType: String, destinationOptions: [AnyHashable: Any]? = nil
  ) throws {
    let (kind, newKind) = try (
      NSPersistentStoreCoordinator.storeClass(sourceType), NSPersistentStoreCoordinator.storeClass(destinationType)
    )
    guard sourceType != NSInMemoryStoreType, destinationType != NSInMemoryStoreType else {
      throw CoreDataErrors.error(.migration, "A store in memory has no file that could be migrated.")
    }
    guard mappings != nil else {
      throw CoreDataErrors.error(
        .migrationMissingMappingModel, "\(sourceURL.path) cannot be migrated without a mapping model.")
    }
    let source = StoreFile(url: sourceURL, options: options)
    let destination = StoreFile(url: destinationURL, options: destinationOptions)
    if try kind != newKind || !kind.migrate(source, sourceModel, to: destination, destinationModel) {
      try copyRows(of: source, sourceType, to: destination, destinationType)
    }
    migrationProgress = 1
  }

  /// Copies the rows of a store into a new one.
  private func copyRows(of source: StoreFile, _ type: String, to destination: StoreFile, _ newType: String) throws {
    let mapping = try RowMapping(from: sourceModel.entities, to: destinationModel.entities)
    // Coordinators close their stores when they are freed.
    let from = NSPersistentStoreCoordinator(managedObjectModel: sourceModel)
    let to = NSPersistentStoreCoordinator(managedObjectModel: destinationModel)
    let old = try source.reporting(.migrationManagerSourceStore) {
      _ = try NSPersistentStoreCoordinator.metadataForPersistentStore(
        ofType: type, at: source.url, options: source.options)
      let options = (source.options ?? [:]).merging([NSReadOnlyPersistentStoreOption: true]) { $1 }
      return try from.openStore(type, at: source.url, options)
    }
    let new = try destination.reporting(.migrationManagerDestinationStore) {
      try to.destroyPersistentStore(at: destination.url, ofType: newType, options: destination.options)
      return try to.openStore(newType, at: destination.url, destination.options)
    }
    var copy = StoreCopy(old, to: new, mapping: mapping)
    try withExtendedLifetime((from, to)) {
      try CoreDataErrors.reportingNewConstraints { _ = try copy.run() }
    }
  }

  /// The same with store types as values.
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
}

extension NSPersistentStoreCoordinator {
  /// Opens a store that no one else is told of.
  fileprivate func openStore(_ type: String, at url: URL, _ options: [AnyHashable: Any]?) throws -> any ObjectStore {
    let store = try Self.storeClass(type).open(opening(type, nil, url, options))
    _ = try adopt(store)
    return store
  }
}

/// Migrates a store from one model to another into a new file.
///
/// Here every migration is lightweight: it copies the file and migrates the copy, whose objects keep their keys and
/// whose store keeps its UUID. Any mapping passed in must exist but is not read: the mapping is inferred from the two
/// models. Migration policies are not supported.
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
  /// - Throws: 134140 without a mapping model, 134110 if the two types differ, 134150 if the source cannot be opened,
  ///   134160 if the destination cannot be written, 134190 if no mapping can be inferred, 134111 if a new uniqueness
  ///   constraint does not hold.
  open func migrateStore(
    from sourceURL: URL, sourceType: String, options: [AnyHashable: Any]? = nil, with mappings: NSMappingModel?,
    toDestinationURL destinationURL: URL, destinationType: String, destinationOptions: [AnyHashable: Any]? = nil
  ) throws {
    let kind = try NSPersistentStoreCoordinator.storeClass(sourceType)
    guard try NSPersistentStoreCoordinator.storeClass(destinationType) == kind else {
      throw CoreDataErrors.error(
        .migration, "A store of the type \(sourceType) cannot be migrated to one of the type \(destinationType).")
    }
    guard mappings != nil else {
      throw CoreDataErrors.error(
        .migrationMissingMappingModel, "\(sourceURL.path) cannot be migrated without a mapping model.")
    }
    try kind.migrate(
      StoreFile(url: sourceURL, options: options), sourceModel,
      to: StoreFile(url: destinationURL, options: destinationOptions), destinationModel)
    migrationProgress = 1
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

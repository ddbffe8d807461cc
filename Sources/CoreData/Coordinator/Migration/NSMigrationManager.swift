/// Migrates a store from one model to another into a new file.
///
/// Only by inferred mapping models: the migration is the lightweight one, made in a copy of the file, whose objects keep their keys and
/// whose store keeps its UUID. Mapping models of one's own and migration policies are not supported.
///
/// Source: Apple's documentation of `NSMigrationManager`.
open class NSMigrationManager: NSObject {
  public let sourceModel: NSManagedObjectModel
  public let destinationModel: NSManagedObjectModel
  /// 0 before the migration, 1 after it.
  open private(set) var migrationProgress: Float = 0
  /// Kept and without effect: there is one way to migrate.
  open var usesStoreSpecificMigrationManager = true

  public init(sourceModel: NSManagedObjectModel, destinationModel: NSManagedObjectModel) {
    self.sourceModel = sourceModel
    self.destinationModel = destinationModel
    super.init()
  }

  /// Throws 134140 without a mapping model, 134150 where the source cannot be read, 134160 where the destination cannot be written, 134190
  /// where no mapping can be inferred, 134111 where a new uniqueness constraint does not hold.
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

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
    try NSPersistentStoreCoordinator.checkType(sourceType)
    try NSPersistentStoreCoordinator.checkType(destinationType)
    guard mappings != nil else {
      throw CoreDataErrors.error(
        .migrationMissingMappingModel, "\(sourceURL.path) cannot be migrated without a mapping model.")
    }
    let prefix = StoreMetadata.prefix(options)
    let source = try Self.reporting(.migrationManagerSourceStore, sourceURL) {
      let connection = try SQLiteConnection(path: sourceURL.path, access: .readWrite)
      _ = try SQLiteStore.readMetadata(prefix, connection)
      return connection
    }
    defer { source.close() }
    let destination = try Self.reporting(.migrationManagerDestinationStore, destinationURL) {
      let connection = try SQLiteConnection(path: destinationURL.path, access: .create)
      try connection.copy(from: source)
      return connection
    }
    defer { destination.close() }
    try CoreDataErrors.translating("Migrating \(sourceURL.path) to \(destinationURL.path)") {
      try destination.immediateTransaction {
        var metadata = try SQLiteStore.readMetadata(prefix, destination).1
        try StoreMigration(from: sourceModel.entities, to: destinationModel.entities, prefix: prefix, destination).run()
        StoreMetadata.setModel(
          entities: destinationModel.entities, identifiers: destinationModel.versionIdentifiers, in: &metadata)
        try SQLiteStore.writeMetadata(metadata, prefix: prefix, destination)
      }
    }
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

  private static func reporting<T>(_ code: CocoaError.Code, _ url: URL, _ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch {
      throw CoreDataErrors.error(
        code, "\(url.path) cannot be opened for a migration: \(error).", [NSUnderlyingErrorKey: error])
    }
  }
}

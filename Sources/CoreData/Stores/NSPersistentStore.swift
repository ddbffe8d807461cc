/// One store of a coordinator: a file, or a memory.
///
/// `@unchecked Sendable`: set up before the coordinator shows it; afterwards its metadata changes only under the coordinator's
/// lock.
open class NSPersistentStore: NSObject, @unchecked Sendable {
  /// The names of store types that newer code uses.
  public struct StoreType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let sqlite = StoreType(rawValue: NSSQLiteStoreType)
    public static let inMemory = StoreType(rawValue: NSInMemoryStoreType)
    public static let binary = StoreType(rawValue: NSBinaryStoreType)
    public static let xml = StoreType(rawValue: NSXMLStoreType)
  }

  public internal(set) weak var persistentStoreCoordinator: NSPersistentStoreCoordinator?
  public let configurationName: String
  public internal(set) var url: URL?
  public let options: [AnyHashable: Any]?
  public let isReadOnly: Bool

  /// What the store's class is registered as: `NSSQLiteStoreType`, or the name of a type of the app's own.
  open var type: String { metadata?[NSStoreTypeKey] as? String ?? "" }

  /// The store's UUID, which its object IDs carry.
  public internal(set) var identifier: String!

  /// What the store says of itself, its model's version hashes among it.
  open var metadata: [String: Any]!

  init(configurationName: String?, url: URL?, options: [AnyHashable: Any]?) {
    self.configurationName = configurationName ?? Self.defaultConfigurationName
    self.url = url
    self.options = options
    isReadOnly = (options?[NSReadOnlyPersistentStoreOption] as? NSNumber)?.boolValue ?? false
    super.init()
  }

  /// What the configuration of a store is called that was opened without one.
  static let defaultConfigurationName = "PF_DEFAULT_CONFIGURATION_NAME"

  /// Reads anew what the store's file says of itself; what was set and not yet saved is forgotten. Nothing for stores in memory.
  open func loadMetadata() throws {}

  /// Called when a coordinator has added the store.
  open func didAdd(to coordinator: NSPersistentStoreCoordinator) {}

  /// Called before a coordinator removes the store.
  open func willRemove(from coordinator: NSPersistentStoreCoordinator?) {}

  /// What a store's file says of itself; needs no model. A class of stores overrides it for its own files.
  ///
  /// `NSPersistentStore` itself asks the registered classes which of them can read the file.
  /// - Throws: 134080 where none can, or what the class throws.
  open class func metadataForPersistentStore(with url: URL) throws -> [String: Any] {
    if let kind = self as? any ObjectStore.Type { return try kind.metadata(at: url, nil) }
    return try StoreTypes.shared.find(reading: url).metadata(at: url, nil)
  }

  /// Replaces what a store's file says of itself, apart from what the store itself needs. A class of stores overrides it for its own
  /// files.
  ///
  /// `NSPersistentStore` itself asks the registered classes which of them can read the file.
  /// - Throws: 134080 where none can, or what the class throws.
  open class func setMetadata(_ metadata: [String: Any]?, forPersistentStoreAt url: URL) throws {
    let kind = try self as? any ObjectStore.Type ?? StoreTypes.shared.find(reading: url)
    try kind.setMetadata(metadata ?? [:], at: url, nil)
  }
}

public let NSSQLiteStoreType = "SQLite"
public let NSInMemoryStoreType = "InMemory"
public let NSBinaryStoreType = "Binary"
public let NSXMLStoreType = "XML"

extension NSPersistentStore {
  /// New metadata with what the store itself depends on left as it is.
  static func merging(_ metadata: [String: Any], into current: [String: Any]) -> [String: Any] {
    let own = current.filter {
      $0.key.hasPrefix("NSStore") || $0.key.hasPrefix("NSPersistence") || $0.key.hasPrefix("_NS")
    }
    return metadata.merging(own) { $1 }
  }
}

// MARK: Options

public let NSReadOnlyPersistentStoreOption = "NSReadOnlyPersistentStoreOption"
public let NSPersistentStoreTimeoutOption = "NSPersistentStoreTimeoutOption"
public let NSSQLitePragmasOption = "NSSQLitePragmasOption"
public let NSMigratePersistentStoresAutomaticallyOption = "NSMigratePersistentStoresAutomaticallyOption"
public let NSInferMappingModelAutomaticallyOption = "NSInferMappingModelAutomaticallyOption"
public let NSIgnorePersistentStoreVersioningOption = "NSIgnorePersistentStoreVersioningOption"
/// Kept and without effect: migrations are never put off. Apple's text of the name was not seen.
public let NSPersistentStoreDeferredLightweightMigrationOptionKey =
  "NSPersistentStoreDeferredLightweightMigrationOptionKey"
/// An NSNumber: whether to gather statistics for SQLite's choice of indexes when the store is opened (`ANALYZE`).
public let NSSQLiteAnalyzeOption = "NSSQLiteAnalyzeOption"
/// An NSNumber: whether to rebuild the file without gaps when the store is opened (`VACUUM`).
public let NSSQLiteManualVacuumOption = "NSSQLiteManualVacuumOption"
public let NSPersistentStoreConnectionPoolMaxSizeKey = "NSPersistentStoreConnectionPoolMaxSize"

/// Whether the store keeps a history of its transactions: an NSNumber. A file that has a history goes on with it without the
/// option, too.
public let NSPersistentHistoryTrackingKey = "NSPersistentHistoryTrackingKey"

/// The prefix of a store's tables, keys and metadata in its file; default "Z", as Apple's are. Not one of Apple's options: it
/// lets a second store live in the same SQLite file, saved in the same transactions.
public let NSPersistentStoreTablePrefixOption = "NSPersistentStoreTablePrefix"

/// The path of a file by whose lock processes take turns at writing. Not one of Apple's options. All processes that
/// write to the store should name the same file; one that does not only waits less fairly.
public let NSPersistentStoreWriteTurnOption = "NSPersistentStoreWriteTurn"

/// How many rows the coordinator keeps in memory for its contexts, as an integer; default 131,072. Not one of Apple's options. A process
/// that looks at each row once does well with few.
public let NSPersistentStoreRowCacheOption = "NSPersistentStoreRowCache"

/// `true` lets a store that an earlier version of its model made be opened, if this version only adds optional attributes,
/// entities and indexes: they are added to the file. Not one of Apple's options.
public let NSPersistentStoreExtendOption = "NSPersistentStoreExtend"

/// `true` makes opening a file that does not exist an error; without it the file is made. Not one of Apple's options.
public let NSPersistentStoreMustExistOption = "NSPersistentStoreMustExist"

public let NSPersistentStoreOSCompatibility = "NSPersistentStoreOSCompatibility"
public let NSPersistentStoreURLKey = "storeURL"

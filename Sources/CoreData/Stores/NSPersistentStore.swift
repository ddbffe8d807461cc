/// One store of a coordinator: a file, or a memory.
///
/// `@unchecked Sendable`: set up before the coordinator shows it; afterwards its metadata changes only under the coordinator's
/// lock.
open class NSPersistentStore: NSObject, @unchecked Sendable {
  /// The names of store types that newer code uses.
  public struct StoreType: RawRepresentable, Hashable, Sendable {
    /// The name under which the class is registered.
    public let rawValue: String
    /// A type by its name: one of an app's own, for example.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// A SQLite file. It takes batch requests, keeps history and can be used by several processes.
    public static let sqlite = StoreType(rawValue: NSSQLiteStoreType)
    /// Rows in memory, which are gone with the coordinator.
    public static let inMemory = StoreType(rawValue: NSInMemoryStoreType)
    /// A binary file that is read whole and written whole.
    public static let binary = StoreType(rawValue: NSBinaryStoreType)
    /// An XML file that is read whole and written whole.
    public static let xml = StoreType(rawValue: NSXMLStoreType)
  }

  /// The coordinator that has the store open; nil after it was removed.
  public internal(set) weak var persistentStoreCoordinator: NSPersistentStoreCoordinator?
  /// The configuration of the model whose entities the store holds.
  public let configurationName: String
  /// Where the store is; nil for a memory without a URL.
  public internal(set) var url: URL?
  /// The options that the store was opened with.
  public let options: [AnyHashable: Any]?
  /// Whether the store was opened with `NSReadOnlyPersistentStoreOption`; then saves to it fail (134030).
  public let isReadOnly: Bool

  /// What the store's class is registered as: `NSSQLiteStoreType`, or the name of a type of the app's own.
  open var type: String { metadata?[NSStoreTypeKey] as? String ?? "" }

  /// The store's UUID, which its object IDs carry.
  public final var identifier: String!

  /// What the store says of itself, its model's version hashes among it.
  open var metadata: [String: Any]!

  /// Makes a store; a coordinator opens it afterwards. For subclasses of `NSAtomicStore` and `NSIncrementalStore`.
  ///
  /// - Parameters:
  ///   - root: the coordinator that opens it.
  ///   - name: the configuration of the model; nil for all entities.
  ///   - url: where the store is; `file:///dev/null` where none was given.
  public init(
    persistentStoreCoordinator root: NSPersistentStoreCoordinator?, configurationName name: String?, at url: URL,
    options: [AnyHashable: Any]? = nil
  ) {
    persistentStoreCoordinator = root
    configurationName = name ?? Self.defaultConfigurationName
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

/// The type of stores in SQLite files.
public let NSSQLiteStoreType = "SQLite"
/// The type of stores in memory.
public let NSInMemoryStoreType = "InMemory"
/// The type of stores in binary files, which are read and written whole.
public let NSBinaryStoreType = "Binary"
/// The type of stores in XML files, which are read and written whole.
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

/// An NSNumber: whether the store may only be read. Default: false.
public let NSReadOnlyPersistentStoreOption = "NSReadOnlyPersistentStoreOption"
/// An NSNumber: seconds to wait for another process's lock. Default: 30 for a coordinator, 240 for a description.
public let NSPersistentStoreTimeoutOption = "NSPersistentStoreTimeoutOption"
/// A dictionary: the pragmas of SQLite to run on each connection, by their names.
public let NSSQLitePragmasOption = "NSSQLitePragmasOption"
/// An NSNumber: whether a store of another model version is migrated when it is opened. Default: false.
public let NSMigratePersistentStoresAutomaticallyOption = "NSMigratePersistentStoresAutomaticallyOption"
/// An NSNumber: whether a migration infers the mapping from the two models. Default: false.
public let NSInferMappingModelAutomaticallyOption = "NSInferMappingModelAutomaticallyOption"
/// An NSNumber: whether to open a store without a look at its model's version hashes. Default: false.
public let NSIgnorePersistentStoreVersioningOption = "NSIgnorePersistentStoreVersioningOption"
/// Kept and without effect: migrations are never put off. Apple's text of the name was not seen.
public let NSPersistentStoreDeferredLightweightMigrationOptionKey =
  "NSPersistentStoreDeferredLightweightMigrationOptionKey"
/// An NSNumber: whether to gather statistics for SQLite's choice of indexes when the store is opened (`ANALYZE`).
public let NSSQLiteAnalyzeOption = "NSSQLiteAnalyzeOption"
/// An NSNumber: whether to rebuild the file without gaps when the store is opened (`VACUUM`).
public let NSSQLiteManualVacuumOption = "NSSQLiteManualVacuumOption"
/// An NSNumber: how many connections may read a SQLite file at once.
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

/// A key of metadata that Apple's framework may write. Kept and without effect.
public let NSPersistentStoreOSCompatibility = "NSPersistentStoreOSCompatibility"
/// The URL of the store that a remote-change notification is about.
public let NSPersistentStoreURLKey = "storeURL"

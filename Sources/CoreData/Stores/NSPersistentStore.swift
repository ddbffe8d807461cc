/// A store of a coordinator: in a file or in memory.
///
/// A coordinator makes it: programs get one from `addPersistentStore` or `persistentStores`, to name it in
/// `affectedStores` and `assign(_:to:)`, and to read its metadata. Only classes of stores of one's own are subclasses,
/// of `NSAtomicStore` or `NSIncrementalStore`.
///
/// Source: Apple's documentation of `NSPersistentStore`.
///
/// `@unchecked Sendable`: set up before the coordinator shows it. Afterwards only its metadata changes, which has a
/// lock of its own, and its coordinator when it is removed, under the coordinator's lock.
///
/// ```swift
/// for store in coordinator.persistentStores {
///   print(store.type, store.url?.path ?? "in memory", store.isReadOnly ? "read-only" : "")
/// }
/// ```
///
/// Which class serves which type, and what it can do:
///
/// ```text
/// type       rows                              batch requests   history          several processes
/// ---------  --------------------------------  ---------------  ---------------  -----------------
/// SQLite     in a file, read when needed       yes              yes              yes
/// InMemory   in memory, gone with the store    no               until removed    no
/// Binary     in a file, all in memory          no               no               one that writes
/// XML        the same, as text                 no               no               one that writes
/// ```
///
/// A store holds the entities of its configuration. Objects of one entity may be in several stores; a new object goes
/// to the first writable one that holds its entity, unless `assign(_:to:)` says otherwise.
open class NSPersistentStore: NSObject, @unchecked Sendable {
  /// A type of stores, in the spelling of newer code.
  public struct StoreType: RawRepresentable, Hashable, Sendable {
    /// The name under which the class is registered.
    public let rawValue: String
    /// A type by its name, such as one of the program's own.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// A SQLite file. It takes batch requests, keeps history and can be used by several processes.
    ///
    /// ```swift
    /// let store = try coordinator.addPersistentStore(type: .sqlite, at: url)
    /// ```
    public static let sqlite = StoreType(rawValue: NSSQLiteStoreType)
    /// Rows in memory, which are gone with the coordinator.
    ///
    /// Saves write nothing to a disk; uniqueness and conflicts work as in files.
    public static let inMemory = StoreType(rawValue: NSInMemoryStoreType)
    /// A binary file, read and written as a whole.
    ///
    /// Each save writes all objects, so its cost grows with the file. Apple's binary stores are archives of private
    /// classes and cannot be opened (134010).
    public static let binary = StoreType(rawValue: NSBinaryStoreType)
    /// An XML file, read and written as a whole.
    ///
    /// In the shape of Apple's XML stores. Each save writes all objects.
    public static let xml = StoreType(rawValue: NSXMLStoreType)
  }

  /// The coordinator that has the store open; nil after it was removed.
  ///
  /// A weak reference: a store does not keep its coordinator.
  public internal(set) weak var persistentStoreCoordinator: NSPersistentStoreCoordinator?
  /// The configuration of the model whose entities the store holds.
  ///
  /// "PF_DEFAULT_CONFIGURATION_NAME", which is all entities, for a store that was opened without one.
  public let configurationName: String
  /// The place of the store; nil for a store in memory without a URL.
  ///
  /// It stays as long as the store is open: `migratePersistentStore` makes a store at another place.
  public package(set) var url: URL?
  /// The options that the store was opened with.
  public let options: [AnyHashable: Any]?
  /// Whether the store was opened with `NSReadOnlyPersistentStoreOption`; then saves to it fail (134030).
  public let isReadOnly: Bool

  /// The type under which the store's class is registered: `NSSQLiteStoreType`, or a type of the program's own.
  open var type: String { openedType ?? metadata?[NSStoreTypeKey] as? String ?? "" }

  /// The type with which the framework opened a store of its own class; nil for a class of a program's own.
  private var openedType: String?

  /// The store's UUID, the host of its objects' URIs. It stays the same when the file is moved, copied or migrated to a
  /// newer model; `migratePersistentStore` makes another one. Nil before the store is open.
  ///
  /// ```swift
  /// let store = try coordinator.addPersistentStore(type: .sqlite, at: url)
  /// print(book.objectID.uriString.contains(store.identifier))  // true for an object of this store
  /// ```
  public final var identifier: String!

  /// The store's metadata, the version hashes of its model included. Use the coordinator's `setMetadata(_:for:)` to
  /// change it. May be read on any thread.
  ///
  /// ```swift
  /// if let store = coordinator.persistentStores.first {
  ///   coordinator.setMetadata(["imported": "2026-11-28"], for: store)  // the store's own entries stay
  ///   try context.save()  // writes it
  ///   print(store.metadata["imported"] ?? "")
  /// }
  /// ```
  open var metadata: [String: Any]! {
    get { openMetadata.current }
    set { openMetadata.set(newValue) }
  }

  package final let openMetadata = OpenMetadata()

  /// Ends the posts of commits. Set when the coordinator opens the store and when it removes it.
  final var endCommitObservation: (@Sendable () -> Void)?

  /// Makes a store; a coordinator opens it afterwards. For subclasses of `NSAtomicStore` and `NSIncrementalStore`.
  ///
  /// - Parameters:
  ///   - root: the coordinator that opens it.
  ///   - name: the configuration of the model; nil for all entities.
  ///   - url: the place of the store; `file:///dev/null` if none was given.
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

  /// Notes what an opening says. Called in the initialisers of the framework's own classes.
  ///
  /// It is no initialiser: a second one would keep subclasses from inheriting the convenience initialisers.
  package final func wasOpened(as type: String, at url: URL?, identifier: String) {
    self.url = url
    openedType = type
    self.identifier = identifier
  }

  /// The name of the configuration of a store that was opened without one.
  static let defaultConfigurationName = "PF_DEFAULT_CONFIGURATION_NAME"

  /// Reads the metadata from the store's file again and drops changes that were not saved. Does nothing for stores in
  /// memory.
  ///
  /// ```swift
  /// if let store = coordinator.persistentStores.first {
  ///   try store.loadMetadata()  // what another process has set since
  ///   print(store.metadata[NSStoreModelVersionIdentifiersKey] ?? "")
  /// }
  /// ```
  ///
  /// A SQLite store reads its file with a connection of its own, which waits for no writer in WAL mode. Any thread.
  open func loadMetadata() throws {}

  /// Called after a coordinator added the store.
  ///
  /// For subclasses that start something of their own, such as a subscription to a service. Does nothing by default.
  open func didAdd(to coordinator: NSPersistentStoreCoordinator) {}

  /// Called before a coordinator removes the store.
  ///
  /// The place to end what `didAdd(to:)` has begun. It is not called when the coordinator is freed with its stores, as
  /// a subclass could keep a coordinator that is being freed: remove such stores first, or end the rest in `deinit`.
  ///
  /// Source: Apple's documentation of `willRemove(from:)`, which speaks of removed stores only.
  open func willRemove(from coordinator: NSPersistentStoreCoordinator?) {}

  /// Reads the metadata of a store's file without a model. A class of stores overrides it for its own files.
  ///
  /// `NSPersistentStore` itself asks the registered classes which one can read the file.
  ///
  /// ```swift
  /// let metadata = try NSPersistentStore.metadataForPersistentStore(with: url)
  /// print(metadata[NSStoreTypeKey] ?? "", metadata[NSStoreUUIDKey] ?? "")
  /// ```
  ///
  /// To ask whether a model fits a file, `NSManagedObjectModel.isConfiguration(withName:compatibleWithStoreMetadata:)`
  /// takes the result.
  ///
  /// - Throws: 134080 if none can, and the errors of the class.
  open class func metadataForPersistentStore(with url: URL) throws -> [String: Any] {
    if let kind = self as? any PlacedStore.Type { return try kind.metadata(at: url, nil) }
    return try StoreTypes.shared.find(reading: url).metadata(at: url, nil)
  }

  /// Replaces the metadata in a store's file, except the parts that the store itself needs. A class of stores overrides
  /// it for its own files.
  ///
  /// `NSPersistentStore` itself asks the registered classes which one can read the file.
  ///
  /// ```swift
  /// var metadata = try NSPersistentStore.metadataForPersistentStore(with: url)
  /// metadata["imported"] = "2026-11-28"
  /// try NSPersistentStore.setMetadata(metadata, forPersistentStoreAt: url)
  /// ```
  ///
  /// Values are those of property lists. For an open store use the coordinator's `setMetadata(_:for:)`, which the next
  /// save writes: this method does not tell a store that has the file open.
  ///
  /// - Throws: 134080 if none can, and the errors of the class.
  open class func setMetadata(_ metadata: [String: Any]?, forPersistentStoreAt url: URL) throws {
    let kind = try self as? any PlacedStore.Type ?? StoreTypes.shared.find(reading: url)
    try kind.setMetadata(metadata ?? [:], at: url, nil)
  }
}

/// The type of stores in SQLite files.
///
/// ```swift
/// try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url)
/// ```
///
/// The file is in Apple's schema and can be opened on a Mac. Beside it are `…-wal` and `…-shm` while it is open:
/// copy a store with `replacePersistentStore`, not with the means of the file system.
public let NSSQLiteStoreType = "SQLite"
/// The type of stores in memory, which are gone with their coordinator: for tests and for caches. They keep uniqueness
/// constraints and evaluate every predicate, and take no batch requests; a SQLite store at `/dev/null` does.
///
/// ```swift
/// try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
/// ```
public let NSInMemoryStoreType = "InMemory"
/// The type of stores in binary files, which are read and written as a whole.
public let NSBinaryStoreType = "Binary"
/// The type of stores in XML files, which are read and written as a whole.
public let NSXMLStoreType = "XML"

extension NSPersistentStore {
  /// New metadata, with the entries that the store itself needs kept.
  package static func merging(_ metadata: [String: Any], into current: [String: Any]) -> [String: Any] {
    metadata.merging(current.filter { isOfStore($0.key) }) { $1 }
  }

  /// The entries of metadata that the program has set.
  static func programEntries(of metadata: [String: Any]) -> [String: Any] { metadata.filter { !isOfStore($0.key) } }

  /// Whether a store itself needs the entry.
  private static func isOfStore(_ key: String) -> Bool {
    key.hasPrefix("NSStore") || key.hasPrefix("NSPersistence") || key.hasPrefix("_NS")
  }
}

// MARK: Options

/// An NSNumber: whether the store may only be read. Default: false.
///
/// ```swift
/// try coordinator.addPersistentStore(
///   ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: [NSReadOnlyPersistentStoreOption: true])
/// ```
///
/// Saves to the store throw 134030, and opening a missing file throws 134080. Use it for programs that must not change
/// a file, such as reports.
public let NSReadOnlyPersistentStoreOption = "NSReadOnlyPersistentStoreOption"
/// An NSNumber: seconds to wait for another process's lock, and for the turn to write, when the store is opened and in
/// each save. Infinity waits without a limit; NaN is an error (134080). Default: 30 for a coordinator, 240 for a
/// description. After that the call throws 134090.
///
/// ```swift
/// try coordinator.addPersistentStore(
///   ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: [NSPersistentStoreTimeoutOption: 5])
/// ```
///
/// Lower it where a person waits; raise it where another program writes for minutes in one transaction.
public let NSPersistentStoreTimeoutOption = "NSPersistentStoreTimeoutOption"
/// A dictionary: the pragmas of SQLite to run on each connection, by their names. Default: `synchronous = NORMAL`. See
/// `NSPersistentStoreDescription.setValue(_:forPragmaNamed:)`.
///
/// ```swift
/// try coordinator.addPersistentStore(
///   ofType: NSSQLiteStoreType, configurationName: nil, at: url,
///   options: [NSSQLitePragmasOption: ["synchronous": "FULL"]])  // each save outlasts a loss of power
/// ```
public let NSSQLitePragmasOption = "NSSQLitePragmasOption"
/// An NSNumber: whether a store of another model version is migrated when it is opened. SQLite, binary and XML files
/// are; stores of a program's own classes are not, and fail to open (134100). Default: false.
///
/// ```swift
/// try coordinator.addPersistentStore(
///   ofType: NSSQLiteStoreType, configurationName: nil, at: url,
///   options: [NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true])
/// ```
///
/// Without it a store of another model version throws 134100 and stays as it is. Containers set it to true.
public let NSMigratePersistentStoresAutomaticallyOption = "NSMigratePersistentStoresAutomaticallyOption"
/// An NSNumber: whether a migration infers the mapping from the two models. Default: false.
///
/// With false the program's bundles must have a mapping model, otherwise the migration throws 134140; two models
/// between which no mapping can be inferred throw 134190. Containers set it to true.
///
/// ```swift
/// let options = [NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true]
/// try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: options)
/// ```
///
/// What can be inferred: new and removed properties and entities, renamed ones with a renaming identifier, optional
/// properties that become mandatory with a default value, and other kinds of relationships.
public let NSInferMappingModelAutomaticallyOption = "NSInferMappingModelAutomaticallyOption"
/// An NSNumber: whether to open a store without comparing its version hashes with the model's. Default: false. Tables
/// that do not fit the model make opening it throw 134020, or a later fetch fail: use it only where the hashes differ
/// and the tables do not.
///
/// ```swift
/// try coordinator.addPersistentStore(
///   ofType: NSSQLiteStoreType, configurationName: nil, at: url,
///   options: [NSIgnorePersistentStoreVersioningOption: true])
/// ```
///
/// With it a store is not migrated either, whatever the other options say.
public let NSIgnorePersistentStoreVersioningOption = "NSIgnorePersistentStoreVersioningOption"
/// An NSNumber: whether a lightweight migration of a SQLite file leaves for later what no reader needs: dropping the
/// old tables, and making indexes that are not unique. The store's metadata have this key until
/// `finishDeferredLightweightMigration()`, or several calls of `finishDeferredLightweightMigrationTask()`, have done
/// the rest. Default: false. Apple's text of the key is not known.
///
/// ```swift
/// let options: [AnyHashable: Any] = [
///   NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
///   NSPersistentStoreDeferredLightweightMigrationOptionKey: true,
/// ]
/// try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: options)
/// try coordinator.finishDeferredLightweightMigration()  // later, when nobody waits
/// ```
public let NSPersistentStoreDeferredLightweightMigrationOptionKey =
  "NSPersistentStoreDeferredLightweightMigrationOptionKey"
/// An NSNumber: whether opening gathers statistics that help SQLite to choose indexes (`ANALYZE`,
/// https://www.sqlite.org/lang_analyze.html). Default: false. It reads all indexes of the file. The module `StoreTools`
/// does it for a file in use, and only where needed.
///
/// ```swift
/// try coordinator.addPersistentStore(
///   ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: [NSSQLiteAnalyzeOption: true])
/// ```
public let NSSQLiteAnalyzeOption = "NSSQLiteAnalyzeOption"
/// An NSNumber: whether opening rebuilds the file without gaps (`VACUUM`, https://www.sqlite.org/lang_vacuum.html).
/// Default: false. It writes the whole file anew and needs twice its space meanwhile; others can neither read nor write
/// then. The module `StoreTools` gives free pages back step by step.
///
/// ```swift
/// try coordinator.addPersistentStore(
///   ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: [NSSQLiteManualVacuumOption: true])
/// ```
public let NSSQLiteManualVacuumOption = "NSSQLiteManualVacuumOption"
/// An NSNumber: how many connections may read a SQLite file at once; a further fetch waits for one. At least 1.
/// Default: 8. There is one more connection, which writes.
///
/// ```swift
/// try coordinator.addPersistentStore(
///   ofType: NSSQLiteStoreType, configurationName: nil, at: url,
///   options: [NSPersistentStoreConnectionPoolMaxSizeKey: 2])  // a small process
/// ```
///
/// Each reader keeps up to 2 MB of pages. More of them than threads that fetch at once bring nothing.
public let NSPersistentStoreConnectionPoolMaxSizeKey = "NSPersistentStoreConnectionPoolMaxSize"

/// An NSNumber: whether the store records a persistent history. Default: false. Each save then writes a row for the
/// transaction and one for each changed object, and the history grows until it is deleted with
/// `NSPersistentHistoryChangeRequest`. A file that has a history continues it without the option too; Apple's framework
/// opens it read-only.
///
/// ```swift
/// let description = NSPersistentStoreDescription(url: url)
/// description.setOption(true as NSNumber, forKey: NSPersistentHistoryTrackingKey)
/// container.persistentStoreDescriptions = [description]
/// ```
///
/// Use it where a program has to follow what other processes save, or to send changes on. Without it a request about
/// history throws 134091.
public let NSPersistentHistoryTrackingKey = "NSPersistentHistoryTrackingKey"

/// The prefix of a store's tables, keys and metadata in its file; "Z" by default, as in Apple's files. It lets a second
/// store share the file and its transactions. An addition to Apple's options.
///
/// ```swift
/// try coordinator.addPersistentStore(
///   ofType: NSSQLiteStoreType, configurationName: "Cache", at: url,
///   options: [NSPersistentStoreTablePrefixOption: "C"])
/// ```
public let NSPersistentStoreTablePrefixOption = "NSPersistentStoreTablePrefix"

/// The path of a file whose lock lets processes take turns at writing. All processes that write to the store should
/// name the same file; one that does not only waits less fairly. An addition to Apple's options.
///
/// ```swift
/// try coordinator.addPersistentStore(
///   ofType: NSSQLiteStoreType, configurationName: nil, at: url,
///   options: [NSPersistentStoreWriteTurnOption: url.path + ".turn"])
/// ```
///
/// Use it where several processes write all the time. SQLite keeps no queue of the processes that wait for its lock, so
/// one of them may wait for long. With this option they take turns.
public let NSPersistentStoreWriteTurnOption = "NSPersistentStoreWriteTurn"

/// An integer: the number of rows that the coordinator caches for its contexts; 131,072 by default, of which 16,384 are
/// rows that a fetch brought and that no context has asked for since. A process that reads each row once needs few. An
/// addition to Apple's options.
///
/// ```swift
/// try coordinator.addPersistentStore(
///   ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: [NSPersistentStoreRowCacheOption: 1000])
/// ```
public let NSPersistentStoreRowCacheOption = "NSPersistentStoreRowCache"

/// `true` makes opening a missing file an error instead of creating it. An addition to Apple's options.
///
/// ```swift
/// try coordinator.addPersistentStore(
///   ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: [NSPersistentStoreMustExistOption: true])
/// ```
///
/// Use it where an empty store in the place of a missing one would hide a mistake. Opening a missing file throws
/// 134080.
public let NSPersistentStoreMustExistOption = "NSPersistentStoreMustExist"

/// The UUID of a store that is made; without it a new one is. For copies that take the original's place. An addition to
/// Apple's options, for stores in SQLite files and at servers.
package let NSPersistentStoreIdentifierOption = "NSPersistentStoreIdentifier"

/// A metadata key that Apple's framework may write. Kept and without effect.
public let NSPersistentStoreOSCompatibility = "NSPersistentStoreOSCompatibility"
/// The URL of the store that a remote-change notification is about.
///
/// ```swift
/// let name = Notification.Name.NSPersistentStoreRemoteChange
/// for await note in NotificationCenter.default.notifications(named: name, object: coordinator) {
///   print(note.userInfo?[NSPersistentStoreURLKey] as? URL ?? url)
/// }
/// ```
public let NSPersistentStoreURLKey = "storeURL"
/// The classes that the values of a binary store may have, as a set. Accepted and without effect: a binary store here
/// makes objects of the classes that attributes have, and no others.
public let NSBinaryStoreSecureDecodingClasses = "NSBinaryStoreSecureDecodingClasses"
/// Whether a binary store may have values of any class. Accepted and without effect, as above.
public let NSBinaryStoreInsecureDecodingCompatibilityOption = "NSBinaryStoreInsecureDecodingCompatibilityOption"
/// Whether an XML store's file is checked against its document type. Accepted and without effect: the file is always
/// checked as it is read.
public let NSValidateXMLStoreOption = "NSValidateXMLStoreOption"
/// The protection of a store's file on Apple's devices. Accepted and without effect.
public let NSPersistentStoreFileProtectionKey = "NSPersistentStoreFileProtectionKey"
/// The key of a model's `versionChecksum` in a store's metadata.
public let NSPersistentStoreModelVersionChecksumKey = StoreMetadata.Key.checksum

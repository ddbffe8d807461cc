/// Describes a store and how to open it.
///
/// ```swift
/// let description = NSPersistentStoreDescription(url: url)
/// description.timeout = 10
/// description.setOption(true as NSNumber, forKey: NSPersistentHistoryTrackingKey)
/// description.setOption(true as NSNumber, forKey: NSPersistentStoreRemoteChangeNotificationPostOptionKey)
/// container.persistentStoreDescriptions = [description]
/// ```
///
/// Source: Apple's documentation of `NSPersistentStoreDescription`.
///
/// `@unchecked Sendable`: it is filled in before it is passed to a container or a coordinator, and only read from then
/// on.
open class NSPersistentStoreDescription: NSObject, NSCopying, @unchecked Sendable {
  /// The type under which the store's class is registered. Default: `NSSQLiteStoreType`.
  open var type: String = NSSQLiteStoreType
  /// The configuration of the model whose entities the store holds; nil for all entities. Default: nil.
  ///
  /// ```swift
  /// let books = NSPersistentStoreDescription(url: url)
  /// books.configuration = "Books"
  /// container.persistentStoreDescriptions = [books]
  /// ```
  open var configuration: String?
  /// Where the store is. `file:///dev/null` is a store in memory.
  open var url: URL?
  /// The options that were set, by their keys.
  open private(set) var options: [String: NSObject] = [:]
  /// Whether adding the store returns at once and opens it later, on the coordinator's queue. Default: false. The
  /// handler is then called on that queue; fetches before it find no store, and saves throw 134030. Use it where a
  /// migration would block the main thread.
  ///
  /// ```swift
  /// let description = NSPersistentStoreDescription(url: url)
  /// description.shouldAddStoreAsynchronously = true
  /// container.persistentStoreDescriptions = [description]
  /// container.loadPersistentStores { description, error in
  ///   print(description.url?.path ?? "", error.map { "cannot be opened: \($0)" } ?? "is open")  // on another thread
  /// }
  /// ```
  open var shouldAddStoreAsynchronously = false
  /// Whether opening a store of another model version migrates it, in place; otherwise it throws 134100. Default: true.
  /// With persistent stores that several programs share, migrate in one of them, after a backup, and set false in the
  /// others.
  ///
  /// ```swift
  /// let description = NSPersistentStoreDescription(url: url)
  /// description.shouldMigrateStoreAutomatically = false
  /// container.persistentStoreDescriptions = [description]
  /// container.loadPersistentStores { _, error in
  ///   if let error { print("not opened: \(error)") }  // 134100 for a store of another model
  /// }
  /// ```
  open var shouldMigrateStoreAutomatically = true
  /// Whether a migration infers its mapping where the program's bundles have no mapping model; with false it throws
  /// 134140 there. Default: true.
  open var shouldInferMappingModelAutomatically = true

  /// The place in iCloud to which Apple's framework mirrors the store. Without effect, except that an
  /// `NSPersistentCloudKitContainer` keeps a history of such a store. Default: nil.
  open var cloudKitContainerOptions: NSPersistentCloudKitContainerOptions?

  /// A store in memory, until `url` is set.
  public override init() {
    url = URL(fileURLWithPath: "/dev/null")
    super.init()
  }

  /// A store in a file.
  public init(url: URL) {
    self.url = url
    super.init()
  }

  /// The options, with those that other properties stand for.
  var allOptions: [String: NSObject] {
    let propertyOptions: [String: NSObject] = [
      NSPersistentStoreTimeoutOption: NSNumber(value: timeout),
      NSMigratePersistentStoresAutomaticallyOption: NSNumber(value: shouldMigrateStoreAutomatically),
      NSInferMappingModelAutomaticallyOption: NSNumber(value: shouldInferMappingModelAutomatically),
    ]
    return options.merging(propertyOptions) { set, _ in set }
  }

  /// Sets an option of the store, or removes it with nil: `NSPersistentHistoryTrackingKey`, for example. An option that
  /// is set here comes before the property that stands for it.
  ///
  /// ```swift
  /// let description = NSPersistentStoreDescription(url: url)
  /// description.setOption(1000 as NSNumber, forKey: NSPersistentStoreRowCacheOption)
  /// ```
  open func setOption(_ option: NSObject?, forKey key: String) { options[key] = option }

  /// Whether the store is opened without writing. Default: false. Saves to it throw 134030, and a missing file is an
  /// error (134080) instead of being made.
  ///
  /// ```swift
  /// let description = NSPersistentStoreDescription(url: url)
  /// description.isReadOnly = true
  /// ```
  open var isReadOnly: Bool {
    get { (options[NSReadOnlyPersistentStoreOption] as? NSNumber)?.boolValue ?? false }
    set { options[NSReadOnlyPersistentStoreOption] = NSNumber(value: newValue) }
  }

  /// The seconds to wait for a lock of another process, and for the turn to write, when the store is opened and in each
  /// save. Default: 240. Infinity waits without a limit. After that the call throws 134090.
  ///
  /// ```swift
  /// let description = NSPersistentStoreDescription(url: url)
  /// description.timeout = 5  // a user is waiting
  /// ```
  open var timeout: TimeInterval {
    get { (options[NSPersistentStoreTimeoutOption] as? NSNumber)?.doubleValue ?? 240 }
    set { options[NSPersistentStoreTimeoutOption] = NSNumber(value: newValue) }
  }

  /// The pragmas of each SQLite connection, by name: those that `setValue(_:forPragmaNamed:)` has set.
  open var sqlitePragmas: [String: NSObject] {
    (options[NSSQLitePragmasOption] as? NSDictionary).map { dictionary in
      Dictionary(
        uniqueKeysWithValues: dictionary.compactMap {
          ($0.key as? String, $0.value as? NSObject) as? (String, NSObject)
        })
    } ?? [:]
  }

  /// Sets a pragma of SQLite for each connection, or removes it with nil. Other stores ignore it.
  ///
  /// ```swift
  /// let description = NSPersistentStoreDescription(url: url)
  /// description.setValue("FULL" as NSString, forPragmaNamed: "synchronous")
  /// ```
  ///
  /// Default: `synchronous` is `NORMAL`, with which a commit survives the death of processes and may be lost with the
  /// power; `FULL` waits for the disk in each save. `journal_mode` keeps the file from being put into WAL mode, and
  /// readers and writers then wait for each other. A `cache_size` is kept, where the framework otherwise lets the
  /// writer's cache grow for large transactions. A pragma whose name or value has other characters than letters,
  /// digits, `_` and `-` is ignored.
  ///
  /// Source: https://www.sqlite.org/pragma.html
  open func setValue(_ value: NSObject?, forPragmaNamed name: String) {
    var pragmas = sqlitePragmas
    pragmas[name] = value
    options[NSSQLitePragmasOption] = NSDictionary(dictionary: pragmas)
  }

  /// A copy that can be changed without changing this description.
  open func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSPersistentStoreDescription()
    copy.type = type
    copy.configuration = configuration
    copy.url = url
    copy.options = options
    copy.shouldAddStoreAsynchronously = shouldAddStoreAsynchronously
    copy.shouldMigrateStoreAutomatically = shouldMigrateStoreAutomatically
    copy.shouldInferMappingModelAutomatically = shouldInferMappingModelAutomatically
    copy.cloudKitContainerOptions = cloudKitContainerOptions
    return copy
  }
}

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
/// Use it with a container, or with `addPersistentStore(with:completionHandler:)`. A coordinator's other methods take
/// the same settings as a dictionary of options, with other defaults: no migration, and a time limit of 30 seconds.
///
/// Fill it in before the store is opened. Changing it later has no effect on the open store, and a description may be
/// used again for another coordinator. Two descriptions of one container must not lead to the same file, unless
/// `NSPersistentStoreTablePrefixOption` gives each its own tables: the second one fails to open (134080).
///
/// Source: Apple's documentation of `NSPersistentStoreDescription`.
///
/// `@unchecked Sendable`: it is filled in before it is passed to a container or a coordinator, and only read from then
/// on.
open class NSPersistentStoreDescription: NSObject, NSCopying, @unchecked Sendable {
  /// The type under which the store's class is registered. Default: `NSSQLiteStoreType`.
  ///
  /// ```swift
  /// let description = NSPersistentStoreDescription(url: url)
  /// description.type = NSInMemoryStoreType
  /// ```
  ///
  /// An unknown type makes opening throw 134000. The type is not guessed from the file's name.
  ///
  /// Source: Apple's documentation of `type`.
  open var type: String = NSSQLiteStoreType

  /// The configuration of the model whose entities the store holds; nil for all entities. Default: nil.
  ///
  /// ```swift
  /// let books = NSPersistentStoreDescription(url: url)
  /// books.configuration = "Books"
  /// container.persistentStoreDescriptions = [books]
  /// ```
  ///
  /// Use configurations to keep some entities in another store, such as a cache that may be thrown away. Relationships
  /// cannot lead from one store to the other. A name that the model lacks makes opening throw 134080.
  open var configuration: String?

  /// Where the store is. `file:///dev/null` is a store in memory, `file:///dev/null/NAME` one that the coordinators of
  /// the process share under that name; a `postgresql:` URL is a store at a server, with the type
  /// `NSPostgreSQLStoreType`.
  ///
  /// The file is created if it is missing, and a container creates its folder too. Default: the URL of the initialiser.
  open var url: URL?
  /// The options that were set, by their keys: by `setOption(_:forKey:)`, and by `isReadOnly`, `timeout` and the
  /// pragmas, which are options as well. A default `timeout` and the two switches of migration are not in it: they are
  /// added when the store is opened.
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
  ///
  /// Stores of one container that are added asynchronously open one after the other, in their order.
  ///
  /// Source: Apple's documentation of `shouldAddStoreAsynchronously`.
  open var shouldAddStoreAsynchronously = false

  /// Whether opening a store of another model version migrates it, in place; otherwise it throws 134100. Default: true.
  /// If several programs share the store, migrate it in one of them, after a backup, and set false in the others.
  ///
  /// ```swift
  /// let description = NSPersistentStoreDescription(url: url)
  /// description.shouldMigrateStoreAutomatically = false
  /// container.persistentStoreDescriptions = [description]
  /// container.loadPersistentStores { _, error in
  ///   if let error { print("not opened: \(error)") }  // 134100 for a store of another model
  /// }
  /// ```
  ///
  /// A migration takes time in proportion to the rows and, for most changes, the space of the file a second time.
  ///
  /// Source: Apple's documentation of `shouldMigrateStoreAutomatically`.
  open var shouldMigrateStoreAutomatically = true

  /// Whether a migration infers its mapping where the program's bundles have no mapping model; with false it throws
  /// 134140 there. Default: true.
  ///
  /// ```swift
  /// let description = NSPersistentStoreDescription(url: url)
  /// description.shouldInferMappingModelAutomatically = false  // only the program's own mapping models
  /// ```
  ///
  /// Set it to false if an inferred mapping would lose values that a mapping model keeps: if the mapping model is
  /// missing from the bundle, opening then fails and no value is lost.
  ///
  /// Source: Apple's documentation of `shouldInferMappingModelAutomatically`.
  open var shouldInferMappingModelAutomatically = true

  /// The place in iCloud to which Apple's framework mirrors the store. Here it has one effect: an
  /// `NSPersistentCloudKitContainer` keeps a history of such a store. Default: nil.
  ///
  /// ```swift
  /// let description = NSPersistentStoreDescription(url: url)
  /// let options = NSPersistentCloudKitContainerOptions(containerIdentifier: "iCloud.com.example.library")
  /// description.cloudKitContainerOptions = options
  /// ```
  ///
  /// Source: Apple's documentation of `cloudKitContainerOptions`.
  open var cloudKitContainerOptions: NSPersistentCloudKitContainerOptions?

  /// A description of a SQLite store in memory, until `url` is set. It suits tests: the store takes batch requests,
  /// unlike the type `NSInMemoryStoreType`, and is gone with its coordinator.
  ///
  /// ```swift
  /// let container = NSPersistentContainer(name: "Test", managedObjectModel: model)
  /// container.persistentStoreDescriptions = [NSPersistentStoreDescription()]
  /// ```
  ///
  /// A store in memory has one connection, so contexts wait for each other's fetches.
  public override init() {
    url = URL(fileURLWithPath: "/dev/null")
    super.init()
  }

  /// A description of a SQLite store in a file.
  ///
  /// - Parameter url: the file; it need not exist.
  public init(url: URL) {
    self.url = url
    super.init()
  }

  /// The options, with those that other properties stand for. An option that was set with `setOption(_:forKey:)` wins
  /// over `shouldMigrateStoreAutomatically` and `shouldInferMappingModelAutomatically`, in whichever order they were
  /// set.
  var allOptions: [String: NSObject] {
    let propertyOptions: [String: NSObject] = [
      NSPersistentStoreTimeoutOption: NSNumber(value: timeout),
      NSMigratePersistentStoresAutomaticallyOption: NSNumber(value: shouldMigrateStoreAutomatically),
      NSInferMappingModelAutomaticallyOption: NSNumber(value: shouldInferMappingModelAutomatically),
    ]
    return options.merging(propertyOptions) { set, _ in set }
  }

  /// Sets an option of the store, or removes it with nil: `NSPersistentHistoryTrackingKey`, for example. An option of
  /// migration that is set here wins over `shouldMigrateStoreAutomatically` and `shouldInferMappingModelAutomatically`.
  /// `isReadOnly`, `timeout` and the pragmas are stored as options, so the last call counts.
  ///
  /// ```swift
  /// let description = NSPersistentStoreDescription(url: url)
  /// description.setOption(1000 as NSNumber, forKey: NSPersistentStoreRowCacheOption)
  /// ```
  ///
  /// The names of the options are constants of this module whose names end in `Option` or `Key`. An unknown name is
  /// kept and ignored.
  ///
  /// - Parameters:
  ///   - option: the value, mostly an `NSNumber`; nil removes the option.
  ///   - key: the option's name.
  ///
  /// Source: Apple's documentation of `setOption(_:forKey:)`.
  open func setOption(_ option: NSObject?, forKey key: String) { options[key] = option }

  /// Whether the store is opened without writing. Default: false. Saves to it throw 134030, and a missing file is an
  /// error (134080) instead of being made.
  ///
  /// ```swift
  /// let description = NSPersistentStoreDescription(url: url)
  /// description.isReadOnly = true
  /// ```
  ///
  /// An older model version is not migrated then: opening throws 134100. Other processes may write to the file, and the
  /// contexts see what they write.
  ///
  /// Source: Apple's documentation of `isReadOnly`.
  open var isReadOnly: Bool {
    get { (options[NSReadOnlyPersistentStoreOption] as? NSNumber)?.boolValue ?? false }
    set { options[NSReadOnlyPersistentStoreOption] = NSNumber(value: newValue) }
  }

  /// The seconds to wait for a lock of another process, and for the turn to write, when the store is opened and in each
  /// save. After that the call throws 134090. Default: 240. Infinity means no limit.
  ///
  /// ```swift
  /// let description = NSPersistentStoreDescription(url: url)
  /// description.timeout = 5  // a user is waiting
  /// ```
  ///
  /// It does not limit the statement itself: a fetch that takes a minute does not fail. The coordinator's
  /// `interruptStatements()` ends such a fetch.
  ///
  /// Source: Apple's documentation of `timeout`.
  open var timeout: TimeInterval {
    get { (options[NSPersistentStoreTimeoutOption] as? NSNumber)?.doubleValue ?? 240 }
    set { options[NSPersistentStoreTimeoutOption] = NSNumber(value: newValue) }
  }

  /// The pragmas of each SQLite connection, by name: those that `setValue(_:forPragmaNamed:)` has set. Empty by
  /// default, although connections run pragmas of the framework's own.
  ///
  /// ```swift
  /// let description = NSPersistentStoreDescription(url: url)
  /// description.setValue("FULL" as NSString, forPragmaNamed: "synchronous")
  /// print(description.sqlitePragmas)  // ["synchronous": FULL]
  /// ```
  ///
  /// Source: Apple's documentation of `sqlitePragmas`.
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
  /// Default: `synchronous` is `NORMAL`, with which a commit survives the death of processes and may be lost when the
  /// power fails; `FULL` waits for the disk in each save. With a `journal_mode` other than `WAL`, readers and writers
  /// wait for each other. A `cache_size` is kept, where the framework otherwise lets the writer's cache grow for large
  /// transactions. A pragma whose name or value has other characters than letters, digits, `_` and `-` is ignored.
  ///
  /// - Parameters:
  ///   - value: a text or a number; nil removes the pragma.
  ///   - name: the pragma's name, in lower case.
  ///
  /// Source: https://www.sqlite.org/pragma.html
  open func setValue(_ value: NSObject?, forPragmaNamed name: String) {
    var pragmas = sqlitePragmas
    pragmas[name] = value
    options[NSSQLitePragmasOption] = NSDictionary(dictionary: pragmas)
  }

  /// A copy that can be changed without changing this description. Values of options are shared.
  ///
  /// - Parameter zone: ignored.
  /// - Returns: an `NSPersistentStoreDescription`.
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

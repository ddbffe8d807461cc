/// A ready-made stack: a model, a coordinator with its stores, and a main-queue context.
///
/// ```swift
/// let container = NSPersistentContainer(name: "Library", managedObjectModel: model)
/// container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: url)]
/// container.loadPersistentStores { description, error in
///   if let error { fatalError("\(description.url?.path ?? "") cannot be opened: \(error)") }
/// }
/// container.viewContext.automaticallyMergesChangesFromParent = true
/// let pages = try await container.performBackgroundTask { context in
///   let book = Book(context: context)
///   book.title = "Emma"
///   book.pages = 474
///   try context.save()
///   return book.pages
/// }
/// ```
///
/// Contexts of one container share the coordinator's row cache and its connections.
///
/// Use one container for each store file of a process. Two containers on one file share neither rows nor notifications
/// of saves: each hears of the other's saves as of those of another process, by `NSPersistentStoreRemoteChange` if the
/// option for it is set.
///
/// A context retains the coordinator, and so the stores, when the container is freed. An object does not retain its
/// context.
///
/// Source: Apple's documentation of `NSPersistentContainer`.
///
/// `@unchecked Sendable`: its parts are constant, except for the descriptions, which are set before the stores are
/// loaded.
open class NSPersistentContainer: NSObject, @unchecked Sendable {
  /// The name of the container, of its model file and of its default store file. It is not the name of the contexts:
  /// `viewContext` is called "viewContext", and others have no name until the program gives them one.
  public let name: String

  /// The model of all contexts and stores of the container. It is immutable once the container is made: to change a
  /// model, change a copy and make another container.
  ///
  /// ```swift
  /// for entity in container.managedObjectModel.entities { print(entity.name ?? "", entity.properties.count) }
  /// ```
  public let managedObjectModel: NSManagedObjectModel

  /// The coordinator of all contexts of the container. It has no stores before `loadPersistentStores`.
  ///
  /// ```swift
  /// let uri = book.objectID.uriRepresentation()
  /// let id = container.persistentStoreCoordinator.managedObjectID(forURIRepresentation: uri)
  /// print(id == book.objectID)  // true
  /// ```
  ///
  /// Use it for URIs, metadata and files. Fetches and saves go through a context.
  public let persistentStoreCoordinator: NSPersistentStoreCoordinator

  /// The main-queue context. As on Apple's platforms it does not merge other contexts' saves by itself: set
  /// `automaticallyMergesChangesFromParent`.
  ///
  /// ```swift
  /// container.viewContext.automaticallyMergesChangesFromParent = true
  /// container.viewContext.mergePolicy = NSMergeByPropertyStoreTrumpMergePolicy
  /// ```
  ///
  /// Use it on the main thread directly, and elsewhere inside `perform` and `performAndWait`. A long fetch here delays
  /// the user interface: take `newBackgroundContext()` for it. Its name is "viewContext".
  ///
  /// Reading it costs nothing: the context is made with the container. What happens otherwise: without merging, it
  /// shows the values that it has read, and saving a change to one that another context has saved is error 133020.
  ///
  /// Source: Apple's documentation of `viewContext`.
  open var viewContext: NSManagedObjectContext { mainContext }
  private let mainContext: NSManagedObjectContext

  /// The stores to load. Default: one SQLite file `NAME.sqlite` in `defaultDirectoryURL()`. Set it before
  /// `loadPersistentStores`; later changes have no effect on stores that are open.
  ///
  /// ```swift
  /// let description = NSPersistentStoreDescription(url: url)
  /// description.setOption(true as NSNumber, forKey: NSPersistentHistoryTrackingKey)
  /// container.persistentStoreDescriptions = [description]
  /// ```
  ///
  /// An empty list opens nothing, and the container then has no store: each save with changes throws 134030. Several
  /// descriptions open in their order, and new objects go to the first writable one with their entity.
  ///
  /// Source: Apple's documentation of `persistentStoreDescriptions`.
  open var persistentStoreDescriptions: [NSPersistentStoreDescription]

  /// A container for the model with this name, compiled or as source, among the program's resources: those of the main
  /// bundle, of loaded bundles, and of the resource bundles that SwiftPM puts beside an executable. Traps if none of
  /// them has it.
  ///
  /// ```swift
  /// let container = NSPersistentContainer(name: "Library")  // Library.xcdatamodeld is a file of the target
  /// ```
  ///
  /// `ModelCompilerPlugin` puts the models of a target into its resource bundle. The initialiser takes the first model
  /// of that name that can be read. If two bundles have a model of the name, pass the model to
  /// `init(name:managedObjectModel:)`.
  ///
  /// The model is read and made immutable, and no store is opened: call `loadPersistentStores`. A program that makes
  /// several containers of one name reads the model each time, and then has several models with the same classes; keep
  /// the model and pass it to `init(name:managedObjectModel:)` instead.
  ///
  /// - Parameter name: the file's name without its extension, and the container's name.
  ///
  /// Source: Apple's documentation of `init(name:)`.
  public convenience init(name: String) {
    let urls = Bundle.ofProgram.flatMap { bundle in
      NSManagedObjectModel.fileTypes.compactMap { bundle.url(forResource: name, withExtension: $0) }
    }
    guard let model = urls.lazy.compactMap({ NSManagedObjectModel(contentsOf: $0) }).first else {
      fatalError(
        """
        No model named \(name) is in a bundle of this program: \(name).xcdatamodeld must be among the files of a \
        target with the plugin ModelCompilerPlugin, or one of the resources.
        """)
    }
    self.init(name: name, managedObjectModel: model)
  }

  /// A container with a given model, which becomes immutable. No store is opened yet: call `loadPersistentStores`.
  ///
  /// ```swift
  /// let container = NSPersistentContainer(name: "Library", managedObjectModel: model)
  /// container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: url)]
  /// ```
  ///
  /// Use it for a model that the program builds or chooses itself, and for tests.
  ///
  /// - Parameters:
  ///   - name: the container's name, and that of the default store file.
  ///   - model: the model of all contexts and stores.
  ///
  /// Source: Apple's documentation of `init(name:managedObjectModel:)`.
  public init(name: String, managedObjectModel model: NSManagedObjectModel) {
    self.name = name
    managedObjectModel = model
    persistentStoreCoordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    mainContext = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    mainContext.persistentStoreCoordinator = persistentStoreCoordinator
    mainContext.name = "viewContext"
    persistentStoreDescriptions = [
      NSPersistentStoreDescription(url: Self.defaultDirectoryURL().appendingPathComponent("\(name).sqlite"))
    ]
    super.init()
  }

  /// The folder of the default store: the user's application support directory. Override it to choose another.
  /// `loadPersistentStores` creates the folder.
  ///
  /// ```swift
  /// // @unchecked Sendable: it adds no state.
  /// final class LibraryContainer: NSPersistentContainer, @unchecked Sendable {
  ///   override class func defaultDirectoryURL() -> URL { URL(fileURLWithPath: "/var/lib/library") }
  /// }
  /// ```
  ///
  /// On Linux that is `~/.local/share` (XDG_DATA_HOME, if that is set), which a service without a home directory does
  /// not have. Such a program overrides this method, or gives each description a URL.
  ///
  /// - Returns: a folder that need not exist.
  ///
  /// Source: Apple's documentation of `defaultDirectoryURL()`.
  open class func defaultDirectoryURL() -> URL {
    FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
      ?? URL(fileURLWithPath: NSTemporaryDirectory())
  }

  /// Opens the stores of all descriptions, creating missing folders.
  ///
  /// The handler is called once for each description, with an error if its store was not opened: on this thread before
  /// this method returns, or later on another thread if the description has `shouldAddStoreAsynchronously`. A failure
  /// does not keep the other stores from being opened.
  ///
  /// ```swift
  /// let container = NSPersistentContainer(name: "Library", managedObjectModel: model)
  /// container.persistentStoreDescriptions.first?.setOption(true as NSNumber, forKey: NSPersistentHistoryTrackingKey)
  /// container.loadPersistentStores { description, error in
  ///   if let error { fatalError("\(description.url?.path ?? "") cannot be opened: \(error)") }
  /// }
  /// ```
  ///
  /// The error is what `NSPersistentStoreCoordinator.addPersistentStore(ofType:configurationName:at:options:)` throws.
  /// A store of an older model version is migrated, unless the description says otherwise, which takes time in
  /// proportion to its rows: see `shouldAddStoreAsynchronously`. Calling it a second time fails for files that are open
  /// already (134080).
  ///
  /// Call it once, before any context is used: a fetch without a store finds nothing, and a save with changes throws
  /// 134030. Any thread may call it; a description with `shouldAddStoreAsynchronously` keeps a migration off that
  /// thread.
  ///
  /// - Parameter block: gets each description, and the error if its store was not opened. Most programs cannot continue
  ///   without the store: end the process, or show the error and load again after the user has acted.
  ///
  /// Source: Apple's documentation of `loadPersistentStores(completionHandler:)`.
  open func loadPersistentStores(
    completionHandler block: @escaping (NSPersistentStoreDescription, (any Error)?) -> Void
  ) {
    for description in persistentStoreDescriptions {
      if let url = description.url, !url.isInMemoryStore {
        let folder = url.deletingLastPathComponent()
        // Without its folder the store does not open, and the handler gets that error.
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      }
      persistentStoreCoordinator.addPersistentStore(with: description, completionHandler: block)
    }
  }

  /// A new private-queue context on the container's coordinator. It does not merge other contexts' saves by itself, and
  /// its merge policy is the error policy.
  ///
  /// ```swift
  /// let importer = container.newBackgroundContext()
  /// importer.name = "importer"
  /// importer.mergePolicy = NSMergeByPropertyObjectTrumpMergePolicy
  /// try await importer.perform {
  ///   _ = Book(context: importer)
  ///   try importer.save()
  /// }
  /// ```
  ///
  /// Any thread may call it. The context lives as long as the program retains it or a block of it waits to run. Set
  /// `transactionAuthor` where a reader of persistent history has to tell the context's saves from others.
  ///
  /// Making one costs little: it has no rows and no connection before it fetches. Work that shares one context also
  /// shares its unsaved changes: a save of one part saves the other, and a rollback undoes both.
  ///
  /// - Returns: a context without a name, a parent and an undo manager.
  ///
  /// Source: Apple's documentation of `newBackgroundContext()`.
  open func newBackgroundContext() -> NSManagedObjectContext {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = persistentStoreCoordinator
    return context
  }

  /// Runs the block with a new private-queue context, later and on that context's queue. The block has to save: what it
  /// leaves unsaved is lost with the context.
  ///
  /// ```swift
  /// func markAllRead(in container: NSPersistentContainer) {
  ///   container.performBackgroundTask { context in
  ///     do {
  ///       for book in try context.fetch(NSFetchRequest<Book>(entityName: "Book")) { book.isRead = true }
  ///       try context.save()
  ///     } catch { print("not saved: \(error)") }
  ///   }
  /// }
  /// ```
  ///
  /// Several calls run at the same time, each on its own queue, and their saves take turns at the store. Use one
  /// context of `newBackgroundContext()` instead where blocks have to run one after the other.
  ///
  /// It returns at once, and any thread may call it. The block has to handle its errors itself: use the asynchronous
  /// form to throw them to the caller.
  ///
  /// - Parameter block: runs once, later. The context lives until the block has ended, and its objects with it.
  ///
  /// Source: Apple's documentation of `performBackgroundTask(_:)`.
  open func performBackgroundTask(_ block: @escaping (NSManagedObjectContext) -> Void) {
    let context = newBackgroundContext()
    context.perform { block(context) }
  }

  /// Runs the block with a new private-queue context, on that context's queue. The block has to save.
  ///
  /// ```swift
  /// let count = try await container.performBackgroundTask { context in
  ///   try context.count(for: NSFetchRequest<Book>(entityName: "Book"))
  /// }
  /// ```
  ///
  /// What the block leaves unsaved is lost with the context. Return values or object IDs, not objects.
  ///
  /// Each call makes a context, so objects are read anew, from the coordinator's row cache where that has them. Two
  /// tasks that change the same object are a conflict for the second save: set a merge policy in the block.
  ///
  /// The calling task is suspended meanwhile and no thread waits. `write(mergePolicy:author:_:)` does the same, saves
  /// at the end, and lets only `Sendable` results out.
  ///
  /// - Parameter block: runs once. Cancelling the task does not stop it.
  /// - Returns: the block's result.
  /// - Throws: the block's error, with its type.
  nonisolated(nonsending) public final func performBackgroundTask<T, Failure: Error>(
    _ block: @escaping (NSManagedObjectContext) throws(Failure) -> T
  ) async throws(Failure) -> T {
    let context = newBackgroundContext()
    return try await context.perform { () throws(Failure) -> T in try block(context) }
  }
}

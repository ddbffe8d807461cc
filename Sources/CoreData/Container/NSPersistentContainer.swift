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
/// Source: Apple's documentation of `NSPersistentContainer`.
///
/// `@unchecked Sendable`: its parts are constant, except for the descriptions, which are set before the stores are
/// loaded.
open class NSPersistentContainer: NSObject, @unchecked Sendable {
  /// The name of the container, of its model file and of its default store file.
  public let name: String
  /// The model of all contexts and stores of the container. It is immutable from the container's creation on.
  public let managedObjectModel: NSManagedObjectModel
  /// The coordinator of all contexts of the container. It has no stores before `loadPersistentStores`.
  public let persistentStoreCoordinator: NSPersistentStoreCoordinator
  /// The main-queue context. As on Apple's platforms it does not merge other contexts' saves by itself: set
  /// `automaticallyMergesChangesFromParent`.
  open var viewContext: NSManagedObjectContext { mainContext }
  private let mainContext: NSManagedObjectContext
  /// The stores to load. Default: one SQLite file `NAME.sqlite` in `defaultDirectoryURL()`.
  open var persistentStoreDescriptions: [NSPersistentStoreDescription]

  /// A container for the model with this name, compiled or as source, among the program's resources: those of the main
  /// bundle, of loaded bundles, and of the resource bundles that SwiftPM puts beside an executable. Traps if none of
  /// them has it.
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

  /// A container with a given model, which becomes immutable. No store is opened yet.
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

  /// The folder of the default store: the user's application support directory. Override it to choose another;
  /// `loadPersistentStores` creates it.
  open class func defaultDirectoryURL() -> URL {
    FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
      ?? URL(fileURLWithPath: NSTemporaryDirectory())
  }

  /// Opens the stores of all descriptions, creating missing folders.
  ///
  /// The handler is called once for each description, with an error if its store was not opened: on this thread before
  /// this method returns, or later on another thread if the description has `shouldAddStoreAsynchronously`. A failure
  /// does not keep the other stores from being opened.
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

  /// A new private-queue context on the container's coordinator. Each call makes another one; it does not merge other
  /// contexts' saves by itself.
  open func newBackgroundContext() -> NSManagedObjectContext {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = persistentStoreCoordinator
    return context
  }

  /// Runs the block with a new private-queue context, later and on that context's queue. The block has to save.
  open func performBackgroundTask(_ block: @escaping (NSManagedObjectContext) -> Void) {
    let context = newBackgroundContext()
    context.perform { block(context) }
  }

  /// Runs the block with a new private-queue context, on that context's queue. The block has to save.
  ///
  /// - Returns: the block's result.
  /// - Throws: the block's error, with its type.
  nonisolated(nonsending) public final func performBackgroundTask<T, Failure: Error>(
    _ block: @escaping (NSManagedObjectContext) throws(Failure) -> T
  ) async throws(Failure) -> T {
    let context = newBackgroundContext()
    return try await context.perform { () throws(Failure) -> T in try block(context) }
  }
}

/// A model, a coordinator, stores and a main-queue context in one.
///
/// Source: Apple's documentation of `NSPersistentContainer`.
///
/// `@unchecked Sendable`: what it holds is constant, but for the descriptions, which are set before the stores are loaded.
open class NSPersistentContainer: NSObject, @unchecked Sendable {
  public let name: String
  public let managedObjectModel: NSManagedObjectModel
  public let persistentStoreCoordinator: NSPersistentStoreCoordinator
  /// The context for the main queue.
  public let viewContext: NSManagedObjectContext
  /// The stores to load. Default: one SQLite file `NAME.sqlite` in `defaultDirectoryURL()`.
  open var persistentStoreDescriptions: [NSPersistentStoreDescription]

  /// Uses the model of that name, compiled or as source, among the resources of the program: those of the main bundle, of
  /// bundles that are loaded, and of the resource bundles that SwiftPM puts beside an executable. Traps where there is none.
  public convenience init(name: String) {
    let urls = Bundle.ofProgram.flatMap { bundle in
      NSManagedObjectModel.fileTypes.compactMap { bundle.url(forResource: name, withExtension: $0) }
    }
    guard let model = urls.lazy.compactMap({ NSManagedObjectModel(contentsOf: $0) }).first else {
      fatalError(
        """
        No model named \(name) is in a bundle of this program: \(name).xcdatamodeld must be among the files of a target with \
        the plugin ModelCompilerPlugin, or one of the resources.
        """)
    }
    self.init(name: name, managedObjectModel: model)
  }

  public init(name: String, managedObjectModel model: NSManagedObjectModel) {
    self.name = name
    managedObjectModel = model
    persistentStoreCoordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    viewContext = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    viewContext.persistentStoreCoordinator = persistentStoreCoordinator
    viewContext.name = "viewContext"
    persistentStoreDescriptions = [
      NSPersistentStoreDescription(url: Self.defaultDirectoryURL().appendingPathComponent("\(name).sqlite"))
    ]
    super.init()
  }

  /// The folder for stores: the user's application support directory.
  open class func defaultDirectoryURL() -> URL {
    FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
      ?? URL(fileURLWithPath: NSTemporaryDirectory())
  }

  /// Opens the stores. The handler is called once for each description; before this returns unless the description says otherwise.
  open func loadPersistentStores(
    completionHandler block: @escaping @Sendable (NSPersistentStoreDescription, (any Error)?) -> Void
  ) {
    for description in persistentStoreDescriptions {
      if let url = description.url, !url.isInMemoryStore {
        let folder = url.deletingLastPathComponent()
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      }
      persistentStoreCoordinator.addPersistentStore(with: description, completionHandler: block)
    }
  }

  /// A new private-queue context on the container's coordinator.
  open func newBackgroundContext() -> NSManagedObjectContext {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = persistentStoreCoordinator
    return context
  }

  /// Runs the block later with a new private-queue context, on its queue.
  open func performBackgroundTask(_ block: @escaping @Sendable (NSManagedObjectContext) -> Void) {
    let context = newBackgroundContext()
    context.perform { block(context) }
  }

  /// Runs the block with a new private-queue context, on its queue, and returns what it returns.
  public final func performBackgroundTask<T: Sendable, Failure: Error>(
    _ block: @escaping @Sendable (NSManagedObjectContext) throws(Failure) -> T
  ) async throws(Failure) -> T {
    let context = newBackgroundContext()
    return try await context.perform { () throws(Failure) -> T in try block(context) }
  }
}

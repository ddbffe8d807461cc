import CoreData

/// The two stores of a pool on one coordinator: the app's, and the pool's own in the same file.
///
/// Each process opens its own: the coordinator one, each worker one. A context of it sees the app's entities and the pool's,
/// and saves both in one transaction. The functions of the other `JobStore+….swift` files run inside `perform` of the
/// context that they are given; they save nothing themselves unless they say so.
public final class JobStore: Sendable {
  /// The file of both stores.
  public let url: URL
  /// The files that are open.
  public let files: StoreFiles
  public let coordinator: NSPersistentStoreCoordinator
  /// The identifier of the app's store: the host of its objects' URIs.
  public let appIdentifier: String
  /// The identifier of the pool's store: the host of its jobs' URIs.
  public let poolIdentifier: String

  /// Opens both stores; a file or a pool's store that is not there is created.
  ///
  /// - Parameters:
  ///   - model: the app's model; it is copied into a merged one.
  ///   - configuration: the configuration of that model which the app's store has; nil for all entities.
  ///   - options: options for both stores, in Core Data's keys.
  /// - Throws: ``JobModelError``, or an `NSError` of Core Data when a store cannot be opened.
  public init(
    url: URL, model: NSManagedObjectModel, configuration: String? = nil, options: [AnyHashable: Any] = [:]
  ) throws {
    let merged = try JobModel.merged(with: model, configuration: configuration)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: merged)
    let app = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: JobModel.appConfiguration, at: url, options: options)
    let pool = try Self.addPoolStore(to: coordinator, at: url, options: options)
    self.url = url
    files = StoreFiles(path: url.path)
    self.coordinator = coordinator
    self.appIdentifier = app.identifier
    self.poolIdentifier = pool.identifier
  }

  /// Opens the pool's store in the file on a coordinator of a merged model; one that is not there is created, an older one is brought
  /// up to date.
  @discardableResult
  public static func addPoolStore(
    to coordinator: NSPersistentStoreCoordinator, at url: URL, options: [AnyHashable: Any] = [:]
  ) throws -> NSPersistentStore {
    var options = options
    options[NSPersistentStoreTablePrefixOption] = JobModel.tablePrefix
    options[NSPersistentStoreExtendOption] = true
    return try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: JobModel.poolConfiguration, at: url, options: options)
  }

  /// A new private-queue context on both stores.
  public func makeContext(name: String) -> NSManagedObjectContext {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    context.name = name
    return context
  }

  // MARK: URIs and keys

  /// The URI of the job with that key.
  public func uri(job key: Int64) -> String { "x-coredata://\(poolIdentifier)/\(Job.entityName)/p\(key)" }

  /// The object ID behind a URI of one of the two stores; nil for URIs of other stores and entities.
  public func objectID(_ uri: String) -> NSManagedObjectID? {
    URL(string: uri).flatMap(coordinator.managedObjectID(forURIRepresentation:))
  }

  /// The key in the URI of a job of this pool; nil for all other URIs.
  public func key(jobURI uri: String) -> Int64? {
    let prefix = "x-coredata://\(poolIdentifier)/\(Job.entityName)/p"
    guard uri.hasPrefix(prefix) else { return nil }
    return Int64(
      uri.utf8.dropFirst(prefix.utf8.count).reduce(into: "") { $0.unicodeScalars.append(Unicode.Scalar($1)) })
  }
}

extension NSManagedObjectID {
  /// The number in a saved object's URI: `42` in `…/PoolJob/p42`; nil for objects that are not saved.
  public var key: Int64? {
    guard !isTemporaryID else { return nil }
    // The URI ends in "/p" and the number; a URL would cost a hundred times as much.
    return uriString.utf8.reversed().prefix { $0 != UInt8(ascii: "p") }.reversed().reduce(0) { number, digit in
      number * 10 + Int64(digit - UInt8(ascii: "0"))
    }
  }
}

import CoreData

/// The two stores of a pool on one coordinator: the app's, and the pool's own in the same file, or in the same database
/// of a server.
///
/// ```swift
/// let store = try JobStore(url: url, model: model)
/// let jobs = store.makeContext(name: "jobs")
/// try await jobs.perform {
///   _ = try store.insert([JobRequest(kind: "index", objects: [])], into: jobs)
///   try jobs.save()
///   print(try store.counts(in: jobs))
/// }
/// ```
///
/// Each process opens its own: the coordinator one, each worker one. A context of it sees the app's entities and the
/// pool's, and saves both in one transaction. The functions of the other `JobStore+….swift` files run inside `perform`
/// of the context that they are given; they save nothing themselves unless they say so.
///
/// ```text
/// in a file                          at a server, with ?schema=shop
/// app.sqlite   ZBOOK, ZAUTHOR        schema shop       "Book", "Author"
///              WPPOOLJOB, …          schema shop_wp    "PoolJob", …
/// ```
///
/// An app that only submits and watches jobs needs none of this: `JobQueue` and `StoreReader` of PoolClient do.
public final class JobStore: Sendable {
  /// The file of both stores, or their database.
  public let url: URL
  /// The files that are open; none of a server.
  public let files: StoreFiles
  /// The coordinator that has both stores.
  public let coordinator: NSPersistentStoreCoordinator
  /// The identifier of the app's store: the host of its objects' URIs.
  public let appIdentifier: String
  /// The URIs of the jobs in the pool's store.
  public let jobURIs: JobURIs
  /// A test's clock; nil for the true time.
  private let clock: (@Sendable () -> Date)?
  /// Whether pools of several hosts may use the store: it is at a server.
  public var isShared: Bool { !url.isFileURL }

  /// Opens both stores; a file or a pool's store that is not there is created.
  ///
  /// - Parameters:
  ///   - model: the app's model; it is copied into a merged one.
  ///   - configuration: the configuration of that model which the app's store has; nil for all entities.
  ///   - options: options for both stores, in Core Data's keys.
  ///   - cachedRows: how many rows of the pool's own store this process keeps; nil for as many as of any store. A
  ///     process that reads each job once needs few.
  /// - Throws: ``JobModelError``, or an `NSError` of Core Data when a store cannot be opened.
  public convenience init(
    url: URL, model: NSManagedObjectModel, configuration: String? = nil, options: [AnyHashable: Any] = [:],
    cachedRows: Int? = nil
  ) throws {
    try self.init(
      url: url, model: model, configuration: configuration, options: options, cachedRows: cachedRows, clock: nil)
  }

  /// - Parameter clock: what ``now`` tells; nil: the true time.
  package init(
    url: URL, model: NSManagedObjectModel, configuration: String? = nil, options: [AnyHashable: Any] = [:],
    cachedRows: Int? = nil, clock: (@Sendable () -> Date)?
  ) throws {
    let merged = try JobModel.merged(with: model, configuration: configuration)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: merged)
    let app = try coordinator.addPersistentStore(
      ofType: StorePlace.storeType(at: url), configurationName: JobModel.appConfiguration, at: url, options: options)
    var poolOptions = options
    if let cachedRows { poolOptions[NSPersistentStoreRowCacheOption] = cachedRows }
    let pool = try Self.addPoolStore(to: coordinator, at: url, options: poolOptions)
    self.url = url
    self.clock = clock
    files = url.isFileURL ? StoreFiles(path: url.path) : StoreFiles.none
    self.coordinator = coordinator
    self.appIdentifier = app.identifier
    jobURIs = JobURIs(store: pool.identifier)
  }

  /// Opens the pool's store in the file, or in a schema of its own beside the app's, on a coordinator of a merged
  /// model; one that is not there is created, an older one is brought up to date.
  ///
  /// - Throws: ``JobModelError/storeIsNewer(_:)``, ``JobModelError/storeIsTooOld(_:version:)`` and
  ///   ``JobModelError/olderPoolsRun(_:version:pools:)``, which change nothing, or an `NSError` of Core Data.
  @discardableResult
  public static func addPoolStore(
    to coordinator: NSPersistentStoreCoordinator, at url: URL, options: [AnyHashable: Any] = [:]
  ) throws -> NSPersistentStore {
    var options = options
    options[NSPersistentStoreTablePrefixOption] = JobModel.tablePrefix
    func open(_ migration: AllowedMigration) throws -> NSPersistentStore {
      try coordinator.addPersistentStore(
        ofType: StorePlace.storeType(at: url), configurationName: JobModel.poolConfiguration, at: url,
        options: options, allowing: migration)
    }
    // Pools that run are asked before tables or columns are added. Missing indexes of a file are added without that.
    do {
      return try open(url.isFileURL && !isOlder(url, than: coordinator, options) ? .additions : .none)
    } catch let error as NSError where error.code == NSPersistentStoreIncompatibleVersionHashError {
      let versions = StoreVersions(at: url, options)
      try versions.requireUpgrade()
      do {
        return try open(.additions)
      } catch let error as NSError where error.code == NSPersistentStoreIncompatibleVersionHashError {
        throw versions.refusal ?? error
      }
    }
  }

  /// Whether the file has a pool's store with other tables than those of the coordinator's model.
  private static func isOlder(
    _ url: URL, than coordinator: NSPersistentStoreCoordinator, _ options: [AnyHashable: Any]
  ) -> Bool {
    // A file without a pool's store gets one. What else is wrong with the file is found when it is opened.
    let metadata = try? NSPersistentStoreCoordinator.metadataForPersistentStore(
      ofType: NSSQLiteStoreType, at: url, options: options)
    guard let metadata else { return false }
    return !coordinator.managedObjectModel.isConfiguration(
      withName: JobModel.poolConfiguration, compatibleWithStoreMetadata: metadata)
  }

  /// Returns when the commits of a store at a server are on its disk. Any thread.
  package func synchronizeCommits() throws { try coordinator.synchronizeCommits() }

  /// The time that counts in the store: that of the server's clock, which all hosts share, or of this machine's. The
  /// times that a pool writes into jobs come from here, so a host whose clock is wrong neither starts a job early nor
  /// deletes one too soon. Costs at most one round trip in a minute.
  public var now: Date {
    if let clock { return clock() }
    return isShared ? coordinator.serverDate ?? Date() : Date()
  }

  /// What the clock of ``now`` shows between the call and the return. A pool knows the server's time only to half of a
  /// round trip; this asks the server, in one round trip.
  func readClock() throws -> Date {
    if let clock { return clock() }
    return isShared ? try coordinator.readServerClock() ?? Date() : Date()
  }

  /// A new private-queue context on both stores.
  ///
  /// - Parameter name: what the history and messages call it.
  public func makeContext(name: String) -> NSManagedObjectContext {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    context.name = name
    return context
  }

  /// The identifier of the pool's store.
  public var poolIdentifier: String { jobURIs.store }

  /// The object ID of the job with that key. Whether there is a row is not checked.
  ///
  /// ```swift
  /// let store = try JobStore(url: url, model: model)
  /// if let id = store.objectID(job: 17), let job = try context.existingObject(with: id) as? Job {
  ///   print(job.state.name)
  /// }
  /// ```
  public func objectID(job key: JobKey) -> NSManagedObjectID? { coordinator.objectID(for: jobURIs[key]) }
}

@_exported import CoreData
@_exported import Jobs
import Foundation
import WorkerProtocol

/// Submits jobs in an app's own saves: a job exists exactly if that save succeeds.
///
/// ```swift
/// import PoolClient
///
/// let container = NSPersistentContainer(name: "App", managedObjectModel: try JobQueue.model(with: model))
/// container.persistentStoreDescriptions = [JobQueue.appStore(at: url)]
/// container.loadPersistentStores { _, error in
///   if let error { fatalError("the store cannot be opened: \(error)") }
/// }
/// let jobs = try JobQueue(in: container.persistentStoreCoordinator, at: url, queue: "queue/")
/// book.title = "Emma"
/// try jobs.submit(JobRequest(kind: "index", objects: [book]), in: context)
/// try context.save()
/// ```
///
/// After each save of a context of the coordinator the pool is told of new jobs. A pool that cannot be told finds them
/// by the commit itself. May be used from any thread. Keep the queue as long as jobs are submitted.
///
/// A pool on the same store need not run: jobs wait in the store until one does. A program that may not open the store,
/// or has none, submits job files with ``JobSubmission`` instead.
public final class JobQueue: Sendable {
  private let observer: Observer

  /// The model for the app's coordinator: its own entities and the pool's, in a configuration each.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// let merged = try JobQueue.model(with: model)
  /// print(merged.entitiesByName["PoolJob"] != nil)  // true
  /// ```
  ///
  /// The app's own entities keep their version hashes, so a store that exists opens without a migration. `app` itself
  /// is not changed.
  ///
  /// - Throws: ``JobModelError`` when the app's model has an entity of the pool's name.
  public static func model(with app: NSManagedObjectModel) throws -> NSManagedObjectModel {
    try JobModel.merged(with: app)
  }

  /// The description of the app's own store, with the configuration that it has in that model. Set options on it, such
  /// as the history, before the container loads it.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// let description = JobQueue.appStore(at: url)
  /// description.setOption(true as NSNumber, forKey: NSPersistentHistoryTrackingKey)
  /// container.persistentStoreDescriptions = [description]
  /// ```
  ///
  /// Without the configuration the app's store would hold the pool's entities too.
  public static func appStore(at url: URL) -> NSPersistentStoreDescription {
    let description = NSPersistentStoreDescription(url: url)
    description.configuration = JobModel.appConfiguration
    return description
  }

  /// Adds the pool's store to the app's coordinator, whose model is that of ``model(with:)`` and which has the app's
  /// store open.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try JobQueue.model(with: model))
  /// try coordinator.addPersistentStore(
  ///   ofType: NSSQLiteStoreType, configurationName: JobModel.appConfiguration, at: url)
  /// let jobs = try JobQueue(in: coordinator, at: url, queue: "queue/")
  /// ```
  ///
  /// It creates the pool's tables in the file if no pool has run on it yet; they are named `WP…`. Add it once for each
  /// coordinator.
  ///
  /// - Parameters:
  ///   - url: the file of the app's store, which the pool's shares.
  ///   - queue: the path of the pool's queue directory.
  /// - Throws: an `NSError` of Core Data when the store cannot be opened.
  public init(in coordinator: NSPersistentStoreCoordinator, at url: URL, queue: String) throws {
    let layout = QueueLayout(root: queue)
    try JobStore.addPoolStore(
      to: coordinator, at: url,
      options: FileManager.default.fileExists(atPath: layout.run)
        ? [NSPersistentStoreWriteTurnOption: layout.writeTurn] : [:])
    observer = Observer(coordinator: coordinator, queue: queue)
  }

  /// Inserts a job into the context, to be saved with the app's own changes. Called on the context's queue. Objects of
  /// the job that are new in the context get their permanent IDs.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// let jobs = try JobQueue(in: coordinator, at: url, queue: "queue/")
  /// try await context.perform {
  ///   book.title = "Emma"
  ///   let job = try jobs.submit(JobRequest(kind: "index", objects: [book]), in: context)
  ///   if job == nil { print("an unfinished job has the same unique key") }
  ///   try context.save()
  /// }
  /// ```
  ///
  /// A rollback of the context takes the job back too. To learn how the job ends, keep its `objectID` after the save:
  /// fetch it later, or follow it with ``JobFollower``.
  ///
  /// It costs one row of the save, a query if the request has a unique key, and a short transaction if objects need
  /// permanent IDs. The pool is told after the save, on another thread: neither the save nor the caller waits for it.
  ///
  /// - Returns: the job, or nil when another one has its unique key. Where another process takes that key before the
  ///   save, the save fails with a constraint conflict.
  /// - Throws: ``JobObjectNameError`` for an object that no worker could find, ``MissingJobError`` for a job in
  ///   ``JobOptions/after`` that does not exist.
  @discardableResult
  public func submit(_ request: JobRequest, in context: NSManagedObjectContext) throws -> Job? {
    try Job.submit(request, into: context)
  }

  /// Tells the pool of saves that brought new jobs.
  ///
  /// `@unchecked Sendable`: its properties are set at the beginning, and do not change.
  private final class Observer: @unchecked Sendable {
    private var token: (any NSObjectProtocol)?
    private let messenger = DispatchQueue(label: "JobQueue")

    init(coordinator: NSPersistentStoreCoordinator, queue: String) {
      let messenger = messenger
      token = NotificationCenter.default.addObserver(
        forName: .NSManagedObjectContextDidSave, object: nil, queue: nil
      ) { [weak coordinator] notification in
        guard let context = notification.object as? NSManagedObjectContext, let coordinator,
          context.persistentStoreCoordinator === coordinator, context.parent == nil,
          let inserted = notification.userInfo?[NSInsertedObjectsKey] as? Set<NSManagedObject>,
          inserted.contains(where: { $0 is Job })
        else { return }
        // The save does not wait for the pool.
        messenger.async { _ = try? StatusClient(queue: queue).request(StatusRequest(.nudge)) }
      }
    }

    deinit { if let token { NotificationCenter.default.removeObserver(token) } }
  }
}

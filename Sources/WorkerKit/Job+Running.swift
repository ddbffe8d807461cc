import Foundation
import WorkerProtocol

/// What a plugin can ask of the job that it runs.
extension Job {
  /// Whether the job should stop: cancelled, out of time, or because the pool ends. Cheap enough to ask for each row.
  ///
  /// A job that is asked to stop throws, best with `checkStop()`; what it has not saved is rolled back. Whether the
  /// attempt counts depends on the reason: a cancelled job becomes `cancelled`, one that is out of time has failed, and
  /// the pool's end costs nothing.
  ///
  /// A worker that returns instead of throwing has succeeded, also when it was asked to stop: its work is saved. False
  /// for a job that does not run, as in a test.
  public var isStopRequested: Bool { JobAttempt.running(self)?.stopReason != nil }

  /// A descriptor that is readable while the job should stop, for one that waits with poll(2); -1 for a job that does
  /// not run. It is the worker's: neither read from it nor close it.
  ///
  /// Jobs that share a transaction share the descriptor, too: leave ``Worker/sharesTransactions`` false where it is
  /// waited for.
  public var stopDescriptor: Int32 { JobAttempt.running(self)?.runner.connection.stopDescriptor ?? -1 }

  /// Throws ``JobStopped`` when the job should stop. Call it in each turn of a loop: it costs a look at a variable
  /// under a lock.
  public func checkStop() throws {
    if isStopRequested { throw JobStopped() }
  }

  /// Reports the progress of the job, for `status`. Sent at most ten times a second; stored with the next save.
  ///
  /// In units of the job's choice: rows, bytes, steps. `workerpool status` shows the ratio. What was reported since the
  /// last save is lost with a failed attempt.
  public func report(done: Int64, of total: Int64) {
    if progressDone != done { progressDone = done }
    if progressTotal != total { progressTotal = total }
    JobAttempt.running(self)?.report(done: done, total: total)
  }

  /// Saves what the job has done so far together with `checkpoint`, in one transaction: the next attempt finds it in
  /// `job.checkpoint` and goes on from there, and nothing saved before is done twice.
  ///
  /// While the store cannot be written, a full disk perhaps, the save is tried again, as at the job's end.
  ///
  /// Throws what the context's `save` throws. A merge conflict on the job itself means that another process has it: do
  /// not catch the error.
  ///
  /// ```swift
  /// import WorkerKit
  ///
  /// @main struct Importer: Worker {
  ///   static let kind = "import"
  ///
  ///   func run(_ job: Job, in context: NSManagedObjectContext) throws {
  ///     let lines = try String(contentsOfFile: "/data/books.txt", encoding: .utf8).split(separator: "\n")
  ///     var next = job.checkpoint.flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
  ///     while next < lines.count {
  ///       try job.checkStop()
  ///       let end = min(next + 1000, lines.count)
  ///       for line in lines[next..<end] {
  ///         let book = NSEntityDescription.insertNewObject(forEntityName: "Book", into: context)
  ///         book.setValue(String(line), forKey: "title")
  ///       }
  ///       next = end
  ///       try job.save(checkpoint: Data(String(next).utf8))
  ///       job.report(done: Int64(next), of: Int64(lines.count))
  ///     }
  ///   }
  /// }
  /// ```
  ///
  /// Save every few seconds: each save is a transaction, and what follows the last one is done again after a crash.
  /// `nil` forgets the checkpoint. The time for which it waits is ``Worker/commitTimeout``; after that it throws, and
  /// the attempt has failed.
  public func save(checkpoint: Data?) throws {
    self.checkpoint = checkpoint
    guard let attempt = JobAttempt.running(self) else {
      try managedObjectContext?.save()
      return
    }
    try attempt.save()
  }

  /// The objects that the job is about, in their order, in the job's context.
  ///
  /// Throws ``JobObjectError`` for a URI of another store and for an object that does not exist: the job is dead then,
  /// if the plugin lets the error pass, since another attempt would not find it either.
  ///
  /// The values of each object are read: name IDs of thousands of objects in a job only if it uses them. Without
  /// objects it is empty.
  public func objects() throws -> [NSManagedObject] {
    guard let context = managedObjectContext, let coordinator = context.persistentStoreCoordinator else { return [] }
    return try objectURIs.map { uri in
      guard let id = coordinator.objectID(forURI: uri) else { throw JobObjectError(unknown: uri, to: coordinator) }
      do {
        return try context.existingObject(with: id)
      } catch {
        let code = CocoaError.Code.managedObjectReferentialIntegrity.rawValue
        guard (error as NSError).domain == NSCocoaErrorDomain, (error as NSError).code == code else { throw error }
        throw JobObjectError(uri: uri, reason: "does not exist, or not any more")
      }
    }
  }

  /// Brings the job's context up to date with what other workers have saved since the job began, or since the last
  /// call.
  ///
  /// Without it, what the context has read stays as read. Own changes are kept; those that the others changed, too, are
  /// a conflict when they are saved.
  ///
  /// Workers of this pool are told to each other by URI; at a PostgreSQL server, and after very many changes, all
  /// objects of the context are refreshed instead. Does nothing in a job that does not run.
  public func mergeChangesOfOthers() {
    guard let context = managedObjectContext, let attempt = JobAttempt.running(self) else { return }
    let saved = attempt.runner.connection.takeSaved()
    // What workers of other hosts save is not told here.
    if saved.isOverfull || attempt.runner.store.isShared { return context.refreshAllObjects() }
    let keys: [SavedChange: String] = [
      .inserted: NSInsertedObjectIDsKey, .updated: NSUpdatedObjectIDsKey, .deleted: NSDeletedObjectIDsKey,
    ]
    var changes: [AnyHashable: Any] = [:]
    for (change, uris) in saved.objects {
      guard let key = keys[change] else { continue }
      changes[key] = uris.compactMap { context.persistentStoreCoordinator?.objectID(for: $0) }
    }
    if !changes.isEmpty { NSManagedObjectContext.mergeChanges(fromRemoteContextSave: changes, into: [context]) }
  }

  /// Submits a further job: it exists exactly if this job's save succeeds. Nothing is submitted, and nil returned, when
  /// another job has its unique key.
  ///
  /// Where another process takes the unique key before the save, the save fails and this job runs again, which finds it
  /// taken.
  ///
  /// ```swift
  /// import WorkerKit
  ///
  /// @main struct Splitter: Worker {
  ///   static let kind = "split"
  ///
  ///   func run(_ job: Job, in context: NSManagedObjectContext) throws {
  ///     for object in try job.objects() {
  ///       var part = JobRequest(kind: "index", objects: [object.objectID.uriString])
  ///       part.uniqueKey = "index " + object.objectID.uriString
  ///       try job.submit(part)
  ///     }
  ///   }
  /// }
  /// ```
  @discardableResult
  public func submit(_ request: JobRequest) throws -> Job? {
    guard let context = managedObjectContext else { return nil }
    return try Job.submit(request, into: context, at: JobAttempt.running(self)?.runner.store.now ?? Date())
  }

  /// Submits further jobs of which some wait for others by their labels; those whose unique key is taken are left out.
  ///
  /// A request names the ones before it by ``JobRequest/label`` in ``JobOptions/after``. Empty for a job that does not
  /// run.
  @discardableResult
  public func submit(_ requests: [JobRequest]) throws -> [Job] {
    guard let context = managedObjectContext, let attempt = JobAttempt.running(self) else { return [] }
    return try attempt.runner.store.insert(requests, into: context)
  }

  /// A pass over the pool's finished jobs, which deletes those that need not be kept. Nil for a job that does
  /// not run.
  ///
  /// For maintenance workers such as the bundled `maintain`. Use it in the job's context.
  public func pruning(_ retention: JobRetention) -> JobPruning? {
    JobAttempt.running(self).map { JobPruning(retention, in: $0.runner.store) }
  }

  /// Names the objects that are the job's result. `workerpool jobs` shows them, and the app that submitted the job may
  /// read them.
  ///
  /// New objects get their permanent IDs now. It replaces the results that were set before, and is saved with the job.
  public func setResults(_ objects: [NSManagedObject]) throws {
    try managedObjectContext?.obtainPermanentIDs(for: objects.filter { $0.objectID.isTemporaryID })
    resultURIs = objects.map(\.objectID.uriString)
  }
}

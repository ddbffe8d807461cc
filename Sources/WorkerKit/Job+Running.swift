import Foundation
import WorkerProtocol

/// What a plugin can ask of the job that it runs.
extension Job {
  /// Whether the job should stop: cancelled, out of time, or because the pool ends. Cheap enough to ask for each row.
  ///
  /// ```swift
  /// import WorkerKit
  ///
  /// @main struct Watcher: Worker {
  ///   static let kind = "watch"
  ///
  ///   func run(_ job: Job, in context: NSManagedObjectContext) throws {
  ///     let file = URL(fileURLWithPath: NSTemporaryDirectory()).appendingPathComponent(UUID().uuidString)
  ///     for number in 0..<1000 {
  ///       if job.isStopRequested {
  ///         try? FileManager.default.removeItem(at: file)  // there may be none yet
  ///         throw JobStopped()
  ///       }
  ///       try Data("\(number)".utf8).write(to: file)
  ///     }
  ///   }
  /// }
  /// ```
  ///
  /// A job that is asked to stop throws, best with `checkStop()`; what it has not saved is rolled back. Whether the
  /// attempt counts depends on the reason: a cancelled job becomes `cancelled`, one that is out of time has failed, and
  /// the pool's end costs nothing.
  ///
  /// A worker that returns instead of throwing has succeeded, also when it was asked to stop: its work is saved. False
  /// for a job that does not run, as in a test.
  ///
  /// Use it where something has to be cleaned up first, and ``checkStop()`` everywhere else. Call it on the job's
  /// queue.
  public var isStopRequested: Bool { JobAttempt.running(self)?.stopReason != nil }

  /// A descriptor that is readable while the job should stop, for one that waits with poll(2); -1 for a job that does
  /// not run. It is the worker's: neither read from it nor close it.
  ///
  /// ```swift
  /// import WorkerKit
  ///
  /// @main struct Waiter: Worker {
  ///   static let kind = "wait"
  ///
  ///   func run(_ job: Job, in context: NSManagedObjectContext) throws {
  ///     var watched = [pollfd(fd: job.stopDescriptor, events: Int16(POLLIN), revents: 0)]
  ///     _ = poll(&watched, 1, 60_000)  // a minute at most
  ///     try job.checkStop()
  ///   }
  /// }
  /// ```
  ///
  /// Jobs that share a transaction share the descriptor, too: leave ``Worker/sharesTransactions`` false where it is
  /// waited for.
  public var stopDescriptor: Int32 { JobAttempt.running(self)?.runner.connection.stopDescriptor ?? -1 }

  /// Throws ``JobStopped`` when the job should stop. Call it in each turn of a loop: while no job should stop it takes
  /// no lock.
  ///
  /// ```swift
  /// import WorkerKit
  ///
  /// @main struct Copier: Worker {
  ///   static let kind = "copy"
  ///
  ///   func run(_ job: Job, in context: NSManagedObjectContext) throws {
  ///     for object in try job.objects() {
  ///       try job.checkStop()
  ///       object.setValue(object.value(forKey: "draft"), forKey: "text")
  ///     }
  ///   }
  /// }
  /// ```
  public func checkStop() throws {
    if isStopRequested { throw JobStopped() }
  }

  /// Reports the progress of the job, for `status`. Sent at most ten times a second; stored with the next save.
  ///
  /// ```swift
  /// import WorkerKit
  ///
  /// @main struct Measurer: Worker {
  ///   static let kind = "measure"
  ///
  ///   func run(_ job: Job, in context: NSManagedObjectContext) throws {
  ///     let objects = try job.objects()
  ///     for (number, object) in objects.enumerated() {
  ///       object.setValue((object.value(forKey: "text") as? String)?.count ?? 0, forKey: "length")
  ///       job.report(done: Int64(number + 1), of: Int64(objects.count))
  ///     }
  ///   }
  /// }
  /// ```
  ///
  /// In units of the job's choice: rows, bytes, steps. `workerpool status` shows the ratio. What was reported since the
  /// last save is lost with a failed attempt.
  ///
  /// It costs little enough to call for each row. Without reports `status` shows no ratio.
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
  /// ```swift
  /// import WorkerKit
  ///
  /// @main struct Cleaner: Worker {
  ///   static let kind = "clean"
  ///
  ///   func run(_ job: Job, in context: NSManagedObjectContext) throws {
  ///     do {
  ///       for object in try job.objects() { context.delete(object) }
  ///     } catch is JobObjectError {
  ///       // Each of these jobs names one object. Another program has deleted it, so this job has nothing to do.
  ///     }
  ///   }
  /// }
  /// ```
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
  /// ```swift
  /// import WorkerKit
  ///
  /// @main struct Balancer: Worker {
  ///   static let kind = "balance"
  ///
  ///   func run(_ job: Job, in context: NSManagedObjectContext) throws {
  ///     let accounts = try job.objects()
  ///     for round in 0..<100 {
  ///       job.mergeChangesOfOthers()  // sees what other jobs have written since the last round
  ///       for account in accounts { account.setValue(round, forKey: "round") }
  ///       try job.save(checkpoint: nil)
  ///     }
  ///   }
  /// }
  /// ```
  ///
  /// Without it, what the context has read stays as read. Own changes are kept; those that the others changed, too, are
  /// a conflict when they are saved.
  ///
  /// Workers of this pool are told to each other by URI; at a PostgreSQL server, and after very many changes, all
  /// objects of the context are refreshed instead. Does nothing in a job that does not run.
  ///
  /// A job of seconds does not need it: it sees what was on disk when it began, and a conflict runs it again. Call it
  /// after a save, when the context has no changes of its own.
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
  /// Throws ``MissingJobError`` for a job in ``JobOptions/after`` that does not exist.
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
  /// ```swift
  /// import WorkerKit
  ///
  /// @main struct Nightly: Worker {
  ///   static let kind = "nightly"
  ///
  ///   func run(_ job: Job, in context: NSManagedObjectContext) throws {
  ///     var load = JobRequest(kind: "import")
  ///     load.label = "load"
  ///     var report = JobRequest(kind: "export")
  ///     report.options.after = ["load"]
  ///     try job.submit([load, report])
  ///   }
  /// }
  /// ```
  ///
  /// A request names the ones before it by ``JobRequest/label`` in ``JobOptions/after``. Empty for a job that does not
  /// run. Throws ``MissingJobError`` for the URI of a job that does not exist; the pool rejects such a job file.
  @discardableResult
  public func submit(_ requests: [JobRequest]) throws -> [Job] {
    guard let context = managedObjectContext, let attempt = JobAttempt.running(self) else { return [] }
    for request in requests { if let missing = try request.missingJob(in: context) { throw missing } }
    return try attempt.runner.store.insert(requests, into: context)
  }

  /// A pass over the pool's finished jobs, which deletes those that need not be kept. Nil for a job that does
  /// not run.
  ///
  /// ```swift
  /// import WorkerKit
  ///
  /// @main struct Pruner: Worker {
  ///   static let kind = "prune"
  ///
  ///   func run(_ job: Job, in context: NSManagedObjectContext) throws {
  ///     guard let pruning = job.pruning(JobRetention(finished: 86_400)) else { return }
  ///     while try pruning.deleteNext(limit: 1000, in: context) > 0 { try job.save(checkpoint: nil) }
  ///   }
  /// }
  /// ```
  ///
  /// For maintenance workers such as the bundled `maintain`. Use it in the job's context.
  public func pruning(_ retention: JobRetention) -> JobPruning? {
    JobAttempt.running(self).map { JobPruning(retention, in: $0.runner.store) }
  }

  /// Names the objects that are the job's result. `workerpool jobs` shows them, and the app that submitted the job may
  /// read them.
  ///
  /// ```swift
  /// import WorkerKit
  ///
  /// @main struct Reporter: Worker {
  ///   static let kind = "report"
  ///
  ///   func run(_ job: Job, in context: NSManagedObjectContext) throws {
  ///     let report = NSEntityDescription.insertNewObject(forEntityName: "Report", into: context)
  ///     report.setValue(Date(), forKey: "createdAt")
  ///     try job.setResults([report])
  ///   }
  /// }
  /// ```
  ///
  /// New objects of the job's context get their permanent IDs now; a new object of another context traps. It
  /// replaces the results that were set before, and is saved with the job.
  public func setResults(_ objects: [NSManagedObject]) throws {
    try managedObjectContext?.obtainPermanentIDs(for: objects.filter { $0.objectID.isTemporaryID })
    resultURIs = objects.map(\.objectID.uriString)
  }
}

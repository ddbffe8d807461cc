import CoreData
import Jobs
import LinuxSystem

/// Reads a store: the app's own, or the pool's in the same file or database.
///
/// ```swift
/// import PoolClient
///
/// let jobs = try StoreReader(poolStore: "app.sqlite")
/// for (state, count) in try jobs.counts(JobFilter()) { print(state.name, count) }
/// let app = try StoreReader(store: "app.sqlite", model: nil)
/// print(try app.uris(ObjectQuery(entity: "Book", predicate: "isRead == NO"), limit: 100))
/// ```
///
/// It writes nothing and needs no running pool. Each call reads what is on disk then, and blocks the thread; a long one
/// does not keep writers of a SQLite file waiting. Use it from one thread at a time.
public final class StoreReader {
  private let coordinator: NSPersistentStoreCoordinator
  private let context: NSManagedObjectContext
  /// The write-ahead log of a SQLite file.
  private let log: String?
  /// The URIs of the jobs, in a reader of the pool's own store.
  public let jobURIs: JobURIs
  /// Whether pools of several hosts may share the store.
  public let isShared: Bool
  /// The jobs that pools of other hosts run, from their status: their ledgers cannot be read here.
  private var otherRuns: [Int64: JobRun] = [:]
  /// Why jobs wait. Until ``note(_:_:)`` is called, it is as if no pool ran.
  public internal(set) var waits = JobWaits(nil)
  /// Whether filters may not find out what the pool's `--redact` hides: for readers on behalf of a person who cannot
  /// read the store itself.
  package var keepsSecrets = false
  /// Throws if reading must end. Called between jobs that are checked one by one outside of SQL statements, which
  /// ``interruptStatements`` cannot end.
  package var checkTime: () throws -> Void = {}

  /// Opens the app's store. Nothing is created or written.
  ///
  /// Stores at a server keep no model: name its file, or get ``StoreReaderError/noModel(_:)``, unless the server cannot
  /// be reached or has no such store.
  ///
  /// - Parameter modelPath: the model's file; nil for the copy that the store keeps.
  /// - Throws: ``ModelLoaderError``, or an `NSError` of Core Data.
  public convenience init(store path: String, model modelPath: String?) throws {
    let place = try Self.existing(path)
    if place.isServer, modelPath == nil {
      // A model does not help where there is no server or no store.
      _ = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: place.storeType, at: place.url)
      throw StoreReaderError.noModel(path)
    }
    try self.init(place, model: try ModelLoader.load(modelPath ?? path), prefix: nil)
  }

  /// Opens the pool's own store in the file, or in the database.
  ///
  /// - Parameter timeout: seconds to wait for a lock that another process has; nil for Core Data's 30.
  /// - Throws: ``StoreReaderError/noJobs(_:)`` for a store on which no pool has run.
  public convenience init(poolStore path: String, timeout: Double? = nil) throws {
    let place = try Self.existing(path)
    do {
      try self.init(place, model: JobModel.make(), prefix: JobModel.tablePrefix, timeout: timeout)
    } catch let error as NSError where error.code == NSPersistentStoreOpenError {
      // Whether there is metadata only decides which error is thrown.
      let metadata = try? NSPersistentStoreCoordinator.metadataForPersistentStore(
        ofType: place.storeType, at: place.url)
      throw metadata == nil ? error : StoreReaderError.noJobs(path)
    }
  }

  /// Throws an error with a reason if there is no store at a place, or can be none. A server is not asked.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// do { try StoreReader.requireStore("app.sqlite") } catch { print(error) }
  /// ```
  public static func requireStore(_ path: String) throws { _ = try existing(path) }

  /// The place of a store that is there. A server is asked when the store is opened.
  private static func existing(_ text: String) throws -> StorePlace {
    let place = StorePlace(text)
    try place.check()
    guard !place.isServer else { return place }
    guard FileManager.default.fileExists(atPath: text) else { throw StoreReaderError.noFile(text) }
    try StoreFiles.requireRegular(text)
    return place
  }

  private init(_ place: StorePlace, model: NSManagedObjectModel, prefix: String?, timeout: Double? = nil) throws {
    isShared = place.isServer
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    var options: [AnyHashable: Any] = [NSReadOnlyPersistentStoreOption: true]
    if let prefix { options[NSPersistentStoreTablePrefixOption] = prefix }
    if let timeout { options[NSPersistentStoreTimeoutOption] = NSNumber(value: timeout) }
    let store = try coordinator.addPersistentStore(
      ofType: place.storeType, configurationName: nil, at: place.url, options: options)
    jobURIs = JobURIs(store: store.identifier)
    // SQLite names the log by the file to which all links lead.
    log = place.isServer ? nil : (FileID.resolve(place.url.path) ?? place.url.path) + "-wal"
    context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
  }

  /// Takes over what other pools that share the store run, from the status of one of them.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// let reader = try StoreReader(poolStore: "postgresql://app@db/app")
  /// if let status = try StatusClient(queue: "queue/").request(StatusRequest(.status)).status { reader.note(status) }
  /// ```
  ///
  /// Needed for a store at a server only: the ledgers of other hosts cannot be read here. Without it, jobs that other
  /// hosts run are shown as `available`.
  public func note(_ status: PoolStatus, at now: Date = Date()) {
    otherRuns = [:]
    for pool in [status] + (status.others ?? []) {
      for worker in pool.workers {
        for case let uri? in worker.running.map({ ObjectURI($0) }) {
          guard let key = jobURIs.key(uri), let pid = worker.pid else { continue }
          otherRuns[key] = JobRun(pid: pid, since: now - (worker.busy ?? 0), host: pool.host)
        }
      }
    }
  }

  /// The URIs of the objects that a query finds, in its order. No object is read.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// let reader = try StoreReader(store: "app.sqlite", model: "App.xcdatamodeld")
  /// let uris = try reader.uris(ObjectQuery(entity: "Book", predicate: "pages > 500"), limit: 1000)
  /// let jobs = JobTemplate(request: JobRequest(kind: "index"), chunk: 50).jobs(for: uris)
  /// ```
  ///
  /// - Parameters:
  ///   - query: the entity, predicate and order.
  ///   - limit: the most objects; 0, the default, for all.
  /// - Throws: ``ObjectQueryError`` for an entity, a predicate or an order that does not fit the model, and the store's
  ///   errors.
  public func uris(_ query: ObjectQuery, limit: Int = 0) throws -> [String] {
    let request = try query.fetchRequest(in: coordinator.managedObjectModel, as: NSManagedObjectID.self)
    request.resultType = .managedObjectIDResultType
    request.fetchLimit = limit
    return try context.performAndWait {
      try context.fetch(request).map(\.uriString)
    }
  }

  /// Hands the values of the objects that a query finds to `body`, one object after another, in memory for a few at a
  /// time.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// let reader = try StoreReader(store: "app.sqlite", model: nil)
  /// try reader.read(ObjectQuery(entity: "Book", predicate: "pages > 500")) { names in
  ///   print(names.joined(separator: ","))
  /// } row: { uri, values in
  ///   print(uri, values.map(\.text).joined(separator: ","))
  /// }
  /// ```
  ///
  /// - Parameter header: called once before, with the names of the properties.
  public func read(
    _ query: ObjectQuery, limit: Int = 0, header: ([String]) throws -> Void = { _ in },
    row: (_ uri: String, _ values: [JSONValue]) throws -> Void
  ) throws {
    let model = coordinator.managedObjectModel
    let values = try ObjectValues(entity: try query.entityDescription(in: model))
    let request = try query.fetchRequest(in: model, as: NSManagedObject.self)
    request.fetchLimit = limit
    request.fetchBatchSize = 500
    request.returnsObjectsAsFaults = false
    try header(values.names)
    try context.performAndWait {
      for object in try context.fetch(request) {
        try row(object.objectID.uriString, values.values(of: object))
      }
    }
  }

  /// Returns when everything that was read so far outlasts a loss of power. Waits for the disk; the pool and its
  /// workers do not.
  ///
  /// A commit to a SQLite file is in the log's file, and the kernel may not have written that yet. What a checkpoint
  /// has moved out of the log is on disk already (https://www.sqlite.org/pragma.html#pragma_synchronous).
  package func synchronizeCommits() throws {
    guard let log else { return try coordinator.synchronizeCommits() }
    do throws(FileError) {
      try synchronizeFile(log)
    } catch {
      if error.errno != ENOENT { throw error }
    }
  }

  /// Makes the statements that run now fail, from any thread; see
  /// `NSPersistentStoreCoordinator.interruptStatements()`.
  package var interruptStatements: @Sendable () -> Void {
    { [coordinator] in coordinator.interruptStatements() }
  }

  /// Runs `body` on the context's queue, with an empty context and a function from a job's key to its ID.
  package func perform(
    _ body: (NSManagedObjectContext, (Int64) -> NSManagedObjectID?) throws -> Void
  ) throws {
    try context.performAndWait {
      defer { context.reset() }
      context.forgetRedaction()
      try body(context, objectID(job:))
    }
  }

  /// Passes the job with this URI, and who runs it, to `body`, on its queue. False when there is none.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// let reader = try StoreReader(poolStore: "app.sqlite")
  /// let isThere = try reader.job("x-coredata://A/PoolJob/p17") { job, run in
  ///   print(job.state.name, run.map { "on process \($0.pid)" } ?? "")
  /// }
  /// ```
  public func job(_ uri: String, body: (Job, JobRun?) throws -> Void) throws -> Bool {
    guard let id = coordinator.objectID(forURI: uri) else { return false }
    return try context.performAndWait {
      context.forgetRedaction()
      let request = Job.fetchRequest()
      request.predicate = NSPredicate(format: "self == %@", id)
      guard let job = try context.fetch(request).first else { return false }
      try body(job, try runs()[job.objectID.key ?? 0])
      return true
    }
  }

  /// Calls `body` with each job that fits and who runs it.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// let reader = try StoreReader(poolStore: "app.sqlite")
  /// var filter = JobFilter()
  /// filter.state = .dead
  /// try reader.jobs(filter, limit: 20) { job, _ in print(job.kind, job.failures.last?.message ?? "") }
  /// ```
  ///
  /// - Throws: ``ObjectQueryError`` for a predicate that cannot be read, and what the fetch throws.
  public func jobs(
    _ filter: JobFilter, order: JobOrder = .newest, limit: Int, body: (Job, JobRun?) throws -> Void
  ) throws {
    try context.performAndWait {
      context.forgetRedaction()
      let runs = try runs()
      let request = Job.fetchRequest()
      request.predicate = try condition(filter, runs)
      request.sortDescriptors = order.descriptors
      guard filter.error == nil else {
        return try jobs(of: request, fitting: filter, limit: limit) { try body($0, runs[$0.objectID.key ?? 0]) }
      }
      request.fetchLimit = limit
      request.fetchBatchSize = limit == 0 ? 500 : 0
      request.returnsObjectsAsFaults = false
      for job in try context.fetch(request) { try body(job, runs[job.objectID.key ?? 0]) }
    }
  }

  /// The pool that runs on the store, or ran there last.
  package func owner() throws -> PoolOwner? {
    try context.performAndWait { try PoolOwner.find(in: context) }
  }

  /// How many jobs fit, by state. States without one are left out.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// var filter = JobFilter()
  /// filter.kind = "import"
  /// for (state, count) in try StoreReader(poolStore: "app.sqlite").counts(filter) { print(state.name, count) }
  /// ```
  ///
  /// It costs a count for each state, by an index; `search` and `predicate` read each job that the rest leaves.
  public func counts(_ filter: JobFilter) throws -> [(state: JobState, count: Int)] {
    try context.performAndWait {
      let runs = try runs()
      return try (filter.states ?? JobState.allCases).compactMap { state in
        guard filter.state ?? state == state else { return nil }
        // One state is found by an index.
        var one = filter
        (one.state, one.states) = (state, nil)
        let request = Job.fetchRequest()
        request.predicate = try condition(one, runs)
        var count = 0
        if filter.error == nil {
          count = try context.count(for: request)
        } else {
          request.propertiesToFetch = ["errors"]
          try context.forEach(request) { job in
            try checkTime()
            count += filter.fits(job) ? 1 : 0
          }
        }
        return count > 0 ? (state, count) : nil
      }
    }
  }

  /// The keys of the next jobs that fit, the newest first.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// let reader = try StoreReader(poolStore: "app.sqlite")
  /// var end = try reader.newestKey()
  /// while let last = try reader.keys(JobFilter(), upTo: end, limit: 1000).last { end = last - 1 }
  /// ```
  ///
  /// Keys grow with the time of arrival, so a loop such as this one passes each job once, and no job that comes
  /// meanwhile.
  ///
  /// - Parameter end: only jobs that came before this one, or with it.
  public func keys(_ filter: JobFilter, upTo end: JobKey, limit: Int) throws -> [JobKey] {
    guard let end = objectID(job: end) else { return [] }
    return try context.performAndWait {
      defer { context.reset() }
      guard filter.error == nil else { return try keys(fitting: filter, upTo: end, limit: limit) }
      let request = NSFetchRequest<NSManagedObjectID>(entityName: Job.entityName)
      request.resultType = .managedObjectIDResultType
      let parts = [NSPredicate(format: "self <= %@", end), try condition(filter, try runs())]
      request.predicate = NSCompoundPredicate(andPredicateWithSubpredicates: parts.compactMap(\.self))
      request.sortDescriptors = [NSSortDescriptor(key: "objectID", ascending: false)]
      request.fetchLimit = limit
      return try context.fetch(request).compactMap(\.key)
    }
  }

  /// Passes the first jobs of a request that fit the filter to `body`. On the context's queue.
  private func jobs(
    of request: NSFetchRequest<Job>, fitting filter: JobFilter, limit: Int, body: (Job) throws -> Void
  ) throws {
    request.fetchBatchSize = 500
    var count = 0
    for job in try context.fetch(request) where limit == 0 || count < limit {
      if filter.fits(job) {
        try body(job)
        count += 1
      }
      context.refresh(job, mergeChanges: false)
    }
  }

  /// The keys of the next jobs whose errors are looked at one by one, a thousand jobs at a time. On the context's
  /// queue.
  private func keys(fitting filter: JobFilter, upTo end: NSManagedObjectID, limit: Int) throws -> [JobKey] {
    let condition = try condition(filter, try runs())
    var keys: [JobKey] = []
    var end: NSManagedObjectID? = end
    while let last = end, keys.count < limit {
      try checkTime()
      let request = Job.fetchRequest()
      request.predicate = NSCompoundPredicate(
        andPredicateWithSubpredicates: [NSPredicate(format: "self <= %@", last), condition].compactMap(\.self))
      request.sortDescriptors = JobOrder.newest.descriptors
      request.propertiesToFetch = ["errors"]
      request.fetchLimit = 1000
      let jobs = try context.fetch(request)
      keys += jobs.filter(filter.fits).prefix(limit - keys.count).compactMap(\.objectID.key)
      end = jobs.count < request.fetchLimit ? nil : jobs.last?.objectID.key.flatMap { objectID(job: $0 - 1) }
      context.reset()
    }
    return keys
  }

  /// The key of the newest job; 0 without jobs. It reads one entry of an index.
  public func newestKey() throws -> JobKey { try context.performAndWait { try JobStore.newestKey(in: context) } }

  /// The predicate of a filter; nil when it leaves no job out.
  ///
  /// - Parameter runs: who runs what now.
  package func condition(_ filter: JobFilter, _ runs: [JobKey: JobRun]) throws -> NSPredicate? {
    if keepsSecrets { context.forgetRedaction() }
    let condition = try filter.condition(
      running: runs.keys.compactMap(objectID(job:)), waits: waits, objectID: objectID(job:),
      besides: keepsSecrets && !context.redaction().names.isEmpty ? ["parameters", "output"] : [])
    let parts = try [condition].compactMap(\.self) + keyBounds(from: filter.from, to: filter.to)
    return parts.isEmpty ? nil : NSCompoundPredicate(andPredicateWithSubpredicates: parts)
  }

  /// Times of arrival have no index, but keys nearly have their order: a job is saved a little after it was made, and
  /// the clocks of several hosts differ.
  private func keyBounds(from: Date?, to: Date?) throws -> [NSPredicate] {
    func bound(_ format: String, _ date: Date?) throws -> NSPredicate? {
      guard let date else { return nil }
      let key = try JobStore.key(cameAt: date, in: context, objectID: objectID(job:))
      return objectID(job: key).map { NSPredicate(format: format, $0) }
    }
    return [
      try bound("self >= %@", from.map { $0 - Self.disorder }), try bound("self < %@", to.map { $0 + Self.disorder }),
    ].compactMap(\.self)
  }

  /// Seconds by which a job may have come earlier or later than its neighbours.
  private static let disorder = 3600.0

  private func objectID(job key: JobKey) -> NSManagedObjectID? { coordinator.objectID(for: jobURIs[key]) }

  /// The process that runs each job, by the pool's ledger; workers of a dead pool that are alive count, too. On the
  /// context's queue.
  package func runs() throws -> [Int64: JobRun] {
    // The ledgers of other hosts cannot be read here.
    let ledgers = try PoolOwner.all(in: context).compactMap {
      try? LedgerContents(path: QueueLayout(root: $0.queue).ledger($0.ledger))
    }
    let begun = ledgers.filter { $0.boot == Boot.id() }.flatMap(\.entries).filter { $0.state == .begun }
    let alive = Set(begun.map(\.process)).filter(\.isAlive)
    return begun.reduce(into: otherRuns) { runs, entry in
      if alive.contains(entry.process), runs[entry.job] == nil {
        runs[entry.job] = JobRun(pid: entry.process.pid, since: entry.begunAt)
      }
    }
  }
}

/// The process that runs a job, and since when, as the pool's ledger on this machine says, or the status of other
/// pools.
///
/// ```swift
/// import PoolClient
///
/// let reader = try StoreReader(poolStore: "app.sqlite")
/// var filter = JobFilter()
/// filter.isRunning = true
/// try reader.jobs(filter, limit: 100) { job, run in
///   if let run { print(job.kind, "on process", run.pid, "for", Int(Date().timeIntervalSince(run.since)), "s") }
/// }
/// ```
public struct JobRun: Hashable, Sendable {
  /// The process ID of the worker.
  public let pid: Int32
  /// When the worker said that the job began.
  public let since: Date
  /// The worker's host, if pools of several hosts share the store; nil for this host.
  public var host: String?
}

/// Why there is nothing to read.
///
/// ```swift
/// import PoolClient
///
/// do {
///   _ = try StoreReader(poolStore: "app.sqlite")
/// } catch StoreReaderError.noJobs {
///   print("start a pool on the store first")
/// }
/// ```
///
/// A file that is no store, or cannot be read, is an `NSError` of Core Data instead (134000 to 134080).
public enum StoreReaderError: Error, Hashable, Sendable, CustomStringConvertible {
  /// There is no file at the path.
  case noFile(String)
  /// A store at a server keeps no model.
  case noModel(String)
  /// No pool has run on the store.
  case noJobs(String)

  /// What is missing, in one sentence.
  public var description: String {
    switch self {
    case .noFile(let path): "there is no store at \(path)"
    case .noModel(let place): "the store at \(place) keeps no model: name it with --model"
    case .noJobs(let path): "there are no jobs in \(path): no pool has run on this store yet"
    }
  }
}

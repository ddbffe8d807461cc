import Foundation
import LinuxSystem
import Synchronization
import WorkerProtocol

@_exported import WorkerKit

/// Runs a plugin's jobs within a test: in the test's process, one at a time, on a store of its own, by a clock that the
/// test sets.
///
/// ```swift
/// import WorkerKitTesting
///
/// struct Indexer: Worker {
///   static let kind = "index"
///
///   func run(_ job: Job, in context: NSManagedObjectContext) throws {
///     for book in try job.objects() {
///       let title = book.value(forKey: "title") as? String ?? ""
///       book.setValue(title.split(separator: " ").count, forKey: "words")
///     }
///   }
/// }
///
/// func testTheWordsOfATitleAreCounted(model: NSManagedObjectModel) throws {
///   let pool = try TestPool(model: model, workers: [Indexer.self])
///   let book = try pool.write { context in
///     let book = NSEntityDescription.insertNewObject(forEntityName: "Book", into: context)
///     book.setValue("A Room with a View", forKey: "title")
///     return book
///   }
///   let run = try pool.run("index", objects: [book])
///   let words = try pool.read { try $0.existingObject(with: book).value(forKey: "words") as? Int }
///   assert(run.outcome == .succeeded && words == 5)
/// }
/// ```
///
/// Jobs go the way that they go in a worker of a pool: what `run` changes is saved together with the job's success, an
/// error rolls it back and is kept with the job, conflicts run the job again, checkpoints and submitted jobs are in the
/// store. What only a pool does is missing: a job that takes too long is not ended, limits, rates and pauses
/// hold nothing back, and a plugin that ends its process ends the test.
///
/// The store is a SQLite file in a temporary directory, which is removed with the object. Use it on one thread; several
/// of them may be used side by side.
public final class TestPool {
  /// The app's store and the pool's, on a coordinator of their own: for what `read` and `write` do not do.
  public let store: JobStore
  private let directory: URL
  private let kinds: Set<String>
  private let trial: JobTrial
  private let clock: Clock

  /// The time that jobs are submitted, begin and end at. It stands still; set it, to a later time, to move it.
  public var now: Date {
    get { clock.now.withLock { $0 } }
    set { clock.now.withLock { $0 = newValue } }
  }

  private final class Clock: Sendable {
    let now: Mutex<Date>
    init(_ now: Date) { self.now = Mutex(now) }
  }

  /// Makes an empty store.
  ///
  /// - Parameters:
  ///   - model: the app's model. It is copied.
  ///   - workers: the types whose kinds of jobs run.
  ///   - now: the first time of the clock.
  /// - Throws: `JobModelError` for a model that uses the names of the pool's own; an `NSError` of Core Data when no
  ///   store can be made.
  public init(model: NSManagedObjectModel, workers: [any Worker.Type], now: Date = Date()) throws {
    let clock = Clock(now)
    self.clock = clock
    kinds = Set(workers.map { $0.kind })
    directory = FileManager.default.temporaryDirectory.appendingPathComponent("test-pool-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    do {
      store = try JobStore(
        url: directory.appendingPathComponent("app.sqlite"), model: model, clock: { clock.now.withLock { $0 } })
      trial = try JobTrial(workers: workers, store: store)
    } catch {
      // The first error counts. What cannot be removed stays in the system's temporary directory.
      try? FileManager.default.removeItem(at: directory)
      throw error
    }
  }

  deinit {
    // A store that cannot be closed is of no further use either.
    for open in store.coordinator.persistentStores { try? store.coordinator.remove(open) }
    // What cannot be removed stays in the system's temporary directory.
    try? FileManager.default.removeItem(at: directory)
  }

  // MARK: The app's side

  /// Runs the body in a new context on both stores, and returns what it returns. Nothing is saved.
  ///
  /// ```swift
  /// import WorkerKitTesting
  ///
  /// func count(_ entity: String, in pool: TestPool) throws -> Int {
  ///   try pool.read { context in try context.count(for: NSFetchRequest<NSManagedObject>(entityName: entity)) }
  /// }
  /// ```
  ///
  /// The context is the body's: return values and object IDs, no objects.
  ///
  /// - Throws: what the body throws.
  public func read<T>(_ body: (NSManagedObjectContext) throws -> T) throws -> T {
    let context = store.makeContext(name: "test")
    return try context.performAndWait { try body(context) }
  }

  /// Runs the body in a new context on both stores, and saves.
  ///
  /// - Throws: what the body and the save throw.
  public func write(_ body: (NSManagedObjectContext) throws -> Void) throws {
    try read { context in
      try body(context)
      try context.save()
    }
  }

  /// Runs the body in a new context on both stores, and saves.
  ///
  /// - Returns: the ID of the object that the body returns.
  /// - Throws: what the body and the save throw.
  public func write(_ body: (NSManagedObjectContext) throws -> NSManagedObject) throws -> NSManagedObjectID {
    try read { context in
      let object = try body(context)
      try context.save()
      return object.objectID
    }
  }

  /// Runs the body in a new context on both stores, and saves.
  ///
  /// - Returns: the IDs of the objects that the body returns, in their order.
  /// - Throws: what the body and the save throw.
  public func write(_ body: (NSManagedObjectContext) throws -> [NSManagedObject]) throws -> [NSManagedObjectID] {
    try read { context in
      let objects = try body(context)
      try context.save()
      return objects.map(\.objectID)
    }
  }

  /// Puts a job into the store, without running it, as an app does.
  ///
  /// ```swift
  /// import WorkerKitTesting
  ///
  /// func testOneJobIsTakenForAKey(_ pool: TestPool) throws {
  ///   var request = JobRequest(kind: "index")
  ///   request.uniqueKey = "index 17"
  ///   let jobs = try [pool.submit(request), pool.submit(request)]
  ///   assert(jobs[0] != nil && jobs[1] == nil)
  /// }
  /// ```
  ///
  /// - Returns: its ID; nil when an unfinished job has its unique key.
  /// - Throws: what `JobStore.insert(_:into:at:)` and the save throw.
  @discardableResult
  public func submit(_ request: JobRequest) throws -> NSManagedObjectID? {
    try write { context in try store.insert([request], into: context) as [NSManagedObject] }.first
  }

  // MARK: Jobs

  /// Submits a job and runs its first attempt. The clock stands still meanwhile.
  ///
  /// ```swift
  /// import WorkerKitTesting
  ///
  /// func testALateJobStops(_ pool: TestPool) throws {
  ///   let run = try pool.run(JobRequest(kind: "fetch"), stop: .timedOut)
  ///   assert(run.failure?.type == "timeout")
  /// }
  /// ```
  ///
  /// - Parameter stop: why the job is asked to stop, from its begin on; nil: it is not.
  /// - Throws: ``TestPoolError`` when the job cannot run now; what saving and reading the job throw. What the plugin
  ///   throws is in the result.
  @discardableResult
  public func run(_ request: JobRequest, stop: JobStop? = nil) throws -> TestAttempt {
    guard kinds.contains(request.kind) else { throw TestPoolError.unknownKind(request.kind) }
    guard let job = try submit(request) else { throw TestPoolError.keyIsTaken(request.uniqueKey ?? "") }
    return try run(job, stop: stop)
  }

  /// Submits a job about these objects and runs its first attempt.
  ///
  /// - Parameters:
  ///   - objects: what the job is about, in this order.
  ///   - parameters: a JSON object as text.
  ///   - stop: why the job is asked to stop, from its begin on; nil: it is not.
  /// - Throws: ``TestPoolError`` when the job cannot run now; what saving and reading it throw.
  @discardableResult
  public func run(
    _ kind: String, objects: [NSManagedObjectID] = [], parameters: String? = nil, stop: JobStop? = nil
  ) throws -> TestAttempt {
    try run(JobRequest(kind: kind, objects: objects.map(\.uriString), parameters: parameters), stop: stop)
  }

  /// Runs the next attempt of a job that is in the store, if its time has come: one that was submitted, by the test or
  /// by another job, or one that has failed before.
  ///
  /// ```swift
  /// import WorkerKitTesting
  ///
  /// let pool = try TestPool(model: model, workers: [])
  /// let first = try pool.run("import")
  /// if let time = first.runsAgainAt {
  ///   pool.now = time
  ///   let second = try pool.run(first.job)
  ///   print(second.attempt)
  /// }
  /// ```
  ///
  /// - Throws: ``TestPoolError`` when the job cannot run now; what saving and reading it throw.
  @discardableResult
  public func run(_ job: NSManagedObjectID, stop: JobStop? = nil) throws -> TestAttempt {
    try promote()
    let kept = try jobs()
    try read { context in
      guard let job = try context.existingObject(with: job) as? Job else { return }
      guard kinds.contains(job.kind) else { throw TestPoolError.unknownKind(job.kind) }
      guard job.state == .available else { throw TestPoolError.isNotAvailable(job.state, until: job.runAt) }
    }
    guard let uri = job.objectURI else { throw TestPoolError.isNotAvailable(.pending, until: nil) }
    _ = try trial.run(uri, stop: stop?.reason)
    return try read { context in
      let request = Job.fetchRequest()
      request.sortDescriptors = [NSSortDescriptor(key: "objectID", ascending: true)]
      let storedJobs = try context.fetch(request)
      guard let row = storedJobs.first(where: { $0.objectID == job }) else { throw TestPoolError.isGone(job) }
      return TestAttempt(row, submitted: try storedJobs.filter { !kept.contains($0.objectID) }.map(SubmittedJob.init))
    }
  }

  /// Runs jobs whose time has come, those of the highest priority first, until none is left: also those that they
  /// submit, those that wait for them, and further attempts that are due at once. Jobs of kinds that no worker runs
  /// stay.
  ///
  /// ```swift
  /// import WorkerKitTesting
  ///
  /// func testAllPartsAreIndexed(_ pool: TestPool) throws {
  ///   try pool.run("split")
  ///   let runs = try pool.runAll()
  ///   assert(runs.allSatisfy { $0.outcome == .succeeded })
  /// }
  /// ```
  ///
  /// - Parameter limit: the most attempts that are run.
  /// - Returns: the attempts, in their order.
  /// - Throws: ``TestPoolError`` when the job cannot run now; what saving and reading it throw.
  @discardableResult
  public func runAll(limit: Int = 1000) throws -> [TestAttempt] {
    var runs: [TestAttempt] = []
    while runs.count < limit, let job = try next() { runs.append(try run(job)) }
    return runs
  }

  /// Makes jobs available whose time has come, and those whose others have ended.
  private func promote() throws {
    try read { context in
      while try store.promoteDue(in: context).count == 1000 { try context.save() }
      _ = try store.adoptPending(limit: .max, in: context)
      try context.save()
      _ = try store.release(after: store.blockers(in: context), in: context)
      try context.save()
    }
  }

  private func next() throws -> NSManagedObjectID? {
    try promote()
    return try read { context in
      let request = Job.fetchRequest()
      request.predicate = NSPredicate(
        format: "state == %d AND kind IN %@", Int(JobState.available.rawValue), Array(kinds))
      request.sortDescriptors = [
        NSSortDescriptor(key: "priority", ascending: false), NSSortDescriptor(key: "objectID", ascending: true),
      ]
      request.fetchLimit = 1
      return try context.fetch(request).first?.objectID
    }
  }

  private func jobs() throws -> Set<NSManagedObjectID> {
    try read { context in
      let request = NSFetchRequest<NSManagedObjectID>(entityName: Job.entityName)
      request.resultType = .managedObjectIDResultType
      return Set(try context.fetch(request))
    }
  }
}

/// Why ``TestPool`` does not run a job.
public enum TestPoolError: Error, Hashable, Sendable, CustomStringConvertible {
  /// None of the pool's workers runs this kind of job.
  case unknownKind(String)
  /// An unfinished job has this unique key.
  case keyIsTaken(String)
  /// The job has ended, or waits: for the time, or for other jobs.
  case isNotAvailable(JobState, until: Date?)
  /// The plugin deleted the row of its job.
  case isGone(NSManagedObjectID)

  /// What is wrong and what to do, in one sentence.
  public var description: String {
    switch self {
    case .unknownKind(let kind): "no worker of this test pool runs the kind \(kind): name its type in workers"
    case .keyIsTaken(let key): "an unfinished job has the unique key \(key): run that one first"
    case .isNotAvailable(let state, let time):
      "the job is \(state.name)"
        + (time.map { " until \($0): set the pool's now to that time first" } ?? ", so it has no further attempt")
    case .isGone(let job): "the plugin deleted the row of its own job, \(job.uriString): leave that to the pool"
    }
  }
}

import CoreData
import Foundation
import Jobs
import StoreTools
import Synchronization
import WorkerProtocol

/// Does the coordinator's work in the store, on private-queue contexts, and reports back.
///
/// `@unchecked Sendable`: `report` is set once, before anything else. Other state is under a lock, or used on one queue
/// only: the context's, or that of the checkpoints.
final class StoreJobSource: JobSource, @unchecked Sendable {
  let store: JobStore
  let context: NSManagedObjectContext
  /// Counts for a status. That may take long, and must not delay jobs.
  let countingContext: NSManagedObjectContext
  let overviews = OverviewCache()
  /// Deletes old jobs. That may take long, and must not delay a status either.
  let pruningContext: NSManagedObjectContext
  let intake: Intake
  let layout: QueueLayout
  let successor: Successor
  /// Makes WAL checkpoints. They may take long, and no job waits for them.
  let checkpointQueue = DispatchQueue(label: "checkpoint")
  /// Nil for a store at a server, which keeps its own log.
  let checkpointer: WALCheckpointer?
  /// This pool among those that share the store; nil for a SQLite file. Set by `prepare`.
  var membership: StoreMembership?
  /// Deletes old bad job files; no job waits for that.
  let rejectedQueue = DispatchQueue(label: "rejected job files")
  private(set) var report: @Sendable (JobSourceEvent) -> Void = { _ in }
  /// What `prepare` found, until `start` reports it. On the context's queue.
  private var preparedStart = JobSourceStart()
  let kinds = Mutex(DescribedKinds())
  let retention: JobRetention
  /// What this pool's options say of limits.
  let limits: PoolLimits
  let published: PublishedOptions
  /// Kinds for which the store is asked again soon.
  let asking = Mutex<Set<String>>([])
  let rates: StoredRates
  /// Writes what begins of kinds with a rate, where the pool shares the store with nobody. A write waits for the
  /// workers' transactions, and must not delay other jobs. Nil for a store at a server.
  let ratesContext: NSManagedObjectContext?
  /// What was paused in the store when it was read or written last. On the context's queue.
  var lastPauses = JobPauses()
  let periodic: PeriodicDirectory
  let walReaders = Mutex(WALHolders())
  /// The log's file at the last checkpoint. On the checkpoints' queue.
  var lastWALMoment = WALMoment()
  let storeWatch = StoreWatch()
  /// On the context's queue.
  var sheets: JobSheets
  /// Ends of jobs may have been missed, so the next release checks all dependents. On the context's queue.
  var mustCheckAll = true

  /// - Parameters:
  ///   - store: the store, with both the app's entities and the pool's.
  ///   - successor: this pool.
  ///   - writeTurn: the file by whose lock the pool's processes take turns at writing.
  ///   - retention: how long finished jobs are kept.
  ///   - limits: what the pool's options say of limits and rates.
  ///   - published: what others find of the pool's options in the store.
  ///   - owners: whose job files are taken.
  init(
    store: JobStore, layout: QueueLayout, successor: Successor, writeTurn: String,
    retention: JobRetention = JobRetention(), limits: PoolLimits = PoolLimits(),
    published: PublishedOptions = PublishedOptions(), owners: FileOwnerRule = FileOwnerRule()
  ) throws {
    self.store = store
    self.layout = layout
    self.successor = successor
    self.retention = retention
    self.limits = limits
    self.published = published
    periodic = PeriodicDirectory(path: layout.periodic)
    sheets = JobSheets(directory: layout.jobs, runs: successor.sheets)
    context = store.makeContext(name: "coordinator")
    countingContext = store.makeContext(name: "status")
    pruningContext = store.makeContext(name: "pruning")
    rates = StoredRates(hasClaims: store.isShared)
    ratesContext = store.isShared ? nil : store.makeContext(name: "rates")
    intake = try Intake(
      layout: layout, store: store, writeTurn: writeTurn, owners: owners, watch: storeWatch)
    checkpointer = store.isShared ? nil : try WALCheckpointer(url: store.url, writeTurn: writeTurn)
  }

  func setKinds(_ kinds: [PluginDescription.Kind], areAll: Bool) {
    for pool in self.kinds.withLock({ $0.set(kinds, areAll: areAll) }) { noteGone(pool) }
  }

  func kind(_ name: String) -> PluginDescription.Kind? { kinds.withLock { $0.byName[name] } }

  // MARK: Start and end

  /// Recovers what an earlier process left, and takes the store over. Called before `start`. It blocks, and may be
  /// called again after an error.
  func prepare() throws {
    try context.performAndWait {
      defer { context.rollback() }
      try store.check(in: context)
    }
    try intake.recover()
    try context.performAndWait {
      sheets.prepare()
      do {
        preparedStart = try takeOver(context)
      } catch {
        context.rollback()
        throw error
      }
      context.reset()
    }
  }

  func start(reporting report: @escaping @Sendable (JobSourceEvent) -> Void) {
    self.report = report
    intake.start { [self] in took($0) }
    context.perform { [self] in
      report(.started(preparedStart))
      startSharing()
    }
  }

  func finish() {
    // Each queue does its earlier work first.
    intake.finish { [self] in
      work { [self] context in
        stopSharing(context)
        giveUpPlaces()
        checkpointQueue.async { [self] in
          // Leaves the app's store without a long write-ahead log.
          _ = try? checkpointer?.checkpoint(.completely)
          report(.finished)
        }
      }
    }
  }

  var isBusy: Bool { storeWatch.isBusy }
  func beginWatch() -> Bool { storeWatch.beginWatch() }
  func cancelWatch() -> Bool { storeWatch.cancelWatch() }
  func endWatch() -> Double? { storeWatch.endWatch() }
  func takeDelay() -> Bool { storeWatch.takeDelay() }

  // MARK: The context's queue

  /// Runs `body` on the context's queue with an empty context, so that it sees what is on disk.
  func work(_ body: @escaping @Sendable (NSManagedObjectContext) throws -> Void) {
    work(body) { [self] error in report(.trouble("the store: \(ErrorText.text(error))")) }
  }

  func work(
    on other: NSManagedObjectContext? = nil, _ body: @escaping @Sendable (NSManagedObjectContext) throws -> Void,
    onFailure: @escaping @Sendable (any Error) -> Void
  ) {
    // Counting and pruning may take long, and no job waits for them.
    let watch = other == nil ? storeWatch : nil
    let context = other ?? context
    watch?.expect()
    context.perform {
      do {
        if let watch { try watch.during { try body(context) } } else { try body(context) }
      } catch {
        context.rollback()
        onFailure(error)
      }
      context.reset()
      watch?.finish()
    }
  }
}

/// What the plugins have described, and what cannot be decided before they have.
struct DescribedKinds: Sendable {
  private(set) var byName: [String: PluginDescription.Kind] = [:]
  /// Whether each plugin has described itself, or failed to.
  private var areAll = false
  /// Dead pools that had claimed suspects of kinds that are not known yet.
  private(set) var unjudged: Set<Int64> = []

  /// Returns the dead pools that can be judged again.
  mutating func set(_ kinds: [PluginDescription.Kind], areAll: Bool) -> Set<Int64> {
    byName = Dictionary(kinds.map { ($0.kind, $0) }, uniquingKeysWith: { first, _ in first })
    self.areAll = areAll
    defer { unjudged = [] }
    return unjudged
  }

  /// Whether it is known how often jobs of these kinds may crash. If not, the dead pool is judged later.
  mutating func canJudge(_ kinds: Set<String>, of pool: Int64) -> Bool {
    if areAll || kinds.allSatisfy({ byName[$0] != nil }) { return true }
    unjudged.insert(pool)
    return false
  }
}

/// Limits and rates from the pool's options, which go before those of the plugins.
struct PoolLimits: Sendable {
  var kinds: [String: Int] = [:]
  var rates: [String: JobRate] = [:]
  var queues = QueueLimits()
}

/// Options of the pool that are written into the store, where readers and workers find them.
struct PublishedOptions: Sendable {
  var redaction = Redaction()
  var hooks: [JobHook] = []
}

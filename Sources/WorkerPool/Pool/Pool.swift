@_exported import PoolClient
@_exported import struct WorkerProtocol.JobRate
@_exported import struct WorkerProtocol.PluginDescription
import LinuxSystem
import CSystem
import CoreData
import Foundation
import Glibc
import Jobs
import StoreTools
import WorkerProtocol

/// A pool: a supervisor with its worker processes, and a coordinator that hands them the jobs of one store.
public enum Pool {
  /// Why a pool cannot start.
  public enum StartError: Error, Sendable, CustomStringConvertible {
    /// The model cannot be read.
    case model(ModelLoaderError)
    /// No model was named, and there is no store that keeps one.
    case noModel(store: String)
    /// The store cannot be opened.
    case store(path: String, reason: String)
    /// Another pool runs on the store.
    case storeIsTaken(path: String, pid: Int32?, queue: String?)
    /// A command such as `workerpool copy` works on the store.
    case storeIsBusy(path: String, pid: Int32, command: String)
    /// The store, or the directory in which it lies, may not be written.
    case storeIsReadOnly(path: String, directory: String?, reason: String)
    /// The store was made with another model, or with another version of it.
    case modelDoesNotFit(model: String, store: String, difference: String)
    /// The kernel cannot confine workers.
    case confinement(reason: String)
    /// No plugin could be started.
    case noPlugins(reason: String)
    /// This process may have fewer files open than a pool with one worker needs.
    case tooFewOpenFiles(needed: Int, limit: Int)
    /// A file that the pool is told to write would replace something else.
    case output(option: String, path: String, reason: String)
    /// The store was not open after this many seconds: most likely another process has it locked.
    case storeIsLocked(path: String, seconds: Double, reason: String)

    /// How a store at a server gets to a newer model.
    fileprivate static let serverMigration =
      "a program that opens the store with NSMigratePersistentStoresAutomaticallyOption migrates it at the server"

    private static func storeIsTaken(_ path: String, _ pid: pid_t?, _ queue: String?) -> String {
      let process = pid.map { ", process \($0)," } ?? ""
      let place = queue.map { " with the queue directory \($0)" } ?? ""
      let option = queue.map { " --queue \(ShellWord.quoted($0))" } ?? ""
      return "another pool\(process) runs on the store \(path)\(place); a store has one pool: stop that one first "
        + "(workerpool stop\(option))"
    }

    /// What happened and what to do, as one line.
    public var description: String {
      switch self {
      case .model(let error): error.description
      case .noModel(let store) where StorePlace(store).isServer:
        "--model is missing: a store at a server needs it, because a pool does not read the copy of the model there"
      case .noModel(let store): "there is no store at \(store) yet: --model must name the model of the new store"
      case .store(let path, let reason): "the store \(path) cannot be opened: \(reason)"
      case .storeIsTaken(let path, let pid, let queue):
        Self.storeIsTaken(path, pid, queue)
      case .storeIsBusy(let path, let pid, let command):
        "workerpool \(command), process \(pid), works on the store \(path): try again when it has ended"
      case .storeIsReadOnly(let path, let directory, let reason):
        "the store \(path) cannot be written"
          + "\(directory.map { ", because its directory \($0) cannot" } ?? ""): \(reason); the pool keeps its jobs "
          + "there"
      case .modelDoesNotFit(let model, let store, let difference) where StorePlace(store).isServer:
        "the model \(model) does not fit the store \(store): \(difference); \(Self.serverMigration); else give --model "
          + "the version that the store was made with"
      case .modelDoesNotFit(let model, let store, let difference):
        "the model \(model) does not fit the store \(store): \(difference); to migrate the store: "
          + "workerpool migrate --store \(ShellWord.quoted(store)) --model \(ShellWord.quoted(model)) (with --dry-run "
          + "it shows what changes), or run --migrate; else give --model the version that the store was made with"
      case .confinement(let reason): "workers cannot be confined: \(reason); without --confine they run as they are"
      case .noPlugins(let reason): "no plugin can be started: \(reason)"
      case .tooFewOpenFiles(let needed, let limit):
        "a pool with one worker needs \(needed) open files, each further worker four more, and this process may have "
          + "\(limit): raise the limit (`ulimit -n`, LimitNOFILE= of a systemd unit)"
      case .output(let option, let path, let reason): "--\(option) cannot be used: \(path) \(reason)"
      case .storeIsLocked(let path, let seconds, let reason):
        "the store \(path) could not be opened \(seconds > 0 ? "within \(Clock.text(seconds))" : "at once"): \(reason)"
      }
    }
  }

  /// Whether this program was started in the process of a running pool to take the place of its program.
  package static var replacesProgram: Bool { getenv(Handover.variable) != nil }

  /// Runs a pool on the calling thread until it is told to stop, through a signal or its status socket; returns the
  /// exit code.
  ///
  /// The thread must be the process's main thread or live as long as the process: the kernel tells workers of their
  /// supervisor's death when the thread ends that started them. Throws ``StartError``, `FileError`, an error that says
  /// that another pool runs on the queue directory, or a failed system call.
  public static func run(_ configuration: PoolConfiguration) throws -> Int32 {
    try check(configuration)
    var configuration = configuration
    if configuration.commandLine != nil, let request = try Handover.takeRequest() {
      guard case .takeOver(let handover) = request else { return try answer(request, configuration) }
      configuration.workers = handover.workerCount ?? configuration.workers
      configuration.fixedWorkers = handover.fixedWorkers ?? configuration.fixedWorkers
      configuration.handover = handover
      // The former program would have gone on, too.
      configuration.storeTimeout = nil
      StoreLock.inherit(handover.storeLock)
    }
    if configuration.handlesSignals { OpenFileLimit.raise() }
    // Before anything is made: a start that is refused leaves nothing behind. One that takes over has the descriptors.
    if configuration.handover == nil, let shortage = OpenFileLimit.shortageOfPool {
      throw StartError.tooFewOpenFiles(needed: shortage.needed, limit: shortage.limit)
    }
    if !configuration.place.isServer {
      try StoreFitness.requireWritable(configuration.store)
    }
    configuration.model = try modelPath(configuration)
    let model = try loadModel(configuration)
    // Before there are other threads: a signal for the process could reach one of them.
    let signals = configuration.handlesSignals ? try takeSignals() : nil
    // After the signals: threads inherit which of them are blocked.
    DispatchTimers.open()
    try OutputFiles.check(configuration)
    try PluginPresence.require(in: configuration.pluginDirectories)
    if let path = configuration.recording { try ConversationRecorder.check(path: path) }
    let layout = QueueLayout(root: configuration.queue)
    let remains = StartRemains(layout, store: configuration.place.isServer ? nil : configuration.store)
    var hasStarted = false
    try layout.create()
    let runtime = RuntimeDirectory(queue: configuration.queue)
    let lock = try runtime.lock(configuration.handover?.queueLock)
    defer {
      runtime.clear()
      if !hasStarted { remains.removeQueue() }
      lock.release()
    }
    configuration.log = configuration.log.and(try LogDirectory(queue: configuration.queue).open())
    let log = configuration.log
    defer { log.flush() }
    if configuration.stopsWithParent, csystem_signal_on_parent_death(SIGTERM) != 0 { return 0 }
    let identity = try runtime.identity()
    configuration.identity = identity
    if configuration.confinesWorkers {
      try WorkerConfinement.makePlaces(configuration, model, keepsFiles: configuration.handover != nil)
    }
    if let limit = configuration.slowStatements {
      let table = SlowStatementTable(limit: limit)
      table.observeOwn()
      configuration.slowStatementTable = table
    }
    let storeLock = try takeStore(&configuration)
    configuration.locks = storeLock.map { PoolLocks(queue: lock.descriptor.number, store: $0.descriptor) }
    defer {
      if !hasStarted { remains.removeStore() }
      storeLock?.release()
    }
    let claims = ClaimMemory(file: layout.claims)
    // After an end in order, by an error too. A pool that is killed has no time for it, and counts as dead.
    defer { claims.keep() }
    let manager = configuration.handlesSignals ? ServiceManager(ProcessInfo.processInfo.environment) : nil
    var code = try runOnce(&configuration, layout: layout, claims: claims, signals: signals, manager: manager)
    hasStarted = true
    while code == PoolEnding.cutOff.rawValue {
      // The server may be away for long; the pool has to be there when it is back.
      configuration.storeTimeout = nil
      code = try runOnce(&configuration, layout: layout, claims: claims, signals: signals, manager: manager)
    }
    log(.poolStopped, "stopped", .pid(getpid()))
    return code
  }

  /// Answers the question whether this program could take over a running pool.
  private static func answer(_ request: Handover.Request, _ configuration: PoolConfiguration) throws -> Int32 {
    guard case .check(let handover) = request else { return PoolEnding.failed.rawValue }
    var configuration = configuration
    configuration.model = try modelPath(configuration)
    _ = try loadModel(configuration)
    try HandoverCheck.run(handover, configuration)
    return PoolEnding.stopped.rawValue
  }

  /// Throws ``StartError`` for options that no pool can follow here, or a store at a place where none can be.
  private static func check(_ configuration: PoolConfiguration) throws {
    if configuration.confinesWorkers {
      let obstacle =
        Confinement.obstacle
        ?? configuration.pluginDirectories.lazy.compactMap(WorkerConfinement.obstacle(toPluginsIn:)).first
        ?? (configuration.place.isServer ? "they reach a store at a server by the network" : nil)
      if let obstacle { throw StartError.confinement(reason: obstacle) }
    }
    do {
      try configuration.place.check()
    } catch {
      throw StartError.store(path: error.place, reason: error.reason)
    }
    if configuration.migratesStore, configuration.place.isServer {
      throw StartError.store(
        path: configuration.store,
        reason: "--migrate changes SQLite files only; \(StartError.serverMigration)")
    }
  }

  private static func takeSignals() throws -> SignalSource {
    // The pool goes on when its log has no reader any more.
    signal(SIGPIPE, SIG_IGN)
    // A process that ignores SIGCHLD has no children to wait for (waitpid(2)), and its children inherit that.
    signal(SIGCHLD, SIG_DFL)
    return try SignalSource(PoolServer.signals)
  }

  /// Runs a pool until it ends, or until the server of its store has ended its session. Returns the exit code.
  private static func runOnce(
    _ configuration: inout PoolConfiguration, layout: QueueLayout, claims: ClaimMemory, signals: SignalSource?,
    manager: ServiceManager?
  ) throws -> Int32 {
    manager?.giveSignOfLife()
    let identity = configuration.identity ?? ""
    // Before the store is opened: these processes may have it locked.
    let strays = StrayProcesses.end(pool: identity, store: configuration.place.absolute.text)
    for process in strays.killed {
      configuration.log(
        .processStray, "process \(process.pid), left behind by a dead worker, is killed", .pid(process.pid))
    }
    let successor = Successor(
      queue: FileID.resolve(configuration.queue) ?? configuration.queue, identity: identity, strays: strays,
      adopted: configuration.handover?.processes ?? [], sheets: configuration.handover?.sheets ?? [:], claims: claims)
    // Workers use the store that the program before this one has handed over.
    if configuration.migratesStore, configuration.handover == nil { try migrate(configuration, manager) }
    let opening = try OpeningPhase(
      configuration, signals: signals, manager: manager, isAgain: claims.store != nil
    ) { [configuration] in
      try openSource(configuration, layout, successor)
    }
    let source = try opening.run()
    configuration.workers = opening.workers
    guard let source else { return 0 }
    return try PoolServer(configuration, source: source, signals: signals, manager: manager).run()
  }

  /// Makes this the one pool of a SQLite file, of which the configuration gets the real path. A store at a server has
  /// many pools, and no lock.
  private static func takeStore(_ configuration: inout PoolConfiguration) throws -> StoreLock? {
    if configuration.place.isServer { return nil }
    try StoreFitness.requireWritable(configuration.store)
    let lock = try takeStore(configuration.store)
    try StoreFitness.requireOneName(lock.path)
    configuration.store = lock.path
    configuration.storeFile = lock.file
    return lock
  }

  /// Migrates the store if its model is an older one.
  private static func migrate(_ configuration: PoolConfiguration, _ manager: ServiceManager?) throws {
    // A store that is made only now has no model yet.
    let attributes = try? FileManager.default.attributesOfItem(atPath: configuration.store)
    guard (attributes?[.size] as? NSNumber)?.intValue != 0,
      let migration = try ModelMigration(store: configuration.store, model: configuration.model)
    else { return }
    let backup = ModelMigration.backupPath(of: configuration.store)
    let log = configuration.log
    log(
      .storeMigrated,
      "the store is being migrated: \(migration.changes.count) of its entities change; the backup is \(backup)",
      .path(configuration.store))
    try migration.run(backup: backup) { _ in manager?.giveSignOfLife() }
    log(.storeMigrated, "the store is migrated", .path(configuration.store))
  }

  /// Migrates a store on which no pool runs, or says what would change.
  ///
  /// - Parameter body: gets the migration; nil for a store that is of the model already.
  /// - Throws: ``StartError/storeIsTaken(path:pid:queue:)``, ``StartError/storeIsReadOnly(path:directory:reason:)``,
  ///   ``ModelMigration/Failure``, `ModelLoaderError`, or what the body throws.
  public static func withMigration(
    store: String, model: String, from old: String? = nil, _ body: (ModelMigration?) throws -> Void
  ) throws {
    if StorePlace(store).isServer {
      throw StartError.store(
        path: store, reason: "workerpool migrate changes SQLite files only; \(StartError.serverMigration)")
    }
    guard FileManager.default.fileExists(atPath: store) else { throw ModelMigration.Failure.noStore(store) }
    try StoreFitness.requireWritable(store)
    let lock = try takeStore(store)
    defer { lock.release() }
    try body(try ModelMigration(store: lock.path, model: model, from: old))
  }

  /// The path of the model that was named, or else of the store, which keeps its own.
  private static func modelPath(_ configuration: PoolConfiguration) throws(StartError) -> String {
    guard configuration.model.isEmpty else { return configuration.model }
    guard !configuration.place.isServer, FileManager.default.fileExists(atPath: configuration.store) else {
      throw .noModel(store: configuration.store)
    }
    return configuration.store
  }

  private static func loadModel(_ configuration: PoolConfiguration) throws(StartError) -> NSManagedObjectModel {
    do {
      return try ModelLoader.load(configuration.model)
    } catch {
      throw .model(error)
    }
  }

  /// Makes this the one pool of the store. Nothing is written before that.
  static func takeStore(_ path: String) throws -> StoreLock {
    var patience = LockPatience()
    while true {
      do {
        return try StoreLock.take(path)
      } catch let taken as StoreLock.Taken {
        let holder = StoreLockHolder.of(taken.file, at: path)
        // A process of another container is not listed, and does not become free by waiting.
        if let holder, patience.waits(for: holder.pid) { continue }
        throw storeIsTaken(path, by: holder)
      } catch let error as FileError {
        let reason = String(cString: strerror(error.errno))
        throw StartError.store(path: path, reason: "it cannot \(error.action): \(reason)")
      }
    }
  }

  private static func storeIsTaken(_ path: String, by holder: StoreLockHolder?) -> StartError {
    if let holder, let command = holder.command {
      return .storeIsBusy(path: path, pid: holder.pid, command: command)
    }
    // The kernel does not list the processes of another container. The store names its owner.
    let owner = holder?.queue == nil ? try? StoreReader(poolStore: path).owner() : nil
    return .storeIsTaken(path: path, pid: holder?.pid ?? owner?.pid, queue: holder?.queue ?? owner?.queue)
  }

  /// Opens the store and puts it in order. Blocks; throws where another process has the store locked for too long.
  private static func openSource(
    _ configuration: PoolConfiguration, _ layout: QueueLayout, _ successor: Successor
  ) throws -> StoreJobSource {
    let model = try loadModel(configuration)
    // A server's database may be restored meanwhile: nothing is made in it a second time.
    let earlierStore = successor.claims.store
    let store = try openStore(
      configuration, model,
      options: [
        NSSQLitePragmasOption: [
          "wal_autocheckpoint": "0", "journal_size_limit": "\(WALCheckpointer.Limits().file)", "synchronous": "NORMAL",
          // The largest transaction is one of many jobs. Pages of it that leave the cache early are written twice.
          "cache_spill": "0",
        ],
        NSPersistentStoreWriteTurnOption: layout.writeTurn,
        // The pool reads each job a few times, and its parameters may be large.
        NSPersistentStoreRowCacheOption: 64,
        NSPersistentStoreMustExistOption: earlierStore != nil,
      ])
    if let earlierStore, earlierStore != store.poolIdentifier {
      throw StartError.store(
        path: configuration.store,
        reason: "another store is at this place now than when the pool began; put the right one there, or start the "
          + "pool anew to use this one")
    }
    guard store.files.main == configuration.storeFile else {
      throw StartError.store(
        path: configuration.store, reason: "\(StoreParted(path: configuration.store, isReplaced: true))")
    }
    let source = try StoreJobSource(
      store: store, layout: layout, successor: successor, writeTurn: layout.writeTurn,
      retention: configuration.retention,
      limits: PoolLimits(
        kinds: configuration.kindLimits, rates: configuration.kindRates,
        queues: configuration.allQueueLimits),
      published: PublishedOptions(redaction: Redaction(configuration.redactedNames), hooks: configuration.hooks),
      owners: FileOwnerRule(allowsGroup: configuration.allowsGroup))
    try source.prepare()
    return source
  }

  private static func openStore(
    _ configuration: PoolConfiguration, _ model: NSManagedObjectModel, options: [AnyHashable: Any]
  ) throws -> JobStore {
    do {
      return try JobStore(url: configuration.place.url, model: model, options: options)
    } catch {
      guard (error as NSError).code == NSPersistentStoreIncompatibleVersionHashError,
        let difference = ModelFit.difference(model: configuration.model, store: configuration.store)
      else { throw error }
      throw StartError.modelDoesNotFit(
        model: configuration.model, store: configuration.store, difference: difference)
    }
  }
}

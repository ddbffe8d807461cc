import CoreData
import Foundation
import Jobs
import LinuxSystem
import StoreTools

/// A copy of a whole store, objects and jobs, from a SQLite file to a PostgreSQL database, or back.
///
/// The copy takes the original's place: it has its identifiers and keys, so every URI of an object or job means the
/// same in both. No pool runs on either meanwhile.
public enum StoreTransfer {
  /// Why there is no copy.
  public enum Failure: Error, CustomStringConvertible {
    /// Both places are files, or both are at servers.
    case sameKind(isServer: Bool)
    /// The place is none for a store.
    case place(StorePlaceError)
    /// The original cannot be opened or read.
    case unreadable(store: String, reason: String)
    /// There is a store already, with another identifier or with objects.
    case exists(String)
    /// Pools run on the original, or have ended without saying so.
    case inUse(store: String, pools: [String])
    /// Another copy to the place is at work.
    case busy(String)
    /// A worker that has outlived its pool is at work.
    case workerRuns(pid: Int32)
    /// Nothing was copied.
    case failed(destination: String, reason: String)

    /// What happened and what to do, as one line.
    public var description: String {
      switch self {
      case .sameKind(isServer: true): "both stores are at servers: copy the schemas with pg_dump and pg_restore"
      case .sameKind(isServer: false):
        "both stores are SQLite files: copy one with a job of the kind maintain whose task is backup, or with .backup "
          + "of sqlite3"
      case .place(let error): error.description
      case .unreadable(let store, let reason): "the store \(store) cannot be read: \(reason)"
      case .exists(let place):
        "there is a store, or another file, at \(place) already: name a place where none is"
      case .inUse(let store, let pools):
        "a pool runs on the store \(store): \(pools.joined(separator: ", ")); stop it first (workerpool stop). If it "
          + "is dead, start one there and stop it"
      case .busy(let place): "another copy to \(place) is at work: wait until it has ended"
      case .workerRuns(let pid):
        "process \(pid), a worker of a pool that has ended, still has a job: wait until it ends"
      case .failed(let destination, let reason): "nothing was copied to \(destination): \(reason)"
      }
    }
  }

  /// What was copied.
  public struct Summary: Equatable, Sendable {
    /// The app's entities, by name, with the number of their objects.
    public var entities: [(name: String, count: Int)] { app.map { ($0.name, $0.count) } }
    /// The number of jobs; nil for a store on which no pool has run.
    public let jobs: Int?
    let app: [NSPersistentStoreCoordinator.CopiedEntity]

    /// The number of the app's objects.
    public var objects: Int { app.reduce(0) { $0 + $1.count } }
  }

  /// How far the copy is, in objects and jobs.
  public enum Progress: Equatable, Sendable {
    case writing(Int, of: Int)
    case comparing(Int, of: Int)
  }

  /// Copies a store and compares every value of the copy with the original.
  ///
  /// - Parameters:
  ///   - source: the original. Its file stays locked until the copy is complete.
  ///   - destination: where the copy goes. There must be no store. The copy is there when it is complete, and not
  ///     before; a copy to a server is one transaction.
  ///   - model: the path of the app's model; nil for the copy that a SQLite file keeps.
  ///   - progress: called on the calling thread now and then.
  /// - Throws: ``Failure``, ``Pool/StartError``, `ModelLoaderError`.
  public static func copy(
    from source: StorePlace, to destination: StorePlace, model: String? = nil,
    progress: (Progress) -> Void = { _ in }
  ) throws -> Summary {
    for place in [source, destination] {
      do throws(StorePlaceError) { try place.check() } catch { throw Failure.place(error) }
    }
    if source.isServer == destination.isServer { throw Failure.sameKind(isServer: source.isServer) }
    if !source.isServer, !FileManager.default.fileExists(atPath: source.text) {
      throw Failure.unreadable(store: source.text, reason: "there is no file")
    }
    guard let modelPath = model ?? (source.isServer ? nil : source.text) else {
      throw Pool.StartError.noModel(store: source.text)
    }
    let app = try ModelLoader.load(modelPath)
    do {
      guard destination.isServer else { return try copy(source, app, toFile: destination, progress) }
      // Keeps pools from the original.
      let lock = try Pool.takeStore(source.text)
      defer { lock.release() }
      // At a server an error undoes all. Nothing is dropped there.
      let summary = try NSPersistentStoreCoordinator.inOneTransaction(
        ofType: destination.storeType, at: destination.url
      ) { try copy(source, app, to: destination, options: $0, progress) }
      guard let summary else { throw Failure.failed(destination: destination.text, reason: "it was not begun") }
      return summary
    } catch {
      if error is StoreLockTaken { throw Failure.busy(destination.text) }
      throw error as? Failure ?? Failure.failed(destination: destination.text, reason: ErrorText.text(error))
    }
  }

  /// Copies a store at a server into a file, which gets its name when it is complete.
  private static func copy(
    _ source: StorePlace, _ app: NSManagedObjectModel, toFile destination: StorePlace, _ progress: (Progress) -> Void
  ) throws -> Summary {
    let url = URL(fileURLWithPath: destination.url.realPath)
    // Keeps pools from a file that is there. An empty one is no store.
    let isThere = access(url.path, F_OK) == 0
    let lock = isThere ? try Pool.takeStore(url.path) : nil
    defer { lock?.release() }
    var status = stat()
    if stat(url.path, &status) == 0, status.st_size > 0 { throw Failure.exists(destination.text) }
    let unfinished = try UnfinishedStore(
      of: url.lastPathComponent, for: "copy", in: url.deletingLastPathComponent().path)
    let summary = try copy(source, app, to: StorePlace(unfinished.url), options: [:], progress)
    do {
      try unfinished.putInPlace(at: url, replaces: isThere)
    } catch let error as FileError where error.errno == EEXIST {
      throw Failure.exists(destination.text)
    }
    return summary
  }

  private static func copy(
    _ source: StorePlace, _ app: NSManagedObjectModel, to destination: StorePlace, options: [AnyHashable: Any],
    _ progress: (Progress) -> Void
  ) throws -> Summary {
    let (original, identifiers) = try open(source, app)
    let hasPool = identifiers.pool != nil
    let pools = hasPool ? try requireUnused(original, source) : []
    let existingIdentifiers = try JobModel.identifiers(at: destination)
    if let existingIdentifiers, existingIdentifiers.app != identifiers.app { throw Failure.exists(destination.text) }
    let copy = try JobModel.coordinator(of: destination, app, making: identifiers, options: options, hasPool: hasPool)
    // Another program may have made a store since.
    let isOwn = copy.persistentStores.allSatisfy { [identifiers.app, identifiers.pool].contains($0.identifier) }
    guard isOwn, try existingIdentifiers == nil || isEmpty(copy) else { throw Failure.exists(destination.text) }
    let entities = try original.copyContents(to: copy) {
      switch $0 {
      case .writing(let done, let total): progress(.writing(done, of: total))
      case .comparing(let done, let total): progress(.comparing(done, of: total))
      }
    }
    if hasPool {
      try inContext(of: copy) { try PoolOwner.forgetAll(in: $0) }
      // A pool that has come and gone has left its row.
      let later = try requireUnused(original, source).subtracting(pools)
      if !later.isEmpty { throw Failure.inUse(store: source.text, pools: later.map(text)) }
    }
    // A file is whole when it is closed.
    for store in copy.persistentStores where !destination.isServer { try copy.remove(store) }
    let poolNames = Set(JobModel.make().entities.compactMap(\.name))
    return Summary(
      jobs: identifiers.pool.map { _ in entities.first { $0.name == PoolJob.entityName }?.count ?? 0 },
      app: entities.filter { !poolNames.contains($0.name) }.sorted { $0.name < $1.name })
  }

  private static func open(
    _ place: StorePlace, _ app: NSManagedObjectModel
  ) throws -> (NSPersistentStoreCoordinator, (app: String, pool: String?)) {
    do {
      guard let identifiers = try JobModel.identifiers(at: place) else {
        throw Failure.unreadable(store: place.text, reason: "it holds no store")
      }
      return (try JobModel.coordinator(of: place, app, hasPool: identifiers.pool != nil), identifiers)
    } catch let error as Failure {
      throw error
    } catch {
      throw Failure.unreadable(store: place.text, reason: ErrorText.text(error))
    }
  }

  /// Throws if a pool at the server runs, or a worker that has outlived its pool: it may still write jobs.
  ///
  /// - Returns: the pools that have run at the server.
  private static func requireUnused(
    _ original: NSPersistentStoreCoordinator, _ place: StorePlace
  ) throws -> Set<PoolMember> {
    try inContext(of: original) { context in
      guard place.isServer else {
        guard let owner = try PoolOwner.find(in: context),
          // Without a ledger that can be read no worker is known.
          let ledger = try? LedgerContents(path: QueueLayout(root: owner.queue).ledger(owner.ledger)),
          let worker = ledger.entries.first(where: { $0.process.isAlive })
        else { return [] }
        throw Failure.workerRuns(pid: worker.process.pid)
      }
      let pools = try PoolMember.all(in: context)
      let living = pools.filter { $0.goneAt == nil }
      if !living.isEmpty { throw Failure.inUse(store: place.text, pools: living.map(text)) }
      return Set(pools)
    }
  }

  private static func text(_ pool: PoolMember) -> String {
    "process \(pool.pid) of \(pool.host), queue directory \(pool.queue)"
  }

  private static func isEmpty(_ coordinator: NSPersistentStoreCoordinator) throws -> Bool {
    try inContext(of: coordinator) { context in
      try coordinator.managedObjectModel.entities.allSatisfy { entity in
        guard coordinator.persistentStores.count > 1 || isOfApp(entity, coordinator) else { return true }
        return try context.count(for: NSFetchRequest<NSManagedObject>(entityName: entity.name ?? "")) == 0
      }
    }
  }

  private static func isOfApp(_ entity: NSEntityDescription, _ coordinator: NSPersistentStoreCoordinator) -> Bool {
    let entities = coordinator.managedObjectModel.entities(forConfigurationName: JobModel.appConfiguration)
    return entities?.contains(entity) ?? false
  }

  /// Runs the body in a new context and saves its changes.
  private static func inContext<T>(
    of coordinator: NSPersistentStoreCoordinator, _ body: (NSManagedObjectContext) throws -> T
  ) throws -> T {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return try context.performAndWait {
      let result = try body(context)
      if context.hasChanges { try context.save() }
      return result
    }
  }
}

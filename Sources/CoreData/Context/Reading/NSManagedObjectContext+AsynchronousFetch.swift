/// Fetching beside the context's queue.
///
/// The rows are read by another context on the same coordinator, or of the same parent. What it read is taken over on
/// this context's queue: rows are shared and never written, so nothing is copied.
extension NSAsynchronousFetchRequest: AsynchronousRequest {
  final func start(in context: NSManagedObjectContext) throws -> NSPersistentStoreResult {
    guard context.concurrencyType != .confinementConcurrencyType else {
      throw CoreDataErrors.error(
        .persistentStoreOperation, "An asynchronous fetch needs a context with a queue, \(context.label) has none.")
    }
    let result = NSAsynchronousFetchResult(self, context)
    let fetch = try AsynchronousFetch(fetchRequest.settings, affectedStores, in: context, result.control)
    let running = Running(request: self, result: result, fetch: fetch)
    let progress = Carried(value: result.progress)
    result.control.report = { [control = result.control] in
      guard control.beginReport() else { return }
      context.queue.async {
        progress.value?.show(control.count)
        control.endReport()
      }
    }
    DispatchQueue.global().async {
      let read = Carried(value: Result { try running.fetch.read(as: ResultType.self) })
      context.perform { running.complete(read.value) }
    }
    return result
  }

  /// `@unchecked Sendable`: after `start` only `fetch.read` is used, by the reading thread, and then the rest on the
  /// context's queue.
  private struct Running: @unchecked Sendable {
    let request: NSAsynchronousFetchRequest<ResultType>
    let result: NSAsynchronousFetchResult<ResultType>
    let fetch: AsynchronousFetch

    func complete(_ read: Result<[ResultType], any Error>) {
      result.control.report = nil
      // The handler of a progress is called on a queue of its own, perhaps only later.
      let isCancelled = result.control.isCancelled || result.progress?.isCancelled ?? false
      do {
        if isCancelled { throw CocoaError(.userCancelled) }
        let found = try fetch.takeOver(read.get())
        result.finalResult = found
        result.progress?.finish(found.count)
      } catch {
        result.operationError = isCancelled ? CocoaError(.userCancelled) : error
      }
      request.completionBlock?(result)
    }
  }
}

/// A request that the context starts and does not wait for.
protocol AsynchronousRequest: NSPersistentStoreRequest {
  func start(in context: NSManagedObjectContext) throws -> NSPersistentStoreResult
}

/// `@unchecked Sendable`: written before it is handed to the other queue, and used there only.
private struct Carried<T>: @unchecked Sendable {
  let value: T
}

/// One asynchronous fetch: its reader, and how what was read becomes the context's.
private final class AsynchronousFetch {
  private let context: NSManagedObjectContext
  private let reader: NSManagedObjectContext
  private let settings: FetchSettings
  private let affectedStores: [NSPersistentStore]?
  /// The whole of what matches is read where changes of the context may take something out of the window.
  private let isWhole: Bool
  private let epochs: [ObjectIdentifier: Int]

  init(
    _ settings: FetchSettings, _ affectedStores: [NSPersistentStore]?, in context: NSManagedObjectContext,
    _ control: FetchControl
  ) throws {
    self.context = context
    self.settings = settings
    self.affectedStores = affectedStores
    isWhole = settings.includesPendingChanges && context.hasChanges
    reader = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    reader.name = "asynchronous fetch for \(context.label)"
    if let parent = context.parentContext {
      reader.parentContext = parent
    } else {
      reader.coordinator = context.coordinator
    }
    // A context that is to be pinned by its first read is pinned now, on its own queue.
    _ = try context.readGeneration()
    reader.reading.token = context.reading.token
    reader.reading.control = control
    epochs = AsynchronousFetch.epochs(context)
  }

  private static func epochs(_ context: NSManagedObjectContext) -> [ObjectIdentifier: Int] {
    let stores = context.persistentStoreCoordinator?.objectStores ?? []
    return Dictionary(uniqueKeysWithValues: stores.map { (ObjectIdentifier($0), $0.rowCache.epoch) })
  }

  // MARK: On another thread

  func read<T>(as type: T.Type) throws -> [T] {
    let request = NSFetchRequest<T>(settings)
    request.affectedStores = affectedStores
    // What is to be done with objects is done with those of the context.
    request.settings.prefetchedKeyPaths = nil
    if isWhole && settings.resultType != .dictionaryResultType {
      request.fetchLimit = 0
      request.fetchOffset = 0
    }
    if reader.reading.control?.isCancelled ?? false { throw CocoaError(.userCancelled) }
    // The results go to the context's queue, and nothing uses them here any more.
    return try reader.performAndWait { Carried(value: try reader.fetch(request)) }.value
  }

  // MARK: On the context's queue

  func takeOver<T>(_ read: [T]) throws -> [T] {
    guard
      settings.resultType == .managedObjectResultType || (isWhole && settings.resultType == .managedObjectIDResultType)
    else { return read }
    let isCurrent = AsynchronousFetch.epochs(context) == epochs
    // They are held by what was read.
    var objects = context.graph.withoutSweeping {
      read.compactMap { element -> NSManagedObject? in
        if let id = element as? NSManagedObjectID { return context.object(with: id) }
        return (element as? NSManagedObject).map { context.takeOver($0, isCurrent: isCurrent) }
      }
    }
    objects = try context.settle(objects, settings, isWhole: isWhole)
    let results: [Any] = settings.resultType == .managedObjectIDResultType ? objects.map(\.objectID) : objects
    return results.compactMap { $0 as? T }
  }
}

extension NSManagedObjectContext {
  /// This context's object for the row of a reader's.
  fileprivate final func takeOver(_ theirs: NSManagedObject, isCurrent: Bool) -> NSManagedObject {
    // What was saved meanwhile is read anew, when it is asked for.
    guard isCurrent, theirs.key > 0, let snapshot = theirs.snapshot else { return object(with: theirs.objectID) }
    if let known = graph.reuse(theirs.key, theirs.home.table) {
      known.supply(snapshot)
      return known
    }
    return graph.make(theirs.home, theirs.key, snapshot: snapshot)
  }
}

extension Progress {
  /// Shows that so many are there of nobody knows how many, or of an estimate.
  fileprivate func show(_ count: Int) {
    if totalUnitCount >= 0 { totalUnitCount = max(totalUnitCount, Int64(count) + 1) }
    completedUnitCount = Int64(count)
  }

  fileprivate func finish(_ count: Int) {
    // A progress with nothing to do never counts as finished.
    totalUnitCount = max(Int64(count), 1)
    completedUnitCount = totalUnitCount
  }
}

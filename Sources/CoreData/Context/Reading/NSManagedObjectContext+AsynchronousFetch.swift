/// Fetches on another thread than the context's queue.
///
/// Another context on the same coordinator, or with the same parent, reads the rows. This context adopts them on its
/// queue. Rows are shared and never written, so nothing is copied.
extension NSAsynchronousFetchRequest: AsynchronousRequest {
  /// Starts the fetch and returns its result object at once. On the context's queue an error in the request is thrown
  /// to the caller; from another thread the caller has gone on, and the error goes to the completion block.
  final func start(in context: NSManagedObjectContext) throws -> NSPersistentStoreResult {
    guard context.concurrencyType != .confinementConcurrencyType else {
      throw CoreDataErrors.error(
        .persistentStoreOperation, "An asynchronous fetch needs a context with a queue, \(context.label) has none.")
    }
    let result = NSAsynchronousFetchResult(self, context)
    if context.isOnItsQueue {
      try begin(result, in: context)
    } else {
      let starting = Carried(value: (request: self, result: result))
      context.perform {
        let (request, result) = starting.value
        do {
          try request.begin(result, in: context)
        } catch {
          result.operationError = error
          request.completionBlock?(result)
        }
      }
    }
    return result
  }

  /// Starts the reading thread. On the context's queue.
  ///
  ///     the context's queue                     reading thread
  ///     begin: pins the generation,
  ///       notes the caches' epochs
  ///     goes on with other blocks               fetches into a context of its own
  ///       shows the progress                    every 256 rows: a block for the progress
  ///     complete: takes over the rows,
  ///       applies the unsaved changes of now
  ///     the completion block
  private func begin(_ result: NSAsynchronousFetchResult<ResultType>, in context: NSManagedObjectContext) throws {
    var settings = fetchRequest.settings
    settings.affectedStores = affectedStores
    let fetch = try AsynchronousFetch(settings, in: context, result.control)
    let running = Running(request: self, result: result, fetch: fetch)
    let progress = Carried(value: result.progress)
    result.control.report = { [control = result.control] in
      guard control.beginReport() else { return }
      context.enqueueTurn {
        progress.value?.show(control.count)
        control.endReport()
      }
    }
    DispatchQueue.global().async {
      let read = Carried(value: Result { try running.fetch.read(as: ResultType.self) })
      context.perform { running.complete(read.value) }
    }
  }

  /// `@unchecked Sendable`: after `start` the reading thread only uses `fetch.read`, and then the context's queue uses
  /// the rest.
  private struct Running: @unchecked Sendable {
    let request: NSAsynchronousFetchRequest<ResultType>
    let result: NSAsynchronousFetchResult<ResultType>
    let fetch: AsynchronousFetch

    /// On the context's queue: adopts what was read, or notes the error, and calls the program's block. The reading is
    /// over, so nothing reports progress any more.
    func complete(_ read: Result<[ResultType], any Error>) {
      result.control.report = nil
      // A progress calls its handler on its own queue, perhaps later.
      let isCancelled = result.control.isCancelled || result.progress?.isCancelled ?? false
      do {
        if isCancelled { throw CocoaError(.userCancelled) }
        let results = try fetch.takeOver(read.get())
        result.finalResult = results
        result.progress?.finish(results.count)
      } catch {
        result.operationError = isCancelled ? CocoaError(.userCancelled) : error
      }
      request.completionBlock?(result)
    }
  }
}

/// A request that the context starts without waiting for its end.
protocol AsynchronousRequest: NSPersistentStoreRequest {
  func start(in context: NSManagedObjectContext) throws -> NSPersistentStoreResult
}

/// `@unchecked Sendable`: written before it is passed to the other queue, and used only there.
private struct Carried<T>: @unchecked Sendable {
  let value: T
}

/// One asynchronous fetch: its reader, and the adoption of the read rows by the context.
///
/// The reader is a whole context, since a fetch needs a table of objects, a queue and a generation, and all of these
/// exist there. It is freed with the fetch; its rows stay, since snapshots are shared.
private final class AsynchronousFetch {
  private let context: NSManagedObjectContext
  private let reader: NSManagedObjectContext
  private let settings: FetchSettings
  /// Whether all matches are read, without limit and offset, because changes of the context may remove some of them.
  private let isWhole: Bool
  /// The state of the stores' row caches when the fetch began. If one differs at the end, rows were saved meanwhile:
  /// those that the reader has may be older than what this context has seen, so objects become faults and are read
  /// again.
  private let epochs: [ObjectIdentifier: Int]

  init(
    _ settings: FetchSettings, in context: NSManagedObjectContext, _ control: FetchControl
  ) throws {
    self.context = context
    self.settings = settings
    isWhole = settings.includesPendingChanges && context.hasChanges
    reader = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    reader.name = "asynchronous fetch for \(context.label)"
    if let parent = context.parentContext {
      reader.parentContext = parent
    } else {
      reader.coordinator = context.coordinator
    }
    // A context whose next read pins it is pinned now, on its queue.
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

  /// Reads the results with the reader's own objects. Of a fetch with unsaved changes that count, all matches are read:
  /// the window of limit and offset can only be cut when the changes are applied.
  func read<T>(as type: T.Type) throws -> [T] {
    let request = NSFetchRequest<T>(settings)
    // Prefetching is done with the context's own objects.
    request.settings.prefetchedKeyPaths = nil
    if isWhole && settings.resultType != .dictionaryResultType {
      request.fetchLimit = 0
      request.fetchOffset = 0
    }
    if reader.reading.control?.isCancelled ?? false { throw CocoaError(.userCancelled) }
    // The results go to the context's queue, and nothing here uses them any more.
    return try reader.performAndWait { Carried(value: try reader.fetch(request)) }.value
  }

  // MARK: On the context's queue

  /// Makes this context's objects of what was read. Dictionaries, counts and mostly IDs are values and stay as they
  /// are.
  func takeOver<T>(_ read: [T]) throws -> [T] {
    guard
      settings.resultType == .managedObjectResultType || (isWhole && settings.resultType == .managedObjectIDResultType)
    else { return read }
    let isCurrent = AsynchronousFetch.epochs(context) == epochs
    // The read rows hold them: a search for abandoned objects would find none of them.
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
  /// This context's object for a row of the reader.
  fileprivate final func takeOver(_ theirs: NSManagedObject, isCurrent: Bool) -> NSManagedObject {
    // Rows that were saved meanwhile are read again when they are used.
    guard isCurrent, theirs.key > 0, let snapshot = theirs.snapshot else { return object(with: theirs.objectID) }
    if let existingObject = graph.reuse(theirs.key, theirs.storedEntity.table) {
      existingObject.supply(snapshot)
      return existingObject
    }
    return graph.make(theirs.storedEntity, theirs.key, snapshot: snapshot)
  }
}

extension Progress {
  /// Shows the number of results read, with or without an estimate.
  fileprivate func show(_ count: Int) {
    if totalUnitCount >= 0 { totalUnitCount = max(totalUnitCount, Int64(count) + 1) }
    completedUnitCount = Int64(count)
  }

  fileprivate func finish(_ count: Int) {
    // A progress without any units never counts as finished.
    totalUnitCount = max(Int64(count), 1)
    completedUnitCount = totalUnitCount
  }
}

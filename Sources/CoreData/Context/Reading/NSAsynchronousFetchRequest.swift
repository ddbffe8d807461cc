/// A fetch that reads on another thread and returns its results on the context's queue, while the caller continues.
///
/// ```swift
/// let books = NSFetchRequest<Book>(entityName: "Book")
/// let request = NSAsynchronousFetchRequest(fetchRequest: books) { result in
///   print(result.finalResult?.count ?? 0)
/// }
/// let running = try context.execute(request) as? NSAsynchronousFetchResult<Book>
/// running?.progress?.cancel()
/// ```
///
/// The context's queue is free while the store reads; the results are then adopted on it, with the context's unsaved
/// changes of that moment. An object that the context had keeps its values. An error of the fetch comes with the
/// result, as `operationError`. A cancellation ends a statement that runs.
///
/// Use it in a user interface that must go on while a large fetch runs. In a task, `fetch(_:)` in a background
/// context's `perform` is simpler: the results then belong to that context.
///
/// It costs what the fetch costs, and the adoption on the context's queue: a step for each result. What happens
/// otherwise: the completion block is called for an error too, so a program that only looks at `finalResult` takes a
/// failed fetch for one without results.
///
/// Source: Apple's documentation of `NSAsynchronousFetchRequest`.
open class NSAsynchronousFetchRequest<ResultType>: NSPersistentStoreRequest {
  /// The request that finds the objects. Its settings are read on the context's queue when the fetch begins; changes
  /// after that have no effect.
  public let fetchRequest: NSFetchRequest<ResultType>

  /// Called once on the context's queue, after an error or a cancellation too. Look at `operationError` before
  /// `finalResult`. The request retains it.
  ///
  /// Source: Apple's documentation of `completionBlock`.
  public let completionBlock: ((NSAsynchronousFetchResult<ResultType>) -> Void)?

  /// The expected number of results, for the progress; 0 for unknown. Default: 0. A number that is too small is raised
  /// as results come.
  ///
  /// ```swift
  /// let books = NSFetchRequest<Book>(entityName: "Book")
  /// let request = NSAsynchronousFetchRequest(fetchRequest: books) { print($0.progress?.fractionCompleted ?? 0) }
  /// request.estimatedResultCount = try context.count(for: books)
  /// try context.execute(request)
  /// ```
  ///
  /// Counting costs a query of its own, so do it only for a progress bar. Set it before the request is executed.
  ///
  /// Source: Apple's documentation of `estimatedResultCount`.
  open var estimatedResultCount = 0

  /// Makes a request that reports its result to a block on the context's queue. Execute it with
  /// `NSManagedObjectContext.execute(_:)`, which throws 134070 for a context without a queue.
  ///
  /// - Parameters:
  ///   - request: a fetch request with any type of result.
  ///   - block: called once on the context's queue, with the results or an error.
  ///
  /// Source: Apple's documentation of `init(fetchRequest:completionBlock:)`.
  public init(
    fetchRequest request: NSFetchRequest<ResultType>,
    completionBlock block: ((NSAsynchronousFetchResult<ResultType>) -> Void)? = nil
  ) {
    fetchRequest = request
    completionBlock = block
    super.init()
    affectedStores = request.affectedStores
  }

  /// A copy with a copy of the fetch request, and the same completion block.
  ///
  /// - Parameter zone: ignored.
  /// - Returns: an `NSAsynchronousFetchRequest` with the same type of results.
  open override func copy(with zone: NSZone? = nil) -> Any {
    // A fetch request's copy is of the same class.
    let request = fetchRequest.copy() as! NSFetchRequest<ResultType>
    let copy = NSAsynchronousFetchRequest(fetchRequest: request, completionBlock: completionBlock)
    copy.estimatedResultCount = estimatedResultCount
    copy.affectedStores = affectedStores
    return copy
  }
}

/// A running request, and later its results.
///
/// Use it on its context's queue, except `cancel()`.
///
/// `NSManagedObjectContext.execute(_:)` returns it before anything is read.
///
/// Source: Apple's documentation of `NSPersistentStoreAsynchronousResult`.
open class NSPersistentStoreAsynchronousResult: NSPersistentStoreResult {
  /// The context that executes the request, and gets the results.
  public let managedObjectContext: NSManagedObjectContext

  /// The reason why there are no results; `NSUserCancelledError` (3072) after a cancellation. Nil until the request has
  /// ended, and if it succeeded.
  ///
  /// ```swift
  /// let request = NSAsynchronousFetchRequest(fetchRequest: NSFetchRequest<Book>(entityName: "Book")) { result in
  ///   if let error = result.operationError { print("not fetched: \(error)") }
  /// }
  /// try context.execute(request)
  /// ```
  ///
  /// Read it on the context's queue. Source: Apple's documentation of `operationError`.
  open internal(set) var operationError: (any Error)?

  /// The number of results read so far. It is a child of the progress that was current when the request was executed.
  /// Without an estimate it is indeterminate until all results are there.
  ///
  /// It changes on the context's queue, since Foundation's `Progress` on Linux is not safe on several threads.
  public let progress: Progress?

  /// Counts the rows that were read, and stops the reading. The reading thread and any thread that cancels share it.
  final let control: FetchControl

  init(_ context: NSManagedObjectContext, estimatedResultCount: Int) {
    managedObjectContext = context
    let control = FetchControl()
    self.control = control
    progress = Progress(totalUnitCount: estimatedResultCount > 0 ? Int64(estimatedResultCount) : -1)
    super.init()
    progress?.isCancellable = true
    progress?.cancellationHandler = { control.cancel() }
  }

  /// Stops reading: the request soon completes with an error. Does nothing once it is complete. Any thread.
  ///
  /// ```swift
  /// let request = NSAsynchronousFetchRequest(fetchRequest: NSFetchRequest<Book>(entityName: "Book")) { result in
  ///   if (result.operationError as? CocoaError)?.code == .userCancelled { print("cancelled") }
  /// }
  /// (try context.execute(request) as? NSAsynchronousFetchResult<Book>)?.cancel()
  /// ```
  ///
  /// It does not wait: the completion block is called a moment later, with `NSUserCancelledError` as `operationError`
  /// and without results. A statement of SQLite ends at once, and a cancelled one at a server when the server answers.
  ///
  /// Source: Apple's documentation of `cancel()`.
  open func cancel() { control.cancel() }
}

/// The results of an asynchronous fetch, once its completion block is called. `execute(_:)` returns it at once, for its
/// `progress` and `cancel()`.
///
/// Source: Apple's documentation of `NSAsynchronousFetchResult`.
open class NSAsynchronousFetchResult<ResultType>: NSPersistentStoreAsynchronousResult {
  /// The request that is running or complete.
  public let fetchRequest: NSAsynchronousFetchRequest<ResultType>

  /// The results; nil until all are there, and after an error. Objects belong to the context that executed the request,
  /// so use them on its queue.
  ///
  /// Source: Apple's documentation of `finalResult`.
  open internal(set) var finalResult: [ResultType]?

  init(_ request: NSAsynchronousFetchRequest<ResultType>, _ context: NSManagedObjectContext) {
    fetchRequest = request
    super.init(context, estimatedResultCount: request.estimatedResultCount)
  }
}

/// A fetch that reads beside the context's queue and gives its results on it, while the caller goes on.
///
///     let request = NSAsynchronousFetchRequest(fetchRequest: books) { result in
///       print(result.finalResult?.count ?? 0)
///     }
///     let running = try context.execute(request)
///
/// Source: Apple's documentation of `NSAsynchronousFetchRequest`.
open class NSAsynchronousFetchRequest<ResultType>: NSPersistentStoreRequest {
  /// What is fetched.
  public let fetchRequest: NSFetchRequest<ResultType>

  /// Called once on the context's queue, also after an error or a cancellation.
  public let completionBlock: ((NSAsynchronousFetchResult<ResultType>) -> Void)?

  /// How many results are expected, for the progress; 0 where nobody knows.
  open var estimatedResultCount = 0

  /// Makes a request for a context's `execute(_:)`, with what to call on the context's queue when it is complete.
  public init(
    fetchRequest request: NSFetchRequest<ResultType>,
    completionBlock block: ((NSAsynchronousFetchResult<ResultType>) -> Void)? = nil
  ) {
    fetchRequest = request
    completionBlock = block
    super.init()
    affectedStores = request.affectedStores
  }

  open override func copy(with zone: NSZone? = nil) -> Any {
    // What a fetch request copies to is of its own class.
    let request = fetchRequest.copy() as! NSFetchRequest<ResultType>
    let copy = NSAsynchronousFetchRequest(fetchRequest: request, completionBlock: completionBlock)
    copy.estimatedResultCount = estimatedResultCount
    copy.affectedStores = affectedStores
    return copy
  }
}

/// A request that is running, and later its results.
///
/// Belongs to the queue of its context, but for `cancel()`.
///
/// Source: Apple's documentation of `NSPersistentStoreAsynchronousResult`.
open class NSPersistentStoreAsynchronousResult: NSPersistentStoreResult {
  /// The context that executes the request, and gets the results.
  public let managedObjectContext: NSManagedObjectContext

  /// Why there are no results; `NSUserCancelledError` (3072) after a cancellation.
  open internal(set) var operationError: (any Error)?

  /// How many results have been read. Child of the progress that was current where the request was executed. Without an
  /// estimate it is indeterminate until all are there.
  ///
  /// It is updated on the context's queue: Foundation's `Progress` on Linux is not for several threads at once.
  public let progress: Progress?

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

  /// Stops reading: the request completes with an error, soon. Does nothing once it is complete. May be called
  /// anywhere.
  open func cancel() { control.cancel() }
}

/// The results of an asynchronous fetch.
open class NSAsynchronousFetchResult<ResultType>: NSPersistentStoreAsynchronousResult {
  /// The request that is running or complete.
  public let fetchRequest: NSAsynchronousFetchRequest<ResultType>

  /// nil until all are there, and after an error.
  open internal(set) var finalResult: [ResultType]?

  init(_ request: NSAsynchronousFetchRequest<ResultType>, _ context: NSManagedObjectContext) {
    fetchRequest = request
    super.init(context, estimatedResultCount: request.estimatedResultCount)
  }
}

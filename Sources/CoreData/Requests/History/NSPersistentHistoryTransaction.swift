/// One save or batch request, as a store's persistent history recorded it.
///
/// ```swift
/// let request = NSPersistentHistoryChangeRequest.fetchHistory(after: lastToken)
/// let result = try context.execute(request) as? NSPersistentHistoryResult
/// for transaction in result?.result as? [NSPersistentHistoryTransaction] ?? [] {
///   print(transaction.timestamp, transaction.author ?? "", transaction.changes?.count ?? 0)
/// }
/// ```
///
/// A store records one for each transaction if it was opened with `NSPersistentHistoryTrackingKey`, in the
/// same transaction as the rows. A read-only property of it can be named in the predicate of a history request:
/// `author`, `bundleID`, `contextName`, `processID`, `storeID`, `timestamp`, `token`, `transactionNumber`.
///
/// Take its `objectIDNotification()` to merge it into a context, its `token` to read on from there, and `author` to
/// tell the program's own saves from those of others.
///
/// Source: Apple's documentation of `NSPersistentHistoryTransaction`.
///
/// `@unchecked Sendable`: immutable once a request has returned it.
public final class NSPersistentHistoryTransaction: NSObject, NSCopying, @unchecked Sendable {
  /// The time of the commit, by the clock of the process that wrote it.
  ///
  /// Clocks of machines differ and may be set back: order transactions by number, not by time.
  public let timestamp: Date
  /// The changes in the order in which they were written; nil if only transactions were requested.
  ///
  /// One for each changed object, all of them in memory: ask for `.transactionsOnly` where they are not needed.
  public package(set) var changes: [NSPersistentHistoryChange]?
  /// The number of the transaction in its store, from 1 upwards. Numbers of deleted transactions are not used again.
  ///
  /// Ascending in the order of the commits of one store. Numbers of different stores cannot be compared.
  public let transactionNumber: Int64
  /// The store's UUID.
  ///
  /// `NSPersistentStore.identifier` of the store: `NSPersistentStoreCoordinator.metadata(for:)` has it under
  /// `NSStoreUUIDKey`.
  public let storeID: String
  /// The bundle identifier of the process that wrote it. Few programs have one on Linux: the program's name takes its
  /// place.
  public let bundleID: String
  /// The name of the process that wrote it.
  ///
  /// Not the process's number, which the operating system reuses.
  public let processID: String
  /// The `name` of the context that saved; nil if it had none.
  ///
  /// Set it for contexts whose saves you want to recognise in a log.
  public let contextName: String?
  /// The `transactionAuthor` of the context that saved; nil if it had none.
  ///
  /// ```swift
  /// context.transactionAuthor = "import"
  /// _ = Book(context: context)
  /// try context.save()  // readers see this transaction with the author "import"
  /// ```
  ///
  /// A reader leaves out the transactions of its own author, which its context has already.
  public let author: String?

  package init(
    number: Int64, storeID: String, timestamp: Date, author: String?, bundleID: String, contextName: String?,
    processID: String
  ) {
    transactionNumber = number
    self.storeID = storeID
    self.timestamp = timestamp
    self.author = author
    self.bundleID = bundleID
    self.contextName = contextName
    self.processID = processID
    super.init()
  }

  /// The place right after the transaction: fetching after this token begins with the next one.
  ///
  /// It names this transaction's store only, so the history of other stores of the coordinator is read from the
  /// beginning after it.
  public var token: NSPersistentHistoryToken { NSPersistentHistoryToken([storeID: transactionNumber]) }

  /// The transaction itself: it is immutable.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  // MARK: Fetching

  /// The entity for fetch requests about transactions. Its attributes are the properties above, without `changes`. No
  /// store has rows of it.
  ///
  /// `NSPersistentHistoryTransaction.fetchRequest` has it already.
  ///
  /// Source: Apple's documentation of `entityDescription`.
  public class var entityDescription: NSEntityDescription? { HistoryEntities.transaction }

  /// A new request about transactions, for `NSPersistentHistoryChangeRequest.fetchHistory(withFetch:)`.
  ///
  /// ```swift
  /// if let others = NSPersistentHistoryTransaction.fetchRequest {
  ///   others.predicate = NSPredicate(format: "author != %@ OR author == nil", "app")
  ///   let request = NSPersistentHistoryChangeRequest.fetchHistory(after: lastToken)
  ///   request.fetchRequest = others
  ///   let result = try context.execute(request) as? NSPersistentHistoryResult
  ///   print(result?.result as? [NSPersistentHistoryTransaction] ?? [])
  /// }
  /// ```
  ///
  /// Never nil here; optional as on Apple's platforms. Each access makes another request.
  public class var fetchRequest: NSFetchRequest<any NSFetchRequestResult>? {
    HistoryEntities.request(HistoryEntities.transaction)
  }
}

extension NSPersistentHistoryTransaction: NSFetchRequestResult, KeyValueReadable {
  /// `changes` too, so that a predicate may ask `ANY changes.changeType == 2`.
  func readableValue(forKey key: String) -> Any? {
    switch key {
    case "timestamp": timestamp
    case "transactionNumber": transactionNumber
    case "storeID": storeID
    case "bundleID": bundleID
    case "processID": processID
    case "contextName": contextName
    case "author": author
    case "token": token
    case "changes": changes
    default: nil
    }
  }
}

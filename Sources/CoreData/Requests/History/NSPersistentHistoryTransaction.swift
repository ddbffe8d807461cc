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
/// A store records one for each transaction of its file if it was opened with `NSPersistentHistoryTrackingKey`, in the
/// same transaction as the rows. A read-only property of it can be named in the predicate of a history request:
/// `author`, `bundleID`, `contextName`, `processID`, `storeID`, `timestamp`, `token`, `transactionNumber`.
///
/// Source: Apple's documentation of `NSPersistentHistoryTransaction`.
///
/// `@unchecked Sendable`: immutable once a request has returned it.
public final class NSPersistentHistoryTransaction: NSObject, NSCopying, @unchecked Sendable {
  /// The time of the commit, by the clock of the process that wrote it.
  public let timestamp: Date
  /// The changes in the order in which they were written; nil if only transactions were requested.
  public package(set) var changes: [NSPersistentHistoryChange]?
  /// The number of the transaction in its store, from 1 upwards. Numbers of deleted transactions are not used again.
  public let transactionNumber: Int64
  /// The store's UUID.
  public let storeID: String
  /// The bundle identifier of the process that wrote it. Few programs have one on Linux: the program's name takes its
  /// place.
  public let bundleID: String
  /// The name of the process that wrote it.
  public let processID: String
  /// The `name` of the context that saved; nil if it had none.
  public let contextName: String?
  /// The `transactionAuthor` of the context that saved; nil if it had none.
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
  public var token: NSPersistentHistoryToken { NSPersistentHistoryToken([storeID: transactionNumber]) }

  /// The transaction itself: it is immutable.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  // MARK: Fetching

  /// The entity for fetch requests about transactions. Its attributes are the properties above. No store has rows of
  /// it.
  public class var entityDescription: NSEntityDescription? { HistoryEntities.transaction }

  /// A new request about transactions, for `NSPersistentHistoryChangeRequest.fetchHistory(withFetch:)`.
  public class var fetchRequest: NSFetchRequest<any NSFetchRequestResult>? {
    HistoryEntities.request(HistoryEntities.transaction)
  }
}

extension NSPersistentHistoryTransaction: NSFetchRequestResult, KeyValueReadable {
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

/// One save or batch request, as a store's history has it.
///
/// Source: Apple's documentation of `NSPersistentHistoryTransaction`.
///
/// `@unchecked Sendable`: immutable once a request has given it.
public final class NSPersistentHistoryTransaction: NSObject, NSCopying, @unchecked Sendable {
  public let timestamp: Date
  /// What it changed, in order; nil where only transactions were asked for.
  public internal(set) var changes: [NSPersistentHistoryChange]?
  /// Counts the transactions of its store from 1.
  public let transactionNumber: Int64
  /// The store's UUID.
  public let storeID: String
  /// The bundle of the process that wrote it; on Linux, where few programs have one, the program's name.
  public let bundleID: String
  /// The name of the process that wrote it.
  public let processID: String
  /// The `name` of the context.
  public let contextName: String?
  /// The `transactionAuthor` of the context.
  public let author: String?

  init(
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

  /// The place right behind the transaction.
  public var token: NSPersistentHistoryToken { NSPersistentHistoryToken([storeID: transactionNumber]) }

  public func copy(with zone: NSZone? = nil) -> Any { self }

  // MARK: Fetching

  /// The entity for fetch requests about transactions: its attributes are the properties above.
  public class var entityDescription: NSEntityDescription? { HistoryEntities.transaction }

  /// A new request for `NSPersistentHistoryChangeRequest.fetchHistory(withFetch:)`.
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

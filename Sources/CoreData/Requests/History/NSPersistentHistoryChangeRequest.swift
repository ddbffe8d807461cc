/// Reads or deletes the history of the stores that keep one.
///
/// Source: Apple's documentation of `NSPersistentHistoryChangeRequest`.
open class NSPersistentHistoryChangeRequest: NSPersistentStoreRequest {
  /// Where history is read from, or deleted up to.
  enum Place {
    case date(Date)
    /// nil is the beginning.
    case token(NSPersistentHistoryToken?)
  }

  enum Action {
    case fetch, delete
  }

  let action: Action
  let place: Place

  /// Default: `.transactionsAndChanges` for reading, `.statusOnly` for deleting.
  open var resultType: NSPersistentHistoryResultType

  /// The token that the request was made with.
  open var token: NSPersistentHistoryToken? {
    if case .token(let token) = place { token } else { nil }
  }

  /// Which transactions or changes, and in which order: a request of `NSPersistentHistoryTransaction` or `NSPersistentHistoryChange`.
  /// Its predicate is evaluated in memory.
  open var fetchRequest: NSFetchRequest<any NSFetchRequestResult>?

  private init(_ action: Action, _ place: Place) {
    self.action = action
    self.place = place
    resultType = action == .fetch ? .transactionsAndChanges : .statusOnly
    super.init()
  }

  // MARK: Reading

  /// What is newer than the date.
  open class func fetchHistory(after date: Date) -> NSPersistentHistoryChangeRequest { Self.make(.fetch, .date(date)) }

  /// What is newer than the token; everything for nil. Executing the request throws 134301 where some of that was deleted.
  open class func fetchHistory(after token: NSPersistentHistoryToken?) -> NSPersistentHistoryChangeRequest {
    Self.make(.fetch, .token(token))
  }

  /// What is newer than the transaction; everything for nil.
  open class func fetchHistory(after transaction: NSPersistentHistoryTransaction?) -> NSPersistentHistoryChangeRequest {
    Self.make(.fetch, .token(transaction?.token))
  }

  /// What matches a request of `NSPersistentHistoryTransaction.fetchRequest` or `NSPersistentHistoryChange.fetchRequest`.
  open class func fetchHistory<Result>(withFetch fetchRequest: NSFetchRequest<Result>)
    -> NSPersistentHistoryChangeRequest
  {
    let request = Self.make(.fetch, .token(nil))
    let erased = NSFetchRequest<any NSFetchRequestResult>()
    erased.settings = fetchRequest.settings
    request.fetchRequest = erased
    if fetchRequest.settings.entity === HistoryEntities.change { request.resultType = .changesOnly }
    return request
  }

  // MARK: Deleting

  /// What is older than the date.
  open class func deleteHistory(before date: Date) -> NSPersistentHistoryChangeRequest {
    Self.make(.delete, .date(date))
  }

  /// What lies before the token; its own transaction stays. For nil nothing.
  open class func deleteHistory(before token: NSPersistentHistoryToken?) -> NSPersistentHistoryChangeRequest {
    Self.make(.delete, .token(token))
  }

  /// What lies before the transaction, which itself stays. For nil nothing.
  open class func deleteHistory(before transaction: NSPersistentHistoryTransaction?) -> NSPersistentHistoryChangeRequest
  {
    Self.make(.delete, .token(transaction?.token))
  }

  private static func make(_ action: Action, _ place: Place) -> NSPersistentHistoryChangeRequest {
    NSPersistentHistoryChangeRequest(action, place)
  }

  open override func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSPersistentHistoryChangeRequest(action, place)
    copy.resultType = resultType
    copy.fetchRequest = fetchRequest
    copy.affectedStores = affectedStores
    return copy
  }
}

/// Raw values are Apple's.
public enum NSPersistentHistoryResultType: Int, Sendable {
  /// `true`.
  case statusOnly = 0
  /// The IDs of the changed objects: `[NSManagedObjectID]`.
  case objectIDs = 1
  /// The number of changes, or of deleted transactions: `Int`.
  case count = 2
  /// `[NSPersistentHistoryTransaction]` whose `changes` are nil.
  case transactionsOnly = 3
  /// `[NSPersistentHistoryChange]`.
  case changesOnly = 4
  /// `[NSPersistentHistoryTransaction]`.
  case transactionsAndChanges = 5
}

/// What a history request gave.
open class NSPersistentHistoryResult: NSPersistentStoreResult {
  /// What `resultType` says.
  public let result: Any?
  public let resultType: NSPersistentHistoryResultType

  init(_ result: Any, _ type: NSPersistentHistoryResultType) {
    self.result = result
    resultType = type
    super.init()
  }
}

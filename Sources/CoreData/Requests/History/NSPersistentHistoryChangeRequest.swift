/// Reads or deletes the persistent history of stores.
///
/// ```swift
/// let request = NSPersistentHistoryChangeRequest.fetchHistory(after: lastToken)
/// let result = try context.execute(request) as? NSPersistentHistoryResult
/// for transaction in result?.result as? [NSPersistentHistoryTransaction] ?? [] {
///   print(transaction.author ?? "", transaction.changes?.count ?? 0)
///   container.viewContext.mergeChanges(fromContextDidSave: transaction.objectIDNotification())
///   lastToken = transaction.token
/// }
/// ```
///
/// Execute it with `NSManagedObjectContext.execute(_:)` or `NSPersistentStoreCoordinator.execute(_:with:)`, which give
/// an `NSPersistentHistoryResult`. It throws 134091 if none of the stores keeps a history, and 134030 for deleting in a
/// read-only store.
///
/// A program keeps the token of the last transaction that it has handled, archived, and reads on from there at its next
/// start. Delete history that all readers have passed, since a store does not delete it by itself:
///
/// ```swift
/// let month: TimeInterval = 30 * 86_400
/// try context.execute(NSPersistentHistoryChangeRequest.deleteHistory(before: Date() - month))
/// ```
///
/// Reading costs memory for each change that it returns: read from the last token on, and take `.transactionsOnly`
/// where the changes do not matter. A store commits a transaction's history together with its rows. Execute the request
/// on the context's queue.
///
/// What happens otherwise: a reader that keeps no token reads the whole history again; a program that deletes no
/// history has a store that grows with every save.
///
/// How two processes follow each other with it:
///
/// ```text
/// writer                                 reader
/// save: rows, transaction 7              token = 6 in a file
///                                        fetchHistory(after: 6): transaction 7
///                                        merge it, write token 7 to the file
/// save: rows, transaction 8
///                                        ends without notice, starts again
///                                        fetchHistory(after: 7): transaction 8
/// ```
///
/// Write the token after the work that follows from the transaction: a reader that ends in between sees the transaction
/// again, and misses none.
///
/// Source: Apple's documentation of `NSPersistentHistoryChangeRequest`.
open class NSPersistentHistoryChangeRequest: NSPersistentStoreRequest {
  /// The place after which history is read, or before which it is deleted.
  ///
  /// A store translates it into the condition of its query: `ZTIMESTAMP > ?` or `Z_PK > ?`.
  package enum Place {
    case date(Date)
    /// Nil stands for the beginning.
    case token(NSPersistentHistoryToken?)
  }

  enum Action {
    case fetch, delete
  }

  let action: Action
  let place: Place

  /// The form of the result. Default: `.transactionsAndChanges` for reading, `.statusOnly` for deleting.
  ///
  /// ```swift
  /// let request = NSPersistentHistoryChangeRequest.fetchHistory(after: lastToken)
  /// request.resultType = .transactionsOnly  // who has saved when; the changes are not read
  /// let result = try context.execute(request) as? NSPersistentHistoryResult
  /// for transaction in result?.result as? [NSPersistentHistoryTransaction] ?? [] {
  ///   print(transaction.timestamp, transaction.author ?? "")
  /// }
  /// ```
  ///
  /// Take `.transactionsOnly` or `.statusOnly` where they are enough: the other types read every change into memory.
  ///
  /// Source: Apple's documentation of `resultType`.
  open var resultType: NSPersistentHistoryResultType

  /// The token that the request was made with; nil for a request made with a date.
  ///
  /// Source: Apple's documentation of `token`.
  open var token: NSPersistentHistoryToken? {
    if case .token(let token) = place { token } else { nil }
  }

  /// Selects and sorts transactions or changes: a request about `NSPersistentHistoryTransaction` or
  /// `NSPersistentHistoryChange`. Its predicate is evaluated in memory; on Apple's platforms the store does it.
  ///
  /// ```swift
  /// let request = NSPersistentHistoryChangeRequest.fetchHistory(after: lastToken)
  /// request.fetchRequest = NSPersistentHistoryTransaction.fetchRequest
  /// request.fetchRequest?.predicate = NSPredicate(format: "author != %@", "import")
  /// let result = try context.execute(request) as? NSPersistentHistoryResult
  /// print((result?.result as? [NSPersistentHistoryTransaction])?.count ?? 0)
  /// ```
  ///
  /// It narrows what follows the place: begin at a token, so that little is read. Limit, offset and sort descriptors
  /// count too; of a request about changes they count within each transaction. Default: nil. A request for another
  /// entity makes the execution throw 134070.
  ///
  /// Source: Apple's documentation of `fetchRequest`.
  open var fetchRequest: NSFetchRequest<any NSFetchRequestResult>?

  private init(_ action: Action, _ place: Place) {
    self.action = action
    self.place = place
    resultType = action == .fetch ? .transactionsAndChanges : .statusOnly
    super.init()
  }

  // MARK: Reading

  /// Reads the transactions after a date.
  ///
  /// ```swift
  /// let request = NSPersistentHistoryChangeRequest.fetchHistory(after: Date() - 3600)
  /// request.resultType = .count
  /// let changes = (try context.execute(request) as? NSPersistentHistoryResult)?.result as? Int ?? 0
  /// ```
  ///
  /// Times are those of the writers' clocks: prefer a token, which no clock can put out of order.
  ///
  /// SQLite finds the place by an index on the time. All that was committed at exactly that time is left out.
  ///
  /// - Parameter date: the time of the last transaction that is known.
  ///
  /// Source: Apple's documentation of `fetchHistory(after:)`.
  open class func fetchHistory(after date: Date) -> NSPersistentHistoryChangeRequest { Self.make(.fetch, .date(date)) }

  /// Reads the transactions after a token; nil reads all. Executing it throws 134301 if some of them were deleted:
  /// start again with nil, and read the objects again.
  ///
  /// ```swift
  /// do {
  ///   let request = NSPersistentHistoryChangeRequest.fetchHistory(after: lastToken)
  ///   let result = try context.execute(request) as? NSPersistentHistoryResult
  ///   lastToken = (result?.result as? [NSPersistentHistoryTransaction])?.last?.token ?? lastToken
  /// } catch let error as CocoaError where error.code == .persistentHistoryTokenExpired {
  ///   lastToken = nil
  ///   context.refreshAllObjects()
  /// }
  /// ```
  ///
  /// A token knows the stores that it was made for; the history of other stores is read from its beginning.
  ///
  /// It costs an access by key and the transactions that follow. Executing it throws 134091 if no store keeps a
  /// history.
  ///
  /// - Parameter token: the place, as `NSPersistentHistoryTransaction.token` or
  ///   `currentPersistentHistoryToken(fromStores:)` gave it.
  ///
  /// Source: Apple's documentation of `fetchHistory(after:)`.
  open class func fetchHistory(after token: NSPersistentHistoryToken?) -> NSPersistentHistoryChangeRequest {
    Self.make(.fetch, .token(token))
  }

  /// Reads what follows a transaction; nil reads all. Executing it throws 134301 if some of that was deleted.
  ///
  /// ```swift
  /// func transactions(after last: NSPersistentHistoryTransaction?, _ context: NSManagedObjectContext) throws -> Int {
  ///   let request = NSPersistentHistoryChangeRequest.fetchHistory(after: last)
  ///   let result = try context.execute(request) as? NSPersistentHistoryResult
  ///   return (result?.result as? [NSPersistentHistoryTransaction])?.count ?? 0
  /// }
  /// ```
  ///
  /// It reads what follows in that transaction's store, and the whole history of other stores. The same as with the
  /// transaction's token, which can be kept in a file.
  ///
  /// Source: Apple's documentation of `fetchHistory(after:)`.
  open class func fetchHistory(after transaction: NSPersistentHistoryTransaction?) -> NSPersistentHistoryChangeRequest {
    Self.make(.fetch, .token(transaction?.token))
  }

  /// Reads what matches a request of `NSPersistentHistoryTransaction.fetchRequest` or
  /// `NSPersistentHistoryChange.fetchRequest`.
  ///
  /// ```swift
  /// if let imports = NSPersistentHistoryTransaction.fetchRequest {
  ///   imports.predicate = NSPredicate(format: "author == %@", "import")
  ///   let request = NSPersistentHistoryChangeRequest.fetchHistory(withFetch: imports)
  ///   let result = try context.execute(request) as? NSPersistentHistoryResult
  ///   print((result?.result as? [NSPersistentHistoryTransaction])?.count ?? 0)
  /// }
  /// ```
  ///
  /// The whole history is read, and the predicate evaluated in memory. A request whose `entity` is another one, or that
  /// has only the name of one, throws 134070 when it is executed.
  ///
  /// Where the history is long, make the request with a token and set its `fetchRequest` instead.
  ///
  /// - Parameter fetchRequest: its settings are copied: later changes of it have no effect.
  ///
  /// Source: Apple's documentation of `fetchHistory(withFetch:)`.
  open class func fetchHistory<Result>(withFetch fetchRequest: NSFetchRequest<Result>)
    -> NSPersistentHistoryChangeRequest
  {
    let request = Self.make(.fetch, .token(nil))
    request.fetchRequest = NSFetchRequest<any NSFetchRequestResult>(fetchRequest.settings)
    if fetchRequest.settings.entity === HistoryEntities.change { request.resultType = .changesOnly }
    return request
  }

  // MARK: Deleting

  /// Deletes the transactions before a date, of all stores that the request asks. Readers whose token is older get
  /// 134301 from then on. A store's newest number is never used again, so tokens stay valid.
  ///
  /// ```swift
  /// let week: TimeInterval = 7 * 86_400
  /// try context.execute(NSPersistentHistoryChangeRequest.deleteHistory(before: Date() - week))
  /// ```
  ///
  /// A date must leave each reader time to read: take the longest time for which a reader may be off. The rows of
  /// objects stay. The file does not shrink, since SQLite keeps free pages for later rows; `NSSQLiteManualVacuumOption`
  /// gives them back when the store is opened.
  ///
  /// Source: Apple's documentation of `deleteHistory(before:)`.
  open class func deleteHistory(before date: Date) -> NSPersistentHistoryChangeRequest {
    Self.make(.delete, .date(date))
  }

  /// Deletes the transactions before a token, except the token's own. Nil deletes nothing.
  ///
  /// ```swift
  /// let passed = lastToken  // the oldest of the tokens that readers keep
  /// try context.execute(NSPersistentHistoryChangeRequest.deleteHistory(before: passed))
  /// ```
  ///
  /// It is one transaction in each store, and other writers of the store wait for it. Any thread may make the request;
  /// execute it on the context's queue.
  ///
  /// With several readers take the smallest of their tokens: a reader whose token's successor is gone gets 134301 and
  /// has to read everything.
  ///
  /// Source: Apple's documentation of `deleteHistory(before:)`.
  open class func deleteHistory(before token: NSPersistentHistoryToken?) -> NSPersistentHistoryChangeRequest {
    Self.make(.delete, .token(token))
  }

  /// Deletes the transactions before a transaction, which stays. Nil deletes nothing.
  ///
  /// Stores other than that transaction's lose nothing.
  ///
  /// Source: Apple's documentation of `deleteHistory(before:)`.
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

/// The form of a history request's result. Raw values are Apple's.
///
/// | Type | `result` when reading | when deleting |
/// | --- | --- | --- |
/// | `.statusOnly` | `true` | `true` |
/// | `.objectIDs` | `[NSManagedObjectID]` | `true` |
/// | `.count` | number of changes | number of transactions |
/// | `.transactionsOnly` | `[NSPersistentHistoryTransaction]` | `true` |
/// | `.changesOnly` | `[NSPersistentHistoryChange]` | `true` |
/// | `.transactionsAndChanges` | `[NSPersistentHistoryTransaction]` | `true` |
///
/// Source: Apple's documentation of `NSPersistentHistoryResultType`.
public enum NSPersistentHistoryResultType: Int, Sendable {
  /// `true`.
  ///
  /// For deleting. A reading with it tells only that the token is not too old.
  case statusOnly = 0
  /// The IDs of the changed objects, one for each change: `[NSManagedObjectID]`.
  ///
  /// An object that changed in two transactions is there twice.
  case objectIDs = 1
  /// The number of changes, or of deleted transactions: `Int`.
  case count = 2
  /// `[NSPersistentHistoryTransaction]` whose `changes` are nil.
  ///
  /// One query of one table: who saved, and when. A fetch request about changes, or one whose predicate names them,
  /// chooses among the transactions; then the changes are read too.
  case transactionsOnly = 3
  /// `[NSPersistentHistoryChange]`.
  ///
  /// Each holds its transaction, whose `changes` are nil then.
  case changesOnly = 4
  /// `[NSPersistentHistoryTransaction]`.
  ///
  /// Two queries, and an object in memory for each change.
  case transactionsAndChanges = 5
}

/// What executing an `NSPersistentHistoryChangeRequest` gives. Transactions are in the order of their commits, of
/// several stores in that of their times.
///
/// ```swift
/// let request = NSPersistentHistoryChangeRequest.fetchHistory(after: lastToken)
/// guard let result = try context.execute(request) as? NSPersistentHistoryResult,
///   let transactions = result.result as? [NSPersistentHistoryTransaction]
/// else { return }
/// lastToken = transactions.last?.token ?? lastToken
/// ```
///
/// With several stores a token of the last transaction knows one store only: keep
/// `currentPersistentHistoryToken(fromStores:)` of before the reading instead.
///
/// Source: Apple's documentation of `NSPersistentHistoryResult`.
open class NSPersistentHistoryResult: NSPersistentStoreResult {
  /// A value of the type that `resultType` describes.
  public let result: Any?
  /// The form that the request asked for.
  public let resultType: NSPersistentHistoryResultType

  init(_ result: Any, _ type: NSPersistentHistoryResultType) {
    self.result = result
    resultType = type
    super.init()
  }
}

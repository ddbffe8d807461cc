/// The persistent history of the coordinator's stores.
extension NSPersistentStoreCoordinator {
  /// The token of the current end of the stores' histories; nil if none has a history.
  ///
  /// ```swift
  /// lastToken = coordinator.currentPersistentHistoryToken(fromStores: nil)
  /// ```
  ///
  /// A program that has just read all objects keeps it, to fetch only newer history later. Take the token before the
  /// first fetch, not after it: a save in between is then in the fetched objects and in the history, which does no
  /// harm; in the other order the program misses it:
  ///
  /// ```text
  /// this program               another process
  /// fetches all objects
  ///                            saves, transaction 18
  /// takes the token: 18        (never learns of 18)
  /// ```
  ///
  /// It costs a query for each store. A store that cannot be read is left out. Any thread.
  ///
  /// - Parameter stores: `NSPersistentStore`s; nil for all stores of this coordinator.
  /// - Returns: a token that `NSPersistentHistoryChangeRequest.fetchHistory(after:)` takes. It may be archived.
  ///
  /// Source: Apple's documentation of `currentPersistentHistoryToken(fromStores:)`.
  public final func currentPersistentHistoryToken(fromStores stores: [Any]?) -> NSPersistentHistoryToken? {
    let requestedStores = objectStores(among: stores?.compactMap { $0 as? NSPersistentStore })
    var numbers: [String: Int64] = [:]
    for store in requestedStores {
      // A store that cannot be read is left out of the token.
      numbers[store.identifier] = (try? (store as? any HistoryStore)?.lastTransactionNumber()) ?? nil
    }
    return numbers.isEmpty ? nil : NSPersistentHistoryToken(numbers)
  }

  /// Carries out a request about history, for the stores that keep one.
  ///
  /// A coordinator may have stores with and without a history, such as a cache in memory beside a file. Those without
  /// are left out; only if none is left is the request an error (134091), since an empty answer would say that nothing
  /// has happened.
  final func history(_ request: NSPersistentHistoryChangeRequest) throws -> NSPersistentHistoryResult {
    let affected = objectStores(among: request.affectedStores)
    let stores = affected.compactMap { $0 as? any HistoryStore }.filter(\.keepsHistory)
    guard !stores.isEmpty else {
      throw CoreDataErrors.error(
        .persistentStoreUnsupportedRequestType,
        "None of the stores keeps a history: open one with \(NSPersistentHistoryTrackingKey).")
    }
    switch request.action {
    case .fetch: return try fetchHistory(request, stores)
    case .delete: return try deleteHistory(request, stores)
    }
  }

  // MARK: Reading

  /// Reads the transactions after the request's place, from all stores.
  ///
  /// A store reads in the order of its own numbers. Those of several stores have nothing to do with each other, so
  /// transactions of several stores come in the order of their times. The fetch request of a history request is
  /// evaluated here, on the objects, and not in SQL: histories are read from where the last reading ended, which is
  /// mostly close to the end.
  private func fetchHistory(
    _ request: NSPersistentHistoryChangeRequest, _ stores: [any HistoryStore]
  ) throws -> NSPersistentHistoryResult {
    let asksForChanges = request.fetchRequest?.entity === HistoryEntities.change
    if let fetch = request.fetchRequest, fetch.entity !== HistoryEntities.transaction, !asksForChanges {
      let name = (fetch.entity?.name ?? fetch.entityName).map { "objects of \($0)" } ?? "what has no entity"
      throw CoreDataErrors.error(
        .persistentStoreOperation,
        "A history request fetches transactions or changes, not \(name): begin with "
          + "NSPersistentHistoryTransaction.fetchRequest or NSPersistentHistoryChange.fetchRequest.")
    }
    let returnsChanges = request.resultType != .transactionsOnly && request.resultType != .statusOnly
    let query = HistoryQuery(
      place: request.place, includesChanges: returnsChanges || asksForChanges || request.fetchRequest.readsChanges,
      changesAreAlone: request.resultType == .changesOnly)
    var transactions = try stores.flatMap { try $0.history(query) }
    if stores.count > 1 { transactions.sort { $0.timestamp < $1.timestamp } }
    if let fetch = request.fetchRequest {
      if asksForChanges {
        for transaction in transactions { transaction.changes = transaction.changes.map { $0.filter(fetch) } }
        transactions.removeAll { $0.changes?.isEmpty ?? true }
      } else {
        transactions = transactions.filter(fetch)
      }
    }
    return NSPersistentHistoryResult(result(transactions, request.resultType), request.resultType)
  }

  /// The value that the request's type of result asks for. Counts and IDs are of changes, whichever transactions they
  /// belong to.
  private func result(_ transactions: [NSPersistentHistoryTransaction], _ type: NSPersistentHistoryResultType) -> Any {
    let changes = transactions.lazy.flatMap { $0.changes ?? [] }
    switch type {
    case .statusOnly: return true
    case .objectIDs: return Array(changes.map(\.changedObjectID))
    case .count: return changes.count
    case .transactionsAndChanges: return transactions
    case .transactionsOnly:
      // A fetch request may have needed them to choose the transactions.
      for transaction in transactions { transaction.changes = nil }
      return transactions
    case .changesOnly:
      let allChanges = Array(changes)
      // Each change holds its transaction now, so the transaction must not hold its changes.
      for transaction in transactions { transaction.changes = nil }
      return allChanges
    }
  }

  // MARK: Deleting

  /// Deletes what is older than the request's place, store by store, each in a transaction of its own. An error leaves
  /// the stores before it without that history, which a second call does not mind.
  private func deleteHistory(
    _ request: NSPersistentHistoryChangeRequest, _ stores: [any HistoryStore]
  ) throws -> NSPersistentHistoryResult {
    var count = 0
    for store in stores {
      if store.isReadOnly { throw store.readOnlyError }
      count += try store.deleteHistory(before: request.place)
    }
    return NSPersistentHistoryResult(request.resultType == .count ? count : true, request.resultType)
  }
}

extension NSFetchRequest<any NSFetchRequestResult>? {
  /// Whether the predicate or the order of a request about transactions needs their changes: `ANY changes.changeType`.
  fileprivate var readsChanges: Bool {
    guard let fetch = self else { return false }
    var keys = NamedKeys()
    if let predicate = fetch.predicate { keys.add(predicate) }
    for descriptor in fetch.sortDescriptors ?? [] { keys.add(path: descriptor.key ?? "") }
    return keys.names.contains("changes")
  }
}

extension Array where Element: AnyObject {
  /// The elements that match a fetch request, in its order, limit and offset.
  fileprivate func filter(_ fetch: NSFetchRequest<any NSFetchRequestResult>) -> [Element] {
    var matches = self
    if let predicate = fetch.predicate { matches = matches.filter { predicate.evaluate(with: $0) } }
    if let order = fetch.sortDescriptors, !order.isEmpty { matches = matches.sorted(by: order) }
    let window = matches.dropFirst(fetch.fetchOffset)
    return Array<Element>(fetch.fetchLimit > 0 ? window.prefix(fetch.fetchLimit) : window)
  }
}

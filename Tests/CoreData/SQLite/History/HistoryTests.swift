import Testing

@testable import CoreData

@Suite struct HistoryTests {
  private static var tracked: [AnyHashable: Any] { [NSPersistentHistoryTrackingKey: true] }

  private func fetch(_ store: TemporaryStore, _ request: NSPersistentHistoryChangeRequest) throws -> Any? {
    try store.read { (try $0.execute(request) as? NSPersistentHistoryResult)?.result }
  }

  private func transactions(
    _ store: TemporaryStore, after token: NSPersistentHistoryToken? = nil
  ) throws -> [NSPersistentHistoryTransaction] {
    try #require(
      fetch(store, NSPersistentHistoryChangeRequest.fetchHistory(after: token)) as? [NSPersistentHistoryTransaction])
  }

  private func changes(_ transaction: NSPersistentHistoryTransaction) -> [String] {
    (transaction.changes ?? []).map { change in
      let properties = (change.updatedProperties ?? []).map(\.name).sorted().joined(separator: ",")
      let object = change.changedObjectID.uriString.split(separator: "/").suffix(2).joined(separator: "/")
      return "\(change.changeType) \(object)" + (properties.isEmpty ? "" : " \(properties)")
    }
  }

  @Test(arguments: ["<", "<=", ">", ">=", "=="])
  func aPredicateOrdersTransactionsByToken(comparison: String) throws {
    let store = try TemporaryStore(options: Self.tracked)
    for title in ["a", "b", "c"] { try store.save { $0.make("Book", ["title": title]) } }
    let all = try transactions(store)
    let fetchRequest = try #require(NSPersistentHistoryTransaction.fetchRequest)
    fetchRequest.predicate = NSPredicate(format: "token \(comparison) %@", all[1].token)
    let request = NSPersistentHistoryChangeRequest.fetchHistory(withFetch: fetchRequest)
    let numbers = try #require(fetch(store, request) as? [NSPersistentHistoryTransaction]).map(\.transactionNumber)
    let expected: [String: [Int64]] = ["<": [1], "<=": [1, 2], ">": [3], ">=": [2, 3], "==": [2]]
    #expect(numbers == expected[comparison])
  }

  // MARK: The tables

  @Test func theTablesAreApplesAndAppearBeforeTheFirstTransaction() throws {
    let store = try TemporaryStore(options: Self.tracked)
    let names = try store.sql(
      "SELECT name FROM sqlite_master WHERE name LIKE '%TRANSACTION%' OR name LIKE '%CHANGE%' ORDER BY 1")
    #expect(
      names.map { $0[0] ?? "" } == [
        "ACHANGE", "ACHANGE_ZTRANSACTIONID_INDEX", "ATRANSACTION", "ATRANSACTIONSTRING", "ATRANSACTION_ZAUTHORTS_INDEX",
        "ATRANSACTION_ZBUNDLEIDTS_INDEX", "ATRANSACTION_ZCONTEXTNAMETS_INDEX", "ATRANSACTION_ZPROCESSIDTS_INDEX",
        "Z_TRANSACTIONSTRING_UNIQUE_NAME", "Z_TRANSACTION_TransactionAuthorIndex",
        "Z_TRANSACTION_TransactionTimestampIndex",
      ])
    #expect(
      try store.sql("SELECT Z_ENT, Z_NAME, Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT > 16000")
        == [["16001", "CHANGE", "0"], ["16002", "TRANSACTION", "0"], ["16003", "TRANSACTIONSTRING", "0"]])
    try #expect(transactions(store).isEmpty)
  }

  @Test(
    arguments: ModelFixtures.arguments(
      own: [("Harbour-1", ["title", "uuid"])],
      apple: [("Notes-macOS15", []), ("Plaso-RMAdminStore", ["title", "pages", "uuid", "link"])]))
  func theTablesOfFormerFilesAreDeclaredAlike(name: String, preserved: [String]) throws {
    let (folder, file) = try ModelFixtures.copyOfStore(name)
    defer { try? FileManager.default.removeItem(at: folder) }
    let model = LibraryModel.make()
    for key in preserved {
      model.entitiesByName["Book"]?.attributesByName[key]?.preservesValueInHistoryOnDeletion = true
    }
    let store = try TemporaryStore(model, options: Self.tracked)
    let sql = "SELECT name, sql FROM sqlite_master WHERE tbl_name LIKE 'A%' AND tbl_name NOT LIKE 'AU%' ORDER BY rowid"
    let formerTables = try StoreFixtures.rows(sql, inFile: file).filter {
      ($0[1] ?? "").contains("CHANGE") || ($0[1] ?? "").contains("TRANSACTION")
    }
    let ownTables = try store.sql(sql)
    #expect(ownTables == formerTables)
  }

  // MARK: What is recorded

  @Test func eachSaveIsOneTransactionWithItsChangesInOrder() throws {
    let store = try TemporaryStore(options: Self.tracked)
    let context = store.context()
    context.name = "editor"
    context.transactionAuthor = "me"
    let before = Date()
    try context.performAndWait {
      let author = context.make("Author", ["name": "A"])
      let book = context.make("Book", ["title": "One", "author": author])
      try context.save()
      book.setValue("Uno", forKey: "title")
      book.setValue(12, forKey: "pages")
      try context.save()
      context.delete(book)
      try context.save()
    }
    let savedTransactions = try transactions(store)
    #expect(savedTransactions.map(\.transactionNumber) == [1, 2, 3])
    #expect(Set(changes(savedTransactions[0])) == ["insert Author/p1", "insert Book/p1"])
    #expect(changes(savedTransactions[1]) == ["update Book/p1 pages,title"])
    #expect(Set(changes(savedTransactions[2])) == ["delete Book/p1", "update Author/p1 books"])
    let identifier: String = try #require(store.coordinator.persistentStores[0].identifier)
    for transaction in savedTransactions {
      #expect(transaction.author == "me" && transaction.contextName == "editor")
      #expect(transaction.processID == ProcessInfo.processInfo.processName)
      #expect(!transaction.bundleID.isEmpty)
      #expect(transaction.storeID == identifier)
      #expect(transaction.timestamp >= before.addingTimeInterval(-1) && transaction.timestamp <= Date())
      #expect(transaction.changes?.allSatisfy { $0.transaction === transaction } == true)
    }
    #expect(savedTransactions.flatMap { $0.changes ?? [] }.map(\.changeID) == [1, 2, 3, 4, 5])
  }

  @Test func aSaveThatFailsOrWritesNothingLeavesNoTransaction() throws {
    let store = try TemporaryStore(options: Self.tracked)
    let context = store.context()
    try context.performAndWait {
      let book = context.make("Book", ["title": "One"])
      try context.save()
      book.setValue("One", forKey: "title")
      try context.save()
      _ = context.make("Book")
      expectError(1570) { try context.save() }
    }
    try #expect(transactions(store).count == 1)
    try #expect(store.sql("SELECT count(*) FROM ATRANSACTION") == [["1"]])
  }

  @Test func aConflictThatAPolicyResolvesIsRecordedOnce() throws {
    let store = try TemporaryStore(options: Self.tracked)
    let id = try store.save { $0.make("Book", ["title": "One"]) }.objectID
    try store.read { context in
      context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
      context.object(with: id).setValue("mine", forKey: "title")
      try store.save { $0.object(with: id).setValue("theirs", forKey: "title") }
      try context.save()
    }
    try #expect(
      transactions(store).map(changes) == [["insert Book/p1"], ["update Book/p1 title"], ["update Book/p1 title"]])
  }

  @Test func batchRequestsAreTransactionsToo() throws {
    let model = LibraryModel.make()
    model.entitiesByName["Tag"]?.uniquenessConstraints = [["label"]]
    let store = try TemporaryStore(model, options: Self.tracked)
    try store.read { context in
      context.transactionAuthor = "batch"
      context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
      let insert = NSBatchInsertRequest(entityName: "Tag", objects: [["label": "a"], ["label": "b"], ["label": "a"]])
      try context.execute(insert)
      let update = NSBatchUpdateRequest(entityName: "Tag")
      update.propertiesToUpdate = ["label": "c"]
      update.predicate = NSPredicate(format: "label == 'a'")
      update.resultType = .updatedObjectsCountResultType
      try #expect((context.execute(update) as? NSBatchUpdateResult)?.result as? Int == 1)
      let author = context.make("Author", ["name": "A"])
      context.make("Passport", ["holder": author])
      context.make("Book", ["title": "x", "author": author])
      try context.save()
      try context.execute(NSBatchDeleteRequest(fetchRequest: NSFetchRequest<NSManagedObject>(entityName: "Author")))
    }
    let savedTransactions = try transactions(store)
    #expect(savedTransactions.map(\.author) == ["batch", "batch", "batch", "batch"])
    #expect(changes(savedTransactions[0]) == ["insert Tag/p1", "insert Tag/p2", "update Tag/p1 label"])
    #expect(changes(savedTransactions[1]) == ["update Tag/p1 label"])
    #expect(changes(savedTransactions[3]) == ["update Passport/p1 holder", "delete Author/p1", "delete Book/p1"])
  }

  @Test func tombstonesKeepPreservedValues() throws {
    let model = LibraryModel.make()
    for name in ["title", "price", "uuid", "pages"] {
      model.entitiesByName["Book"]?.attributesByName[name]?.preservesValueInHistoryOnDeletion = true
    }
    let store = try TemporaryStore(model, options: Self.tracked)
    let uuid = UUID()
    let ids = try store.save { context in
      [
        context.make("Book", ["title": "One", "price": NSDecimalNumber(string: "2.5"), "uuid": uuid]),
        context.make("Comic", ["title": "Two"]), context.make("Tag", ["label": "x"]),
      ]
    }.map(\.objectID)
    try store.save { context in for id in ids { context.delete(context.object(with: id)) } }
    let deleted = try #require(transactions(store).last?.changes)
    let byEntity = Dictionary(uniqueKeysWithValues: deleted.map { ($0.changedObjectID.entity.name ?? "", $0) })
    let book = try #require(byEntity["Book"]?.tombstone)
    #expect(book["title"] as? String == "One" && book["uuid"] as? UUID == uuid && book["pages"] as? Int == 0)
    #expect(book["price"] as? NSDecimalNumber == NSDecimalNumber(string: "2.5"))
    #expect(byEntity["Comic"]?.tombstone?["title"] as? String == "Two")
    #expect(byEntity["Tag"] != nil && byEntity["Tag"]?.tombstone == nil)
  }

  @Test func aFileWithHistoryGoesOnWithItWithoutTheOption() throws {
    let store = try TemporaryStore(options: Self.tracked)
    let other = try store.otherCoordinator()
    let context = other.context()
    try context.performAndWait {
      context.make("Tag", ["label": "x"])
      try context.save()
    }
    try #expect(transactions(store).map(changes) == [["insert Tag/p1"]])
  }

  @Test func aStoreWithoutHistoryHasNoTablesAndRefuses() throws {
    let store = try TemporaryStore()
    try store.save { $0.make("Tag") }
    try #expect(store.sql("SELECT name FROM sqlite_master WHERE name LIKE 'A%'").isEmpty)
    #expect(store.coordinator.currentPersistentHistoryToken(fromStores: nil) == nil)
    expectError(134091) { try transactions(store) }
  }

  @Test func aStoreWithAPrefixHasAHistoryOfItsOwn() throws {
    let store = try TemporaryStore(options: Self.tracked)
    let other = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    let options: [AnyHashable: Any] = [NSPersistentHistoryTrackingKey: true, NSPersistentStoreTablePrefixOption: "Q"]
    try other.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: store.url, options: options)
    let context = other.context()
    try context.performAndWait {
      context.make("Tag", ["label": "x"])
      try context.save()
    }
    try #expect(store.sql("SELECT count(*) FROM Q_ACHANGE") == [["1"]])
    try #expect(transactions(store).isEmpty)
  }

  // MARK: Reading

  @Test func historyAfterATokenATransactionOrADateIsStrictlyNewer() throws {
    let store = try TemporaryStore(options: Self.tracked)
    #expect(store.coordinator.currentPersistentHistoryToken(fromStores: nil)?.numbers.values.first == 0)
    for label in ["a", "b", "c"] { try store.save { $0.make("Tag", ["label": label]) } }
    let all = try transactions(store)
    #expect(all.count == 3)
    let newer = [all[1], all[2]].map(\.transactionNumber)
    try #expect(transactions(store, after: all[0].token).map(\.transactionNumber) == newer)
    let after = NSPersistentHistoryChangeRequest.fetchHistory(after: all[0])
    try #expect((fetch(store, after) as? [NSPersistentHistoryTransaction])?.map(\.transactionNumber) == newer)
    let later = NSPersistentHistoryChangeRequest.fetchHistory(after: all[0].timestamp)
    try #expect((fetch(store, later) as? [NSPersistentHistoryTransaction])?.map(\.transactionNumber) == newer)
    let current = store.coordinator.currentPersistentHistoryToken(fromStores: nil)
    #expect(current == all[2].token)
    try #expect(transactions(store, after: current).isEmpty)
  }

  @Test func everyResultTypeGivesItsResult() throws {
    let store = try TemporaryStore(options: Self.tracked)
    try store.save { context in for label in ["a", "b"] { context.make("Tag", ["label": label]) } }
    func result(_ type: NSPersistentHistoryResultType) throws -> Any? {
      let request = NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?)
      request.resultType = type
      return try fetch(store, request)
    }
    try #expect(result(.statusOnly) as? Bool == true)
    try #expect((result(.objectIDs) as? [NSManagedObjectID])?.map(\.key).sorted() == [1, 2])
    try #expect(result(.count) as? Int == 2)
    let transactions = try #require(try result(.transactionsOnly) as? [NSPersistentHistoryTransaction])
    #expect(transactions.count == 1 && transactions[0].changes == nil)
    let changes = try #require(try result(.changesOnly) as? [NSPersistentHistoryChange])
    #expect(changes.count == 2 && changes.allSatisfy { $0.transaction?.transactionNumber == 1 })
  }

  @Test func aFetchRequestChoosesTransactionsOrChanges() throws {
    let store = try TemporaryStore(options: Self.tracked)
    for author in ["app", "widget", "app"] {
      try store.save { context in
        context.transactionAuthor = author
        context.make("Tag", ["label": author])
        context.make("Author", ["name": author])
      }
    }
    let byAuthor = try #require(NSPersistentHistoryTransaction.fetchRequest)
    byAuthor.predicate = NSPredicate(format: "author == %@ AND transactionNumber > 1", "app")
    let request = NSPersistentHistoryChangeRequest.fetchHistory(withFetch: byAuthor)
    let matches = try #require(try fetch(store, request) as? [NSPersistentHistoryTransaction])
    #expect(matches.map(\.transactionNumber) == [3])

    let ofTags = try #require(NSPersistentHistoryChange.fetchRequest)
    let tag = try store.read { try $0.all("Tag", where: "label == 'widget'")[0].objectID }
    ofTags.predicate = NSPredicate(format: "changedObjectID == %@", tag)
    let changes = try #require(
      try fetch(store, NSPersistentHistoryChangeRequest.fetchHistory(withFetch: ofTags)) as? [NSPersistentHistoryChange]
    )
    #expect(changes.map(\.changedObjectID) == [tag] && changes[0].transaction?.author == "widget")

    // Some programs give a history request its fetch request later.
    let later = NSPersistentHistoryChangeRequest.fetchHistory(after: matches[0].token)
    later.fetchRequest = byAuthor
    try #expect((fetch(store, later) as? [NSPersistentHistoryTransaction])?.isEmpty == true)
    let wrong = NSPersistentHistoryChangeRequest.fetchHistory(
      withFetch: NSFetchRequest<NSManagedObject>(entityName: "Tag"))
    wrong.fetchRequest?.entity = store.model.entitiesByName["Tag"]
    expectError(134070) { try fetch(store, wrong) }
  }

  @Test func transactionsChosenByTheirChangesComeWithoutThem() throws {
    let store = try TemporaryStore(options: Self.tracked)
    try store.save { $0.make("Tag", ["label": "a"]) }
    try store.save { $0.make("Author", ["name": "Ada"]) }
    try store.save { context in for tag in try context.all("Tag") { context.delete(tag) } }
    let deletion = NSPersistentHistoryChangeType.delete.rawValue
    let ofDeletions = try #require(NSPersistentHistoryChange.fetchRequest)
    ofDeletions.predicate = NSPredicate(format: "changeType == %d", deletion)
    let withDeletions = try #require(NSPersistentHistoryTransaction.fetchRequest)
    withDeletions.predicate = NSPredicate(format: "ANY changes.changeType == %d", deletion)
    for fetchRequest in [ofDeletions, withDeletions] {
      let request = NSPersistentHistoryChangeRequest.fetchHistory(withFetch: fetchRequest)
      request.resultType = .transactionsOnly
      let transactions = try #require(try fetch(store, request) as? [NSPersistentHistoryTransaction])
      #expect(transactions.map(\.transactionNumber) == [3] && transactions.allSatisfy { $0.changes == nil })
      request.resultType = .transactionsAndChanges
      let whole = try #require(try fetch(store, request) as? [NSPersistentHistoryTransaction])
      #expect(whole.map { $0.changes?.map(\.changeType) } == [[.delete]])
    }
  }

  /// A name is that of an entity of the model, and none of those is in the history.
  @Test func aFetchRequestOfAnEntityByNameIsRefused() throws {
    let store = try TemporaryStore(options: Self.tracked)
    try store.save { context in
      context.make("Tag", ["label": "a"])
    }
    for (request, words) in [
      (NSFetchRequest<any NSFetchRequestResult>(entityName: "Tag"), "not objects of Tag"),
      (NSFetchRequest<any NSFetchRequestResult>(entityName: "Transaction"), "not objects of Transaction"),
      (NSFetchRequest<any NSFetchRequestResult>(), "not what has no entity"),
    ] {
      request.predicate = NSPredicate(format: "label == 'a'")
      let history = NSPersistentHistoryChangeRequest.fetchHistory(withFetch: request)
      let error = #expect(throws: NSError.self) { try fetch(store, history) }
      let text = error?.localizedDescription ?? ""
      #expect(error?.code == 134070 && text.contains(words), "\(text)")
      #expect(text.contains("NSPersistentHistoryTransaction.fetchRequest"))
    }
  }

  @Test func aTransactionMergesIntoAContext() throws {
    let store = try TemporaryStore(options: Self.tracked)
    let other = try store.otherCoordinator()
    let ids = try store.save { context in
      ["a", "b"].map { context.make("Tag", ["label": $0]) }
    }.map(\.objectID)
    let start = store.coordinator.currentPersistentHistoryToken(fromStores: nil)
    let context = store.context()
    try context.performAndWait {
      let tags = try ids.map { try context.existingObject(with: $0) }
      #expect(tags.compactMap { $0.text("label") } == ["a", "b"])
      // Another process changes one and deletes the other.
      let theirs = other.context()
      try theirs.performAndWait {
        let theirTags = try theirs.all("Tag", sort: "label")
        theirTags[0].setValue("A", forKey: "label")
        theirs.delete(theirTags[1])
        try theirs.save()
      }
      for transaction in try transactions(store, after: start) {
        context.mergeChanges(fromContextDidSave: transaction.objectIDNotification())
      }
      #expect(tags[0].text("label") == "A" && tags[1].isDeleted)
    }
  }

  @Test func aTokenIsAPlaceInEachStore() throws {
    let store = try TemporaryStore(options: Self.tracked)
    let coordinator = store.coordinator
    let second = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: store.folder.appendingPathComponent("second.sqlite"),
      options: Self.tracked)
    let (first, other) = (coordinator.persistentStores[0].identifier ?? "", second.identifier ?? "")
    try store.save { context in
      context.make("Tag")
      context.assign(context.make("Tag"), to: second)
    }
    try store.save { $0.make("Tag") }
    let token = try #require(coordinator.currentPersistentHistoryToken(fromStores: nil))
    #expect(token.numbers == [first: 2, other: 1])
    #expect(coordinator.currentPersistentHistoryToken(fromStores: [second])?.numbers == [other: 1])
    try store.save { context in context.assign(context.make("Tag"), to: second) }
    let later = try transactions(store, after: token)
    #expect(later.map(\.storeID) == [other] && later.map(\.transactionNumber) == [2])
    try #expect(transactions(store).count == 4)
  }

  // MARK: Deleting

  @Test func deletingBeforeATokenKeepsItsOwnTransaction() throws {
    let store = try TemporaryStore(options: Self.tracked)
    for label in ["a", "b", "c"] { try store.save { $0.make("Tag", ["label": label]) } }
    let all = try transactions(store)
    let request = NSPersistentHistoryChangeRequest.deleteHistory(before: all[1].token)
    request.resultType = .count
    try #expect(fetch(store, request) as? Int == 1)
    try #expect(transactions(store).map(\.transactionNumber) == [2, 3])
    try #expect(store.sql("SELECT count(*) FROM ACHANGE") == [["2"]])
    try #expect(fetch(store, .deleteHistory(before: Date().addingTimeInterval(60))) as? Bool == true)
    try #expect(transactions(store).isEmpty)
    try store.save { $0.make("Tag", ["label": "d"]) }
    try #expect(transactions(store).map(\.transactionNumber) == [4])
  }

  @Test func aTokenWhoseSuccessorsAreDeletedHasExpired() throws {
    let store = try TemporaryStore(options: Self.tracked)
    for label in ["a", "b", "c"] { try store.save { $0.make("Tag", ["label": label]) } }
    let all = try transactions(store)
    _ = try fetch(store, .deleteHistory(before: all[2]))
    expectError(134301) { try transactions(store, after: all[0].token) }
    try #expect(transactions(store, after: all[1].token).map(\.transactionNumber) == [3])
    try #expect(transactions(store, after: all[2].token).isEmpty)
    _ = try fetch(store, .deleteHistory(before: Date().addingTimeInterval(60)))
    expectError(134301) { try transactions(store, after: all[1].token) }
    try #expect(transactions(store, after: all[2].token).isEmpty)
    try #expect(transactions(store).isEmpty)
  }

  // MARK: Tokens

  @Test func tokensAreArchivedCodedCopiedAndCompared() throws {
    let token = NSPersistentHistoryToken(["A": 3, "B": 70_000_000_000])
    let data = try NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true)
    try #expect(NSKeyedUnarchiver.unarchivedObject(ofClass: NSPersistentHistoryToken.self, from: data) == token)
    let json = try JSONEncoder().encode([token])
    try #expect(JSONDecoder().decode([NSPersistentHistoryToken].self, from: json) == [token])
    #expect(token.copy() as? NSPersistentHistoryToken == token)
    #expect(token != NSPersistentHistoryToken(["A": 3]))
  }
}

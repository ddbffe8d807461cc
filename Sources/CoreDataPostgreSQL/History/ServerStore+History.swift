/// Reading and deleting the store's history, which `ServerHistoryNotes` writes.
extension ServerStore {
  /// The number of the last transaction that was ever committed, even if it was deleted since.
  ///
  /// ```text
  /// SELECT last_transaction FROM "app"."_store"
  /// ```
  ///
  /// A reader sees the row as it was before an open transaction counted on: no number is told before its COMMIT.
  func lastTransactionNumber() throws -> Int64? {
    guard keepsHistory else { return nil }
    return try query(
      "Reading the history of \(address.description)", in: nil, "SELECT last_transaction FROM \(ownTable(.store))",
      with: ServerParameters()
    ).integer(0, 0)
  }

  /// The transactions after a place.
  ///
  /// ```text
  /// BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY
  /// SELECT last_transaction, (SELECT min(number) FROM "app"."_transactions") FROM "app"."_store"     a token only
  /// SELECT t.number, t.at, t.author, t.bundle, t.context, t.process FROM "app"."_transactions" t
  /// WHERE t.number > $1 ORDER BY t.number
  /// SELECT c.transaction, c.number, c.type, c.entity, c.key, c.properties, c.tombstone
  /// FROM "app"."_changes" c JOIN "app"."_transactions" t ON t.number = c.transaction
  /// WHERE t.number > $1 ORDER BY c.transaction, c.number
  /// COMMIT
  /// ```
  ///
  /// All of it is in memory at once: read a long history in parts. A token whose next transaction was deleted is
  /// refused (134301).
  func history(_ query: HistoryQuery) throws -> [NSPersistentHistoryTransaction] {
    guard keepsHistory else { return [] }
    return try onTables("Reading the history of \(address.description)") {
      try database.read { connection, _ in
        // In one snapshot, so that the check and the reads see the same state.
        try connection.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        // If it fails, the connection is lost, and the transaction, which only reads, with it.
        defer { try? connection.run("COMMIT") }
        try query.checkNothingIsMissing(in: identifier) {
          let bounds = try connection.execute(
            """
            SELECT last_transaction, (SELECT min(number) FROM \(raw: ownTable(.transactions))) \
            FROM \(raw: ownTable(.store))
            """)
          return (bounds.integer(0, 0), bounds.integer(0, 1))
        }
        return try transactions(query, connection)
      }
    }
  }

  /// The condition on transactions as `t`, with its value: a date as seconds, which the server adds to 2001.
  private func condition(_ place: NSPersistentHistoryChangeRequest.Place, _ comparison: String) -> SQL {
    switch place {
    case .date(let date):
      "t.at \(raw: comparison) \(dialect.parameter(.real(date.timeIntervalSinceReferenceDate), .date))"
    case .token(let token): "t.number \(raw: comparison) \(bind: .integer(token?.numbers[identifier] ?? 0))"
    }
  }

  private func transactions(
    _ query: HistoryQuery, _ connection: any ServerConnection
  ) throws -> [NSPersistentHistoryTransaction] {
    let condition = condition(query.place, ">")
    let rows = try connection.execute(
      """
      SELECT t.number, t.at, t.author, t.bundle, t.context, t.process FROM \(raw: ownTable(.transactions)) t \
      WHERE \(condition) ORDER BY t.number
      """)
    let transactions = (0..<rows.rowCount).map { row in
      NSPersistentHistoryTransaction(
        number: rows.integer(row, 0), storeID: identifier,
        timestamp: Date(timeIntervalSinceReferenceDate: ServerDate.seconds(rows.integer(row, 1))),
        author: rows.text(row, 2), bundleID: rows.text(row, 3) ?? "", contextName: rows.text(row, 4),
        processID: rows.text(row, 5) ?? "")
    }
    guard query.includesChanges else { return transactions }
    let byNumber = Dictionary(uniqueKeysWithValues: transactions.map { ($0.transactionNumber, $0) })
    let changeRows = try connection.execute(
      """
      SELECT c.transaction, c.number, c.type, c.entity, c.key, c.properties, c.tombstone \
      FROM \(raw: ownTable(.changes)) c JOIN \(raw: ownTable(.transactions)) t ON t.number = c.transaction \
      WHERE \(condition) ORDER BY c.transaction, c.number
      """)
    var changes: [Int64: [NSPersistentHistoryChange]] = [:]
    for row in 0..<changeRows.rowCount {
      guard let transaction = byNumber[changeRows.integer(row, 0)],
        let change = change(changeRows, row, transaction, isAlone: query.changesAreAlone)
      else { continue }
      changes[transaction.transactionNumber, default: []].append(change)
    }
    for transaction in transactions { transaction.changes = changes[transaction.transactionNumber] ?? [] }
    return transactions
  }

  /// A row of `_changes`. Names of properties that the model lacks are left out. Nil for an object of an entity that
  /// the model lacks.
  private func change(
    _ changeRows: any ServerResult, _ row: Int, _ transaction: NSPersistentHistoryTransaction, isAlone: Bool
  ) -> NSPersistentHistoryChange? {
    guard let type = NSPersistentHistoryChangeType(rawValue: Int(changeRows.integer(row, 2))),
      let id = objectID(number: Int(changeRows.integer(row, 3)), key: changeRows.integer(row, 4))
    else { return nil }
    let names = changeRows.text(row, 5)?.split(separator: " ").map(String.init)
    let tombstone = changeRows.bytes(row, 6).flatMap { NSKeyedUnarchiver.knownObject(from: Data($0)) as? [String: Any] }
    return NSPersistentHistoryChange(
      id: changeRows.integer(row, 1), objectID: id, type: type, tombstone: tombstone,
      updatedProperties: names.map { Set($0.compactMap { id.entity.propertiesByName[$0] }) }, transaction: transaction,
      isAlone: isAlone)
  }

  /// Deletes the transactions before a place.
  ///
  /// ```text
  /// DELETE FROM "app"."_transactions" t
  /// WHERE t.at < (timestamptz '2001-01-01 00:00:00+00' + $1 * interval '1 second')
  /// ```
  ///
  /// Their changes go with them, by the foreign key's ON DELETE CASCADE. `last_transaction` stays, so numbers are not
  /// given again, and a token says that it is too old.
  func deleteHistory(before place: NSPersistentHistoryChangeRequest.Place) throws -> Int {
    guard keepsHistory else { return 0 }
    let condition = condition(place, "<")
    return try onTables("Deleting history of \(address.description)") {
      try database.write { connection in
        try connection.execute("DELETE FROM \(raw: ownTable(.transactions)) t WHERE \(condition)").affectedRows
      }
    }
  }
}

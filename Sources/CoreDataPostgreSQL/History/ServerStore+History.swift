/// Reading and deleting the store's history.
extension ServerStore {
  func lastTransactionNumber() throws -> Int64? {
    guard keepsHistory else { return nil }
    return try query(
      "Reading the history of \(address.description)", in: nil, "SELECT last_transaction FROM \(ownTable(.store))",
      with: ServerParameters()
    ).integer(0, 0)
  }

  func history(_ query: HistoryQuery) throws -> [NSPersistentHistoryTransaction] {
    guard keepsHistory else { return [] }
    return try onTables("Reading the history of \(address.description)") {
      try database.read { connection, _ in
        // In one snapshot, so that the check and the reads see the same state.
        try connection.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
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

  /// The condition on transactions as `t`, with its value.
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

  /// Nil for an object of an entity that the model lacks.
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

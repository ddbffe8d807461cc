/// Reads a store's history from its tables.
struct HistoryReader {
  let store: SQLiteStore
  let history: StoreHistory
  /// Whether transactions get their changes.
  let includesChanges: Bool
  /// Whether changes are returned without their transactions and therefore have to hold them.
  let changesAreAlone: Bool

  /// The number of the last transaction ever written.
  static func lastNumber(_ schema: StoreSchema, _ connection: SQLiteConnection) throws -> Int64 {
    try connection.integer(
      "SELECT Z_MAX FROM \(raw: schema.primaryKeyTable) WHERE Z_ENT = \(raw: HistoryTables.Number.transaction)") ?? 0
  }

  /// The numbers of the last transaction ever written and of the oldest one that is there; 0 for none.
  func bounds(_ connection: SQLiteConnection) throws -> (last: Int64, oldest: Int64) {
    let oldest = try connection.integer("SELECT min(Z_PK) FROM \(raw: history.tables.transactions)") ?? 0
    return (try Self.lastNumber(store.schema, connection), oldest)
  }

  /// The condition for transactions after a place.
  ///
  /// A date is compared with the clock of the process that saved; two processes whose clocks differ may swap. A token
  /// has a number, which grows with the commits.
  func condition(after place: NSPersistentHistoryChangeRequest.Place) -> SQL {
    switch place {
    case .date(let date): "t.ZTIMESTAMP > \(bind: .real(date.timeIntervalSinceReferenceDate))"
    case .token(let token): "t.Z_PK > \(bind: .integer(token?.numbers[store.identifier] ?? 0))"
    }
  }

  /// The transactions that fulfil a condition, in the order of their numbers.
  ///
  /// ```text
  /// SELECT t.Z_PK, t.ZTIMESTAMP,
  ///   coalesce((SELECT ZNAME FROM ATRANSACTIONSTRING WHERE Z_PK = t.ZAUTHORTS), t.ZAUTHOR), … and three more names
  ///   FROM ATRANSACTION t WHERE t.Z_PK > ? ORDER BY t.Z_PK
  /// ```
  func transactions(
    where condition: SQL, _ connection: SQLiteConnection
  ) throws -> [NSPersistentHistoryTransaction] {
    let names = ["AUTHOR", "BUNDLEID", "CONTEXTNAME", "PROCESSID"]
    let tables = history.tables
    let columns = names.map { name in
      tables.hasStrings
        ? "coalesce((SELECT ZNAME FROM \(tables.strings) WHERE Z_PK = t.Z\(name)TS), t.Z\(name))" : "t.Z\(name)"
    }
    let statement = try connection.statement(
      """
      SELECT t.Z_PK, t.ZTIMESTAMP, \(raw: columns.joined(separator: ", ")) FROM \(raw: tables.transactions) t \
      WHERE \(condition) ORDER BY t.Z_PK
      """ as SQL)
    var transactions: [NSPersistentHistoryTransaction] = []
    defer { statement.reset() }
    while try statement.step() {
      transactions.append(
        NSPersistentHistoryTransaction(
          number: statement.integer(0), storeID: store.identifier,
          timestamp: Date(timeIntervalSinceReferenceDate: statement.real(1)), author: statement.text(2),
          bundleID: statement.text(3) ?? "", contextName: statement.text(4), processID: statement.text(5) ?? ""))
    }
    if includesChanges { try addChanges(to: transactions, condition, connection) }
    return transactions
  }

  /// One statement for the changes of all transactions, not one for each:
  ///
  /// ```text
  /// SELECT c.ZTRANSACTIONID, c.Z_PK, c.ZCHANGETYPE, c.ZENTITY, c.ZENTITYPK, c.ZCOLUMNS FROM ACHANGE c
  ///   JOIN ATRANSACTION t ON t.Z_PK = c.ZTRANSACTIONID WHERE t.Z_PK > ? ORDER BY c.ZTRANSACTIONID, c.Z_PK
  /// ```
  private func addChanges(
    to transactions: [NSPersistentHistoryTransaction], _ condition: SQL, _ connection: SQLiteConnection
  ) throws {
    let byNumber = Dictionary(uniqueKeysWithValues: transactions.map { ($0.transactionNumber, $0) })
    var changes: [Int64: [NSPersistentHistoryChange]] = [:]
    let tombstones = (0..<history.tables.tombstoneCount).map { ", c.ZTOMBSTONE\($0)" }.joined()
    let (changesTable, transactionsTable) = (history.tables.changes, history.tables.transactions)
    let statement = try connection.statement(
      """
      SELECT c.ZTRANSACTIONID, c.Z_PK, c.ZCHANGETYPE, c.ZENTITY, c.ZENTITYPK, c.ZCOLUMNS\(raw: tombstones) \
      FROM \(raw: changesTable) c JOIN \(raw: transactionsTable) t ON t.Z_PK = c.ZTRANSACTIONID \
      WHERE \(condition) ORDER BY c.ZTRANSACTIONID, c.Z_PK
      """ as SQL)
    defer { statement.reset() }
    while try statement.step() {
      guard let transaction = byNumber[statement.integer(0)], let change = try change(statement, transaction) else {
        continue
      }
      changes[transaction.transactionNumber, default: []].append(change)
    }
    for transaction in transactions { transaction.changes = changes[transaction.transactionNumber] ?? [] }
  }

  /// Nil for an object of an entity that the model lacks.
  ///
  /// What a program sees of a row of ACHANGE:
  ///
  /// ```text
  /// ZCHANGETYPE 1, ZENTITY 2, ZENTITYPK 1, ZCOLUMNS 60     .update of Book/p1, updatedProperties isRead and pages
  /// ZCHANGETYPE 2, ZTOMBSTONE0 'Kindred'                   .delete, tombstone ["title": "Kindred"]
  /// ZENTITY 9, which the model lacks                       nothing: a newer program's entity
  /// ```
  private func change(
    _ statement: SQLiteStatement, _ transaction: NSPersistentHistoryTransaction
  ) throws -> NSPersistentHistoryChange? {
    let number = Int(statement.integer(3))
    guard let type = NSPersistentHistoryChangeType(rawValue: Int(statement.integer(2))),
      let id = store.objectID(number: number, key: statement.integer(4))
    else { return nil }
    var updated: Set<NSPropertyDescription>?
    if type == .update {
      let names = statement.blob(5).flatMap { history.columns(number)?.names(in: $0) } ?? []
      updated = Set(names.compactMap { id.entity.propertiesByName[$0] })
    }
    var tombstone: [String: Any] = [:]
    if type == .delete {
      for (offset, attribute) in history.preserved(number).enumerated() where offset < history.tables.tombstoneCount {
        let path = attribute.name.components(separatedBy: ".")
        let description = id.entity.attribute(at: path)
        let value = try SQLiteRow(statement).value(
          Int32(6 + offset), as: attribute.type, of: description, in: id.storedEntity)
        if let value { CompositeValue.set(value, at: path[...], in: &tombstone) }
      }
    }
    return NSPersistentHistoryChange(
      id: statement.integer(1), objectID: id, type: type, tombstone: tombstone.isEmpty ? nil : tombstone,
      updatedProperties: updated, transaction: transaction, isAlone: changesAreAlone)
  }
}

/// Records one transaction in a store's history, inside of that transaction. A transaction without changes leaves no
/// record.
///
/// The statements of a save with one changed book:
///
/// ```text
/// SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = 16001                            with the first note
/// SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = 16002
/// SELECT Z_PK FROM ATRANSACTIONSTRING WHERE ZNAME = 'importer'                  a look for each name
/// INSERT INTO ATRANSACTION (Z_PK, Z_ENT, ZTIMESTAMP, ZAUTHORTS, …) VALUES (2, 16002, 817551682.60, 1, 2, NULL, 2)
/// UPDATE Z_PRIMARYKEY SET Z_MAX = 2 WHERE Z_ENT = 16002
/// INSERT INTO ACHANGE (Z_PK, Z_ENT, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID, ZCOLUMNS)
///   VALUES (4, 16001, 1, 2, 1, 2, x'60')                                        for each row
/// UPDATE Z_PRIMARYKEY SET Z_MAX = 4 WHERE Z_ENT = 16001                         finish
/// ```
///
/// All of it is in the save's own transaction: a history without the change, or a change without its history, is not
/// possible.
final class HistoryRecorder: HistoryNotes {
  private let history: StoreHistory
  private let schema: StoreSchema
  private let connection: SQLiteConnection
  private let origin: ChangeOrigin
  private let transactions: HistoryTransactions
  private var transaction: Int64 = 0
  private var nextChange: Int64 = 0
  private var statement: SQLiteStatement?

  /// Nil for a store without a history.
  init?(_ store: SQLiteStore, _ origin: ChangeOrigin, _ connection: SQLiteConnection) {
    guard let history = store.history else { return nil }
    self.history = history
    schema = store.schema
    self.connection = connection
    self.origin = origin
    transactions = HistoryTransactions(history.tables, schema.primaryKeyTable, connection)
  }

  // MARK: Changes

  func noteInsert(number: Int, key: Int64) throws { try note(.insert, number, key) }

  func noteUpdate(number: Int, key: Int64, changed: [String]) throws {
    try note(.update, number, key, mask: history.columns(number)?.mask(of: changed))
  }

  /// Notes the deletion of an existing row, with the values to preserve. Does nothing for a missing row.
  func noteDelete(number: Int, key: Int64) throws {
    guard let mapping = schema.entitiesByNumber[number] else { return }
    let columns = ["1"] + history.preserved(number).map(\.column)
    let rows = try connection.rows(
      "SELECT \(raw: columns.joined(separator: ", ")) FROM \(raw: mapping.table) WHERE Z_PK = \(bind: .integer(key))")
    guard let row = rows.first else { return }
    try note(.delete, number, key, tombstone: Array(row.dropFirst()))
  }

  private func note(
    _ type: NSPersistentHistoryChangeType, _ number: Int, _ key: Int64, mask: Data? = nil, tombstone: [SQLiteValue] = []
  ) throws {
    if transaction == 0 { try begin() }
    let statement = try self.statement ?? connection.statement(insertSQL)
    self.statement = statement
    statement.bind(nextChange, at: 1)
    statement.bind(Int64(type.rawValue), at: 2)
    statement.bind(Int64(number), at: 3)
    statement.bind(key, at: 4)
    statement.bind(transaction, at: 5)
    if let mask { statement.bind(mask, at: 6) } else { statement.bindNull(at: 6) }
    for index in 0..<history.tables.tombstoneCount {
      statement.bind(index < tombstone.count ? tombstone[index] : .null, at: Int32(7 + index))
    }
    try statement.run()
    nextChange += 1
  }

  private var insertSQL: String {
    let tombstones = (0..<history.tables.tombstoneCount).map { ", ZTOMBSTONE\($0)" }.joined()
    let places = String(repeating: ", ?", count: history.tables.tombstoneCount)
    return """
      INSERT INTO \(history.tables.changes) \
      (Z_PK, Z_ENT, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID, ZCOLUMNS\(tombstones)) \
      VALUES (?, \(HistoryTables.Number.change), ?, ?, ?, ?, ?\(places))
      """
  }

  // MARK: The transaction

  /// Called with the first note: a save that changes nothing leaves no transaction behind.
  private func begin() throws {
    nextChange = try transactions.lastKey(HistoryTables.Number.change, "CHANGE") + 1
    transaction = try transactions.begin(origin)
  }

  /// Updates the counters. Call it at the transaction's end.
  func finish() throws {
    if transaction != 0 { try transactions.setLastKey(nextChange - 1, HistoryTables.Number.change) }
  }
}

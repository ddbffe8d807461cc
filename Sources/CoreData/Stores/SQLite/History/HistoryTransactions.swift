/// Writes the rows of transactions into a store's history, and the counters of its keys.
struct HistoryTransactions {
  private let tables: HistoryTables
  private let primaryKeyTable: String
  private let connection: SQLiteConnection

  private static let processName = ProcessInfo.processInfo.processName
  private static let bundleIdentifier = Bundle.main.bundleIdentifier

  init(_ tables: HistoryTables, _ primaryKeyTable: String, _ connection: SQLiteConnection) {
    self.tables = tables
    self.primaryKeyTable = primaryKeyTable
    self.connection = connection
  }

  /// Writes a transaction of this moment and process. Returns its key.
  func begin(_ origin: ChangeOrigin) throws -> Int64 {
    let transaction = try lastKey(HistoryTables.Number.transaction, "TRANSACTION") + 1
    let names = [origin.author, Self.bundleIdentifier ?? Self.processName, origin.contextName, Self.processName]
    let suffix = tables.hasStrings ? "TS" : ""
    let columns = ["AUTHOR", "BUNDLEID", "CONTEXTNAME", "PROCESSID"].map { "Z\($0)\(suffix)" }
    try connection.execute(
      """
      INSERT INTO \(tables.transactions) (Z_PK, Z_ENT, ZTIMESTAMP, \(columns.joined(separator: ", "))) \
      VALUES (?, \(HistoryTables.Number.transaction), ?, ?, ?, ?, ?)
      """,
      [.integer(transaction), .real(Date().timeIntervalSinceReferenceDate)] + names.map(reference))
    try setLastKey(transaction, HistoryTables.Number.transaction)
    return transaction
  }

  /// A transaction's reference to a name: the key of its row, or in older files the name itself.
  private func reference(_ name: String?) throws -> SQLiteValue {
    guard let name else { return .null }
    guard tables.hasStrings else { return .text(name) }
    if let known = try connection.integer("SELECT Z_PK FROM \(tables.strings) WHERE ZNAME = ?", [.text(name)]) {
      return .integer(known)
    }
    let key = try lastKey(HistoryTables.Number.string, "TRANSACTIONSTRING") + 1
    try connection.execute(
      "INSERT INTO \(tables.strings) (Z_PK, Z_ENT, ZNAME) VALUES (?, \(HistoryTables.Number.string), ?)",
      [.integer(key), .text(name)])
    try setLastKey(key, HistoryTables.Number.string)
    return .integer(key)
  }

  /// The last key that was given to a row of one of the tables.
  func lastKey(_ number: Int, _ name: String) throws -> Int64 {
    if let last = try connection.integer("SELECT Z_MAX FROM \(primaryKeyTable) WHERE Z_ENT = \(number)") { return last }
    // Apple's framework creates the row when there is something to count.
    try connection.execute(
      "INSERT INTO \(primaryKeyTable) (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (\(number), ?, 0, 0)", [.text(name)])
    return 0
  }

  func setLastKey(_ key: Int64, _ number: Int) throws {
    try connection.execute(
      "UPDATE \(primaryKeyTable) SET Z_MAX = ? WHERE Z_ENT = \(number)", [.integer(key)])
  }
}

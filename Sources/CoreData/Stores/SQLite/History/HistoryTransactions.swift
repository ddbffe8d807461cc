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
  ///
  /// Numbers grow with the commits: the write lock is held from here to the commit, so a reader that has seen the
  /// transaction 7 never finds a new one below 7 later. Tokens rely on that.
  func begin(_ origin: ChangeOrigin) throws -> Int64 {
    let transaction = try lastKey(HistoryTables.Number.transaction, "TRANSACTION") + 1
    // A name that passes stands in the transaction's row, where readers look for what has no reference: as in files
    // without a table of names. There it would stay when the transaction is deleted.
    let passes = origin.authorPasses && tables.hasStrings
    let names = [
      passes ? nil : origin.author, Self.bundleIdentifier ?? Self.processName, origin.contextName, Self.processName,
    ]
    let suffix = tables.hasStrings ? "TS" : ""
    let columns = ["AUTHOR", "BUNDLEID", "CONTEXTNAME", "PROCESSID"].map { "Z\($0)\(suffix)" }
    let references: [SQL] = try names.map { "\(bind: try reference($0))" }
    let authorColumn = passes ? ", ZAUTHOR" : ""
    let author: SQL = passes ? ", \(bind: origin.author.map { .text($0) } ?? .null)" : ""
    try connection.run(
      """
      INSERT INTO \(raw: tables.transactions) (Z_PK, Z_ENT, ZTIMESTAMP, \
      \(raw: columns.joined(separator: ", "))\(raw: authorColumn)) \
      VALUES (\(bind: .integer(transaction)), \(raw: HistoryTables.Number.transaction), \
      \(bind: .real(Date().timeIntervalSinceReferenceDate)), \(references.joined(", "))\(author))
      """)
    try setLastKey(transaction, HistoryTables.Number.transaction)
    return transaction
  }

  /// A transaction's reference to a name: the key of its row, or in older files the name itself.
  ///
  /// A name that only a few transactions have would stay in the table without end; `authorPasses` keeps such names
  /// out of it.
  private func reference(_ name: String?) throws -> SQLiteValue {
    guard let name else { return .null }
    guard tables.hasStrings else { return .text(name) }
    if let key = try connection.integer("SELECT Z_PK FROM \(raw: tables.strings) WHERE ZNAME = \(bind: .text(name))") {
      return .integer(key)
    }
    let key = try lastKey(HistoryTables.Number.string, "TRANSACTIONSTRING") + 1
    try connection.run(
      """
      INSERT INTO \(raw: tables.strings) (Z_PK, Z_ENT, ZNAME) \
      VALUES (\(bind: .integer(key)), \(raw: HistoryTables.Number.string), \(bind: .text(name)))
      """)
    try setLastKey(key, HistoryTables.Number.string)
    return .integer(key)
  }

  /// The last key that was given to a row of one of the tables.
  ///
  /// The history's tables count in `Z_PRIMARYKEY` like entities, under numbers that no entity of a model reaches.
  func lastKey(_ number: Int, _ name: String) throws -> Int64 {
    if let last = try connection.integer("SELECT Z_MAX FROM \(raw: primaryKeyTable) WHERE Z_ENT = \(raw: number)") {
      return last
    }
    // Apple's framework creates the row when there is something to count.
    try connection.run(
      """
      INSERT INTO \(raw: primaryKeyTable) (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) \
      VALUES (\(raw: number), \(bind: .text(name)), 0, 0)
      """)
    return 0
  }

  func setLastKey(_ key: Int64, _ number: Int) throws {
    try connection.run("UPDATE \(raw: primaryKeyTable) SET Z_MAX = \(bind: .integer(key)) WHERE Z_ENT = \(raw: number)")
  }
}

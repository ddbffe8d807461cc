/// The tables of a store's persistent history, as in Apple's files: a row for each transaction, a row for each object
/// that it changed, and the names that transactions repeat.
///
/// Three saves by the author "importer": an author with two books; pages and `isRead` of one book; the other book
/// deleted.
///
/// ```text
/// ATRANSACTION   Z_PK  Z_ENT  ZAUTHORTS  ZBUNDLEIDTS  ZCONTEXTNAMETS  ZPROCESSIDTS  ZTIMESTAMP          ZAUTHOR …
///                  1   16002      1           2            NULL             2       817551816.5581558   NULL
///                  2   16002      1           2            NULL             2       817551816.559243    NULL
///                  3   16002      1           2            NULL             2       817551816.5596244   NULL
///
/// ACHANGE        Z_PK  Z_ENT  ZCHANGETYPE  ZENTITY  ZENTITYPK  ZTRANSACTIONID  ZCOLUMNS
///                  1   16001       0          1         1            1         NULL      Author 1 inserted
///                  2   16001       0          2         1            1         NULL      Book 1 inserted
///                  3   16001       0          2         2            1         NULL      Book 2 inserted
///                  4   16001       1          2         1            2         60        Book 1: isRead and pages
///                  5   16001       2          2         2            3         NULL      Book 2 deleted
///                  6   16001       1          1         1            3         40        Author 1: books
///
/// ATRANSACTIONSTRING   Z_PK  Z_ENT  ZNAME
///                        1   16003  importer
///                        2   16003  prog          the process, and its bundle's place
/// ```
///
/// Z_OPT is NULL in all of them. ZAUTHOR, ZBUNDLEID, … hold the texts themselves in files of older frameworks, which
/// have no table of strings; readers look into both. ZTIMESTAMP counts from 2001.
struct HistoryTables: Sendable {
  let changes: String
  let transactions: String
  let strings: String
  /// False in files of older frameworks, which had no table of strings.
  let hasStrings: Bool
  /// The number of tombstone columns.
  let tombstoneCount: Int
  private let prefix: String

  /// The numbers under which the tables' keys are counted, beside the entities' own.
  enum Number {
    static let change = 16001
    static let transaction = 16002
    static let string = 16003
  }

  /// A store that shares its file has tables under its own prefix.
  private static func names(_ prefix: String) -> (changes: String, transactions: String, strings: String) {
    let start = prefix == "Z" ? "" : "\(prefix)_"
    return ("\(start)ACHANGE", "\(start)ATRANSACTION", "\(start)ATRANSACTIONSTRING")
  }

  /// The tables of the file; nil for none.
  init?(prefix: String, _ connection: SQLiteConnection) throws {
    let names = Self.names(prefix)
    let columns = try connection.rows("SELECT name FROM pragma_table_info(\(bind: .text(names.changes)))")
    if columns.isEmpty { return nil }
    let tombstones = columns.filter { if case .text(let name) = $0[0] { name.hasPrefix("ZTOMBSTONE") } else { false } }
    let strings = try connection.integer(
      "SELECT 1 FROM pragma_table_info(\(bind: .text(names.transactions))) WHERE name = 'ZAUTHORTS'")
    self.init(prefix: prefix, hasStrings: strings != nil, tombstoneCount: tombstones.count)
  }

  private init(prefix: String, hasStrings: Bool, tombstoneCount: Int) {
    self.prefix = prefix
    (changes, transactions, strings) = Self.names(prefix)
    self.hasStrings = hasStrings
    self.tombstoneCount = tombstoneCount
  }

  /// Creates the tables in a transaction, or finds those that another process created meanwhile.
  ///
  /// ```text
  /// CREATE TABLE ACHANGE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCHANGETYPE INTEGER,
  ///                        ZENTITY INTEGER, ZENTITYPK INTEGER, ZTRANSACTIONID INTEGER, ZCOLUMNS BLOB )
  /// CREATE TABLE ATRANSACTION ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZAUTHORTS INTEGER, … )
  /// CREATE TABLE ATRANSACTIONSTRING ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR )
  /// CREATE INDEX ACHANGE_ZTRANSACTIONID_INDEX ON ACHANGE (ZTRANSACTIONID)
  /// CREATE INDEX Z_TRANSACTION_TransactionTimestampIndex ON ATRANSACTION (ZTIMESTAMP COLLATE BINARY ASC)   and others
  /// INSERT OR IGNORE INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (16001, 'CHANGE', 0, 0)   and two more
  /// ```
  static func create(_ schema: StoreSchema, tombstoneCount: Int, _ connection: SQLiteConnection) throws -> HistoryTables
  {
    if let presentTables = try HistoryTables(prefix: schema.prefix, connection) {
      return try presentTables.adding(tombstones: tombstoneCount, connection)
    }
    let tables = HistoryTables(prefix: schema.prefix, hasStrings: true, tombstoneCount: tombstoneCount)
    for statement in tables.creationStatements { try connection.execute(statement) }
    for (number, name) in [
      (Number.change, "CHANGE"), (Number.transaction, "TRANSACTION"), (Number.string, "TRANSACTIONSTRING"),
    ] {
      try connection.run(
        """
        INSERT OR IGNORE INTO \(raw: schema.primaryKeyTable) (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) \
        VALUES (\(bind: .integer(Int64(number))), \(bind: .text(name)), 0, 0)
        """)
    }
    return tables
  }

  /// A model may preserve more values than the file has columns for.
  private func adding(tombstones neededCount: Int, _ connection: SQLiteConnection) throws -> HistoryTables {
    guard neededCount > tombstoneCount else { return self }
    for index in tombstoneCount..<neededCount {
      try connection.execute("ALTER TABLE \(changes) ADD COLUMN ZTOMBSTONE\(index) BLOB")
    }
    return HistoryTables(prefix: prefix, hasStrings: hasStrings, tombstoneCount: neededCount)
  }

  private var creationStatements: [String] {
    let tombstones = (0..<tombstoneCount).map { ", ZTOMBSTONE\($0) BLOB" }.joined()
    let names = ["AUTHOR", "BUNDLEID", "CONTEXTNAME", "PROCESSID"]
    let keys = "Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER"
    return [
      """
      CREATE TABLE \(changes) ( \(keys), ZCHANGETYPE INTEGER, ZENTITY INTEGER, ZENTITYPK INTEGER, \
      ZTRANSACTIONID INTEGER, ZCOLUMNS BLOB\(tombstones) )
      """,
      """
      CREATE TABLE \(transactions) ( \(keys), \(names.map { "Z\($0)TS INTEGER, " }.joined())ZTIMESTAMP FLOAT, \
      \(names.map { "Z\($0) VARCHAR, " }.joined())ZQUERYGEN BLOB )
      """,
      "CREATE TABLE \(strings) ( \(keys), ZNAME VARCHAR )",
      "CREATE INDEX \(changes)_ZTRANSACTIONID_INDEX ON \(changes) (ZTRANSACTIONID)",
    ]
      + names.map { "CREATE INDEX \(transactions)_Z\($0)TS_INDEX ON \(transactions) (Z\($0)TS)" }
      + [
        "CREATE INDEX \(prefix)_TRANSACTION_TransactionAuthorIndex ON \(transactions) (ZAUTHOR COLLATE BINARY ASC)",
        """
        CREATE INDEX \(prefix)_TRANSACTION_TransactionTimestampIndex ON \(transactions) (ZTIMESTAMP COLLATE BINARY ASC)
        """,
        "CREATE UNIQUE INDEX \(prefix)_TRANSACTIONSTRING_UNIQUE_NAME ON \(strings) (ZNAME COLLATE BINARY ASC)",
      ]
  }
}

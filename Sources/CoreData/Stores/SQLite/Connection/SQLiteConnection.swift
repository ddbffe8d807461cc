internal import CSQLite
internal import LinuxSystem
internal import Synchronization

/// One connection to a database file, with its prepared statements.
///
/// `@unchecked Sendable`: the connection is opened without SQLite's own locks (SQLITE_OPEN_NOMUTEX), and
/// `SQLiteDatabase` hands it to one user at a time. SQLite allows `interrupt()` from other threads, while the
/// connection is open.
///
/// Opening a connection costs the registration of all functions, and with its first statement the reading of the
/// schema. Therefore readers are kept; prepared statements are kept with them, up to 256, and the next use of a text
/// finds its statement ready.
///
/// `SQLITE_OPEN_NOMUTEX` leaves SQLite's own mutex out (https://www.sqlite.org/threadsafe.html, "Multi-thread"): two
/// threads that used one connection at once would damage its memory. The pool sees to it that they do not.
package final class SQLiteConnection: PooledConnection, @unchecked Sendable {
  let handle: OpaquePointer
  package let path: String
  /// Whether the file is read as one that nobody changes.
  let isImmutable: Bool
  let interruption = StatementInterruption()
  private var statements: [String: SQLiteStatement] = [:]
  /// The statements of the last few look-ups by key, found without their text.
  @exclusivity(unchecked) private var lookUps: [(query: RowQuery, statement: SQLiteStatement)?] = Array(
    repeating: nil, count: 8)
  private let ownPacker = RowPacker(keepsRowsApart: true)
  /// The read transaction that look-ups share.
  @exclusivity(unchecked) var sharedRead = SharedRead()
  /// The memory for pages, which large transactions enlarge.
  var pageCache = PageCache()
  /// The memory for the texts that the writer's statements bind.
  private(set) lazy var boundTexts = BoundTexts()

  /// More than any store's own statements; ad-hoc predicates make up the rest.
  private static let cachedStatementLimit = 256

  /// Seconds to wait for a lock.
  package static let standardBusyTimeout = 30.0

  package enum Access { case readOnly, readWrite, create }

  /// - Parameter busyTimeout: the seconds to wait for another process's lock before SQLITE_BUSY.
  package init(path: String, access: Access, busyTimeout: TimeInterval = standardBusyTimeout) throws {
    self.path = path
    var flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI
    switch access {
    case .readOnly: flags |= SQLITE_OPEN_READONLY
    case .readWrite: flags |= SQLITE_OPEN_READWRITE
    case .create: flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
    }
    var connection: OpaquePointer?
    let name = access == .readOnly ? Self.readOnlyName(of: path) : path
    isImmutable = name != path
    let code = sqlite3_open_v2(name, &connection, flags, nil)
    guard code == SQLITE_OK, let connection else {
      let message = connection.map(Self.message) ?? "out of memory"
      let error = SQLiteError(
        code: connection.map { sqlite3_extended_errcode($0) } ?? code, message: "\(message): \(path)", sql: nil)
      sqlite3_close_v2(connection)
      throw error
    }
    self.handle = connection
    sqlite3_extended_result_codes(connection, 1)
    BusyHandler.install(on: connection, timeout: busyTimeout)
    SQLDebug.install(on: connection)
    for function in SQLFunctions.all { register(function) }
    for aggregate in SQLFunctions.aggregates { register(aggregate) }
    for collation in SQLFunctions.collations { register(collation) }
  }

  deinit { close() }

  private let isClosed = Mutex(false)

  /// Finalises every statement and closes the file. Further calls do nothing.
  package func close() {
    let wasClosed = isClosed.withLock { isClosed in
      defer { isClosed = true }
      return isClosed
    }
    if wasClosed { return }
    statements.removeAll()
    lookUps.removeAll()
    sqlite3_close_v2(handle)
  }

  // MARK: Statements

  /// The prepared statement of a text, from the cache unless that one is in use.
  ///
  /// While a statement runs, its body may ask for the same text again: a transformer that reads an object of the same
  /// entity, for example. That one gets a statement of its own, which takes the place in the cache.
  func statement(_ sql: String) throws -> SQLiteStatement {
    if let cached = statements[sql], !cached.isRunning { return cached }
    let statement = try SQLiteStatement(sql: sql, connection: self)
    if statements.count >= SQLiteConnection.cachedStatementLimit {
      statements = statements.filter { $0.value.isRunning }
    }
    statements[sql] = statement
    return statement
  }

  /// The prepared statement of a text, with its values bound.
  func statement(_ sql: SQL) throws -> SQLiteStatement {
    let statement = try statement(sql.text)
    statement.bind(sql.values)
    return statement
  }

  /// For rows that are looked up one by one. While a row is decoded, its transformer may look up another one.
  var packer: RowPacker { ownPacker.isBusy ? RowPacker(keepsRowsApart: true) : ownPacker }

  /// The statement of a look-up.
  ///
  /// ```text
  /// serial 17 → place 1     the query of Book in this place: its statement, without hashing the text
  /// serial 25 → place 1     the query of Author wants the same place: it takes it
  /// ```
  @inline(__always)
  func statement(of query: RowQuery) throws -> SQLiteStatement {
    let place = query.serial & 7
    if let lookUp = lookUps[place], lookUp.query === query, !lookUp.statement.isRunning { return lookUp.statement }
    let statement = try statement(query.sql)
    lookUps[place] = (query, statement)
    return statement
  }

  /// Runs every statement of a text without parameters.
  package func execute(_ sql: String) throws {
    guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw lastError(sql: sql) }
  }

  /// Runs one statement that returns no rows.
  ///
  /// - Returns: the number of rows that it changed.
  @discardableResult
  func run(_ sql: SQL) throws -> Int {
    try statement(sql).run()
    return changes
  }

  /// All rows of a small query: schema, metadata, pragmas.
  package func rows(_ sql: SQL) throws -> [[SQLiteValue]] {
    let statement = try statement(sql)
    defer { statement.reset() }
    var rows: [[SQLiteValue]] = []
    while try statement.step() {
      rows.append((0..<statement.columnCount).map { statement.value($0) })
    }
    return rows
  }

  /// The first column of the first row as an integer; nil without a row.
  package func integer(_ sql: SQL) throws -> Int64? {
    let statement = try statement(sql)
    defer { statement.reset() }
    return try statement.step() ? statement.integer(0) : nil
  }

  /// Whether a value is short enough for a parameter.
  func canBind(_ value: SQLiteValue) -> Bool {
    let limit = Int(sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, -1))
    return switch value {
    case .text(let text): text.utf8.count <= limit
    case .blob(let data): data.count <= limit
    case .null, .integer, .real, .encoded: true
    }
  }

  /// The rows of a statement whose columns are numbers; 0 for NULL.
  func integers(_ sql: SQL) throws -> [[Int64]] {
    let statement = try statement(sql)
    defer { statement.reset() }
    var rows: [[Int64]] = []
    while try statement.step() { rows.append((0..<statement.columnCount).map { statement.integer($0) }) }
    return rows
  }

  /// The number of rows that the last INSERT, UPDATE or DELETE changed.
  var changes: Int { Int(sqlite3_changes(handle)) }

  /// The number of rows that statements have changed since the connection was opened.
  var totalChanges: Int64 { sqlite3_total_changes64(handle) }

  /// Whether SQLite opened the file for reading only. Even then a writing transaction can begin.
  ///
  /// Source: https://www.sqlite.org/c3ref/db_readonly.html
  var isReadOnly: Bool { sqlite3_db_readonly(handle, "main") == 1 }

  var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  /// Runs the body in a transaction that takes the write lock at its start, so that it cannot fail halfway when a
  /// reader becomes a writer (https://www.sqlite.org/lang_transaction.html, "IMMEDIATE").
  ///
  /// ```text
  /// BEGIN IMMEDIATE
  ///   …
  /// COMMIT                    or, after an error, ROLLBACK
  /// ```
  ///
  /// SQLite ends a transaction by itself after some errors, such as a full disk
  /// (https://www.sqlite.org/lang_transaction.html, "Response To Errors Within A Transaction"). ROLLBACK would then be
  /// an error of its own, which hides the first.
  @_semantics("optimize.sil.specialize.generic.never")  // a copy for each caller takes long to compile
  func immediateTransaction<T>(_ body: () throws -> T) throws -> T {
    try run("BEGIN IMMEDIATE")
    defer { shrinkCache() }
    do {
      let result = try body()
      try run("COMMIT")
      return result
    } catch {
      // The first error is the one to tell; SQLite may have ended the transaction by itself.
      if isInTransaction { try? execute("ROLLBACK") }
      throw error
    }
  }

  /// Frees the pages that the connection keeps and can read again.
  ///
  /// Source: https://www.sqlite.org/c3ref/db_release_memory.html
  func releaseMemory() { sqlite3_db_release_memory(handle) }

  /// Makes the running statement end with SQLITE_INTERRUPT. Any thread.
  ///
  /// It may come from any thread while another one closes the connection: `isClosed` is asked under its lock, because
  /// interrupting a closed connection would be a use after free.
  package func interrupt() {
    interruption.request()
    isClosed.withLock { isClosed in
      if !isClosed { sqlite3_interrupt(handle) }
    }
  }

  /// A transaction of a reader, and the one that look-ups share, end with the next use.
  package var isReusable: Bool { true }

  func lastError(sql: String?) -> SQLiteError {
    SQLiteError(code: sqlite3_extended_errcode(handle), message: Self.message(handle), sql: sql)
  }

  /// SQLite's sentence for the last error, and the system's where this process has too many files open: SQLite says
  /// "unable to open database file" then, as if the file were to blame.
  ///
  /// Source: https://www.sqlite.org/c3ref/system_errno.html
  private static func message(_ handle: OpaquePointer) -> String {
    let message = String(cString: sqlite3_errmsg(handle))
    let number = sqlite3_system_errno(handle)
    let isOfSystem = [SQLITE_CANTOPEN, SQLITE_IOERR].contains(sqlite3_errcode(handle) & 0xff)
    return isOfSystem && ErrorNumber.isOutOfDescriptors(number) ? "\(message) (\(ErrorNumber.text(number)))" : message
  }
}

internal import CSQLite

/// A prepared statement of one connection: bind, step, read columns, reset.
///
/// Used with its connection on one thread at a time.
///
/// The life of a statement, for a look-up:
///
/// ```text
/// prepare    SELECT … WHERE t.Z_PK = ?        once for each connection
/// bind       1
/// step       true: there is a row; its columns can be read until the next step or reset
/// step       false
/// reset      the statement is idle: the cache may hand it out again
/// ```
///
/// A statement that was stepped and not reset holds its read transaction open, and with it the log. Every use therefore
/// has `defer { statement.reset() }`, except `run()`, which resets by itself.
final class SQLiteStatement {
  let handle: OpaquePointer
  private unowned(unsafe) let connection: SQLiteConnection
  /// True between the first step and the reset. The cache does not hand out such a statement again.
  var isRunning = false
  /// The memory for bound texts; nil to let SQLite copy each into its own. The code that sets it clears the memory
  /// before it binds a run's values.
  var texts: BoundTexts?
  /// The first value since the last run that could not be bound, with SQLite's code if that has refused it. The next
  /// step throws it: the parameter is NULL, which no row and no condition may have instead.
  private var refusedValue: (value: RefusedValue, code: Int32?)?
  /// Asked for each bound value. No access overlaps another one: each reads or sets a flag.
  @exclusivity(unchecked) private(set) var hasRefusedValue = false
  /// Of a row's values; see `SQLiteRow`.
  let valueStride = SQLiteRow.valueStride

  init(sql: String, connection: SQLiteConnection) throws {
    var statement: OpaquePointer?
    // SQLITE_PREPARE_PERSISTENT: the statement is kept, so its memory should not come from lookaside.
    let code = sqlite3_prepare_v3(connection.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
    guard code == SQLITE_OK, let statement else { throw connection.lastError(sql: sql) }
    self.handle = statement
    self.connection = connection
  }

  deinit { sqlite3_finalize(handle) }

  var sql: String { sqlite3_sql(handle).map { String(cString: $0) } ?? "" }

  // MARK: Binding; indexes start at 1

  // These three cannot fail for a parameter that the statement has.
  @inline(__always) func bind(_ value: Int64, at index: Int32) { sqlite3_bind_int64(handle, index, value) }
  @inline(__always) func bind(_ value: Double, at index: Int32) { sqlite3_bind_double(handle, index, value) }
  @inline(__always) func bindNull(at index: Int32) { sqlite3_bind_null(handle, index) }

  func bind(_ value: String, at index: Int32) {
    // A native string is not copied for it.
    if value.utf8.withContiguousStorageIfAvailable({ bind(text: $0, at: index) }) != nil { return }
    var value = value
    value.withUTF8 { bind(text: $0, at: index) }
  }

  /// Binds a text in UTF-8.
  ///
  /// ```text
  /// texts         destructor         SQLite
  /// ------------  -----------------  --------------------------------------------------
  /// BoundTexts    SQLITE_STATIC      reads the bytes where they are, while the statement runs
  /// nil           SQLITE_TRANSIENT   copies them now
  /// ```
  private func bind(text bytes: UnsafeBufferPointer<UInt8>, at index: Int32) {
    // An empty buffer may have no address, and SQLite binds NULL for one.
    guard let base = bytes.baseAddress else {
      sqlite3_bind_text(handle, index, "", 0, nil)
      return
    }
    let kept = texts?.copy(bytes)
    let code = (kept ?? base).withMemoryRebound(to: CChar.self, capacity: bytes.count) {
      // No destructor means SQLITE_STATIC. The length is of 64 bits: SQLite refuses a longer text than it can store.
      let destructor = kept == nil ? SQLiteStatement.transient : nil
      return sqlite3_bind_text64(handle, index, $0, UInt64(bytes.count), destructor, UInt8(SQLITE_UTF8))
    }
    if code != SQLITE_OK { noteRefusal(code) }
  }

  func bind(_ value: Data, at index: Int32) {
    let code = value.withUnsafeBytes { bytes in
      bytes.isEmpty
        ? sqlite3_bind_zeroblob(handle, index, 0)
        : sqlite3_bind_blob64(handle, index, bytes.baseAddress, UInt64(bytes.count), SQLiteStatement.transient)
    }
    if code != SQLITE_OK { noteRefusal(code) }
  }

  @inline(never)
  private func noteRefusal(_ code: Int32) {
    hasRefusedValue = true
    if refusedValue == nil { refusedValue = (RefusedValue(sqlite: code), code) }
  }

  /// Binds NULL for a value that has no form in a store. The next step throws.
  @inline(never)
  func refuse(_ value: RefusedValue, at index: Int32) {
    bindNull(at: index)
    hasRefusedValue = true
    if refusedValue == nil { refusedValue = (value, nil) }
  }

  /// Says which attribute the parameter belongs to that was bound last.
  func nameRefusedValue(_ entity: String, _ attribute: String) {
    guard refusedValue?.value.attribute == nil else { return }
    refusedValue?.value.entity = entity
    refusedValue?.value.attribute = attribute
  }

  /// Says which row the parameters belong to that were bound last.
  func nameRefusedRow(_ key: Int64) {
    if refusedValue?.value.key == nil { refusedValue?.value.key = key }
  }

  func bind(_ value: SQLiteValue, at index: Int32) {
    switch value {
    case .null: bindNull(at: index)
    case .integer(let integer): bind(integer, at: index)
    case .real(let real): bind(real, at: index)
    case .text(let text): bind(text, at: index)
    case .blob(let data): bind(data, at: index)
    case .encoded: preconditionFailure("A value for a server was bound to a statement of SQLite.")
    }
  }

  func bind(_ values: [SQLiteValue]) {
    for (offset, value) in values.enumerated() { bind(value, at: Int32(offset + 1)) }
  }

  /// SQLITE_TRANSIENT: SQLite copies the bytes before the call returns.
  private static var transient: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

  // MARK: Running

  /// Steps to the next row; false if there is none.
  ///
  /// A value that could not be bound is thrown here, and not where it was bound: `CellWriter` binds hundreds of values
  /// in loops that should not have an error path for each.
  @inline(__always)
  func step() throws -> Bool {
    if hasRefusedValue { throw refusal() }
    isRunning = true
    let code = sqlite3_step(handle)
    if code == SQLITE_ROW { return true }
    if code == SQLITE_DONE { return false }
    throw failure()
  }

  @inline(never)
  private func refusal() -> any Error {
    defer { (refusedValue, hasRefusedValue) = (nil, false) }
    guard let refusedValue else { return failure() }
    guard let code = refusedValue.code else { return refusedValue.value }
    return SQLiteError(code: code, message: refusedValue.value.sentence, sql: sql)
  }

  private func failure() -> SQLiteError {
    let error = connection.lastError(sql: sql)
    reset()
    return error
  }

  /// Runs a statement that returns no rows.
  func run() throws {
    while try step() {}
    reset()
    connection.pageCache.didWrite(connection)
  }

  /// Prepares the statement to run again. Bound values stay.
  func reset() {
    sqlite3_reset(handle)
    isRunning = false
  }

  // MARK: Columns; indexes start at 0

  @inline(__always) func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }
  @inline(__always) func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }
  @inline(__always) func real(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }

  /// The column's text; nil for NULL.
  @inline(__always)
  func text(_ column: Int32) -> String? { textBytes(column).map { String(decoding: $0, as: UTF8.self) } }

  /// The column's text as SQLite has it, until the next call for the column or step; nil for NULL.
  @inline(__always)
  func textBytes(_ column: Int32) -> UnsafeBufferPointer<UInt8>? {
    guard let start = sqlite3_column_text(handle, column) else { return nil }
    return UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
  }

  /// The column's bytes; nil for NULL.
  func blob(_ column: Int32) -> Data? {
    let start = sqlite3_column_blob(handle, column)
    if let start { return Data(bytes: start, count: Int(sqlite3_column_bytes(handle, column))) }
    return isNull(column) ? nil : Data()
  }

  /// The column's value in its storage class.
  func value(_ column: Int32) -> SQLiteValue { SQLiteValue(sqlite3_column_value(handle, column)) }

  var columnCount: Int32 { sqlite3_column_count(handle) }
}

extension RefusedValue {
  /// A value that SQLite did not take: it is longer than the connection's limit (SQLITE_TOOBIG), or there was no memory
  /// for it (SQLITE_NOMEM).
  ///
  /// Source: https://www.sqlite.org/c3ref/bind_blob.html, https://www.sqlite.org/limits.html
  init(sqlite code: Int32) {
    if code == SQLITE_TOOBIG {
      self.init("is longer than SQLite can store in a row", remedy: "keep it in a file, or divide it")
    } else {
      self.init(
        "cannot be kept until it is written (\(String(cString: sqlite3_errstr(code))))",
        remedy: "give the process more memory, or save fewer objects at a time")
    }
  }
}

internal import CSQLite

/// The current row of a statement, until its next step or reset: the columns' values, read without asking the statement
/// for each.
///
/// Asking costs more than reading: `sqlite3_column_int64` enters and leaves the connection's mutex and looks for errors
/// each time. The functions for values do neither, and are safe on values of a connection that one thread uses at a
/// time (https://www.sqlite.org/c3ref/column_blob.html). The values of a row lie one after the other; their size is
/// measured.
struct SQLiteRow {
  private let statement: OpaquePointer
  private let first: OpaquePointer?
  /// The bytes from one value to the next; 0 if that is unknown, and each value is asked for.
  private let stride: Int

  @inline(__always)
  init(_ statement: SQLiteStatement) {
    self.statement = statement.handle
    stride = statement.valueStride
    first = sqlite3_column_value(statement.handle, 0)
  }

  @inline(__always)
  private func value(_ column: Int32) -> OpaquePointer? {
    guard stride > 0, let first else { return sqlite3_column_value(statement, column) }
    return OpaquePointer(UnsafeMutableRawPointer(first) + Int(column) &* stride)
  }

  // MARK: Columns; indexes start at 0

  @inline(__always) func isNull(_ column: Int32) -> Bool { sqlite3_value_type(value(column)) == SQLITE_NULL }
  /// 0 for NULL.
  @inline(__always) func key(_ column: Int32) -> Int64 { sqlite3_value_int64(value(column)) }
  @inline(__always) func real(_ column: Int32) -> Double { sqlite3_value_double(value(column)) }

  /// The column's text as SQLite has it; nil for NULL.
  @inline(__always)
  func text(_ column: Int32) -> UnsafeBufferPointer<UInt8>? {
    let value = value(column)
    guard let start = sqlite3_value_text(value) else { return nil }
    return UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(value)))
  }

  func string(_ column: Int32) -> String? { text(column).map { String(decoding: $0, as: UTF8.self) } }

  /// The column's bytes; nil for NULL.
  func blob(_ column: Int32) -> Data? {
    let value = value(column)
    if let start = sqlite3_value_blob(value) { return Data(bytes: start, count: Int(sqlite3_value_bytes(value))) }
    return isNull(column) ? nil : Data()
  }

  /// The column's value in its storage class.
  func stored(_ column: Int32) -> SQLiteValue { SQLiteValue(value(column)) }

  // MARK: The size of a value

  /// The bytes from one value of a row to the next; 0 if SQLite does not lay them out one after the other.
  ///
  /// SQLite keeps the values of a result row in an array. The size of its elements is private and differs between
  /// builds, so it is measured with a row of five values, once in a process. If they do not lie evenly, the slower way
  /// is used: nothing depends on the assumption but time.
  static let valueStride: Int = {
    var connection: OpaquePointer?
    var statement: OpaquePointer?
    defer {
      sqlite3_finalize(statement)
      sqlite3_close_v2(connection)
    }
    let sql = "SELECT 1, 2.5, 'three', NULL, 5"
    guard sqlite3_open_v2(":memory:", &connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil) == SQLITE_OK,
      sqlite3_prepare_v2(connection, sql, -1, &statement, nil) == SQLITE_OK, sqlite3_step(statement) == SQLITE_ROW
    else { return 0 }
    let places = (0..<5).map { sqlite3_column_value(statement, $0).map { Int(bitPattern: $0) } ?? 0 }
    let stride = places[1] - places[0]
    let isRegular = places.indices.allSatisfy { places[$0] == places[0] + $0 * stride }
    return isRegular && stride > 0 ? stride : 0
  }()
}

extension SQLiteValue {
  /// - Parameter value: SQLite's, of a row or of a function's arguments.
  init(_ value: OpaquePointer?) {
    func bytes(_ start: UnsafeRawPointer?) -> UnsafeRawBufferPointer {
      UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_value_bytes(value)))
    }
    switch sqlite3_value_type(value) {
    case SQLITE_INTEGER: self = .integer(sqlite3_value_int64(value))
    case SQLITE_FLOAT: self = .real(sqlite3_value_double(value))
    case SQLITE_TEXT: self = .text(String(decoding: bytes(sqlite3_value_text(value)), as: UTF8.self))
    case SQLITE_BLOB: self = .blob(Data(bytes(sqlite3_value_blob(value))))
    default: self = .null
    }
  }
}

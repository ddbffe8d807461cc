import CSQLite
import Foundation

/// The other side of each comparison: the calls that a C program would make.
final class PlainSQLite {
  let handle: OpaquePointer

  init(_ path: String) {
    var connection: OpaquePointer?
    let code = sqlite3_open_v2(path, &connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil)
    guard code == SQLITE_OK, let connection else { fatalError("cannot open \(path): \(code)") }
    handle = connection
    sqlite3_busy_timeout(handle, 10_000)
    execute("PRAGMA synchronous = NORMAL")
  }

  deinit { sqlite3_close_v2(handle) }

  func execute(_ sql: String) {
    guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else {
      fatalError("\(String(cString: sqlite3_errmsg(handle))) in \(sql)")
    }
  }

  func prepare(_ sql: String) -> OpaquePointer {
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK, let statement else {
      fatalError("\(String(cString: sqlite3_errmsg(handle))) in \(sql)")
    }
    return statement
  }

  func integer(_ sql: String) -> Int64 {
    let statement = prepare(sql)
    defer { sqlite3_finalize(statement) }
    return sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0
  }

  static func bind(_ text: String, _ index: Int32, _ statement: OpaquePointer) {
    _ = text.utf8.withContiguousStorageIfAvailable { bytes in
      bytes.withMemoryRebound(to: CChar.self) {
        sqlite3_bind_text(
          statement, index, $0.baseAddress, Int32($0.count), unsafeBitCast(-1, to: sqlite3_destructor_type.self))
      }
    }
  }

  /// Reads all columns of a person's row by type. The sum keeps the compiler from removing the reads.
  @inline(__always)
  static func readPerson(_ statement: OpaquePointer, from column: Int32) -> Int {
    let name = sqlite3_column_text(statement, column)
    var sum = Int(sqlite3_column_bytes(statement, column)) + Int(name?.pointee ?? 0)
    sum &+= Int(sqlite3_column_int64(statement, column + 1))
    sum &+= Int(sqlite3_column_double(statement, column + 2))
    sum &+= Int(sqlite3_column_double(statement, column + 3))
    let email = sqlite3_column_text(statement, column + 4)
    return sum &+ Int(sqlite3_column_bytes(statement, column + 4)) &+ Int(email?.pointee ?? 0)
  }
}

internal import CPostgreSQL
internal import Foundation

/// The result of a statement. Values are read from libpq's memory, which lives as long as this object.
final class PostgreSQLResult: ServerResult {
  let handle: OpaquePointer
  let rowCount: Int
  let columnCount: Int

  init(_ handle: OpaquePointer) {
    self.handle = handle
    rowCount = Int(PQntuples(handle))
    columnCount = Int(PQnfields(handle))
  }

  deinit { PQclear(handle) }

  /// Source: https://www.postgresql.org/docs/15/libpq-exec.html, PQcmdTuples: the number is a text, empty for others.
  var affectedRows: Int { PQcmdTuples(handle).flatMap { Int(String(cString: $0)) } ?? 0 }

  func type(_ column: Int) -> UInt32 { PQftype(handle, Int32(truncatingIfNeeded: column)) }

  func bytes(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer? {
    let (row, column) = (Int32(truncatingIfNeeded: row), Int32(truncatingIfNeeded: column))
    let length = PQgetlength(handle, row, column)
    if length == 0 && PQgetisnull(handle, row, column) != 0 { return nil }
    return UnsafeRawBufferPointer(start: PQgetvalue(handle, row, column), count: Int(length))
  }
}

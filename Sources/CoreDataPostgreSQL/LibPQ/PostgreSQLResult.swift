internal import CPostgreSQL
internal import Foundation

/// The result of a statement. Values are read from libpq's memory, which lives as long as this object.
///
/// libpq has read the whole answer before it gives a result, so no method here waits or fails. In chunks, and row by
/// row, it gives one result after the other; `replace` then takes the next one into the same object, which saves an
/// allocation for each row of a library before version 17.
///
/// All values are in the binary format, as the last argument 1 of `PQexecPrepared` asks for it.
final class PostgreSQLResult: ServerResult {
  private let library: LibPQ
  private var handle: OpaquePointer
  private(set) var rowCount: Int
  let columnCount: Int

  init(_ handle: OpaquePointer, _ library: LibPQ) {
    self.library = library
    self.handle = handle
    let pq = library.functions
    rowCount = Int(pq.PQntuples(handle))
    columnCount = Int(pq.PQnfields(handle))
  }

  /// Takes the next rows of the same statement; those before are gone.
  func replace(_ next: OpaquePointer) {
    pq.PQclear(handle)
    handle = next
    rowCount = Int(pq.PQntuples(next))
  }

  @inline(__always) private var pq: libpq_functions { library.functions }

  deinit { pq.PQclear(handle) }

  /// Source: https://www.postgresql.org/docs/15/libpq-exec.html, PQcmdTuples: the number is a text, empty for others.
  var affectedRows: Int { pq.PQcmdTuples(handle).flatMap { Int(String(cString: $0)) } ?? 0 }

  func type(_ column: Int) -> UInt32 { pq.PQftype(handle, Int32(truncatingIfNeeded: column)) }

  /// The functions for loops over many rows: pointers to C functions, which are called without a witness table.
  var cells: ServerCells {
    let pq = library.functions
    return ServerCells(handle, length: pq.PQgetlength, isNull: pq.PQgetisnull, value: pq.PQgetvalue)
  }

  /// The value's bytes. `PQgetisnull` is called only for a length of 0: of an empty text it says that it is not NULL.
  func bytes(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer? {
    let (row, column) = (Int32(truncatingIfNeeded: row), Int32(truncatingIfNeeded: column))
    let length = pq.PQgetlength(handle, row, column)
    if length == 0 && pq.PQgetisnull(handle, row, column) != 0 { return nil }
    return UnsafeRawBufferPointer(start: pq.PQgetvalue(handle, row, column), count: Int(length))
  }
}

import CSQLite
import Foundation
import Testing

/// The content of the fixtures' store files, read with plain SQLite calls.
package enum StoreFixtures {
  /// The rows of a query, each column as text, nil for NULL.
  package static func rows(_ sql: String, inFile file: URL) throws -> [[String?]] {
    try withStatement(sql, inFile: file) { statement in
      (0..<sqlite3_column_count(statement)).map { column in
        sqlite3_column_text(statement, column).map { String(cString: $0) }
      }
    }
  }

  /// The metadata in a store's file.
  package static func metadata(ofStore name: String) throws -> [String: Any] {
    let (folder, file) = try ModelFixtures.copyOfStore(name)
    defer { try? FileManager.default.removeItem(at: folder) }
    let lists = try withStatement("SELECT Z_PLIST FROM Z_METADATA", inFile: file) { statement in
      Data(bytes: try #require(sqlite3_column_blob(statement, 0)), count: Int(sqlite3_column_bytes(statement, 0)))
    }
    let list = try PropertyListSerialization.propertyList(from: try #require(lists.first), format: nil)
    return try #require(list as? [String: Any])
  }

  private static func withStatement<Row>(
    _ sql: String, inFile file: URL, row: (OpaquePointer) throws -> Row
  ) throws -> [Row] {
    var database: OpaquePointer?
    try #require(sqlite3_open_v2(file.path, &database, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK)
    defer { sqlite3_close(database) }
    var prepared: OpaquePointer?
    try #require(
      sqlite3_prepare_v2(database, sql, -1, &prepared, nil) == SQLITE_OK, "\(String(cString: sqlite3_errmsg(database)))"
    )
    let statement = try #require(prepared)
    defer { sqlite3_finalize(statement) }
    var rows: [Row] = []
    while sqlite3_step(statement) == SQLITE_ROW {
      rows.append(try row(statement))
    }
    return rows
  }
}

/// An error of SQLite.
///
/// Source: https://www.sqlite.org/rescode.html
///
/// It stays inside of the stores: `CoreDataErrors.translating` makes Core Data's error of it, with what was done and
/// where. A save that waits too long for another process is "Saving to /data/Library.sqlite: database is locked (SQLite
/// 5)", 134090.
package struct SQLiteError: Error, CustomStringConvertible {
  /// The extended result code.
  package let code: Int32
  /// SQLite's own sentence.
  package let message: String
  /// The statement's text, without its bound values.
  package let sql: String?

  /// The primary result code: the low byte of the extended one.
  package var primaryCode: Int32 { code & 0xff }

  /// Whether the code is SQLITE_CONSTRAINT_UNIQUE: the statement was reverted, the transaction continues.
  var isViolatedUniqueIndex: Bool { code == 2067 }

  /// Whether the code is SQLITE_TOOBIG: a value, or all values of a row together, are longer than SQLite stores.
  var isTooLong: Bool { primaryCode == 18 }

  /// Whether the code is SQLITE_CONSTRAINT: a constraint of any kind refused a row.
  var isViolatedConstraint: Bool { primaryCode == 19 }

  package var description: String {
    "SQLite error \(code): \(message)" + (sql.map { " (in: \($0))" } ?? "")
  }
}

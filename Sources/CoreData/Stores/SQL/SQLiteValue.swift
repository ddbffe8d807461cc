/// A value in one of SQLite's storage classes, to be bound to a parameter.
///
/// Source: https://www.sqlite.org/datatype3.html, storage classes.
///
/// For the library: `title` is `.text`, `pages` and `isRead` are `.integer`, a Double is `.real`, a Date is `.real` or,
/// with whole seconds, comes back as `.integer`, a UUID is a `.blob` of 16 bytes.
package enum SQLiteValue: Hashable, Sendable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob(Data)
  /// The bytes of a value for a server, with the number of its type there. SQLite gets none.
  case encoded([UInt8], type: UInt32)
}

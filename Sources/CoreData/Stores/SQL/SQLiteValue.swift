/// A value in one of SQLite's storage classes, to be bound to a parameter.
///
/// Source: https://www.sqlite.org/datatype3.html, storage classes.
package enum SQLiteValue: Hashable, Sendable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob(Data)
  /// The bytes of a value for a server, with the number of its type there. SQLite gets none.
  case encoded([UInt8], type: UInt32)
}

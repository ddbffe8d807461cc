/// A value as SQLite knows it: what is bound to a statement's parameter.
///
/// Source: https://www.sqlite.org/datatype3.html, storage classes.
enum SQLiteValue: Hashable, Sendable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob(Data)
}

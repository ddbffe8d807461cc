/// What every connection is given beside SQLite's own functions and collations.
enum SQLFunctions {
  static let all: [SQLFunction] = SQLFunction.derivedAttributeCallbacks
  static let collations: [SQLCollation] = []
}

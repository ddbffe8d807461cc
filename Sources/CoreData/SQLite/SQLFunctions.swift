/// What every connection is given beside SQLite's own functions and collations.
enum SQLFunctions {
  static let all: [SQLFunction] = []
  static let collations: [SQLCollation] = []
}

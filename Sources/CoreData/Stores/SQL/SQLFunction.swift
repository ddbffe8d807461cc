/// A function that SQL text may call, written in Swift. Called on the connection's thread.
struct SQLFunction: Sendable {
  let name: String
  let argumentCount: Int
  /// Whether equal arguments give equal results. SQLite may then call it once for several rows.
  var isDeterministic = true
  let evaluate: @Sendable ([SQLiteValue]) -> SQLiteValue
}

/// A function of a group's values, NULLs left out, written in Swift. Called on the connection's thread.
struct SQLAggregate: Sendable {
  let name: String
  let evaluate: @Sendable ([SQLiteValue]) -> SQLiteValue
}

/// An order of texts that SQL text may name after COLLATE.
struct SQLCollation: Sendable {
  let name: String
  let compare: @Sendable (String, String) -> ComparisonResult
}

/// A function that SQL text may call, written in Swift. Deterministic; called on the connection's thread.
struct SQLFunction: Sendable {
  let name: String
  let argumentCount: Int
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

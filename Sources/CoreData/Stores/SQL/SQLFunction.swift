/// A function that SQL text may call, written in Swift. Called on the connection's thread.
///
/// `SQLiteConnection.init` registers all of `SQLFunctions.all` on each connection; a migration and a batch update add
/// one of their own. SQLite may use a deterministic function in an index and factor it out of a loop
/// (https://www.sqlite.org/deterministic.html).
struct SQLFunction: Sendable {
  let name: String
  let argumentCount: Int
  /// Whether equal arguments give equal results. SQLite may then call it once for several rows.
  let isDeterministic: Bool
  /// nil if it ended because `isInterrupted` said so.
  let evaluate: @Sendable (_ arguments: [SQLiteValue], _ isInterrupted: () -> Bool) -> SQLiteValue?

  init(
    name: String, argumentCount: Int, isDeterministic: Bool = true,
    evaluate: @escaping @Sendable ([SQLiteValue]) -> SQLiteValue
  ) {
    self.init(
      name: name, argumentCount: argumentCount, isDeterministic: isDeterministic,
      interruptible: { arguments, _ in evaluate(arguments) })
  }

  /// A function that may take long for one row. SQLite ends statements between their instructions, and not in a
  /// function: this one asks by itself whether its statement should end.
  init(
    name: String, argumentCount: Int, isDeterministic: Bool = true,
    interruptible evaluate: @escaping @Sendable ([SQLiteValue], () -> Bool) -> SQLiteValue?
  ) {
    self.name = name
    self.argumentCount = argumentCount
    self.isDeterministic = isDeterministic
    self.evaluate = evaluate
  }
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

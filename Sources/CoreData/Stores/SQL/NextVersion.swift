extension Int64 {
  /// The version of a row after a change. Only another program writes the largest number; after it the count restarts.
  package var nextVersion: Int64 { self == .max ? 1 : self + 1 }
}

extension String {
  /// The SQL of the version after a change, where this is the column's. The sum of the largest number and 1 is an error
  /// for PostgreSQL, and a floating-point number for SQLite, which no version is equal to.
  package var nextVersion: String { "\(self) % 9223372036854775807 + 1" }
}

extension Int64 {
  /// The version of a row after a change. Only another program writes the largest number; after it the count restarts.
  ///
  /// A version only has to differ from the one that a context read. It would take 2⁶³ saves of one row to come back
  /// to it.
  package var nextVersion: Int64 { self == .max ? 1 : self + 1 }
}

extension String {
  /// The SQL of the version after a change, where this is the column's. The sum of the largest number and 1 is an error
  /// for PostgreSQL, and a floating-point number for SQLite, which no version is equal to.
  ///
  /// `"Z_OPT".nextVersion` is `Z_OPT % 9223372036854775807 + 1`: 1 becomes 2, and the largest number becomes 1.
  package var nextVersion: String { "\(self) % 9223372036854775807 + 1" }
}

/// The values of row number `index` of a benchmark: the same on both sides, in a SQLite file and at a server.
package struct PersonValues: Sendable {
  package let name: String
  package let age: Int64
  package let score: Double
  /// Seconds since 2001-01-01 00:00 UTC.
  package let joined: Double
  package let email: String

  package init(_ index: Int) {
    name = "Person number \(index)"
    age = Int64(index % 90)
    score = Double(index) * 0.5
    joined = 600_000_000.5 + Double(index)
    email = "p\(index)@example.org"
  }
}

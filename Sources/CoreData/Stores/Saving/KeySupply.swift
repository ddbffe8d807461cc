/// Reserved keys, which are given one after the other.
///
/// SQLite gives one range. A server's sequence may give several, when others take numbers meanwhile.
package struct KeySupply {
  private var ranges: ArraySlice<Range<Int64>>
  private var current: Range<Int64>

  package init(_ ranges: [Range<Int64>] = []) {
    current = ranges.first ?? 0..<0
    self.ranges = ranges.dropFirst()
  }

  /// Nil if all were given.
  package mutating func next() -> Int64? {
    while current.isEmpty {
      guard let following = ranges.popFirst() else { return nil }
      current = following
    }
    defer { current = current.lowerBound + 1..<current.upperBound }
    return current.lowerBound
  }
}

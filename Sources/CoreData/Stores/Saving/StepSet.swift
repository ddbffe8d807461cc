/// A set of properties by their positions: one bit for each.
///
/// It is the key of prepared statements: `{pages}` and `{isRead, pages}` are two UPDATEs. For up to 64 properties it is
/// one word.
package struct StepSet: Hashable {
  /// The steps 0 to 63. Most entities have no more.
  private var first: UInt64 = 0
  private var others: [UInt64] = []

  package var isEmpty: Bool { first == 0 && (others.isEmpty || others.allSatisfy { $0 == 0 }) }

  package init() {}

  /// The steps in ascending order.
  package var positions: [Int] {
    var positions: [Int] = []
    forEach { positions.append($0) }
    return positions
  }

  /// Calls the body with each step, in ascending order.
  @inline(__always)
  package func forEach(_ body: (Int) -> Void) {
    StepSet.forEach(first, body)
    for index in others.indices { StepSet.forEach(others[index]) { body((index + 1) * UInt64.bitWidth + $0) } }
  }

  /// The lowest set bit is found with one instruction, and taken out with `x & (x - 1)`: the cost is that of the
  /// properties in the set, not of all that the entity has.
  @inline(__always)
  private static func forEach(_ word: UInt64, _ body: (Int) -> Void) {
    var remainingBits = word
    while remainingBits != 0 {
      body(remainingBits.trailingZeroBitCount)
      remainingBits &= remainingBits - 1
    }
  }

  package func intersection(_ other: StepSet) -> StepSet {
    var common = StepSet()
    common.first = first & other.first
    common.others = zip(others, other.others).map { $0 & $1 }
    return common
  }

  package mutating func insert(_ position: Int) {
    let (word, bit) = position.quotientAndRemainder(dividingBy: UInt64.bitWidth)
    if word == 0 {
      first |= 1 << bit
    } else {
      while others.count < word { others.append(0) }
      others[word - 1] |= 1 << bit
    }
  }

  package func isDisjoint(with other: StepSet) -> Bool {
    first & other.first == 0
      && (others.isEmpty || other.others.isEmpty || zip(others, other.others).allSatisfy { $0 & $1 == 0 })
  }
}

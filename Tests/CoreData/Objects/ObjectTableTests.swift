import Testing

@testable import CoreData

/// The table behind uniquing and the row cache, compared with a dictionary that does the same.
@Suite struct ObjectTableTests {
  private final class Value {}

  private struct Key: Hashable {
    let key: Int64
    let table: Int32
  }

  /// Keys as they occur: in order, in two tables at once, with gaps that collide in a table that does not mix them,
  /// negative.
  private static let patterns: [[Key]] = [
    (0..<5000).map { Key(key: $0, table: 1) },
    (0..<5000).flatMap { [Key(key: $0, table: 1), Key(key: $0, table: 2)] },
    (0..<3000).map { Key(key: $0 * 1024, table: 1) },
    (0..<3000).map { Key(key: $0 << 20, table: 3) },
    (1..<3000).map { Key(key: -$0, table: 0) } + (1..<3000).map { Key(key: $0, table: 7) },
  ]

  @Test(arguments: patterns) private func everyValueIsFoundUnderItsKeyAlone(keys: [Key]) {
    let table = ObjectTable<Value>()
    var reference: [Key: Value] = [:]
    for key in keys {
      #expect(table.find(key.key, key.table) == nil)
      let value = Value()
      table.set(value, key.key, key.table)
      reference[key] = value
    }
    #expect(table.count == keys.count)
    for (index, key) in keys.enumerated() where index % 3 == 0 {
      #expect(table.remove(key.key, key.table) === reference.removeValue(forKey: key))
    }
    for key in keys { #expect(table.find(key.key, key.table) === reference[key]) }
    var seen = 0
    table.forEach { _ in seen += 1 }
    #expect(seen == reference.count)
  }

  @Test(.timeLimit(.minutes(20))) func removingFromALongFilledPieceDoesNotLookThroughItAll() {
    let table = ObjectTable<Value>()
    for key in Int64(0)..<200_000 { table.set(Value(), key, 1) }
    for key in Int64(0)..<200_000 { table.remove(key, 1) }
    #expect(table.count == 0)
  }

  @Test func onlyValuesThatNobodyElseHoldsAreRemovedAsUnreferenced() {
    let table = ObjectTable<Value>()
    let held = Value()
    table.set(held, 1, 1)
    for key in Int64(2)..<100 { table.set(Value(), key, 1) }
    #expect(table.findAndCheck(1, 1)?.isUnreferenced == false)
    #expect(table.findAndCheck(2, 1)?.isUnreferenced == true)
    table.removeUnreferenced { _ in true }
    #expect(table.count == 1)
    #expect(table.find(1, 1) === held)
  }
}

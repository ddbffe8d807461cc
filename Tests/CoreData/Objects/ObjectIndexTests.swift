import Testing

@testable import CoreData

/// The index behind uniquing and the row cache, compared with a dictionary that does the same.
@Suite struct ObjectIndexTests {
  private final class Value {}

  private struct Key: Hashable {
    let key: Int64
    let table: Int32
  }

  /// Keys as they occur: in order, in two tables at once, with gaps that collide in an index that does not mix them,
  /// negative.
  private static let patterns: [[Key]] = [
    (0..<5000).map { Key(key: $0, table: 1) },
    (0..<5000).flatMap { [Key(key: $0, table: 1), Key(key: $0, table: 2)] },
    (0..<3000).map { Key(key: $0 * 1024, table: 1) },
    (0..<3000).map { Key(key: $0 << 20, table: 3) },
    (1..<3000).map { Key(key: -$0, table: 0) } + (1..<3000).map { Key(key: $0, table: 7) },
  ]

  @Test(arguments: patterns) private func everyValueIsFoundUnderItsKeyAlone(keys: [Key]) {
    let index = ObjectIndex<Value>()
    var reference: [Key: Value] = [:]
    for key in keys {
      #expect(index.find(key.key, key.table) == nil)
      let value = Value()
      index.set(value, key.key, key.table)
      reference[key] = value
    }
    #expect(index.count == keys.count)
    for (number, key) in keys.enumerated() where number % 3 == 0 {
      #expect(index.remove(key.key, key.table) === reference.removeValue(forKey: key))
    }
    for key in keys { #expect(index.find(key.key, key.table) === reference[key]) }
    var seen = 0
    index.forEach { _ in seen += 1 }
    #expect(seen == reference.count)
  }

  @Test func valuesThatAreTakenKeepTheirReferenceUnderTheNewKey() {
    let index = ObjectIndex<Value>()
    let held = Value()
    index.set(held, -1, 0)
    for key in Int64(2)..<2000 { index.set(Value(), -key, 0) }
    let taken = (Int64(1)..<2000).map { index.take(-$0, 0) }
    #expect(index.count == 0)
    #expect(index.take(-1, 0) == nil)
    for (key, value) in zip(Int64(1)..., taken) {
      if let value { index.set(taken: value, key, 7) }
    }
    #expect(index.count == 1999)
    #expect(index.find(1, 7) === held)
    #expect(index.findAndCheck(1, 7)?.isUnreferenced == false)
    #expect(index.findAndCheck(2, 7)?.isUnreferenced == true)
  }

  @Test(.timeLimit(.minutes(20))) func removingFromALongFilledPieceDoesNotLookThroughItAll() {
    let index = ObjectIndex<Value>()
    for key in Int64(0)..<200_000 { index.set(Value(), key, 1) }
    for key in Int64(0)..<200_000 { index.remove(key, 1) }
    #expect(index.count == 0)
  }

  @Test func onlyValuesThatNobodyElseHoldsAreRemovedAsUnreferenced() {
    let index = ObjectIndex<Value>()
    let held = Value()
    index.set(held, 1, 1)
    for key in Int64(2)..<100 { index.set(Value(), key, 1) }
    #expect(index.findAndCheck(1, 1)?.isUnreferenced == false)
    #expect(index.findAndCheck(2, 1)?.isUnreferenced == true)
    index.removeUnreferenced { _ in true }
    #expect(index.count == 1)
    #expect(index.find(1, 1) === held)
  }
}

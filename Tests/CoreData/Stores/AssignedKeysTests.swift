import Testing

@testable import CoreData

@Suite struct AssignedKeysTests {
  @Test(arguments: [1, 3, 1000])
  func eachTemporaryKeyLeadsToItsRow(gap: Int64) {
    let keys = AssignedKeys()
    #expect(keys[-1] == nil)
    for number in 1...50 as ClosedRange<Int64> { keys[-number * gap] = RelatedKey(key: number, number: 2) }
    for number in 1...50 as ClosedRange<Int64> { #expect(keys[-number * gap] == RelatedKey(key: number, number: 2)) }
    #expect(keys[-51 * gap] == nil && keys[0] == nil && keys[7] == nil && (gap == 1 || keys[-gap - 1] == nil))
    // Keys that come after a question are found too.
    keys[-99 * gap] = RelatedKey(key: 99, number: 3)
    #expect(keys[-99 * gap]?.key == 99 && keys[-1 * gap]?.key == 1)
  }
}

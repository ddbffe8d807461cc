import Testing

@testable import CoreData

@Suite struct PagedTableTests {
  @Test func valuesAreFoundByKeyAndComeInTheOrderOfTheKeys() {
    var table = PagedTable<String>()
    for key in [700, 3, 256, 255, 4] as [Int64] { table.update(key) { $0 = "\(key)" } }
    table.update(4) { $0 = nil }
    #expect(table[256] == "256" && table[255] == "255" && table[4] == nil && table[5] == nil && table[-1] == nil)
    #expect(table.count == 4)
    var keys: [Int64] = []
    table.forEach { key, _ in
      keys.append(key)
      return keys.count < 3
    }
    #expect(keys == [3, 255, 256])
  }

  @Test func aCopyStaysAsItWas() {
    var table = PagedTable<Int>()
    for key in 0..<1000 as Range<Int64> { table.update(key) { $0 = 1 } }
    let copy = table
    table.update(500) { $0 = 2 }
    table.update(5000) { $0 = 3 }
    #expect(copy[500] == 1 && copy[5000] == nil && copy.count == 1000)
    #expect(table[500] == 2 && table.count == 1001)
  }
}

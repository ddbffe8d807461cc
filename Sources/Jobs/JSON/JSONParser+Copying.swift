/// Copies JSON from text to text, without a value for each part of it.
extension JSONParser {
  /// The compact text of the object that comes next: the ``JSONValue/text`` of its value.
  ///
  /// Nil for anything that is rare, or wrong: no object, escapes, names that are not ASCII, deep nesting, many members,
  /// faults. Then the position stays, and ``value()`` reads the object or says what is wrong.
  mutating func compactObject() -> String? {
    let start = position
    var copy = ObjectCopy()
    guard copyObject(to: &copy, depth: 0), let text = String(validating: copy.text, as: UTF8.self) else {
      position = start
      return nil
    }
    return text
  }

  private struct ObjectCopy {
    static let mostMembers = 32
    static let mostDepth = 16
    var text: [UInt8] = []
    /// Where the names of the objects that are entered stand, those of the innermost last.
    var names: [Range<Int>] = []
  }

  private mutating func copyValue(to copy: inout ObjectCopy, depth: Int) -> Bool {
    skipSpace()
    guard position < bytes.count, depth < ObjectCopy.mostDepth else { return false }
    let start = position
    switch bytes[position] {
    case UInt8(ascii: "{"): return copyObject(to: &copy, depth: depth)
    case UInt8(ascii: "["): return copyArray(to: &copy, depth: depth)
    case UInt8(ascii: "\""): return skipPlainString(isName: false) && append(start, to: &copy)
    case UInt8(ascii: "t"): return skip("true") && append(start, to: &copy)
    case UInt8(ascii: "f"): return skip("false") && append(start, to: &copy)
    case UInt8(ascii: "n"): return skip("null") && append(start, to: &copy)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
      return (try? skipNumber()) != nil && append(start, to: &copy)
    default: return false
    }
  }

  /// Appends what was read from there on.
  private func append(_ start: Int, to copy: inout ObjectCopy) -> Bool {
    copy.text.append(contentsOf: bytes[start..<position])
    return true
  }

  private mutating func copyObject(to copy: inout ObjectCopy, depth: Int) -> Bool {
    let outerNames = copy.names.count
    defer { copy.names.removeSubrange(outerNames...) }
    guard take(UInt8(ascii: "{"), to: &copy) else { return false }
    if take(UInt8(ascii: "}"), to: &copy) { return true }
    repeat {
      skipSpace()
      let start = position
      guard skipPlainString(isName: true), copy.names.count - outerNames < ObjectCopy.mostMembers else { return false }
      let name = start..<position
      // A name that stands twice is an error.
      guard !copy.names[outerNames...].contains(where: { bytes[$0].elementsEqual(bytes[name]) }) else { return false }
      copy.names.append(name)
      copy.text.append(contentsOf: bytes[name])
      guard take(UInt8(ascii: ":"), to: &copy), copyValue(to: &copy, depth: depth + 1) else { return false }
    } while take(UInt8(ascii: ","), to: &copy)
    return take(UInt8(ascii: "}"), to: &copy)
  }

  private mutating func copyArray(to copy: inout ObjectCopy, depth: Int) -> Bool {
    guard take(UInt8(ascii: "["), to: &copy) else { return false }
    if take(UInt8(ascii: "]"), to: &copy) { return true }
    repeat {
      guard copyValue(to: &copy, depth: depth + 1) else { return false }
    } while take(UInt8(ascii: ","), to: &copy)
    return take(UInt8(ascii: "]"), to: &copy)
  }

  private mutating func take(_ byte: UInt8, to copy: inout ObjectCopy) -> Bool {
    skipSpace()
    guard position < bytes.count, bytes[position] == byte else { return false }
    position += 1
    copy.text.append(byte)
    return true
  }

  private mutating func skip(_ word: StaticString) -> Bool {
    let end = position + word.utf8CodeUnitCount
    guard end <= bytes.count, word.withUTF8Buffer({ bytes[position..<end].elementsEqual($0) }) else { return false }
    position = end
    return true
  }

  /// Moves to the next member of the entered object, and returns where its name stands; nil at the object's end.
  ///
  /// - Throws: also for a name with escapes, or that is not ASCII.
  mutating func nextPlainName() throws(JSONError) -> Range<Int>? {
    guard try next(closing: UInt8(ascii: "}"), "the object") else { return nil }
    skipSpace()
    let start = position
    guard skipPlainString(isName: true) else { throw error("a plain name is expected") }
    let name = (start + 1)..<(position - 1)
    try expect(":", "a colon")
    return name
  }

  /// Steps over a string without escapes whose text is written as it stands.
  mutating func skipPlainString(isName: Bool) -> Bool {
    guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else { return false }
    var end = position + 1
    while end < bytes.count {
      switch bytes[end] {
      case UInt8(ascii: "\""):
        position = end + 1
        return true
      case UInt8(ascii: "\\"), 0..<0x20, 0x7F: return false
      case 0x80... where isName: return false
      default: end += 1
      }
    }
    return false
  }
}

/// Copies JSON from text to text, without a value for each part of it.
extension JSONParser {
  /// The compact text of the object that comes next: the ``JSONValue/text`` of its value.
  ///
  /// Nil for anything that is rare, or wrong: no object, escapes, names that are not ASCII, deep nesting, many members,
  /// faults. Then the position stays, and ``value()`` reads the object or says what is wrong.
  mutating func compactObject() -> String? {
    skipSpace()
    let start = position
    guard start < bytes.count, bytes[start] == UInt8(ascii: "{") else { return nil }
    // The memory is kept for the next object.
    var memory = CompactCopy.Memory()
    swap(&memory, &copyMemory)
    defer { swap(&memory, &copyMemory) }
    let (end, isASCII) = bytes.withUnsafeBufferPointer { bytes in
      memory.text.removeAll(keepingCapacity: true)
      memory.names.removeAll(keepingCapacity: true)
      var copy = CompactCopy(bytes, from: start, memory)
      // The memory has one owner while the copy writes it.
      memory = CompactCopy.Memory()
      let isWhole = copy.copyObject(depth: 0)
      if isWhole { copy.copyRun(to: copy.position) }
      memory = copy.memory
      return (isWhole ? copy.position : nil, copy.isASCII)
    }
    // What is ASCII needs no check.
    guard let end,
      let text = isASCII
        ? String(decoding: memory.text, as: UTF8.self) : String(validating: memory.text, as: UTF8.self)
    else { return nil }
    position = end
    return text
  }

  /// Moves to the next member of the entered object, and returns where its name stands; nil at the object's end.
  ///
  /// - Throws: also for a name with escapes, or that is not ASCII.
  mutating func nextPlainName() throws(JSONError) -> Range<Int>? {
    guard try next(closing: UInt8(ascii: "}"), "the object") else { return nil }
    skipSpace()
    let start = position
    guard skipPlainString() else { throw error("a plain name is expected") }
    let name = (start + 1)..<(position - 1)
    try expect(":", "a colon")
    return name
  }

  /// Steps over a string of ASCII without escapes.
  private mutating func skipPlainString() -> Bool {
    guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else { return false }
    var end = position + 1
    while end < bytes.count {
      switch bytes[end] {
      case UInt8(ascii: "\""):
        position = end + 1
        return true
      case UInt8(ascii: "\\"), 0..<0x20, 0x7F...: return false
      default: end += 1
      }
    }
    return false
  }
}

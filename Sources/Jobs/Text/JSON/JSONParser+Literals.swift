/// Numbers and strings. The position is at the first byte of either when these are called, and behind the last one
/// afterwards.
extension JSONParser {
  /// The digits of a number as they are written: `1.50` stays so, and `12345678901234567890` loses nothing.
  mutating func number() throws(JSONError) -> String {
    let start = position
    try skipNumber()
    return ascii(start..<position)
  }

  /// Passes over a number.
  ///
  /// ```text
  /// [ - ]  0 | 1–9 digits   [ . digits ]   [ e [+ -] digits ]       RFC 8259, section 6
  /// ```
  ///
  /// `01` ends after the 0, and the 1 is then where a comma is expected. `.5`, `1.` and `+1` are errors.
  mutating func skipNumber() throws(JSONError) {
    if bytes[position] == UInt8(ascii: "-") { position += 1 }
    if position < bytes.count, bytes[position] == UInt8(ascii: "0") {
      position += 1
    } else {
      try digits()
    }
    if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
      position += 1
      try digits()
    }
    if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
      position += 1
      if position < bytes.count, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-") {
        position += 1
      }
      try digits()
    }
  }

  /// One digit or more.
  private mutating func digits() throws(JSONError) {
    let start = position
    while position < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[position]) { position += 1 }
    guard position > start else { throw error("a digit is expected") }
  }

  /// The content of a string, whose opening quote comes next.
  ///
  /// Most strings have no escape: their end is found in one pass, and their bytes become the text at once. ASCII needs
  /// no check; everything else must be UTF-8.
  mutating func string() throws(JSONError) -> String {
    let start = position + 1
    var isASCII = true
    position = bytes.withUnsafeBufferPointer { bytes in
      var end = start
      while end < bytes.count {
        let byte = bytes[end]
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20 { break }
        if byte >= 0x80 { isASCII = false }
        end += 1
      }
      return end
    }
    guard position < bytes.count else { throw error("a string has no closing quote") }
    switch bytes[position] {
    case UInt8(ascii: "\""):
      let text = isASCII ? ascii(start..<position) : try utf8(bytes[start..<position])
      position += 1
      return text
    case UInt8(ascii: "\\"): return try escapedString(from: start)
    default: throw error("a control character in a string must be escaped")
    }
  }

  /// The text of bytes that are known to be ASCII: no invalid sequence can be among them.
  func ascii(_ range: Range<Int>) -> String {
    bytes.withUnsafeBufferPointer { String(decoding: UnsafeBufferPointer(rebasing: $0[range]), as: UTF8.self) }
  }

  /// The content of a string with escapes: collected byte by byte, from the first escape on.
  private mutating func escapedString(from start: Int) throws(JSONError) -> String {
    var content = Array(bytes[start..<position])
    while position < bytes.count {
      let byte = bytes[position]
      position += 1
      switch byte {
      case UInt8(ascii: "\""): return try utf8(content[...])
      case UInt8(ascii: "\\"): try escape(into: &content)
      case 0..<0x20: throw error("a control character in a string must be escaped")
      default: content.append(byte)
      }
    }
    throw error("a string has no closing quote")
  }

  /// One escape, behind its backslash.
  private mutating func escape(into content: inout [UInt8]) throws(JSONError) {
    guard position < bytes.count else { throw error("a string has no closing quote") }
    let byte = bytes[position]
    position += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): content.append(byte)
    case UInt8(ascii: "b"): content.append(0x08)
    case UInt8(ascii: "f"): content.append(0x0C)
    case UInt8(ascii: "n"): content.append(0x0A)
    case UInt8(ascii: "r"): content.append(0x0D)
    case UInt8(ascii: "t"): content.append(0x09)
    case UInt8(ascii: "u"): content += try unicodeEscape()
    default: throw error("an unknown escape in a string")
    }
  }

  /// The UTF-8 of `\u` and four digits, behind the `u`: of two such escapes for a character beyond U+FFFF.
  ///
  /// ```text
  /// \u00e9            C3 A9            é
  /// \ud83d\ude00      F0 9F 98 80      😀
  /// \ud83d            an error         half of a surrogate pair
  /// ```
  private mutating func unicodeEscape() throws(JSONError) -> [UInt8] {
    let unit = try fourHexDigits()
    var code = UInt32(unit)
    if (0xD800..<0xDC00).contains(unit) {
      guard position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\"), bytes[position + 1] == UInt8(ascii: "u")
      else { throw error("half of a surrogate pair") }
      position += 2
      let low = try fourHexDigits()
      guard (0xDC00..<0xE000).contains(low) else { throw error("half of a surrogate pair") }
      code = 0x10000 + (UInt32(unit) - 0xD800) << 10 + (UInt32(low) - 0xDC00)
    }
    guard let scalar = Unicode.Scalar(code) else { throw error("half of a surrogate pair") }
    return Array(String(scalar).utf8)
  }

  /// Four hexadecimal digits. `UInt16(_:radix:)` would take a sign, too.
  private mutating func fourHexDigits() throws(JSONError) -> UInt16 {
    guard position + 4 <= bytes.count else { throw error("four hexadecimal digits are expected") }
    let digits = String(decoding: bytes[position..<position + 4], as: UTF8.self)
    guard digits.utf8.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }),
      let unit = UInt16(digits, radix: 16)
    else { throw error("four hexadecimal digits are expected") }
    position += 4
    return unit
  }

  /// The text of bytes that may be invalid. An error and no replacement character: a name that is changed on the way
  /// would be another one.
  private func utf8(_ slice: ArraySlice<UInt8>) throws(JSONError) -> String {
    guard let text = slice.withUnsafeBufferPointer({ String(validating: $0, as: UTF8.self) }) else {
      throw error("a string is not valid UTF-8")
    }
    return text
  }
}

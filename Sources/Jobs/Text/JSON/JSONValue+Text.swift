extension JSONValue: CustomStringConvertible {
  /// The value on one line, without needless spaces, members in their order: the form of JSON Lines.
  ///
  /// ```swift
  /// let value: JSONValue = ["kind": "index", "sizes": [1, 2], "done": nil]
  /// print(value.text)  // {"kind":"index","sizes":[1,2],"done":null}
  /// ```
  ///
  /// Read by ``JSONParser/parse(_:)`` it is the same value again. Costs one pass, and an array that grows; use
  /// ``write(to:)`` for many values.
  public var text: String {
    var bytes: [UInt8] = []
    // As long as the parameters of most jobs.
    bytes.reserveCapacity(120)
    write(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The same as ``text``.
  public var description: String { text }

  /// Appends ``text`` as UTF-8.
  ///
  /// ```swift
  /// var bytes: [UInt8] = []
  /// for book in try context.fetch(Book.fetchRequest()) {
  ///   JSONValue.string(book.objectID.uriString).write(to: &bytes)
  ///   bytes.append(UInt8(ascii: "\n"))
  /// }
  /// ```
  public func write(to bytes: inout [UInt8]) {
    switch self {
    case .null: bytes += "null".utf8
    case .bool(let value): bytes += (value ? "true" : "false").utf8
    case .number(let digits): bytes += digits.utf8
    case .string(let value): Self.writeQuoted(value, to: &bytes)
    case .array(let elements):
      bytes.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        element.write(to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let members):
      bytes.append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        Self.writeQuoted(member.name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        member.value.write(to: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }

  /// A string in quotes. Stretches without an escape are appended in one piece.
  private static func writeQuoted(_ value: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    var value = value
    value.withUTF8 { text in
      var start = 0
      for (index, byte) in text.enumerated() where needsEscape(byte) {
        bytes += text[start..<index]
        writeEscaped(byte, to: &bytes)
        start = index + 1
      }
      bytes += text[start...]
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// Whether a byte of UTF-8 is escaped: control characters, DEL, the quotation mark and the backslash. All bytes of
  /// longer characters are 0x80 and above, and stay.
  private static func needsEscape(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == 0x7F || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
  }

  /// The short escapes for the characters that people know by them, `\u00` and two digits for the others.
  private static func writeEscaped(_ byte: UInt8, to bytes: inout [UInt8]) {
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"):
      bytes.append(UInt8(ascii: "\\"))
      bytes.append(byte)
    case UInt8(ascii: "\n"): bytes += "\\n".utf8
    case UInt8(ascii: "\r"): bytes += "\\r".utf8
    case UInt8(ascii: "\t"): bytes += "\\t".utf8
    default:
      bytes += "\\u00".utf8
      bytes.append(hexDigit(byte >> 4))
      bytes.append(hexDigit(byte & 15))
    }
  }

  private static func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }
}

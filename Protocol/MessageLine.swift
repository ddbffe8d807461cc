@_exported import ObjectIdentity

/// A line taken apart: its verb and its arguments, with the checks that every verb shares.
struct MessageLine {
  let verb: String
  let arguments: [Substring]

  init(_ line: String) throws(MessageError) {
    if line.utf8.last == UInt8(ascii: "\r") { throw .carriageReturn }
    // Bytes, not characters: a space may be followed by a mark that joins it to one character.
    let words = line.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
    guard !words.contains(where: \.isEmpty), let first = words.first else { throw .malformedLine }
    verb = String(Substring(first))
    arguments = words.dropFirst().map { Substring($0) }
  }

  func invalid(_ expected: String) -> MessageError {
    .invalidArguments(verb: verb, expected: expected)
  }

  func expectNone() throws(MessageError) {
    if !arguments.isEmpty { throw invalid("no arguments") }
  }

  /// The arguments from `index` on as URIs, of which there must be one at least.
  func uris(from index: Int = 0, expected: String = "one object URI or more") throws(MessageError) -> [ObjectURI] {
    guard arguments.count > index else { throw invalid(expected) }
    var uris: [ObjectURI] = []
    uris.reserveCapacity(arguments.count - index)
    for argument in arguments[index...] {
      guard let uri = ObjectURI(argument, after: uris.last) else { throw invalid(expected) }
      uris.append(uri)
    }
    return uris
  }

  func singleURI() throws(MessageError) -> ObjectURI {
    guard arguments.count == 1, let uri = ObjectURI(arguments[0]) else { throw invalid("one object URI") }
    return uri
  }

  /// The argument at `index` as a counter: decimal digits, no sign, within the limit.
  func counter(at index: Int, expected: String) throws(MessageError) -> Int {
    guard arguments.indices.contains(index), arguments[index].utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }),
      let value = Int(arguments[index]), value <= ProtocolLimit.counter
    else { throw invalid(expected) }
    return value
  }

  func change(expected: String) throws(MessageError) -> SavedChange {
    guard let first = arguments.first, let change = SavedChange(rawValue: String(first)) else {
      throw invalid(expected)
    }
    return change
  }
}

extension [UInt8] {
  /// Adds a line of a verb and its arguments.
  mutating func appendLine(_ verb: String, _ arguments: String...) {
    append(contentsOf: verb.utf8)
    for argument in arguments {
      append(0x20)
      append(contentsOf: argument.utf8)
    }
    append(0x0A)
  }

  /// Adds as many lines of a verb as its URIs need under the line limit.
  mutating func appendLines(_ verb: String, _ uris: [ObjectURI]) {
    var lineLength = 0
    for uri in uris {
      let length = uri.byteCount
      if lineLength > 0, lineLength + length + 2 > ProtocolLimit.lineBytes {
        append(0x0A)
        lineLength = 0
      }
      if lineLength == 0 {
        append(contentsOf: verb.utf8)
        lineLength = verb.utf8.count
      }
      append(0x20)
      uri.append(to: &self)
      lineLength += length + 1
    }
    if lineLength > 0 { append(0x0A) }
  }
}

/// Whether a text may be a name, such as a kind or a queue: letters, digits, dot, hyphen and underscore, not
/// too long.
public func isProtocolName(_ text: some StringProtocol, atMost limit: Int = ProtocolLimit.nameBytes) -> Bool {
  // Callers in other modules have no specialised copy of this function, and each byte would be a few calls there.
  text.utf8.withContiguousStorageIfAvailable { isName($0, limit) } ?? isName(Array(text.utf8), limit)
}

private func isName(_ bytes: some Collection<UInt8>, _ limit: Int) -> Bool {
  (1...limit).contains(bytes.count)
    && bytes.allSatisfy {
      switch $0 {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
      default: false
      }
    }
}

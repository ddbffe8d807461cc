/// Reads records of comma-separated values one by one, in memory for one record.
///
/// RFC 4180, with common extensions: line feeds alone end a record, too, a byte order mark is skipped, and another
/// delimiter can be chosen. A quote inside a field that does not begin with one is an ordinary character.
struct CSVReader {
  /// A field, and whether it was in quotes: `""` is an empty text, an empty field without quotes is nil.
  struct Field: Hashable {
    var text: String
    var isQuoted = false
  }

  private var source: ByteSource
  private let delimiter: UInt8
  /// The line on which the last record began, from 1.
  private(set) var line = 0
  private var nextLine = 1
  private var isAtStart = true

  init(source: ByteSource, delimiter: UInt8 = UInt8(ascii: ",")) {
    self.source = source
    self.delimiter = delimiter
  }

  /// How many bytes of the file are read.
  var offset: Int64 { source.offset }

  /// The next record, or nil at the end of the file. Empty lines are passed over.
  ///
  /// - Throws: ``RowError`` for an open quote at the end, text after a closing quote, bytes that are not UTF-8, and a
  ///   record that is too long.
  mutating func next() throws -> [Field]? {
    if isAtStart { try skipByteOrderMark() }
    while let first = try source.peek() {
      line = nextLine
      source.beginRecord()
      if first == UInt8(ascii: "\n") || first == UInt8(ascii: "\r") {
        _ = try source.next()
        if first == UInt8(ascii: "\n") { nextLine += 1 }
        continue
      }
      do {
        return try record()
      } catch let error as ByteSource.RecordTooLong {
        throw RowError(line: line, reason: error.description)
      }
    }
    return nil
  }

  private mutating func skipByteOrderMark() throws {
    isAtStart = false
    guard try source.peek() == 0xEF else { return }
    for expected: UInt8 in [0xEF, 0xBB, 0xBF] {
      guard try source.next() == expected else { throw RowError(line: 1, reason: "is not valid UTF-8") }
    }
  }

  private mutating func record() throws -> [Field] {
    var fields: [Field] = []
    while true {
      let quoted = try source.peek() == UInt8(ascii: "\"")
      var bytes: [UInt8] = []
      let end = quoted ? try quotedField(&bytes) : try plainField(&bytes)
      guard let text = String(validating: bytes, as: UTF8.self) else {
        throw RowError(line: line, reason: "field \(fields.count + 1) is not valid UTF-8")
      }
      fields.append(Field(text: text, isQuoted: quoted))
      if end != delimiter { return fields }
    }
  }

  /// Returns the byte that ended the field: the delimiter or a line feed, which stands for the end of the file, too.
  private mutating func plainField(_ bytes: inout [UInt8]) throws -> UInt8 {
    while let byte = try source.next() {
      if byte == delimiter { return byte }
      if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") { return try endOfLine(byte) }
      bytes.append(byte)
    }
    return UInt8(ascii: "\n")
  }

  private mutating func quotedField(_ bytes: inout [UInt8]) throws -> UInt8 {
    _ = try source.next()
    while let byte = try source.next() {
      if byte == UInt8(ascii: "\n") { nextLine += 1 }
      guard byte == UInt8(ascii: "\"") else {
        bytes.append(byte)
        continue
      }
      switch try source.next() {
      case UInt8(ascii: "\""): bytes.append(byte)
      case nil: return UInt8(ascii: "\n")
      case .some(let end) where end == delimiter: return end
      case .some(let end) where end == UInt8(ascii: "\n") || end == UInt8(ascii: "\r"): return try endOfLine(end)
      case .some: throw RowError(line: line, reason: "text follows the closing quote of a field")
      }
    }
    throw RowError(line: line, reason: "a field's quote is not closed")
  }

  private mutating func endOfLine(_ byte: UInt8) throws -> UInt8 {
    if byte == UInt8(ascii: "\r"), try source.peek() == UInt8(ascii: "\n") { _ = try source.next() }
    nextLine += 1
    return UInt8(ascii: "\n")
  }
}

/// What is wrong with a row of the file, and where. Holds at most the one field that is wrong, shortened.
struct RowError: Error, Hashable, CustomStringConvertible {
  let line: Int?
  var row: Int?
  var field: String?
  let reason: String

  init(line: Int? = nil, row: Int? = nil, field: String? = nil, reason: String) {
    self.line = line
    self.row = row
    self.field = field
    self.reason = reason
  }

  var description: String {
    let location = [row.map { "row \($0)" }, line.map { "line \($0)" }, field.map { "field \"\($0)\"" }]
    return (location.compactMap { $0 } + [reason]).joined(separator: ": ")
  }
}

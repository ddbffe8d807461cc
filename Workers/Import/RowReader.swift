import WorkerKit

/// One row of the imported file: its fields by name.
struct ImportRow {
  /// From 1, in the order of the file, a header not counted.
  let number: Int
  let fields: [String: JSONValue]
}

/// Reads the rows of a file one after another.
protocol RowReader {
  /// The next row, or nil at the end.
  mutating func next() throws -> ImportRow?
  /// How many bytes of the file are read: for progress.
  var offset: Int64 { get }
  /// The names of all fields that a row can have; nil where the file does not say it.
  var columns: [String]? { get }
}

extension RowReader {
  var columns: [String]? { nil }
}

/// The elements of a JSON array of objects, which may lie under a key of an object. The text is held in memory.
struct JSONRows: RowReader {
  private var parser: JSONParser
  private let size: Int64
  private var row = 0

  /// Larger files are refused, in bytes.
  private static let largest = 1 << 30

  /// - Parameter root: the key of the array, or several with dots between them: `"data.items"`; nil for the array
  ///   itself.
  init(path: String, root: String?) throws {
    let file = try InputFile(path)
    guard file.size <= Self.largest else {
      throw RowError(
        reason: "\(path) is larger than \(Self.largest >> 30) GiB, and JSON is read as a whole; use jsonl or csv")
    }
    let bytes = try file.bytes(atMost: Self.largest)
    size = Int64(bytes.count)
    parser = JSONParser(bytes)
    for name in root.map({ Self.names($0) }) ?? [] { try descend(to: name) }
    try enterRows(root)
  }

  /// Steps into the array of rows.
  ///
  /// - Throws: ``RowError`` that names the keys under which there are arrays, when there is an object instead.
  private mutating func enterRows(_ root: String?) throws {
    var other = parser
    do throws(JSONError) {
      try parser.enterArray()
    } catch {
      // The first error says what is wrong with the file.
      guard case .object(let members)? = try? other.value() else { throw error }
      let arrays = members.filter { if case .array = $0.value { true } else { false } }.map { "\"\($0.name)\"" }
      let place = root.map { "under \"\($0)\"" } ?? "at the top of the file"
      throw RowError(
        reason: "there is an object \(place), not an array of rows; "
          + (arrays.isEmpty
            ? "none of its members is an array"
            : "\"root\" names the key of the array, here \(arrays.prefix(5).joined(separator: " or "))"))
    }
  }

  /// A key may have dots itself, as long as they are escaped: `3166\.1`.
  private static func names(_ root: String) -> [String] {
    var names = [""]
    var isEscaped = false
    for character in root {
      if character == "\\" && !isEscaped {
        isEscaped = true
        continue
      }
      if character == "." && !isEscaped { names.append("") } else { names[names.count - 1].append(character) }
      isEscaped = false
    }
    return names
  }

  private mutating func descend(to key: String) throws {
    var seen: [String] = []
    try parser.enterObject()
    while let name = try parser.nextName() {
      if name == key { return }
      seen.append(name)
      _ = try parser.value()
    }
    let hint = Spelling.nearest(to: key, among: seen) ?? seen.prefix(5).joined(separator: ", ")
    throw RowError(reason: "the file has no key \"\(key)\" there; it has \(hint)")
  }

  var offset: Int64 { row == 0 ? 0 : Int64(parser.position) }

  mutating func next() throws -> ImportRow? {
    guard try parser.nextElement() else { return nil }
    row += 1
    guard case .object(let members) = try parser.value() else {
      throw RowError(row: row, reason: "is not a JSON object")
    }
    return ImportRow(number: row, fields: Dictionary(members.map { ($0.name, $0.value) }) { $1 })
  }
}

/// One JSON object on each line.
struct JSONLinesRows: RowReader {
  private var source: ByteSource
  private var row = 0
  private var line = 0

  init(source: ByteSource) { self.source = source }

  var offset: Int64 { source.offset }

  mutating func next() throws -> ImportRow? {
    while let bytes = try nextLine() {
      line += 1
      if bytes.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { continue }
      row += 1
      var parser = JSONParser(bytes)
      let value: JSONValue
      do throws(JSONError) {
        value = try parser.value()
      } catch {
        throw RowError(line: line, row: row, reason: "column \(error.column): \(error.reason)")
      }
      guard case .object(let members) = value, parser.isAtEnd else {
        throw RowError(line: line, row: row, reason: "is not one JSON object")
      }
      return ImportRow(number: row, fields: Dictionary(members.map { ($0.name, $0.value) }) { $1 })
    }
    return nil
  }

  private mutating func nextLine() throws -> [UInt8]? {
    var bytes: [UInt8] = []
    source.beginRecord()
    do {
      while let byte = try source.next() {
        if byte == UInt8(ascii: "\n") { return bytes }
        bytes.append(byte)
      }
    } catch let error as ByteSource.RecordTooLong {
      throw RowError(line: line + 1, reason: error.description)
    }
    return bytes.isEmpty ? nil : bytes
  }
}

/// Comma-separated values; the first record names the fields.
struct CSVRows: RowReader {
  private var reader: CSVReader
  private let header: [String]
  var columns: [String]? { header }
  private var row = 0

  init(path: String, delimiter: UInt8) throws {
    reader = CSVReader(source: try ByteSource(path: path), delimiter: delimiter)
    header = try reader.next()?.map(\.text) ?? []
    guard Set(header).count == header.count else { throw RowError(line: 1, reason: "a field's name stands twice") }
  }

  var offset: Int64 { reader.offset }

  mutating func next() throws -> ImportRow? {
    guard let record = try reader.next() else { return nil }
    row += 1
    guard record.count == header.count else {
      throw RowError(
        line: reader.line, row: row, reason: "has \(record.count) fields, but the header names \(header.count)")
    }
    var fields: [String: JSONValue] = [:]
    for (name, field) in zip(header, record) {
      fields[name] = field.text.isEmpty && !field.isQuoted ? .null : .string(field.text)
    }
    return ImportRow(number: row, fields: fields)
  }
}

import Jobs

/// Turns rows of values into the bytes of a file.
struct RecordWriter {
  let format: ExportParameters.Format
  let names: [String]

  /// What stands before the rows: the names of the fields in CSV.
  var header: [UInt8] {
    guard format == .csv else { return [] }
    return csvLine(names.map(JSONValue.string))
  }

  /// One row, its values in the order of the names.
  func row(_ values: [JSONValue]) -> [UInt8] {
    switch format {
    case .csv: return csvLine(values)
    case .jsonl:
      var bytes: [UInt8] = []
      JSONValue.object(zip(names, values).map { JSONMember($0, $1) }).write(to: &bytes)
      bytes.append(UInt8(ascii: "\n"))
      return bytes
    }
  }

  /// RFC 4180: lines end with CR LF; a field is quoted when it must be. An empty text is quoted, no value is not, so
  /// that an import tells them apart.
  private func csvLine(_ values: [JSONValue]) -> [UInt8] {
    var bytes: [UInt8] = []
    for (index, value) in values.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      switch value {
      case .null: continue
      case .string(let text): appendCSV(text, to: &bytes)
      default: value.write(to: &bytes)
      }
    }
    bytes += [0x0D, 0x0A]
    return bytes
  }

  private func appendCSV(_ text: String, to bytes: inout [UInt8]) {
    let mustQuote =
      text.isEmpty || text.first == " " || text.last == " "
      || text.utf8.contains { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "\"") || $0 == 0x0A || $0 == 0x0D }
    guard mustQuote else {
      bytes += text.utf8
      return
    }
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      if byte == UInt8(ascii: "\"") { bytes.append(byte) }
      bytes.append(byte)
    }
    bytes.append(UInt8(ascii: "\""))
  }
}

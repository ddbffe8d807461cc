import Foundation

/// XML for the parser of Foundation, which ends the process at a processing instruction without data, `<?name?>`: it
/// takes the length of a string that is not there.
package enum XMLInstructions {
  private static let instruction = Data("<?".utf8)

  /// The data with a space behind each such name, where it means nothing; nearly always the data itself. Nil for a
  /// document in an encoding that does not extend ASCII, such as UTF-16.
  package static func harmless(_ data: Data) -> Data? {
    guard !data.prefix(4).contains(0), !data.starts(with: [0xFE, 0xFF]), !data.starts(with: [0xFF, 0xFE]) else {
      return nil
    }
    var result: Data?
    var copied = data.startIndex
    var unreadData = data[...]
    while let begin = unreadData.range(of: instruction)?.upperBound {
      let name = data[begin...].prefix { !" \t\r\n<>?".utf8.contains($0) }
      if name.endIndex < data.endIndex, data[name.endIndex] == UInt8(ascii: "?") {
        result = (result ?? Data()) + data[copied..<name.endIndex] + " ".utf8
        copied = name.endIndex
      }
      unreadData = data[name.endIndex...]
    }
    return result.map { $0 + data[copied...] } ?? data
  }
}

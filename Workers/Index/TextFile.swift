import WorkerKit

/// The contents of a text file: the number of lines, and how often each word occurs.
struct TextFile {
  /// A word of the file.
  struct Word {
    var count = 0
    /// From 1.
    let firstLine: Int
  }

  private(set) var lines = 0
  private(set) var wordCount = 0
  /// By the word in lower case.
  private(set) var words: [String: Word] = [:]

  /// Longer runs of letters are not words.
  static let longestWord = 40
  /// Larger files are refused, in bytes.
  static let largest = 64 << 20

  /// - Throws: ``TextFileError`` for a file that is too large or holds no text, and an error that names the path for
  ///   one that cannot be read.
  init(_ file: InputFile, path: String) throws {
    guard file.size <= Self.largest else { throw TextFileError.tooLarge(path) }
    let data = Data(try file.bytes(atMost: Self.largest))
    guard !data.prefix(8192).contains(0) else { throw TextFileError.notText(path) }
    for line in data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) { add(line) }
    // What follows the last line feed is a line only if there is something.
    if data.isEmpty || data.last == UInt8(ascii: "\n") { lines -= 1 }
  }

  private mutating func add(_ line: Data) {
    lines += 1
    let text = String(decoding: line, as: UTF8.self)
    for run in text.split(whereSeparator: { !$0.isLetter && $0 != "'" }) {
      let word = run.lowercased().trimmingCharacters(in: ["'"])
      guard !word.isEmpty, word.count <= Self.longestWord else { continue }
      wordCount += 1
      words[word, default: Word(firstLine: lines)].count += 1
    }
  }
}

/// Why a file is not indexed.
enum TextFileError: Error, CustomStringConvertible {
  case tooLarge(String)
  case notText(String)

  var description: String {
    switch self {
    case .tooLarge(let path): "\(path) is larger than \(TextFile.largest) bytes"
    case .notText(let path): "\(path) holds no text"
    }
  }
}

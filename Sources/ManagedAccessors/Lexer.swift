/// Splits Swift source into words and marks. It skips comments, strings with their interpolations, and regular
/// expressions.
struct Lexer {
  private let bytes: [UInt8]
  private var position = 0
  private var line = 1
  private var lineStart = 0
  private var tokens: [Token] = []

  static func tokens(of source: String) -> [Token] {
    var lexer = Lexer(source)
    lexer.run()
    return lexer.tokens
  }

  private init(_ source: String) { bytes = Array(source.utf8) }

  private func byte(_ offset: Int = 0) -> UInt8 { position + offset < bytes.count ? bytes[position + offset] : 0 }
  private func starts(_ text: StaticString) -> Bool {
    text.withUTF8Buffer { text in
      position + text.count <= bytes.count && text.indices.allSatisfy { bytes[position + $0] == text[$0] }
    }
  }

  private mutating func advance(_ count: Int = 1) {
    for _ in 0..<count where position < bytes.count {
      if bytes[position] == UInt8(ascii: "\n") {
        line += 1
        lineStart = position + 1
      }
      position += 1
    }
  }

  private mutating func add(_ kind: Token.Kind, from start: Int, line: Int, column: Int) {
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    tokens.append(Token(kind: kind, text: text, line: line, column: column))
  }

  private mutating func run() {
    while position < bytes.count {
      let start = position
      let (line, column) = (line, position - lineStart + 1)
      switch byte() {
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): advance()
      case UInt8(ascii: "/") where byte(1) == UInt8(ascii: "/"): skipLine()
      case UInt8(ascii: "/") where byte(1) == UInt8(ascii: "*"): skipBlockComment()
      case UInt8(ascii: "/") where beginsRegularExpression: skipRegularExpression()
      case UInt8(ascii: "\""):
        skipString(hashes: 0)
        add(.literal, from: position, line: line, column: column)
      case UInt8(ascii: "#"): number(line, column)
      case UInt8(ascii: "`"):
        advance()
        while position < bytes.count, byte() != UInt8(ascii: "`") { advance() }
        tokens.append(
          Token(
            kind: .word(isQuoted: true), text: String(decoding: bytes[(start + 1)..<position], as: UTF8.self),
            line: line,
            column: column))
        advance()
      case let first where isWordByte(first) && !isDigit(first):
        while isWordByte(byte()) { advance() }
        add(.word(isQuoted: false), from: start, line: line, column: column)
      case let first where isDigit(first):
        // A dot belongs to a number only before another digit: not in `1...3` and `0.description`.
        while isWordByte(byte()) || byte() == UInt8(ascii: ".") && isDigit(byte(1)) { advance() }
        add(.literal, from: position, line: line, column: column)
      default:
        advance()
        add(.mark, from: start, line: line, column: column)
      }
    }
  }

  private func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

  private func isWordByte(_ byte: UInt8) -> Bool {
    isDigit(byte) || byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z")
      || byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") || byte == UInt8(ascii: "_")
      || byte == UInt8(ascii: "$") || byte >= 0x80
  }

  // MARK: What is skipped

  private mutating func skipLine() {
    while position < bytes.count, byte() != UInt8(ascii: "\n") { advance() }
  }

  private mutating func skipBlockComment() {
    var depth = 0
    repeat {
      if starts("/*") {
        depth += 1
        advance(2)
      } else if starts("*/") {
        depth -= 1
        advance(2)
      } else {
        advance()
      }
    } while depth > 0 && position < bytes.count
  }

  /// A slash begins a regular expression if no operand precedes it and another slash is on the line.
  private var beginsRegularExpression: Bool {
    guard byte(1) != UInt8(ascii: " "), byte(1) != UInt8(ascii: "\t"), byte(1) != UInt8(ascii: "=") else {
      return false
    }
    if let last = tokens.last {
      switch last.kind {
      case .literal: return false
      case .word(let isQuoted):
        guard !isQuoted, ["return", "case", "in", "try", "await", "if", "where", "let"].contains(last.text) else {
          return false
        }
      case .mark: if [")", "]", "}", "?", "!", ">", ".", "/", "\\"].contains(last.text) { return false }
      case .directive: break
      }
    }
    var offset = 1
    while byte(offset) != 0, byte(offset) != UInt8(ascii: "\n") {
      if byte(offset) == UInt8(ascii: "\\") { offset += 1 } else if byte(offset) == UInt8(ascii: "/") { return true }
      offset += 1
    }
    return false
  }

  private mutating func skipRegularExpression() {
    advance()
    while position < bytes.count, byte() != UInt8(ascii: "/"), byte() != UInt8(ascii: "\n") {
      advance(byte() == UInt8(ascii: "\\") ? 2 : 1)
    }
    advance()
  }

  /// Reads a token that begins with "#": `#if` and the like, raw strings, `#/…/#`, and other words.
  private mutating func number(_ line: Int, _ column: Int) {
    var hashes = 0
    while byte(hashes) == UInt8(ascii: "#") { hashes += 1 }
    if byte(hashes) == UInt8(ascii: "\"") {
      advance(hashes)
      skipString(hashes: hashes)
      add(.literal, from: position, line: line, column: column)
      return
    }
    if byte(hashes) == UInt8(ascii: "/") {
      advance(hashes + 1)
      while position < bytes.count, !(byte() == UInt8(ascii: "/") && isFollowed(by: hashes, after: 1)) { advance() }
      advance(1 + hashes)
      add(.literal, from: position, line: line, column: column)
      return
    }
    let start = position
    advance()
    while isWordByte(byte()) { advance() }
    let word = String(decoding: bytes[start..<position], as: UTF8.self)
    guard ["#if", "#elseif", "#else", "#endif"].contains(word) else {
      return add(.mark, from: start, line: line, column: column)
    }
    let condition = position
    while position < bytes.count, byte() != UInt8(ascii: "\n"), !starts("//") { advance() }
    let text = String(decoding: bytes[condition..<position], as: UTF8.self)
    tokens.append(
      Token(
        kind: .directive, text: word + " " + text.split(whereSeparator: \.isWhitespace).joined(separator: " "),
        line: line, column: column))
  }

  private func isFollowed(by hashes: Int, after offset: Int) -> Bool {
    (0..<hashes).allSatisfy { byte(offset + $0) == UInt8(ascii: "#") }
  }

  /// Skips a string from its opening quote, which `hashes` number signs precede.
  private mutating func skipString(hashes: Int) {
    let isMultiline = starts("\"\"\"")
    advance(isMultiline ? 3 : 1)
    while position < bytes.count {
      if byte() == UInt8(ascii: "\\"), isFollowed(by: hashes, after: 1) {
        advance(1 + hashes)
        if byte() == UInt8(ascii: "(") { skipInterpolation() } else { advance() }
      } else if isMultiline ? starts("\"\"\"") : byte() == UInt8(ascii: "\""),
        isFollowed(by: hashes, after: isMultiline ? 3 : 1)
      {
        advance((isMultiline ? 3 : 1) + hashes)
        return
      } else if !isMultiline && byte() == UInt8(ascii: "\n") {
        return
      } else {
        advance()
      }
    }
  }

  /// Skips an interpolation from its opening parenthesis.
  private mutating func skipInterpolation() {
    var depth = 0
    while position < bytes.count {
      switch byte() {
      case UInt8(ascii: "("): depth += 1
      case UInt8(ascii: ")"):
        depth -= 1
        if depth == 0 {
          advance()
          return
        }
      case UInt8(ascii: "\""):
        skipString(hashes: 0)
        continue
      case UInt8(ascii: "#"):
        var hashes = 0
        while byte(hashes) == UInt8(ascii: "#") { hashes += 1 }
        if byte(hashes) == UInt8(ascii: "\"") {
          advance(hashes)
          skipString(hashes: hashes)
          continue
        }
      case UInt8(ascii: "/") where byte(1) == UInt8(ascii: "*"):
        skipBlockComment()
        continue
      default: break
      }
      advance()
    }
  }
}

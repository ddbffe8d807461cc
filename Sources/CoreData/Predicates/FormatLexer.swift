/// A word, number or sign of a predicate's text.
struct FormatToken {
  enum Kind: Equatable {
    case word(String)
    /// `#name`: a key, whatever the word means otherwise.
    case escapedWord(String)
    /// A function's name with its colons, `add:to:`, right before its parenthesis.
    case functionName(String)
    /// `@count` and other collection operators.
    case operatorKey(String)
    case variable(String)
    case integer(Int64)
    case real(Double)
    case string(String)
    case argument(FormatSpecifier)
    case symbol(String)
    case end
  }

  let kind: Kind
  /// In characters from the start.
  let position: Int
}

/// The words that mean something by themselves. Their case does not matter.
enum FormatKeyword: String {
  case and = "AND"
  case or = "OR"
  case not = "NOT"
  case `in` = "IN"
  case between = "BETWEEN"
  case contains = "CONTAINS"
  case beginsWith = "BEGINSWITH"
  case endsWith = "ENDSWITH"
  case like = "LIKE"
  case matches = "MATCHES"
  case any = "ANY"
  case some = "SOME"
  case all = "ALL"
  case none = "NONE"
  case truePredicate = "TRUEPREDICATE"
  case falsePredicate = "FALSEPREDICATE"
  case `true` = "TRUE"
  case yes = "YES"
  case `false` = "FALSE"
  case no = "NO"
  case null = "NULL"
  case `nil` = "NIL"
  case `self` = "SELF"
  case first = "FIRST"
  case last = "LAST"
  case size = "SIZE"
  case cast = "CAST"
  case function = "FUNCTION"
  case subquery = "SUBQUERY"
  case ternary = "TERNARY"
  case anyKey = "ANYKEY"
  case union = "UNION"
  case intersect = "INTERSECT"
  case minus = "MINUS"
}

/// Cuts a predicate's text into tokens.
struct FormatLexer {
  private let format: String
  private let text: [Character]
  private var position = 0

  static func tokens(of format: String) throws -> [FormatToken] {
    var lexer = FormatLexer(format: format, text: Array(format))
    var tokens: [FormatToken] = []
    repeat { tokens.append(try lexer.next()) } while tokens.last?.kind != .end
    return tokens
  }

  private init(format: String, text: [Character]) {
    self.format = format
    self.text = text
  }

  private mutating func next() throws -> FormatToken {
    while let character = peek(), character.isWhitespace { position += 1 }
    let start = position
    guard let character = peek() else { return FormatToken(kind: .end, position: start) }
    let kind: FormatToken.Kind
    switch character {
    case "'", "\"": kind = .string(try quoted(by: character))
    case "$": kind = .variable(try name(after: "$"))
    case "#": kind = .escapedWord(try name(after: "#"))
    case "@": kind = .operatorKey("@" + (try name(after: "@")))
    case "%": kind = .argument(try specifier())
    case _ where character.isASCII && character.isNumber: kind = try number()
    case _ where isNameStart(character): kind = word()
    default: kind = .symbol(try symbol())
    }
    return FormatToken(kind: kind, position: start)
  }

  private func peek(_ offset: Int = 0) -> Character? {
    position + offset < text.count ? text[position + offset] : nil
  }

  private func failure(_ message: String, at position: Int? = nil) -> PredicateSyntaxError {
    PredicateSyntaxError(format: format, position: position ?? self.position, message: message)
  }

  private func isNameStart(_ character: Character) -> Bool {
    character.isLetter || character == "_"
  }

  private mutating func readName() -> String {
    let start = position
    while let character = peek(), isNameStart(character) || character.isNumber { position += 1 }
    return String(text[start..<position])
  }

  private mutating func name(after sign: Character) throws -> String {
    position += 1
    guard let character = peek(), isNameStart(character) else { throw failure("Expected a name after \(sign)") }
    return readName()
  }

  private mutating func word() -> FormatToken.Kind {
    let start = position
    let word = readName()
    guard peek() == ":", peek(1) != "=" else { return .word(word) }
    let end = position
    while peek() == ":" {
      position += 1
      if let character = peek(), isNameStart(character) { _ = readName() }
    }
    let name = String(text[start..<position])
    var ahead = 0
    while let character = peek(ahead), character.isWhitespace { ahead += 1 }
    if peek(ahead) == "(", name.hasSuffix(":") { return .functionName(name) }
    position = end
    return .word(word)
  }

  private mutating func quoted(by quote: Character) throws -> String {
    let start = position
    position += 1
    var result = ""
    while let character = peek() {
      position += 1
      if character == quote { return result }
      guard character == "\\" else {
        result.append(character)
        continue
      }
      result.append(try escaped(start: start))
    }
    throw failure("Expected the closing \(quote) of the string that begins at column \(start + 1)")
  }

  private mutating func escaped(start: Int) throws -> Character {
    guard let character = peek() else { throw failure("Expected a character after \\") }
    position += 1
    switch character {
    case "n": return "\n"
    case "r": return "\r"
    case "t": return "\t"
    case "u", "U", "x":
      let digits = String(text[position...].prefix(character == "x" ? 2 : character == "u" ? 4 : 8))
      guard let code = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(code) else {
        throw failure("Expected the hexadecimal digits of a character after \\\(character)")
      }
      position += digits.count
      return Character(scalar)
    default: return character
    }
  }

  private mutating func number() throws -> FormatToken.Kind {
    let start = position
    if peek() == "0", let radix = peek(1).flatMap({ ["x": 16, "o": 8, "b": 2][$0.lowercased()] }) {
      position += 2
      let digits = readName()
      guard let value = Int64(digits, radix: radix) else { throw failure("Not a number", at: start) }
      return .integer(value)
    }
    digits()
    var isReal = false
    if peek() == ".", let digit = peek(1), digit.isASCII, digit.isNumber {
      isReal = true
      position += 1
      digits()
    }
    if peek() == "e" || peek() == "E" {
      let sign = peek(1) == "+" || peek(1) == "-" ? 1 : 0
      if let digit = peek(1 + sign), digit.isASCII, digit.isNumber {
        isReal = true
        position += 1 + sign
        digits()
      }
    }
    if let character = peek(), isNameStart(character) { throw failure("Not a number", at: start) }
    let literal = String(text[start..<position])
    if !isReal, let value = Int64(literal) { return .integer(value) }
    guard let value = Double(literal) else { throw failure("Not a number", at: start) }
    return .real(value)
  }

  private mutating func digits() {
    while let character = peek(), character.isASCII, character.isNumber { position += 1 }
  }

  private mutating func specifier() throws -> FormatSpecifier {
    let start = position
    position += 1
    if peek() == "%" { throw failure("A percent sign means something inside quotes only", at: start) }
    var isLong = false
    while let character = peek(), "0123456789.+- hlqjzt".contains(character) {
      if "lqjzt".contains(character) { isLong = true }
      position += 1
    }
    guard let character = peek(), let specifier = FormatSpecifier(character, isLong: isLong) else {
      throw failure("Expected %@, %K, or a number's format such as %d or %f", at: start)
    }
    position += 1
    return specifier
  }

  private mutating func symbol() throws -> String {
    let known = ["&&", "||", "==", "=<", "=>", "!=", "<>", "<=", ">=", "<<", ">>", "**", ":="]
    if let first = peek(), let second = peek(1), known.contains("\(first)\(second)") {
      position += 2
      return "\(first)\(second)"
    }
    guard let character = peek(), "(){}[],.+-*/&|^~<>=!".contains(character) else {
      throw failure("Unexpected character")
    }
    position += 1
    return String(character)
  }
}

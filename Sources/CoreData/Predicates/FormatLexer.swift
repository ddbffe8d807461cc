/// A token of a predicate's text: a word, a number, a string or a sign.
struct FormatToken {
  enum Kind: Equatable {
    case word(String)
    /// `#name`: a key, even if the word is reserved.
    case escapedWord(String)
    /// A function's name with its colons, `add:to:`, right before its parenthesis.
    case functionName(String)
    /// `@count` and other collection operators.
    case operatorKey(String)
    case variable(String)
    case integer(Int64)
    case real(Double)
    case string(String)
    /// `<00ff>`, as which data prints.
    case data(Data)
    case argument(FormatSpecifier)
    case symbol(String)
    case end
  }

  let kind: Kind
  /// The offset in Unicode scalars from the start of the text.
  let position: Int
  /// The meaning of a reserved word; nil for other tokens.
  let keyword: FormatKeyword?
  /// The function of an arithmetic operator with its precedence; a higher level binds tighter.
  let infix: (function: PredicateFunction, level: Int)?

  init(kind: Kind, position: Int) {
    self.kind = kind
    self.position = position
    self.keyword = if case .word(let word) = kind { FormatKeyword(rawValue: word.uppercased()) } else { nil }
    self.infix = if case .symbol(let symbol) = kind { FormatToken.infix(symbol) } else { nil }
  }

  private static func infix(_ symbol: String) -> (function: PredicateFunction, level: Int)? {
    switch symbol {
    case "|": (.bitwiseOr, 0)
    case "^": (.bitwiseXor, 1)
    case "&": (.bitwiseAnd, 2)
    case "<<": (.leftShift, 3)
    case ">>": (.rightShift, 3)
    case "+": (.add, 4)
    case "-": (.subtract, 4)
    case "*": (.multiply, 5)
    case "/": (.divide, 5)
    case "**": (.power, 6)
    default: nil
    }
  }
}

/// The reserved words, in any case.
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

/// Splits a predicate's text into tokens.
struct FormatLexer {
  private let format: String
  private let text: [Unicode.Scalar]
  private var position = 0

  static func tokens(of format: String) throws -> [FormatToken] {
    var lexer = FormatLexer(format: format, text: Array(format.unicodeScalars))
    var tokens: [FormatToken] = []
    repeat { tokens.append(try lexer.next()) } while tokens.last?.kind != .end
    return tokens
  }

  private init(format: String, text: [Unicode.Scalar]) {
    self.format = format
    self.text = text
  }

  private mutating func next() throws -> FormatToken {
    while let character = peek(), isSpace(character) { position += 1 }
    let start = position
    guard let character = peek() else { return FormatToken(kind: .end, position: start) }
    let kind: FormatToken.Kind
    switch character {
    case "'", "\"": kind = .string(try quoted(by: character))
    case "$": kind = .variable(try name(after: "$"))
    case "#": kind = .escapedWord(try name(after: "#"))
    case "@": kind = .operatorKey("@" + (try name(after: "@")))
    case "%": kind = .argument(try specifier())
    case "<": kind = try data() ?? .symbol(symbol())
    case _ where isDigit(character): kind = try number()
    case _ where isNameStart(character): kind = word()
    default: kind = .symbol(try symbol())
    }
    return FormatToken(kind: kind, position: start)
  }

  private func peek(_ offset: Int = 0) -> Unicode.Scalar? {
    position + offset < text.count ? text[position + offset] : nil
  }

  private func failure(_ message: String, at position: Int? = nil) -> PredicateSyntaxError {
    PredicateSyntaxError(format: format, scalar: position ?? self.position, message: message)
  }

  private func isSpace(_ scalar: Unicode.Scalar) -> Bool {
    scalar == " " || scalar.properties.isWhitespace
  }

  private func isDigit(_ scalar: Unicode.Scalar) -> Bool { scalar >= "0" && scalar <= "9" }

  private func isNameStart(_ scalar: Unicode.Scalar) -> Bool {
    scalar.isASCII
      ? (scalar >= "a" && scalar <= "z") || (scalar >= "A" && scalar <= "Z") || scalar == "_"
      : scalar.properties.isIDStart
  }

  private func isNamePart(_ scalar: Unicode.Scalar) -> Bool {
    isNameStart(scalar) || isDigit(scalar) || (!scalar.isASCII && scalar.properties.isIDContinue)
  }

  private func string(_ range: Range<Int>) -> String {
    var result = String.UnicodeScalarView()
    result.append(contentsOf: text[range])
    return String(result)
  }

  private mutating func readName() -> String {
    let start = position
    while let character = peek(), isNamePart(character) { position += 1 }
    return string(start..<position)
  }

  private mutating func name(after sign: Unicode.Scalar) throws -> String {
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
    let name = string(start..<position)
    var ahead = 0
    while let character = peek(ahead), isSpace(character) { ahead += 1 }
    if peek(ahead) == "(", name.hasSuffix(":") { return .functionName(name) }
    position = end
    return .word(word)
  }

  private mutating func quoted(by quote: Unicode.Scalar) throws -> String {
    let start = position
    position += 1
    var result = String.UnicodeScalarView()
    while let character = peek() {
      position += 1
      if character == quote { return String(result) }
      guard character == "\\" else {
        result.append(character)
        continue
      }
      result.append(try escaped(start: start))
    }
    throw failure("Expected the closing \(quote) of the string that begins at column \(start + 1)")
  }

  private mutating func escaped(start: Int) throws -> Unicode.Scalar {
    guard let character = peek() else { throw failure("Expected a character after \\") }
    position += 1
    switch character {
    case "n": return "\n"
    case "r": return "\r"
    case "t": return "\t"
    case "u", "U", "x":
      let count = character == "x" ? 2 : character == "u" ? 4 : 8
      let digits = string(position..<min(position + count, text.count))
      guard let code = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(code) else {
        throw failure("Expected the hexadecimal digits of a character after \\\(character)")
      }
      position += digits.unicodeScalars.count
      return scalar
    default: return character
    }
  }

  private mutating func number() throws -> FormatToken.Kind {
    let start = position
    if peek() == "0", let radix = peek(1).flatMap(radix) {
      position += 2
      let digits = readName()
      guard let value = Int64(digits, radix: radix) else { throw failure("Not a number", at: start) }
      return .integer(value)
    }
    digits()
    var isReal = false
    if peek() == ".", let digit = peek(1), isDigit(digit) {
      isReal = true
      position += 1
      digits()
    }
    if peek() == "e" || peek() == "E" {
      let sign = peek(1) == "+" || peek(1) == "-" ? 1 : 0
      if let digit = peek(1 + sign), isDigit(digit) {
        isReal = true
        position += 1 + sign
        digits()
      }
    }
    if let character = peek(), isNameStart(character) { throw failure("Not a number", at: start) }
    let literal = string(start..<position)
    if !isReal, let value = Int64(literal) { return .integer(value) }
    guard let value = Double(literal) else { throw failure("Not a number", at: start) }
    return .real(value)
  }

  private func radix(_ letter: Unicode.Scalar) -> Int? {
    switch letter {
    case "x", "X": 16
    case "o", "O": 8
    case "b", "B": 2
    default: nil
    }
  }

  private mutating func digits() {
    while let character = peek(), isDigit(character) { position += 1 }
  }

  /// Nil if what follows is something else, such as a comparison.
  private mutating func data() -> FormatToken.Kind? {
    var end = position + 1
    while end < text.count, text[end].properties.isASCIIHexDigit { end += 1 }
    let length = end - position - 1
    guard end < text.count, text[end] == ">", length > 0, length.isMultiple(of: 2) else { return nil }
    let bytes = stride(from: position + 1, to: end, by: 2).compactMap { UInt8(string($0..<$0 + 2), radix: 16) }
    position = end + 1
    return .data(Data(bytes))
  }

  private mutating func specifier() throws -> FormatSpecifier {
    let start = position
    position += 1
    if peek() == "%" { throw failure("A percent sign means something inside quotes only", at: start) }
    var isLong = false
    while let character = peek(), "0123456789.+- hlqjzt".unicodeScalars.contains(character) {
      if "lqjzt".unicodeScalars.contains(character) { isLong = true }
      position += 1
    }
    guard let character = peek(), let specifier = FormatSpecifier(character, isLong: isLong) else {
      throw failure("Expected %@, %K, or a number's format such as %d or %f", at: start)
    }
    position += 1
    return specifier
  }

  private mutating func symbol() throws -> String {
    if let first = peek(), let second = peek(1) {
      switch (first, second) {
      case ("&", "&"), ("|", "|"), ("=", "="), ("=", "<"), ("=", ">"), ("!", "="), ("<", ">"), ("<", "="), (">", "="),
        ("<", "<"), (">", ">"), ("*", "*"), (":", "="):
        position += 2
        return string(position - 2..<position)
      default: break
      }
    }
    guard let character = peek(), "(){}[],.+-*/&|^~<>=!".unicodeScalars.contains(character) else {
      throw failure("Unexpected character")
    }
    position += 1
    return String(character)
  }
}

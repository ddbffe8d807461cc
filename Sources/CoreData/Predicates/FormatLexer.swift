/// A token of a predicate's text: a word, a number, a string or a sign.
///
/// Keywords and infix operators are looked up once, when the token is made, since the parser asks each token several
/// times. `position` goes into error messages.
///
/// ```text
/// pages >= 0x64 AND author.name BEGINSWITH[c] %@
///
/// pages        .word            0x64       .integer(100)
/// >=           .symbol          AND        .word, keyword .and
/// author       .word            .          .symbol
/// name         .word            BEGINSWITH .word, keyword .beginsWith
/// [ c ]        .symbol .word .symbol
/// %@           .argument(.object)          (then .end)
/// ```
struct FormatToken {
  enum Kind: Equatable {
    /// A name of letters, digits and underscores. It may be a keyword: then `keyword` says which, and the parser
    /// decides by the place whether it is one. `FIRST` is a key at the start of a path and an index inside of brackets.
    case word(String)
    /// `#name`: a key, even if the word is reserved.
    ///
    /// A property that is called "in" is written `#in`, and `canonicalFormat` prints it so.
    case escapedWord(String)
    /// A function's name with its colons, `add:to:`, right before its parenthesis.
    ///
    /// The colons belong to the name, which no other token has. A name without colons, `sum(`, is a word before a
    /// parenthesis.
    case functionName(String)
    /// `@count` and other collection operators.
    ///
    /// It includes the `@`. The parser refuses an operator that does not exist, at its place in the text.
    case operatorKey(String)
    /// The name after `$`, without it.
    case variable(String)
    /// Decimal, or with the prefix 0x, 0o or 0b. A minus is a token of its own; the parser joins it with the number. So
    /// the smallest `Int64`, whose digits do not fit, becomes a double.
    case integer(Int64)
    /// A number with a fraction or an exponent, and a whole number with more digits than `Int64` holds.
    case real(Double)
    /// The content of a text in single or double quotes, with its escapes resolved.
    case string(String)
    /// `<00ff>`, as which data prints.
    case data(Data)
    /// A `%…`, which stands for the next argument.
    case argument(FormatSpecifier)
    /// One of the signs that `symbol()` knows, the longest that fits.
    case symbol(String)
    /// Behind the last token, so that looking ahead needs no check for the end.
    case end
  }

  let kind: Kind
  /// The offset in Unicode scalars from the start of the text.
  let position: Int
  /// The meaning of a reserved word; nil for other tokens.
  let keyword: FormatKeyword?
  /// The function of an arithmetic operator with its precedence; a higher level binds tighter.
  ///
  /// The precedences are C's, which Apple does not document for predicates: see `FormatParser`.
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
///
/// A word is reserved where the grammar expects an expression. After a dot each of them is a key: `author.first` and
/// `rules.in` need no `#`. `FIRST`, `LAST` and `SIZE` are reserved inside of brackets only. `FETCH` is no keyword: it
/// is a word before a parenthesis, so a property may have this name.
///
/// ```text
/// AND OR NOT                                       connect predicates; also && || !
/// IN BETWEEN CONTAINS BEGINSWITH … MATCHES         operators of a comparison
/// ANY SOME ALL NONE                                before a comparison's left side
/// TRUEPREDICATE FALSEPREDICATE                     predicates by themselves
/// TRUE YES FALSE NO NULL NIL SELF ANYKEY           values
/// CAST FUNCTION SUBQUERY TERNARY                   calls, with a parenthesis behind
/// UNION INTERSECT MINUS                            operators on collections
/// FIRST LAST SIZE                                  indexes, in brackets
/// ```
///
/// Source: Predicate Programming Guide, "Reserved Words".
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
///
/// All tokens are made before the parser starts, for two reasons: the arguments can be fetched for all specifiers at
/// once, which a C list requires, and `PredicateGroups` can look through the parentheses. The text is an array of
/// Unicode scalars, since the grammar looks at single characters and ahead by a few; `Character` would join a quote
/// with a combining mark behind it.
///
/// ```text
/// token    = word | "#" name | "@" name | "$" name | "%" specifier
///          | number | string | data | symbol
/// word     = name [ ":" { name ":" } ]      the colons only if "(" follows: add:to:(
/// name     = letter { letter | digit }      a letter is also _, and what Unicode calls ID_Start
/// number   = digits [ "." digits ] [ e [sign] digits ] | 0x hex | 0o octal | 0b binary
/// string   = "'" { character | escape } "'" | '"' { character | escape } '"'
/// escape   = "\" ( n | r | t | xHH | uHHHH | UHHHHHHHH | any other character, for itself )
/// data     = "<" hex hex { hex hex } ">"
/// symbol   = && || == =< => != <> <= >= << >> ** := or one of (){}[],.+-*/&|^~<>=!
/// ```
///
/// It takes time proportional to the text. Each error says the column and what was expected there.
struct FormatLexer {
  private let format: String
  private let text: [Unicode.Scalar]
  private var position = 0

  /// The last token is always `.end`.
  ///
  /// - Throws: `PredicateSyntaxError` for a text with a string that is not closed, a number such as `12ab`, a sign that
  ///   the grammar does not have, or a `%` without a known conversion.
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

  /// The next token, after any whitespace. The first character decides its kind, except for `<`, which may begin data.
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

  /// The character at the position, or some characters behind it; nil beyond the end.
  private func peek(_ offset: Int = 0) -> Unicode.Scalar? {
    position + offset < text.count ? text[position + offset] : nil
  }

  /// An error at the current position, or where a token began that turned out to be wrong at its end.
  private func failure(_ message: String, at position: Int? = nil) -> PredicateSyntaxError {
    PredicateSyntaxError(format: format, scalar: position ?? self.position, message: message)
  }

  private func isSpace(_ scalar: Unicode.Scalar) -> Bool {
    scalar == " " || scalar.properties.isWhitespace
  }

  private func isDigit(_ scalar: Unicode.Scalar) -> Bool { scalar >= "0" && scalar <= "9" }

  /// ASCII is decided by comparisons, since looking up Unicode's properties takes longer and almost all texts are
  /// ASCII. Names in other scripts follow Unicode's rules for identifiers.
  ///
  /// Source: https://www.unicode.org/reports/tr31/, "Default Identifiers".
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

  /// The letters and digits from here on. Also used for the digits after 0x, so that a wrong one becomes part of the
  /// number and is reported with it.
  private mutating func readName() -> String {
    let start = position
    while let character = peek(), isNamePart(character) { position += 1 }
    return string(start..<position)
  }

  /// The name behind `$`, `#` or `@`. A sign alone is an error.
  private mutating func name(after sign: Unicode.Scalar) throws -> String {
    position += 1
    guard let character = peek(), isNameStart(character) else { throw failure("Expected a name after \(sign)") }
    return readName()
  }

  /// A word, or a function's name with its colons.
  ///
  /// Whether the colons belong to the word is known only behind them: `add:to:(a, b)` is a function, and in
  /// `TERNARY(p, a:b)` the colon is an error. So this reads on as far as the name may go and returns to the end of the
  /// first word if no parenthesis follows. A colon before `=` is the assignment operator.
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

  /// The text up to the closing quote. The other kind of quote is an ordinary character inside of it, and so are `%@`,
  /// `%K` and `%%`: nothing is substituted inside of quotes.
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

  /// The character that an escape means. Those that `canonicalFormat` prints (quote, backslash, line feed, carriage
  /// return, tab) are read here, so that a text survives printing and parsing. The backslashes of a LIKE or MATCHES
  /// pattern in quotes must be doubled: `MATCHES '\\d+'`.
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

  /// A number without a sign. A point needs a digit behind it, so `pages.1` is not a number and `1.` leaves the point
  /// to the parser; an `e` needs a digit too. A letter right behind a number is an error, and not a second token,
  /// because `12pages` is a typing error in any case.
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

  /// The base that the letter after a leading 0 means; nil for other letters. A plain leading 0 has no meaning: `010`
  /// is ten.
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

  /// Data, `<00ff>`; nil if something else follows, such as a comparison.
  ///
  /// `<` is also the comparison, so this looks ahead: only an even number of hexadecimal
  /// digits, more than none, right between the two signs is data. Put a space behind `<` where a number follows in a
  /// text that also has `>`. Empty data is the symbol `<>`, which the parser takes for data where it expects a value.
  private mutating func data() -> FormatToken.Kind? {
    var end = position + 1
    while end < text.count, text[end].properties.isASCIIHexDigit { end += 1 }
    let length = end - position - 1
    guard end < text.count, text[end] == ">", length > 0, length.isMultiple(of: 2) else { return nil }
    let bytes = stride(from: position + 1, to: end, by: 2).compactMap { UInt8(string($0..<$0 + 2), radix: 16) }
    position = end + 1
    return .data(Data(bytes))
  }

  /// A conversion such as `%@` or `%5.2lf`. Flags, width and precision are read and have no meaning, as there is no
  /// text to pad; the length letters decide between 32 and 64 bits.
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

  /// The longest sign that begins here. Two characters are tried first, so that `<=` is not read as `<` and `=`; three
  /// never belong together. A sign that is none of the grammar's, such as `;` or a lone `:`, is an error.
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

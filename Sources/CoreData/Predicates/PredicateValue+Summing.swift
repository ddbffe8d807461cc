extension PredicateValue {
  /// What a value counts as in sums and averages: a number as itself, a date as its seconds, texts and bytes as the
  /// number that they begin with, or 0. Nil, objects and collections are left out.
  ///
  /// SQLite's `SUM` counts values in the same way; there a UUID is 16 bytes and a URL a text.
  /// Source: https://www.sqlite.org/lang_aggfunc.html#sumunc
  ///
  /// ```text
  /// "12 km"    12.0        "km"      0.0        "12"       12 (an integer)
  /// Date       its seconds since 2001           Data       the number that its bytes spell, or 0
  /// ```
  ///
  /// An integer remains one, so a sum of integers is exact; a Bool is an integer.
  var summand: Any? {
    switch self {
    case .integer(let value): value
    case .real(let value), .date(let value): value
    case .decimal(let value): value
    case .string(let text), .url(let text): NumericPrefix.of(text.utf8)
    case .data(let bytes): NumericPrefix.prefix(of: bytes).value
    case .uuid(let value): withUnsafeBytes(of: value.uuid) { NumericPrefix.prefix(of: $0).value }
    case .null, .object, .collection, .opaque: nil
    }
  }
}

/// The number that a text begins with, as SQLite converts a text to a number.
///
/// SQLite's `SUM` converts each value so, and predicates in memory have to give the same sum. `Double(_:)` alone would
/// not do: it accepts nothing but the number, and reads "nan", "inf" and hexadecimal forms, which SQLite reads as 0.
///
/// Source: https://www.sqlite.org/lang_expr.html#castexpr
private enum NumericPrefix {
  /// An integer if the whole text is one, between spaces, and fits into 64 bits.
  ///
  /// "7" is the integer 7, "7.0" and "7 km" are doubles. So the sum of texts is exact as long as all of them are whole.
  static func of(_ text: some Collection<UInt8>) -> Any {
    let number = prefix(of: text)
    if number.isWhole, let integer = Int64(number.digits) { return integer }
    return number.value
  }

  /// The part of a text that was read as a number.
  struct Prefix {
    /// The sign, digits, point and exponent.
    let digits: String
    /// Whether nothing but digits follows the sign, and nothing but spaces the digits.
    let isWhole: Bool

    var value: Double { Double(digits) ?? 0 }
  }

  /// Reads spaces, a sign, digits, a point with digits, an exponent, in this order, each of them optional except for at
  /// least one digit. Works on bytes, since a UUID is no text.
  static func prefix(of bytes: some Collection<UInt8>) -> Prefix {
    var unreadBytes = bytes.drop(while: isSpace)[...]
    var number: [UInt8] = []
    func take(while accept: (UInt8) -> Bool) -> Int {
      let taken = unreadBytes.prefix(while: accept)
      number += taken
      unreadBytes = unreadBytes.dropFirst(taken.count)
      return taken.count
    }
    func takeSign() {
      guard let sign = unreadBytes.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") else { return }
      number.append(sign)
      unreadBytes = unreadBytes.dropFirst()
    }
    takeSign()
    var count = take(while: isDigit)
    var isWhole = true
    if unreadBytes.first == UInt8(ascii: ".") {
      isWhole = false
      number.append(UInt8(ascii: "."))
      unreadBytes = unreadBytes.dropFirst()
      count += take(while: isDigit)
    }
    guard count > 0 else { return Prefix(digits: "0", isWhole: false) }
    // Swift reads no point without a digit after it.
    number.append(contentsOf: isWhole ? [] : [UInt8(ascii: "0")])
    if let letter = unreadBytes.first, letter | 0x20 == UInt8(ascii: "e") {
      isWhole = false
      let (mantissa, afterMantissa) = (number, unreadBytes)
      number.append(UInt8(ascii: "e"))
      unreadBytes = unreadBytes.dropFirst()
      takeSign()
      // An "e" without a number is not part of it.
      if take(while: isDigit) == 0 { (number, unreadBytes) = (mantissa, afterMantissa) }
    }
    return Prefix(
      digits: String(decoding: number, as: UTF8.self), isWhole: isWhole && unreadBytes.drop(while: isSpace).isEmpty)
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

  /// Space, tab, line feed, vertical tab, form feed and carriage return.
  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }
}

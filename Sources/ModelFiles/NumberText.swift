/// A text that is a decimal number from its first character to its last: `-1234.5`, `.5`, `1e-3`.
///
/// Foundation's `Decimal(string:)` reads the longest prefix that is a number, so it reads "1,234.56" as 1. `Double(_:)`
/// also accepts hexadecimal numbers, infinities and NaN. Use this for text that a person or a file supplies.
package struct NumberText: Hashable, Sendable {
  private let isNegative: Bool
  /// The significant digits, without zeros at either end; none for 0.
  private let digits: Substring
  /// The power of ten that multiplies the digits, read as a whole number.
  private let exponent: Int
  private let text: String

  /// Nil unless the whole text is an optional sign, digits with at most one point, and an optional exponent.
  package init?(_ text: String) {
    var unreadText = text.utf8[...]
    var isNegative = false
    if let sign = unreadText.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
      isNegative = sign == UInt8(ascii: "-")
      unreadText.removeFirst()
    }
    let whole = Self.takeDigits(&unreadText)
    var fraction = ""
    if unreadText.first == UInt8(ascii: ".") {
      unreadText.removeFirst()
      fraction = Self.takeDigits(&unreadText)
    }
    guard !(whole.isEmpty && fraction.isEmpty), let power = Self.takeExponent(&unreadText), unreadText.isEmpty else {
      return nil
    }
    let significantDigits = (whole + fraction).drop { $0 == "0" }
    let trailing = significantDigits.reversed().prefix { $0 == "0" }.count
    self.isNegative = isNegative
    digits = significantDigits.dropLast(trailing)
    exponent = digits.isEmpty ? 0 : power - fraction.utf8.count + trailing
    self.text = text
  }

  private static func takeDigits(_ unreadText: inout Substring.UTF8View) -> String {
    let digits = unreadText.prefix { (0x30...0x39).contains($0) }
    unreadText = unreadText.dropFirst(digits.count)
    return String(decoding: digits, as: UTF8.self)
  }

  /// The exponent, 0 for none; nil for an "e" without a number, and for an exponent that no supported number has.
  private static func takeExponent(_ unreadText: inout Substring.UTF8View) -> Int? {
    guard let letter = unreadText.first, letter == UInt8(ascii: "e") || letter == UInt8(ascii: "E") else { return 0 }
    unreadText.removeFirst()
    var sign = 1
    if let first = unreadText.first, first == UInt8(ascii: "-") || first == UInt8(ascii: "+") {
      sign = first == UInt8(ascii: "-") ? -1 : 1
      unreadText.removeFirst()
    }
    let digits = takeDigits(&unreadText)
    guard !digits.isEmpty, let number = Int(digits), number < 1_000_000 else { return nil }
    return sign * number
  }

  /// The largest number of digits of a `Decimal`, and its exponents.
  private static let mostDigits = 38
  private static let exponents = -128...127

  /// The exact number; nil if it has more than 38 digits, or is too large or too small for a `Decimal`.
  package var decimal: Decimal? {
    if digits.isEmpty { return 0 }
    guard digits.utf8.count <= Self.mostDigits, exponent >= Self.exponents.lowerBound else { return nil }
    // Trailing zeros allow a larger exponent.
    let zeros = max(0, exponent - Self.exponents.upperBound)
    guard digits.utf8.count + zeros <= Self.mostDigits else { return nil }
    let mantissa = digits + String(repeating: "0", count: zeros)
    return Decimal(string: "\(isNegative ? "-" : "")\(mantissa)e\(exponent - zeros)")
  }

  /// The number if it is whole and in the range of the type: "12", "12.0" and "1.2e1" are.
  package func integer<Integer: FixedWidthInteger>(_ type: Integer.Type = Integer.self) -> Integer? {
    if digits.isEmpty { return 0 }
    // No integer of 64 bits has more than 20 digits.
    guard exponent >= 0, digits.utf8.count + exponent <= 20 else { return nil }
    return Integer("\(isNegative ? "-" : "")\(digits)" + String(repeating: "0", count: exponent))
  }

  /// The nearest 64-bit number; nil if the number is too large.
  package var double: Double? { Double(text).flatMap { $0.isFinite ? $0 : nil } }

  /// The nearest 32-bit number; nil if the number is too large.
  package var float: Float? { Float(text).flatMap { $0.isFinite ? $0 : nil } }
}

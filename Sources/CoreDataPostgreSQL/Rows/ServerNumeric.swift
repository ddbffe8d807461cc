/// Decimals in the server's binary format: digits to the base of 10,000.
///
/// ```text
/// 1234567.5        00 03   00 01   00 00   00 01     007B  11D7  1388
///                  digits  weight  sign    places    123   4567  5000
///                                                    123 × 10,000¹ + 4567 × 10,000⁰ + 5000 × 10,000⁻¹
/// -0.0001          00 01   FF FF   40 00   00 04     0001
/// NaN              00 00   00 00   C0 00   00 00
/// ```
///
/// `Decimal` has 38 digits and an exponent from -128 to 127, and `numeric` has more of both: every decimal is kept
/// exactly. Of a `numeric` with more digits, which a person or a sum has made, memory gets what a `Decimal` holds.
/// "Infinity" of version 14 and later is read as NaN.
///
/// Source: `numeric_send` of PostgreSQL 15: the number of digits, the exponent of the first one, the sign, the number
/// of decimal places, the digits; 16 bits each.
enum ServerNumeric {
  private static let negative: UInt16 = 0x4000
  private static let notANumber: UInt16 = 0xC000

  /// The bytes of a decimal, by way of its text: leading and trailing groups of zeros are left out, as the server does.
  static func bytes(_ decimal: Decimal) -> [UInt8] {
    if decimal.isNaN { return bytes([], weight: 0, sign: notANumber, scale: 0) }
    let text = decimal.description
    let isNegative = text.hasPrefix("-")
    let parts = text.drop { $0 == "-" }.split(separator: ".", omittingEmptySubsequences: false)
    let whole = Array(parts[0].utf8)
    let fraction = parts.count > 1 ? Array(parts[1].utf8) : []
    var padded = [UInt8](repeating: UInt8(ascii: "0"), count: (4 - whole.count % 4) % 4)
    padded += whole
    padded += fraction
    padded += [UInt8](repeating: UInt8(ascii: "0"), count: (4 - fraction.count % 4) % 4)
    var digits = stride(from: 0, to: padded.count, by: 4).map { start in
      padded[start..<start + 4].reduce(UInt16(0)) { $0 * 10 + UInt16($1 - UInt8(ascii: "0")) }
    }
    var weight = (whole.count + 3) / 4 - 1
    while digits.first == 0 {
      digits.removeFirst()
      weight -= 1
    }
    while digits.last == 0 { digits.removeLast() }
    return bytes(digits, weight: weight, sign: isNegative ? negative : 0, scale: fraction.count)
  }

  /// The header of four numbers of 16 bits, and the groups behind it.
  ///
  /// - Parameters:
  ///   - weight: the power of 10,000 of the first group.
  ///   - scale: the number of decimal places that the server prints.
  private static func bytes(_ digits: [UInt16], weight: Int, sign: UInt16, scale: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(bigEndian: Int16(digits.count))
    bytes.append(bigEndian: Int16(weight))
    bytes.append(bigEndian: sign)
    bytes.append(bigEndian: Int16(scale))
    for digit in digits { bytes.append(bigEndian: digit) }
    return bytes
  }

  /// The decimal of bytes, by way of a text with a point before the fraction.
  static func decimal(_ bytes: UnsafeRawBufferPointer) -> Decimal {
    let count = Int(bytes.bigEndian(Int16.self))
    let weight = Int(bytes.bigEndian(Int16.self, at: 2))
    let sign = bytes.bigEndian(UInt16.self, at: 4)
    let scale = Int(bytes.bigEndian(Int16.self, at: 6))
    // Infinities are not numbers here either.
    if sign & notANumber == notANumber { return .nan }
    var text = sign == negative ? "-" : ""
    // A group that was left out is zero: those before the first and behind the last.
    func digits(_ position: Int) -> String {
      guard position >= 0, position < count else { return "0000" }
      let digits = String(bytes.bigEndian(UInt16.self, at: 8 + position * 2))
      return String(repeating: "0", count: 4 - digits.count) + digits
    }
    text += weight < 0 ? "0" : (0...weight).map(digits).joined()
    if scale > 0 {
      var fraction = ""
      var position = weight + 1
      while fraction.utf8.count < scale {
        fraction += digits(position)
        position += 1
      }
      text += "." + fraction.prefix(scale)
    }
    return Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")) ?? .nan
  }
}

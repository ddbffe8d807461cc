/// The two conversions that SQLite makes before it compares a constant with a column of another type.
/// `Comparison.Affinity` decides which side is converted.
extension PredicateValue {
  /// A number as text, as a column of text compares it: `9` equals "9". Any other value unchanged.
  ///
  /// A double that is whole becomes a text without a point, "9", which is how `CAST(9.0, "NSString")` prints here.
  ///
  /// Source: https://www.sqlite.org/datatype3.html, "Type Conversions Prior To Comparison".
  var asText: PredicateValue {
    switch self {
    case .integer, .real, .decimal: return PredicateValue(PredicateCast.cast(number, to: "NSString"))
    default: return self
    }
  }

  /// A text that is a number as a whole, as a column of numbers compares it: "9" equals 9. Any other value unchanged.
  ///
  /// "9 km" and " 9" are no numbers as a whole, and stay texts, which equal no number.
  var asNumber: PredicateValue {
    guard case .string(let text) = self, let number = PredicateCast.cast(text, to: "NSNumber") else { return self }
    return PredicateValue(number)
  }

  /// The constant in the form in which a column that holds `value` compares it.
  ///
  /// The value stands for the column: a column of texts holds texts only. A nil tells nothing about its column, and no
  /// conversion is needed, as nothing but nil equals it.
  func constant(comparedWith value: PredicateValue) -> PredicateValue {
    switch value {
    case .string: asText
    case .integer, .real, .decimal: asNumber
    default: self
    }
  }

  private var number: Any? {
    switch self {
    case .integer(let number): number
    case .real(let number): number
    case .decimal(let number): number
    default: nil
    }
  }
}

/// The orders of strings that sort descriptors select by name, the same in memory and in SQLite.
///
/// The localized orders use no locale: letters without marks first, then marks, then case with lower before upper, then
/// code points. `localizedStandardCompare:` also compares digits as numbers.
///
/// In SQLite each order but `binary` is a collation of the connection,
/// `ORDER BY t0.ZTITLE COLLATE CD_LOCALIZED_STANDARD ASC`. An index of the model is in binary order, so it serves a
/// sort without a selector only; the others sort the rows that the fetch found.
///
/// ```text
/// binary                     "Zoo" "apple" "file10" "file9" "Äpfel"
/// caseInsensitive            "apple" "file10" "file9" "Zoo" "Äpfel"
/// localized                  "Äpfel" "apple" "file10" "file9" "Zoo"
/// localizedStandard          "Äpfel" "apple" "file9" "file10" "Zoo"
/// ```
///
/// Invariant: the order is total and the same on every machine, because SQLite may keep it in temporary b-trees and
/// compares results of one run with another.
///
/// Source: https://www.sqlite.org/c3ref/create_collation.html, which lists what a collation has to fulfil.
enum StringOrdering: String, CaseIterable {
  case binary = "compare:"
  case caseInsensitive = "caseInsensitiveCompare:"
  case localized = "localizedCompare:"
  case localizedCaseInsensitive = "localizedCaseInsensitiveCompare:"
  case localizedStandard = "localizedStandardCompare:"

  /// Nil for a selector that is none of the five; callers take `binary` then.
  init?(selector: Selector) {
    self.init(rawValue: selector.name)
  }

  /// The order of two texts. The localized orders compare without marks and case first, and look at the finer
  /// differences only if that gives no difference: "resume", "Resume", "résumé", then "resumes".
  func compare(_ a: String, _ b: String) -> ComparisonResult {
    switch self {
    case .binary: StringMatching.order(a, b)
    case .caseInsensitive: order(a, b, [.caseInsensitive])
    case .localizedCaseInsensitive:
      first(order(a, b, [.caseInsensitive, .diacriticInsensitive])) { order(a, b, [.caseInsensitive]) }
    case .localized: first(order(a, b, [.caseInsensitive, .diacriticInsensitive])) { finer(a, b) }
    case .localizedStandard: first(numeric(a, b)) { finer(a, b) }
    }
  }

  /// The binary order of the folded texts.
  private func order(_ a: String, _ b: String, _ options: StringMatching.Options) -> ComparisonResult {
    StringMatching.order(StringMatching.folded(a, options), StringMatching.folded(b, options))
  }

  /// The result, or if it is "same" that of the next finer comparison.
  private func first(_ result: ComparisonResult, _ otherwise: () -> ComparisonResult) -> ComparisonResult {
    result == .orderedSame ? otherwise() : result
  }

  /// The order of strings that differ in marks or case only. Swapping the case of code points puts lower before upper.
  private func finer(_ a: String, _ b: String) -> ComparisonResult {
    first(order(a, b, [.caseInsensitive])) {
      PredicateValue.reversed(StringMatching.order(a, b))
    }
  }

  /// The order without marks and case in which runs of digits count as numbers: "file9" before "file10". Leading zeros
  /// do not count here; the finer comparison puts "file09" and "file9" in a fixed order.
  private func numeric(_ a: String, _ b: String) -> ComparisonResult {
    let options: StringMatching.Options = [.caseInsensitive, .diacriticInsensitive]
    var left = Substring(StringMatching.folded(a, options)).unicodeScalars
    var right = Substring(StringMatching.folded(b, options)).unicodeScalars
    while let x = left.first, let y = right.first {
      let result: ComparisonResult
      if isDigit(x), isDigit(y) {
        result = StringOrdering.compare(digits: takeDigits(&left), takeDigits(&right))
      } else {
        result = PredicateValue.order(x.value, y.value) ?? .orderedSame
        left.removeFirst()
        right.removeFirst()
      }
      if result != .orderedSame { return result }
    }
    return PredicateValue.order(left.isEmpty ? 0 : 1, right.isEmpty ? 0 : 1) ?? .orderedSame
  }

  private func isDigit(_ scalar: Unicode.Scalar) -> Bool { scalar.value >= 0x30 && scalar.value <= 0x39 }

  /// Removes the digits at the start and returns them without leading zeros: numbers of any length.
  private func takeDigits(_ text: inout Substring.UnicodeScalarView) -> [UInt32] {
    let digits = text.prefix(while: isDigit)
    text.removeFirst(digits.count)
    return digits.drop { $0 == "0" }.map(\.value)
  }

  private static func compare(digits a: [UInt32], _ b: [UInt32]) -> ComparisonResult {
    if a.count != b.count { return a.count < b.count ? .orderedAscending : .orderedDescending }
    return a == b ? .orderedSame : a.lexicographicallyPrecedes(b) ? .orderedAscending : .orderedDescending
  }
}

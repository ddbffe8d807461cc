/// The arithmetic of predicates: with integers as long as they fit, otherwise with doubles. Nil if an operand is not a
/// number.
///
/// The rules are SQLite's, so that an expression has the same value in memory and as a column, with one addition: a
/// decimal stays exact with decimals and integers, where SQLite would use binary fractions. SQL generation therefore
/// leaves arithmetic with decimals to `cd_call`.
///
/// ```text
/// integer, integer      Int64; Double if it overflows
/// decimal, integer      Decimal
/// decimal, double       Double
/// number, nil or text   nil
/// ```
///
/// Source: https://www.sqlite.org/lang_expr.html, "Operators, and Parse-Affecting Attributes".
enum PredicateArithmetic {
  /// The value as a double, and 0 for what is no number: for results that are numbers by construction.
  static func double(_ value: Any?) -> Double {
    PredicateValue(value).double ?? 0
  }

  /// The value as a whole number, cut towards zero; nil for other kinds, NaN and doubles beyond 64 bits.
  static func integer(_ value: Any?) -> Int64? {
    switch PredicateValue(value) {
    case .integer(let value): value
    case .real(let value): Int64(exactly: value.rounded(.towardZero))
    case .decimal(let value): NSDecimalNumber(decimal: value).int64Value
    default: nil
    }
  }

  /// `exact` for two integers unless it overflows, `decimal` if an operand is one, otherwise `inexact` for two doubles.
  ///
  /// - Parameters:
  ///   - exact: the operation on integers, which says whether it overflowed.
  ///   - decimal: the operation on decimals; nil where it has no result.
  ///   - inexact: the operation on doubles.
  static func combine(
    _ left: Any?, _ right: Any?, exact: (Int64, Int64) -> (partialValue: Int64, overflow: Bool),
    decimal: (Decimal, Decimal) -> Decimal?, inexact: (Double, Double) -> Double
  ) -> Any? {
    let left = PredicateValue(left)
    let right = PredicateValue(right)
    if case .integer(let a) = left, case .integer(let b) = right {
      let (result, overflow) = exact(a, b)
      if !overflow { return result }
    }
    if let a = left.exactDecimal, let b = right.exactDecimal, left.isDecimal || right.isDecimal {
      return decimal(a, b)
    }
    guard let a = left.double, let b = right.double else { return nil }
    return inexact(a, b)
  }

  /// The sum of what the values count as. Those that count as no number are left out.
  ///
  /// It begins with the integer 0, so the sum of nothing is 0, and the type of the result follows from the values.
  static func sum(_ values: [Any?]) -> Any? {
    values.reduce(Int64(0) as Any?) { total, value in
      PredicateValue(value).summand.map { add(total, $0) } ?? total
    }
  }

  /// `a + b`; also the step of `sum`.
  static func add(_ a: Any?, _ b: Any?) -> Any? {
    combine(a, b, exact: { $0.addingReportingOverflow($1) }, decimal: { $0 + $1 }, inexact: { $0 + $1 })
  }

  /// `a - b`; the sign of an operand is `0 - a`.
  static func subtract(_ a: Any?, _ b: Any?) -> Any? {
    combine(a, b, exact: { $0.subtractingReportingOverflow($1) }, decimal: { $0 - $1 }, inexact: { $0 - $1 })
  }

  /// `a * b`.
  static func multiply(_ a: Any?, _ b: Any?) -> Any? {
    combine(a, b, exact: { $0.multipliedReportingOverflow(by: $1) }, decimal: { $0 * $1 }, inexact: { $0 * $1 })
  }

  /// Two integers give an integer, as in C and SQLite. Division by zero gives nil.
  static func divide(_ a: Any?, _ b: Any?) -> Any? {
    guard let divisor = PredicateValue(b).double, divisor != 0 else { return nil }
    return combine(
      a, b, exact: { $0.dividedReportingOverflow(by: $1) }, decimal: { $1 == 0 ? nil : $0 / $1 }, inexact: { $0 / $1 })
  }

  /// The first or last member by order, among those that have an order.
  ///
  /// Of equal members it is the first one. A member without an order to the best so far, such as a text among numbers,
  /// is passed over; in SQL the kinds of a column are always one.
  static func extreme(_ values: [Any?], _ preferredOrder: ComparisonResult) -> Any? {
    var best: Any?
    for value in values where !PredicateValue(value).isNull {
      if best == nil || PredicateValue(value).order(to: PredicateValue(best)) == preferredOrder { best = value }
    }
    return best
  }

  /// The values without repetitions, the first of each, in their order. Equality is that of predicates, so 1 and 1.0
  /// count once.
  static func distinct(_ values: [Any]) -> [Any] {
    var seen = Set<PredicateValue>()
    return values.filter { seen.insert(PredicateValue($0)).inserted }
  }
}

extension PredicateValue {
  fileprivate var isDecimal: Bool {
    if case .decimal = self { true } else { false }
  }

  fileprivate var exactDecimal: Decimal? {
    switch self {
    case .decimal(let value): value
    case .integer(let value): Decimal(value)
    default: nil
    }
  }
}

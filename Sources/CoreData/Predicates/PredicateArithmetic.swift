/// The arithmetic of predicates: with integers as long as they fit, otherwise with doubles. Nil if an operand is not a
/// number.
enum PredicateArithmetic {
  static func double(_ value: Any?) -> Double {
    PredicateValue(value).double ?? 0
  }

  static func integer(_ value: Any?) -> Int64? {
    switch PredicateValue(value) {
    case .integer(let value): value
    case .real(let value): Int64(exactly: value.rounded(.towardZero))
    case .decimal(let value): NSDecimalNumber(decimal: value).int64Value
    default: nil
    }
  }

  /// `exact` for two integers unless it overflows, `decimal` if an operand is one, otherwise `inexact` for two doubles.
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
  static func sum(_ values: [Any?]) -> Any? {
    values.reduce(Int64(0) as Any?) { total, value in
      PredicateValue(value).summand.map { add(total, $0) } ?? total
    }
  }

  static func add(_ a: Any?, _ b: Any?) -> Any? {
    combine(a, b, exact: { $0.addingReportingOverflow($1) }, decimal: { $0 + $1 }, inexact: { $0 + $1 })
  }

  static func subtract(_ a: Any?, _ b: Any?) -> Any? {
    combine(a, b, exact: { $0.subtractingReportingOverflow($1) }, decimal: { $0 - $1 }, inexact: { $0 - $1 })
  }

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
  static func extreme(_ values: [Any?], _ preferredOrder: ComparisonResult) -> Any? {
    var best: Any?
    for value in values where !PredicateValue(value).isNull {
      if best == nil || PredicateValue(value).order(to: PredicateValue(best)) == preferredOrder { best = value }
    }
    return best
  }

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

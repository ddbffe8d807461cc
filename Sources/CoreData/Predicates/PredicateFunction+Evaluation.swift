extension PredicateFunction {
  /// The function's value; nil if an argument is missing, nil or of a kind that the function does not accept.
  ///
  /// The same code runs for expressions in memory, in SQLite's `cd_call` and its aggregates `cd_median`, `cd_stddev`
  /// and `cd_decimal_sum`, and for derived attributes of stores in memory.
  ///
  /// Arguments are not checked before: each function takes what it can use and gives nil for the rest, so no predicate
  /// can trap by the data that it meets.
  ///
  /// - Parameter arguments: the values in the function's order. One argument of a statistical function is its
  ///   collection, several are its members.
  func value(of arguments: [Any?]) -> Any? {
    let first = arguments.first ?? nil
    let second = arguments.count > 1 ? arguments[1] : nil
    switch self {
    case .sum, .count, .minimum, .maximum, .average, .median, .mode, .standardDeviation:
      return statistic(of: arguments.count == 1 ? collection(first) : arguments)
    case .add: return PredicateArithmetic.add(first, second)
    case .subtract: return PredicateArithmetic.subtract(first, second)
    case .multiply: return PredicateArithmetic.multiply(first, second)
    case .divide: return PredicateArithmetic.divide(first, second)
    case .negate: return PredicateArithmetic.subtract(0, first)
    case .modulus, .bitwiseAnd, .bitwiseOr, .bitwiseXor, .leftShift, .rightShift, .onesComplement:
      return integerResult(first, second)
    case .squareRoot, .logarithm, .naturalLogarithm, .power, .exponential: return realResult(first, second)
    case .ceiling, .absolute, .truncate, .floor: return rounded(first)
    case .randomNumber: return Double.random(in: 0..<1)
    case .randomBelow, .randomNumberBelow:
      return PredicateArithmetic.integer(first).flatMap { $0 > 0 ? Int64.random(in: 0..<$0) : nil }
    case .now: return Date()
    case .uppercase: return string(first)?.uppercased()
    case .lowercase: return string(first)?.lowercased()
    case .canonical: return string(first).map { StringMatching.folded($0, [.caseInsensitive, .diacriticInsensitive]) }
    case .length: return string(first).map { $0.utf16.count }
    case .noIndex: return first
    case .distance: return nil
    case .cast: return PredicateCast.cast(first, to: string(second) ?? "")
    case .element: return element(of: first, at: second)
    }
  }

  /// The text of an argument; nil for other kinds, which then make the function's value nil.
  private func string(_ value: Any?) -> String? {
    if case .string(let text) = PredicateValue(value) { text } else { nil }
  }

  /// The members that a statistical function works on: `sum:(pages)` of a single number is that number, of nil it is
  /// the sum of nothing.
  private func collection(_ value: Any?) -> [Any?] {
    switch PredicateValue(value) {
    case .null: []
    case .collection(let members): members
    default: [value]
    }
  }

  /// The functions of many values. Minimum and maximum return a member as it is, so a date stays a date; a sum of
  /// integers or decimals is exact; the others compute with doubles. `average:` of dates is a number of seconds here; a
  /// dictionary fetch with a date as the result type turns it into a date.
  private func statistic(of values: [Any?]) -> Any? {
    let numbers = values.compactMap { PredicateValue($0).double }
    switch self {
    case .sum: return PredicateArithmetic.sum(values)
    case .count: return values.count
    case .minimum: return PredicateArithmetic.extreme(values, .orderedAscending)
    case .maximum: return PredicateArithmetic.extreme(values, .orderedDescending)
    case .average:
      let count = values.count { PredicateValue($0).summand != nil }
      return count == 0 ? nil : PredicateArithmetic.double(PredicateArithmetic.sum(values)) / Double(count)
    case .median:
      guard !numbers.isEmpty else { return nil }
      let sorted = numbers.sorted()
      let middle = sorted.count / 2
      return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    case .mode:
      let counts = Dictionary(numbers.map { ($0, 1) }, uniquingKeysWith: +)
      let most = counts.values.max()
      return counts.filter { $0.value == most }.keys.sorted()
    case .standardDeviation:
      guard !numbers.isEmpty else { return nil }
      // Sorted, because the last digits of the result depend on the order of the additions.
      let numbers = numbers.sorted()
      let mean = numbers.reduce(0, +) / Double(numbers.count)
      return (numbers.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(numbers.count)).squareRoot()
    default: return nil
    }
  }

  /// The functions of whole numbers. Nothing traps: the remainder of the smallest integer by -1, which overflows, is 0,
  /// and Swift's shifts take any distance.
  private func integerResult(_ first: Any?, _ second: Any?) -> Any? {
    guard let a = PredicateArithmetic.integer(first) else { return nil }
    if self == .onesComplement { return ~a }
    guard let b = PredicateArithmetic.integer(second) else { return nil }
    switch self {
    case .modulus: return b == 0 ? nil : a.remainderReportingOverflow(dividingBy: b).partialValue
    case .bitwiseAnd: return a & b
    case .bitwiseOr: return a | b
    case .bitwiseXor: return a ^ b
    case .leftShift: return a << b
    case .rightShift: return a >> b
    default: return nil
    }
  }

  /// The functions of doubles. NaN becomes nil, since SQLite has no NaN: it stores NULL. An infinity stays.
  private func realResult(_ first: Any?, _ second: Any?) -> Any? {
    guard let a = PredicateValue(first).double else { return nil }
    let result: Double? =
      switch self {
      case .squareRoot: a.squareRoot()
      case .logarithm: log10(a)
      case .naturalLogarithm: log(a)
      case .exponential: exp(a)
      case .power: PredicateValue(second).double.map { pow(a, $0) }
      default: nil
      }
    return result.flatMap { $0.isNaN ? nil : $0 }
  }

  /// Rounding. Integers are not converted to doubles, which would lose digits above 2^53.
  private func rounded(_ value: Any?) -> Any? {
    if case .integer(let number) = PredicateValue(value) {
      return self == .absolute ? number.magnitude <= UInt64(Int64.max) ? abs(number) : nil : number
    }
    guard let number = PredicateValue(value).double else { return nil }
    return switch self {
    case .ceiling: number.rounded(.up)
    case .absolute: number.magnitude
    case .truncate: number.rounded(.towardZero)
    default: number.rounded(.down)
    }
  }

  /// `collection[index]`, `collection[FIRST]`, `[LAST]`, `[SIZE]`, `dictionary["key"]`.
  ///
  /// An index outside of the collection gives nil. The order of a set is arbitrary, so only `SIZE` makes sense for one.
  private func element(of value: Any?, at index: Any?) -> Any? {
    let members = collection(value)
    if !(index is IndexSymbol), let dictionary = value as? [AnyHashable: Any] {
      return (index as? AnyHashable).flatMap { dictionary[$0] }
    }
    if let symbol = index as? IndexSymbol {
      return switch symbol {
      case .first: members.first ?? nil
      case .last: members.last ?? nil
      case .size: members.count
      }
    }
    guard let position = PredicateArithmetic.integer(index), position >= 0, position < members.count else { return nil }
    return members[Int(position)]
  }
}

/// The symbolic indexes of `collection[FIRST]`.
///
/// The parser keeps it as a constant, and printing recognises it; a text "FIRST" in brackets is a key of a dictionary.
enum IndexSymbol: String {
  case first = "FIRST"
  case last = "LAST"
  case size = "SIZE"
}

/// `CAST(value, "type")`: nil if the value, or a text as a whole, has no counterpart of this type.
///
/// Unlike Apple's it also casts a text in ISO 8601's form to a date, `CAST("2026-01-31T08:00:00Z", "NSDate")`, so that
/// text that a user typed can name one.
///
/// The types are names, as Apple has them; Swift's names are accepted too.
///
/// ```text
/// to NSNumber          a date as its seconds since 2001, a text that is a number as a whole
/// to NSDecimalNumber   numbers and texts, with all digits of a text
/// to NSString          numbers, UUIDs and URLs; not dates, which would need a format
/// to NSDate            seconds since 2001, and texts in ISO 8601
/// to NSUUID, NSURL     texts
/// ```
///
/// In SQL a cast between forms that are stored alike costs nothing (a URL is stored as its text); others become
/// `cd_call('castObject:toType:', …)`.
enum PredicateCast {
  /// An unknown type gives nil. SQL generation refuses it, and the parser accepts it.
  static func cast(_ value: Any?, to type: String) -> Any? {
    let value = PredicateValue(value)
    switch type {
    case "NSDate", "Date":
      if case .date(let seconds) = value { return Date(timeIntervalSinceReferenceDate: seconds) }
      if case .string(let text) = value { return date(text) }
      return value.double.map { Date(timeIntervalSinceReferenceDate: $0) }
    case "NSNumber":
      switch value {
      case .date(let seconds): return seconds
      case .string(let text): return NumberText(text).flatMap { $0.integer(Int64.self) ?? $0.double }
      case .integer(let number): return number
      case .decimal(let number): return number
      default: return value.double
      }
    case "NSDecimalNumber", "Decimal":
      switch value {
      case .string(let text): return NumberText(text)?.decimal
      case .integer(let number): return Decimal(number)
      case .decimal(let number): return number
      default: return value.double.map { Decimal($0) }
      }
    case "NSString", "String":
      switch value {
      case .string(let text), .url(let text): return text
      case .integer(let number): return String(number)
      case .real(let number): return NSExpression.printed(number)
      case .decimal(let number): return number.description
      case .uuid(let uuid): return uuid.uuidString
      default: return nil
      }
    case "NSUUID", "UUID":
      switch value {
      case .uuid(let uuid): return uuid
      case .string(let text): return UUID(uuidString: text)
      default: return nil
      }
    case "NSURL", "URL":
      if case .string(let text) = value { return URL(string: text, encodingInvalidCharacters: false) }
      if case .url(let text) = value { return URL(string: text) }
      return nil
    default: return nil
    }
  }

  /// A day (its midnight in UTC), or a moment with its offset from UTC; nil for other texts.
  ///
  /// ```text
  /// 2026-01-31                     midnight in UTC
  /// 2026-01-31T08:00:00Z           2026-01-31T08:00:00.25+01:00
  /// ```
  ///
  /// Source: ISO 8601, the forms that RFC 3339 keeps; also `+0100` and `+01`.
  private static func date(_ text: String) -> Date? {
    // Foundation accepts a date with text after it, reads 31 February as 3 March and 25:00 as the next day. So form and
    // ranges are checked here.
    let digits = text.utf8.map { (0x30...0x39).contains($0) ? UInt8(ascii: "9") : $0 }
    var form = String(decoding: digits, as: UTF8.self)[...]
    guard form.hasPrefix("9999-99-99"), let day = try? dayStyle.parse(String(text.prefix(10))),
      day.formatted(dayStyle) == text.prefix(10)
    else { return nil }
    form = form.dropFirst(10)
    if form.isEmpty { return day }
    guard form.hasPrefix("T99:99:99") else { return nil }
    let time = text.dropFirst(11).prefix(8).split(separator: ":").compactMap { Int($0) }
    guard time.count == 3, time[0] < 24, time[1] < 60, time[2] <= 60 else { return nil }
    form = form.dropFirst(9)
    let hasFraction = form.hasPrefix(".9")
    if hasFraction { form = form.dropFirst().drop { $0 == "9" } }
    guard ["Z", "+99:99", "-99:99", "+9999", "-9999", "+99", "-99"].contains(form) else { return nil }
    // A text that is no date has no value.
    return try? Date.ISO8601FormatStyle(includingFractionalSeconds: hasFraction).parse(text)
  }

  private static let dayStyle = Date.ISO8601FormatStyle().year().month().day()
}

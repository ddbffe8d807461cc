/// The functions and collations of every connection, besides SQLite's own.
///
/// The functions run the same code in SQL that predicates run in memory. NULL gives NULL.
enum SQLFunctions {
  /// In use, for a value of each kind:
  ///
  /// ```text
  /// cd_fold('É', 3)                              'e'
  /// cd_begins('The Dispossessed', 'the ', 257)   1
  /// cd_like('Kindred', 'k?n*', 257)              1
  /// cd_matches('Kindred', 'K.*', 0)              1
  /// cd_call('lowercase:', 0, 'Kindred')          'kindred'
  /// cd_median(100, 200, 400 in three rows)       200
  /// ```
  ///
  /// `sqlite3` on the command line knows none of them. It can read every table all the same: only triggers of derived
  /// texts, and statements of one's own, need them.
  static let all: [SQLFunction] =
    SQLFunction.derivedAttributeCallbacks + [fold, call, method]
    + [
      matcher(.begins) { StringMatching.begins($0, with: $1) },
      matcher(.ends) { StringMatching.ends($0, with: $1) },
      matcher(.contains) { StringMatching.contains($0, $1) },
      matcher(.like) { StringMatching.isLike($0, pattern: $1) },
      matches,
    ]

  static let collations: [SQLCollation] = StringOrdering.allCases.compactMap { ordering in
    collationName(of: ordering).map { SQLCollation(name: $0, compare: ordering.compare) }
  }

  static let aggregates: [SQLAggregate] = [
    aggregate(.median, of: .median), aggregate(.standardDeviation, of: .standardDeviation),
    SQLAggregate(name: Name.decimalSum.rawValue) { values in
      // As SUM does.
      if values.isEmpty { return .null }
      let decimals = values.map { NumberText($0.decimalText)?.decimal as Any? }
      return SQLiteValue(result: PredicateFunction.sum.value(of: [decimals]))
    },
  ]

  private static func aggregate(_ name: Name, of function: PredicateFunction) -> SQLAggregate {
    SQLAggregate(name: name.rawValue) { SQLiteValue(result: function.value(of: [$0.map(\.plain)])) }
  }

  /// The functions' names in SQL.
  enum Name: String {
    /// (text, options): the text as `StringMatching.folded` gives it.
    case fold = "cd_fold"
    /// (text, prefix, options).
    case begins = "cd_begins"
    /// (text, suffix, options).
    case ends = "cd_ends"
    /// (text, part, options).
    case contains = "cd_contains"
    /// (text, pattern, options).
    case like = "cd_like"
    /// (text, pattern, options).
    case matches = "cd_matches"
    /// (name, which arguments are texts of decimals, argument…): a predefined function of expressions.
    case call = "cd_call"
    /// (selector, the kinds of the values, receiver, argument…): a method that FUNCTION calls.
    case method = "cd_method"
    /// Aggregates of numbers.
    case median = "cd_median"
    case standardDeviation = "cd_stddev"
    /// The exact sum of the texts of decimals.
    case decimalSum = "cd_decimal_sum"
  }

  /// Added to the options if the second argument is already folded, as constants are.
  static let isFolded: Int64 = 256

  /// The collation for an order; nil for SQLite's own BINARY.
  static func collationName(of ordering: StringOrdering) -> String? {
    switch ordering {
    case .binary: nil
    case .caseInsensitive: "CD_CASE_INSENSITIVE"
    case .localized: "CD_LOCALIZED"
    case .localizedCaseInsensitive: "CD_LOCALIZED_CASE_INSENSITIVE"
    case .localizedStandard: "CD_LOCALIZED_STANDARD"
    }
  }

  private static let fold = SQLFunction(name: Name.fold.rawValue, argumentCount: 2) { arguments in
    guard case .text(let text) = arguments[0], case .integer(let options) = arguments[1] else { return .null }
    return .text(StringMatching.folded(text, StringMatching.Options(bits: options)))
  }

  private static func matcher(_ name: Name, _ test: @escaping @Sendable (String, String) -> Bool) -> SQLFunction {
    SQLFunction(name: name.rawValue, argumentCount: 3) { arguments in
      guard case .text(let text) = arguments[0], case .text(let other) = arguments[1],
        case .integer(let bits) = arguments[2]
      else { return .null }
      let options = StringMatching.Options(bits: bits)
      let folded = bits & isFolded != 0 ? other : StringMatching.folded(other, options)
      return .integer(test(StringMatching.folded(text, options), folded) ? 1 : 0)
    }
  }

  /// A regular expression may take seconds for one text. SQLite looks at an interruption between two of its
  /// instructions and not in a function, so this one looks itself; it then ends the statement with SQLITE_INTERRUPT.
  private static let matches = SQLFunction(
    name: Name.matches.rawValue, argumentCount: 3,
    interruptible: { arguments, isInterrupted in
      guard case .text(let text) = arguments[0], case .text(let pattern) = arguments[1],
        case .integer(let bits) = arguments[2]
      else { return .null }
      let options = StringMatching.Options(bits: bits)
      return StringMatching.matches(text, pattern: pattern, options, isInterrupted: isInterrupted)
        .map { .integer($0 ? 1 : 0) }
    })

  /// Computes a predefined function by the code that predicates in memory run.
  ///
  /// ```text
  /// cd_call('length:', 0, 'Kindred')                name, bits, then the operands
  /// cd_call('add:to:', 1, '3.14', 1)                bit 0 is set: the first operand is the text of a decimal
  /// ```
  ///
  /// -1 as the number of arguments stands for any number (https://www.sqlite.org/c3ref/create_function.html).
  private static let call = SQLFunction(name: Name.call.rawValue, argumentCount: -1) { arguments in
    guard arguments.count > 1, case .text(let name) = arguments[0], case .integer(let decimals) = arguments[1],
      let function = PredicateFunction(rawValue: name)
    else { return .null }
    let values = arguments.dropFirst(2).enumerated().map { index, argument -> Any? in
      let isDecimal = index < 64 && decimals & (1 << Int64(index)) != 0
      return isDecimal && argument != .null ? NumberText(argument.decimalText)?.decimal : argument.plain
    }
    return SQLiteValue(result: function.value(of: values))
  }
}

extension SQLFunctions {
  /// Not deterministic, as `timeIntervalSinceNow` has another value each time. SQLite would keep a value of constant
  /// arguments in a prepared statement (https://www.sqlite.org/deterministic.html).
  fileprivate static let method = SQLFunction(
    name: Name.method.rawValue, argumentCount: -1, isDeterministic: false
  ) { arguments in
    guard arguments.count > 2, case .text(let selector) = arguments[0], case .text(let kinds) = arguments[1],
      let kind = kinds.first.flatMap(PredicateMethod.Kind.init)
    else { return .null }
    let values = zip(kinds, arguments.dropFirst(2)).map { kind, argument in
      PredicateMethod.Kind(rawValue: kind).flatMap(argument.value)
    }
    return SQLiteValue(result: PredicateMethod.method(selector, of: kind)?.value(values))
  }
}

extension StringMatching.Options {
  fileprivate init(bits: Int64) {
    self.init(rawValue: UInt(truncatingIfNeeded: bits & (SQLFunctions.isFolded - 1)))
  }
}

extension SQLiteValue {
  /// The value in the form that expressions calculate with.
  ///
  /// SQLite has four kinds of values. What they mean is known only to the caller: a REAL may be a number or a date.
  /// Functions for dates therefore come with kinds (`cd_method`).
  fileprivate var plain: Any? {
    switch self {
    case .null: nil
    case .integer(let value): value
    case .real(let value): value
    case .text(let value): value
    case .blob(let value): value
    case .encoded: nil
    }
  }

  /// The value of a kind as methods take it.
  fileprivate func value(_ kind: PredicateMethod.Kind) -> Any? {
    switch (kind, self) {
    case (_, .null): nil
    case (.decimal, _): NumberText(decimalText)?.decimal
    case (.date, .real(let seconds)): Date(timeIntervalSinceReferenceDate: seconds)
    case (.date, .integer(let seconds)): Date(timeIntervalSinceReferenceDate: Double(seconds))
    case (.uuid, .blob(let data)) where data.count == 16:
      UUID(uuid: data.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) })
    case (.url, .text(let text)): URL(string: text)
    default: plain
    }
  }

  /// The digits of a number, or the text itself.
  fileprivate var decimalText: String {
    switch self {
    case .integer(let value): String(value)
    case .real(let value): "\(value)"
    case .text(let value): value
    case .null, .blob, .encoded: ""
    }
  }

  /// A decimal result leaves as a REAL, since SQLite has nothing else for it; within one expression decimals stay
  /// exact, because the next `cd_call` gets its operand as text.
  fileprivate init(result: Any?) {
    switch PredicateValue(result) {
    case .integer(let value): self = .integer(value)
    case .real(let value): self = .real(value)
    case .decimal(let value): self = .real(NSDecimalNumber(decimal: value).doubleValue)
    case .string(let value): self = .text(value)
    case .data(let value): self = .blob(value)
    case .date(let seconds): self = .real(seconds)
    case .uuid(let value): self = .blob(withUnsafeBytes(of: value.uuid) { Data($0) })
    case .url(let value): self = .text(value)
    default: self = .null
    }
  }
}

/// The predefined functions of expressions, by Apple's names.
///
/// One list serves the parser, which accepts nothing else before a parenthesis, the evaluation in memory
/// (`PredicateFunction+Evaluation.swift`), and SQL. There a function has one of three forms:
///
/// ```text
/// + - * / negate:               operators of SQL             (t0.ZPAGES * ?)
/// statistics of a relationship  a subquery                   (SELECT MAX(t1.ZPAGES) FROM ZBOOK t1 WHERE …)
/// statistics of a group         an aggregate                 SUM(t0.ZPAGES)
/// most others                   a call of Swift code         cd_call('sqrt:', 0, t0.ZPAGES)
/// random mode: now index        not possible (134070), except for constants such as now()
/// ```
///
/// `cd_call` runs the same Swift code, so SQLite and memory agree to the last digit. The number after the name says
/// which arguments are texts of decimals. PostgreSQL cannot call Swift: a store there has `uppercase:`, `lowercase:`,
/// `canonical:` and `length:` as functions of its schema, and refuses the others.
///
/// A nil argument gives nil, as NULL does in SQL; so does an argument of another kind.
///
/// Source: https://developer.apple.com/documentation/foundation/nsexpression/init(forfunction:arguments:)
enum PredicateFunction: String, CaseIterable {
  /// The sum of numbers and of what counts as one (`PredicateValue.summand`); 0 without members. Exact for integers and
  /// decimals.
  case sum = "sum:"
  /// The number of members, nil ones included in memory.
  case count = "count:"
  /// The least member that has an order; nil without one. Numbers, texts, dates and other ordered values.
  case minimum = "min:"
  /// The greatest member that has an order; nil without one.
  case maximum = "max:"
  /// The mean of the members that count as numbers; nil without one. `@avg` in a key path divides by all members
  /// instead.
  case average = "average:"
  /// The middle of the sorted numbers, the mean of the two middle ones for an even number; nil without one.
  case median = "median:"
  /// The most frequent numbers, as a sorted list, since several may be equally frequent. Memory only.
  case mode = "mode:"
  /// Of the whole population: the sum of squares is divided by the number of members, not by one less.
  case standardDeviation = "stddev:"
  /// `a + b`. Integers that overflow go on as doubles.
  case add = "add:to:"
  /// `a - b`.
  case subtract = "from:subtract:"
  /// `a * b`.
  case multiply = "multiply:by:"
  /// `a / b`. Two integers give an integer, cut towards zero, as in C and SQLite. Division by zero gives nil.
  case divide = "divide:by:"
  /// The remainder of integers, with the sign of the first; nil for a divisor of 0. It has no operator in formats.
  case modulus = "modulus:by:"
  /// Nil for a negative number.
  case squareRoot = "sqrt:"
  /// To the base 10.
  case logarithm = "log:"
  /// To the base e.
  case naturalLogarithm = "ln:"
  /// `a ** b`, as a double.
  case power = "raise:toPower:"
  /// e to the power of the argument.
  case exponential = "exp:"
  /// Towards positive infinity. This, `trunc:` and `floor:` return an integer as it is.
  case ceiling = "ceiling:"
  /// Nil for the smallest `Int64`, which has no positive counterpart.
  case absolute = "abs:"
  /// Towards zero.
  case truncate = "trunc:"
  /// Towards negative infinity.
  case floor = "floor:"
  /// From 0 to below 1, another number for each object. Memory only.
  case randomNumber = "random"
  /// A whole number from 0 to below the argument; nil unless it is positive. Memory only.
  case randomBelow = "random:"
  /// `random:` under Apple's older name.
  case randomNumberBelow = "randomn:"
  /// The present time. In SQL it is computed once, before the statement; a derived attribute `now()` gets the time of
  /// the save.
  case now = "now"
  /// By Unicode's full mapping, without a locale: "ß" becomes "SS".
  case uppercase = "uppercase:"
  /// By Unicode's full mapping, without a locale.
  case lowercase = "lowercase:"
  /// `a & b`. Bitwise functions take whole numbers; a fraction is cut.
  case bitwiseAnd = "bitwiseAnd:with:"
  /// `a | b`.
  case bitwiseOr = "bitwiseOr:with:"
  /// `a ^ b`.
  case bitwiseXor = "bitwiseXor:with:"
  /// `a << b`. A negative distance shifts to the right, one of 64 and more gives 0.
  case leftShift = "leftshift:by:"
  /// `a >> b`, which keeps the sign.
  case rightShift = "rightshift:by:"
  /// `~a`.
  case onesComplement = "onesComplement:"
  /// The text without case and accents, the form that `==[cd]` compares. A derived attribute with it makes such
  /// comparisons quick.
  case canonical = "canonical:"
  /// The length of a text in UTF-16 units, as `NSString` counts: an emoji has two or more.
  case length = "length:"
  /// The argument itself. Apple's keeps the database from using an index for it; here SQLite decides as usual.
  case noIndex = "noindex:"
  /// Accepted by the parser, nil in memory and refused by SQL: there are no locations on Linux.
  case distance = "distanceToLocation:fromLocation:"
  /// `CAST(a, "NSDate")`: see `PredicateCast`.
  case cast = "castObject:toType:"
  /// `list[0]`, `list[FIRST]`, `dictionary["key"]`. Memory only.
  case element = "objectFrom:withIndex:"
  /// `-a` for what is not a literal. It is not among Apple's names, which has no function for the sign.
  case negate = "negate:"

  /// The number of arguments of the function.
  ///
  /// It is the number of colons, which end each part of the name. A statistical function may get its values one by one
  /// instead.
  var argumentCount: Int {
    self == .randomNumber || self == .now ? 0 : rawValue.split(separator: ":").count
  }

  /// Whether the function takes one collection, or any number of values: `sum({1, 2})` and `sum(1, 2)`.
  var isStatistical: Bool {
    switch self {
    case .sum, .count, .minimum, .maximum, .average, .median, .mode, .standardDeviation: true
    default: false
    }
  }

  /// The operator for the function in formats; nil if there is none.
  ///
  /// Printing uses it with two arguments, and SQL generation for the operators that SQL has too. `FormatToken.infix` is
  /// the way back.
  var infix: String? {
    switch self {
    case .add: "+"
    case .subtract: "-"
    case .multiply: "*"
    case .divide: "/"
    case .power: "**"
    case .bitwiseAnd: "&"
    case .bitwiseOr: "|"
    case .bitwiseXor: "^"
    case .leftShift: "<<"
    case .rightShift: ">>"
    default: nil
    }
  }

  /// The function of a name in a format, `sum(` or `sum:(`, in any case.
  ///
  /// Apple's parser accepts both forms too; printing always gives the one with the colon.
  init?(formatName name: String) {
    let lowercasedName = name.lowercased()
    guard
      let function = PredicateFunction.allCases.first(where: { function in
        let candidate = function.rawValue.lowercased()
        return candidate == lowercasedName || candidate == lowercasedName + ":"
      })
    else { return nil }
    self = function
  }

  /// The value of a `.function` node: a predefined function, a method of the operand, or a key path that a function
  /// call spells.
  ///
  /// A predefined name goes first even with an operand: `FUNCTION(books, "count:")` is `count:(books)`. The argument of
  /// `valueForKeyPath:` is either a text or a key path that stands for itself,
  /// `FUNCTION(author, "valueForKeyPath:", "name")` or `…, name)`, as archives of Apple's have it.
  static func value(
    of name: String, operand: NSExpression?, arguments: [NSExpression], in context: EvaluationContext
  ) -> Any? {
    let expressions = (operand.map { [$0] } ?? []) + arguments
    if let function = PredicateFunction(rawValue: name) {
      return function.value(of: expressions.map { $0.value(in: context) })
    }
    guard PredicateMethod.keyPathSelectors.contains(name), let operand, let path = arguments.first else {
      return PredicateMethod.call(name, expressions.map { $0.value(in: context) })
    }
    let text: Any? = path.keyPath.isEmpty ? path.value(in: context) : path.keyPath
    guard case .string(let text) = PredicateValue(text) else { return nil }
    return KeyValueReading.value(at: KeyPathComponents(text).keys, of: operand.value(in: context))
  }
}

/// The predefined functions of expressions, by Apple's names.
///
/// Source: https://developer.apple.com/documentation/foundation/nsexpression/init(forfunction:arguments:)
enum PredicateFunction: String, CaseIterable {
  case sum = "sum:"
  case count = "count:"
  case minimum = "min:"
  case maximum = "max:"
  case average = "average:"
  case median = "median:"
  case mode = "mode:"
  case standardDeviation = "stddev:"
  case add = "add:to:"
  case subtract = "from:subtract:"
  case multiply = "multiply:by:"
  case divide = "divide:by:"
  case modulus = "modulus:by:"
  case squareRoot = "sqrt:"
  case logarithm = "log:"
  case naturalLogarithm = "ln:"
  case power = "raise:toPower:"
  case exponential = "exp:"
  case ceiling = "ceiling:"
  case absolute = "abs:"
  case truncate = "trunc:"
  case floor = "floor:"
  case randomNumber = "random"
  case randomBelow = "random:"
  case randomNumberBelow = "randomn:"
  case now = "now"
  case uppercase = "uppercase:"
  case lowercase = "lowercase:"
  case bitwiseAnd = "bitwiseAnd:with:"
  case bitwiseOr = "bitwiseOr:with:"
  case bitwiseXor = "bitwiseXor:with:"
  case leftShift = "leftshift:by:"
  case rightShift = "rightshift:by:"
  case onesComplement = "onesComplement:"
  case canonical = "canonical:"
  case length = "length:"
  case noIndex = "noindex:"
  case distance = "distanceToLocation:fromLocation:"
  case cast = "castObject:toType:"
  case element = "objectFrom:withIndex:"
  case negate = "negate:"

  /// The number of arguments of the function.
  var argumentCount: Int {
    self == .randomNumber || self == .now ? 0 : rawValue.split(separator: ":").count
  }

  /// The operator for the function in formats; nil if there is none.
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

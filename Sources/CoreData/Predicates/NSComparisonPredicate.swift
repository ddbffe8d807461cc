/// A predicate that compares the values of two expressions.
///
/// Immutable. Two are equal when modifier, operator, options and both expressions are.
///
/// Source: https://developer.apple.com/documentation/foundation/nscomparisonpredicate
open class NSComparisonPredicate: NSPredicate {
  /// How strings are compared. Raw values are Apple's.
  public struct Options: OptionSet, Hashable, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// `[c]`: Unicode case folding.
    public static let caseInsensitive = Options(rawValue: 1)
    /// `[d]`: accents and other marks do not count.
    public static let diacriticInsensitive = Options(rawValue: 2)
    /// `[n]`: the strings are known to be normalised; compared as they are.
    public static let normalized = Options(rawValue: 4)
    /// `[l]`: locale-aware. Accepted and without effect, for comparisons here are those of no locale.
    public static let localeSensitive = Options(rawValue: 8)
  }

  /// How a collection on the left takes part. Raw values are Apple's.
  public enum Modifier: UInt, Sendable {
    case direct = 0
    case all = 1
    case any = 2
  }

  /// The comparison itself. Raw values are Apple's.
  public enum Operator: UInt, Sendable {
    case lessThan = 0
    case lessThanOrEqualTo = 1
    case greaterThan = 2
    case greaterThanOrEqualTo = 3
    case equalTo = 4
    case notEqualTo = 5
    case matches = 6
    case like = 7
    case beginsWith = 8
    case endsWith = 9
    case `in` = 10
    case contains = 99
    case between = 100
  }

  public let leftExpression: NSExpression
  public let rightExpression: NSExpression
  public let comparisonPredicateModifier: Modifier
  public let predicateOperatorType: Operator
  public let options: Options

  let comparison: Comparison

  public init(
    leftExpression: NSExpression, rightExpression: NSExpression, modifier: Modifier, type: Operator,
    options: Options = []
  ) {
    self.leftExpression = leftExpression
    self.rightExpression = rightExpression
    self.comparisonPredicateModifier = modifier
    self.predicateOperatorType = type
    self.options = options
    self.comparison = Comparison(type: type, options: options, right: rightExpression)
    // Foundation's class wants a value or a block; neither is ever asked for.
    super.init(block: { _, _ in false })
  }

  open override func evaluate(with object: Any?) -> Bool {
    holds(in: EvaluationContext(object: object, variables: [:]))
  }

  open override func evaluate(with object: Any?, substitutionVariables bindings: [String: Any]?) -> Bool {
    holds(in: EvaluationContext(object: object, variables: bindings ?? [:]))
  }

  open override var predicateFormat: String { canonicalFormat }

  open override var description: String { canonicalFormat }

  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSComparisonPredicate else { return false }
    if other === self { return true }
    return comparisonPredicateModifier == other.comparisonPredicateModifier
      && predicateOperatorType == other.predicateOperatorType && options == other.options
      && leftExpression == other.leftExpression && rightExpression == other.rightExpression
  }

  open override var hash: Int { canonicalFormat.hashValue }

  open override func copy() -> Any { self }

  open override func copy(with zone: NSZone? = nil) -> Any { self }

  final func holds(in context: EvaluationContext) -> Bool {
    let right = comparison.hasConstantRight ? .null : rightExpression.predicateValue(in: context)
    let left = leftExpression.predicateValue(in: context)
    switch comparisonPredicateModifier {
    case .direct: return comparison.holds(left, right)
    case .any: return members(of: left).contains { comparison.holds($0, right) }
    case .all: return members(of: left).allSatisfy { comparison.holds($0, right) }
    }
  }

  /// The members that ANY and ALL look at: none for nil, the value itself where it is no collection.
  private func members(of left: PredicateValue) -> [PredicateValue] {
    switch left {
    case .null: []
    case .collection(let members): members.map { PredicateValue($0) }
    default: [left]
    }
  }
}

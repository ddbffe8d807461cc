/// A predicate that compares the values of two expressions.
///
/// This module has its own class, since Foundation's on Linux has no usable initialiser. A file that names it imports
/// CoreData and not Foundation too: the name is ambiguous otherwise.
///
/// Immutable. Two are equal if modifier, operator, options and both expressions are.
///
/// ```swift
/// let long = NSComparisonPredicate(
///   leftExpression: NSExpression(forKeyPath: "pages"), rightExpression: NSExpression(forConstantValue: 500),
///   modifier: .direct, type: .greaterThan)
/// print(long.evaluate(with: book), long.canonicalFormat)  // … pages > 500
/// ```
///
/// `NSPredicate(format:)` makes it from text; a cast with `as? NSComparisonPredicate` gives its parts to code that
/// looks into predicates, such as a store of one's own.
///
/// Source: https://developer.apple.com/documentation/foundation/nscomparisonpredicate
open class NSComparisonPredicate: NSPredicate {
  /// The comparison of strings. Without options it is by bytes. Raw values are Apple's.
  public struct Options: OptionSet, Hashable, Sendable {
    /// The options as Apple's bits.
    public let rawValue: UInt
    /// Options by Apple's bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// `[c]`: Unicode case folding.
    public static let caseInsensitive = Options(rawValue: 1)
    /// `[d]`: ignores accents and other combining marks.
    public static let diacriticInsensitive = Options(rawValue: 2)
    /// `[n]`: promises normalised strings, which are compared by bytes.
    public static let normalized = Options(rawValue: 4)
    /// `[l]`: by the locale. Accepted and without effect, since comparisons here use no locale.
    public static let localeSensitive = Options(rawValue: 8)
  }

  /// The part that a collection on the left takes. Raw values are Apple's.
  public enum Modifier: UInt, Sendable {
    /// The left value is compared as a whole.
    case direct = 0
    /// `ALL`: every member must compare true; an empty collection does.
    case all = 1
    /// `ANY`, `SOME`: one member must compare true.
    case any = 2
  }

  /// The comparison itself. Nil has no order, and no string operator is true for it. Raw values are Apple's.
  public enum Operator: UInt, Sendable {
    /// `<`
    case lessThan = 0
    /// `<=`
    case lessThanOrEqualTo = 1
    /// `>`
    case greaterThan = 2
    /// `>=`
    case greaterThanOrEqualTo = 3
    /// `==`; also true for two nil values.
    case equalTo = 4
    /// `!=`. In a fetch from SQLite a nil value does not match, in memory it does.
    case notEqualTo = 5
    /// `MATCHES`: the whole string matches a regular expression in ICU's syntax.
    case matches = 6
    /// `LIKE`: the whole string matches a pattern with `*`, `?` and backslash.
    case like = 7
    /// `BEGINSWITH`
    case beginsWith = 8
    /// `ENDSWITH`
    case endsWith = 9
    /// `IN`: the left value is a member of the right collection, or part of the right string.
    case `in` = 10
    /// `CONTAINS`: the right value is a member of the left collection, or part of the left string.
    case contains = 99
    /// `BETWEEN`: the left value lies between the two members on the right, or equals one.
    case between = 100
  }

  /// The side to which the modifier applies: mostly a key path.
  public let leftExpression: NSExpression
  /// The side that is compared with: mostly a constant, or a collection of constants.
  public let rightExpression: NSExpression
  /// Whether and how a collection on the left is compared member by member.
  public let comparisonPredicateModifier: Modifier
  /// The comparison that is made.
  public let predicateOperatorType: Operator
  /// The comparison of strings.
  public let options: Options

  let comparison: Comparison

  /// A comparison of two expressions. A constant right side is prepared once: a pattern is compiled, a collection
  /// hashed.
  public init(
    leftExpression: NSExpression, rightExpression: NSExpression, modifier: Modifier, type: Operator,
    options: Options = []
  ) {
    self.leftExpression = leftExpression
    self.rightExpression = rightExpression
    self.comparisonPredicateModifier = modifier
    self.predicateOperatorType = type
    self.options = options
    self.comparison = Comparison(type: type, options: options, left: leftExpression, right: rightExpression)
    FoundationCompound.teach()
    // Foundation's initialiser requires a value or a block. Nothing calls this one.
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
    case .direct: return comparison.holds(left, right, inRow: context.isRow)
    case .any: return members(of: left).contains { comparison.holds($0, right, inRow: context.isRow) }
    case .all: return members(of: left).allSatisfy { comparison.holds($0, right, inRow: context.isRow) }
    }
  }

  /// The members that ANY and ALL compare: none for nil, the value itself if it is not a collection.
  private func members(of left: PredicateValue) -> [PredicateValue] {
    switch left {
    case .null: []
    case .collection(let members): members.map { PredicateValue($0) }
    default: [left]
    }
  }
}

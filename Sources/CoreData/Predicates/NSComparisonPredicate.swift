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
/// `NSPredicate(format:)` makes one from text. Code that translates predicates, such as a program's own store class,
/// casts with `as? NSComparisonPredicate` and reads the parts.
///
/// Any thread may evaluate it. Evaluation on a managed object reads the object and may fire its fault: do it on the
/// queue of the object's context. In a fetch from an SQL store the predicate becomes a condition of the statement; what
/// SQL cannot express makes the fetch throw 134070, whose description names the part.
///
/// Source: https://developer.apple.com/documentation/foundation/nscomparisonpredicate
open class NSComparisonPredicate: NSPredicate {
  /// The comparison of strings. Without options it is by bytes. Raw values are Apple's.
  ///
  /// In a format they are letters in brackets behind the operator, `title BEGINSWITH[cd] "é"`. They apply to both
  /// sides of every operator that compares texts. In SQL no index serves a comparison with `[c]` or `[d]`:
  /// `title ==[c] %@` becomes `cd_fold(ZTITLE, 1) = ?`, which reads every row. If such comparisons are frequent, store
  /// the folded text in a derived attribute `canonical:(title)` with an index, and compare with that.
  ///
  /// ```swift
  /// let found = NSComparisonPredicate(
  ///   leftExpression: NSExpression(forKeyPath: "title"), rightExpression: NSExpression(forConstantValue: "EMMA"),
  ///   modifier: .direct, type: .equalTo, options: [.caseInsensitive, .diacriticInsensitive])
  /// print(found.canonicalFormat)  // title ==[cd] "EMMA"
  /// ```
  public struct Options: OptionSet, Hashable, Sendable {
    /// The options as Apple's bits.
    public let rawValue: UInt
    /// Options by Apple's bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// `[c]`: Unicode case folding.
    ///
    /// "ß" equals "SS" and "Σ" equals "ς". Turkish rules are not applied: "I" equals "i" on every machine.
    public static let caseInsensitive = Options(rawValue: 1)
    /// `[d]`: ignores accents and other combining marks.
    ///
    /// The text is decomposed and its combining marks are dropped: "é" equals "e", and "ø", which has no decomposition,
    /// does not equal "o".
    public static let diacriticInsensitive = Options(rawValue: 2)
    /// `[n]`: promises normalised strings, which are compared by bytes.
    ///
    /// It has no effect: a comparison without options is by bytes already, and no string is checked or normalised.
    public static let normalized = Options(rawValue: 4)
    /// `[l]`: by the locale. Accepted, without effect: comparisons use no locale.
    public static let localeSensitive = Options(rawValue: 8)
  }

  /// How a collection on the left is compared: as a whole, or member by member. Raw values are Apple's.
  ///
  /// It applies to the left side only: `"Emma" == ANY books.title` is not possible, and is written
  /// `"Emma" IN books.title`. There is no modifier for NONE: a format makes NOT ANY of it.
  public enum Modifier: UInt, Sendable {
    /// The left value is compared as a whole.
    ///
    /// A to-many key path on the left is an error in SQL (134070) for all operators but CONTAINS; in memory it is a
    /// set, which equals an equal set.
    case direct = 0
    /// `ALL`: every member must compare true; an empty collection does.
    ///
    /// In SQL it asks for a member that fails:
    /// `NOT (EXISTS (SELECT 1 FROM ZBOOK t1 WHERE t1.ZAUTHOR = t0.Z_PK AND …))`.
    case all = 1
    /// `ANY`, `SOME`: at least one member must compare true.
    ///
    /// In SQL: `EXISTS (SELECT 1 FROM ZBOOK t1 WHERE t1.ZAUTHOR = t0.Z_PK AND (t1.ZPAGES > ?))`. Two ANYs may be
    /// true for two different members; SUBQUERY puts both conditions on one.
    case any = 2
  }

  /// The comparison itself. Raw values are Apple's.
  ///
  /// Nil has no order, and no string operator is true for it. Each case shows its form in a SQLite store, where a
  /// constant is a parameter and a column that has an index can be searched with `=`, `<`, `IN` and BEGINSWITH. The
  /// functions `cd_…` are this framework's own: they run the code that compares in memory, once for each row.
  public enum Operator: UInt, Sendable {
    /// `<`
    ///
    /// SQL: `ZPAGES < ?`. Texts are ordered by their bytes, so "Z" is less than "a". Saved objects of one entity are
    /// ordered by their keys.
    case lessThan = 0
    /// `<=`
    ///
    /// Also written `=<`. SQL: `ZPAGES <= ?`.
    case lessThanOrEqualTo = 1
    /// `>`
    ///
    /// SQL: `ZPAGES > ?`.
    case greaterThan = 2
    /// `>=`
    ///
    /// Also written `=>`. SQL: `ZPAGES >= ?`.
    case greaterThanOrEqualTo = 3
    /// `==`; also true for two nil values.
    ///
    /// Also written `=`. SQL: `ZTITLE = ?`, with nil `ZTITLE IS NULL`, and of two columns `ZTITLE IS ZSUBTITLE`. An
    /// object compares by its key: `ZAUTHOR = ?`.
    case equalTo = 4
    /// `!=`. In a fetch from SQLite a nil value does not match, in memory it does.
    ///
    /// Also written `<>`. SQL: `ZTITLE <> ?`, with nil `ZTITLE IS NOT NULL`; below NOT, ALL and NONE `ZTITLE IS NOT ?`,
    /// so that the negation keeps the rows without a value. To find such rows too, write
    /// `title != "Emma" OR title == nil`.
    case notEqualTo = 5
    /// `MATCHES`: the whole string matches a regular expression in ICU's syntax.
    ///
    /// SQL: `cd_matches(ZTITLE, ?, 0)`, which reads every row. An invalid pattern matches nothing in memory and makes a
    /// fetch from SQL throw 134070. A pattern such as `(a+)+$` can take seconds for one text: do not accept patterns
    /// from untrusted users.
    case matches = 6
    /// `LIKE`: the whole string matches a pattern with `*`, `?` and backslash.
    ///
    /// `*` stands for any characters, `?` for one, and a backslash makes the next character literal. SQL:
    /// `cd_like(ZTITLE, ?, 256)`. Prefer BEGINSWITH to `LIKE "Em*"`: it can use an index.
    case like = 7
    /// `BEGINSWITH`
    ///
    /// The left text begins with the right one. No text begins with the empty one, as with Apple's predicates. SQL
    /// without options: a range, `ZTITLE >= ? AND ZTITLE < ?`, which an index serves; with options
    /// `cd_begins(ZTITLE, ?, 257)`.
    case beginsWith = 8
    /// `ENDSWITH`
    ///
    /// The left text ends with the right one; none ends with the empty one. SQL: `cd_ends(ZTITLE, ?, 256)`.
    case endsWith = 9
    /// `IN`: the left value is a member of the right collection, or part of the right string.
    ///
    /// SQL: `ZTITLE IN (?, ?)`. From 501 texts or integers on the list is one parameter,
    /// `IN (SELECT value FROM json_each(?))`. A nil among the members finds rows without a value. With a to-many key
    /// path on the right it is an EXISTS.
    case `in` = 10
    /// `CONTAINS`: the right value is a member of the left collection, or part of the left string.
    ///
    /// SQL on a text: `instr(ZTITLE, ?) > 0`, with options `cd_contains(ZTITLE, ?, 257)`; on a to-many key path an
    /// EXISTS. No text contains the empty one.
    case contains = 99
    /// `BETWEEN`: the left value lies between the two members on the right, or equals one.
    ///
    /// The lower bound comes first. SQL: `(ZPAGES >= ?) AND (ZPAGES <= ?)`.
    case between = 100
  }

  /// The side to which the modifier applies: mostly a key path.
  public let leftExpression: NSExpression
  /// The side that is compared with: mostly a constant, or a collection of constants.
  public let rightExpression: NSExpression
  /// How a collection on the left is compared.
  public let comparisonPredicateModifier: Modifier
  /// The operator, such as `.lessThan`.
  public let predicateOperatorType: Operator
  /// How strings are compared; none for their bytes.
  public let options: Options

  let comparison: Comparison

  /// A comparison of two expressions. A constant right side is prepared once: a pattern is compiled, a collection
  /// hashed.
  ///
  /// The parts are not checked: options have no effect on operators that compare no texts, and an invalid regular
  /// expression or a BETWEEN without two bounds never matches.
  ///
  /// - Parameters:
  ///   - leftExpression: the side to which the modifier applies.
  ///   - rightExpression: the side that it is compared with.
  ///   - modifier: `.direct`, or `.any` or `.all` for a collection on the left.
  ///   - type: the operator.
  ///   - options: how texts are compared; by bytes without any.
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

  /// Whether the comparison holds for an object: a managed object, a dictionary, or anything whose properties can be
  /// read by name. Traps if the predicate has a variable.
  open override func evaluate(with object: Any?) -> Bool {
    holds(in: EvaluationContext(object: object, variables: [:]))
  }

  /// Whether the comparison holds for an object, with values for variables, by name without `$`. A variable without a
  /// value traps.
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

  /// Evaluates both sides, then compares; the right side first, and not at all if it is a constant. Compound predicates
  /// call this directly, so that object and variables are looked at once for the whole tree.
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

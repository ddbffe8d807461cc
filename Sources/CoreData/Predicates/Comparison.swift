/// A comparison with everything that can be prepared once: folded constants, compiled patterns, and the members of a
/// constant collection as a hash set.
///
/// A predicate is evaluated for many objects, and its right side is mostly a constant. `NSComparisonPredicate` makes
/// this in its initialiser, on one thread, and only reads it afterwards; SQL generation uses it for comparisons of two
/// constants, so that both give the same answer.
///
/// ```text
/// title LIKE[c] "Em*"    like: the pattern of "em*"      holds("Emma") folds the left side only
/// title MATCHES "E.*"    expression: \A(?:E.*)\z          compiled once
/// pages IN {1, 2, 3}     members: a set                   O(1) for each object
/// pages > limit          nothing: both sides are read for each object
/// ```
struct Comparison {
  /// The operator; with the options it is all that a comparison without constants has.
  let type: NSComparisonPredicate.Operator
  let options: NSComparisonPredicate.Options

  /// The right side if it is a constant; `holds` then ignores its second argument.
  ///
  /// A constant is folded by the options here. MATCHES is the exception: in a pattern `\S` and `\s` differ, so its case
  /// is left to the regular expression.
  private let constant: PredicateValue?
  /// For IN with a constant collection: its members, folded, for a look-up instead of a walk.
  private let members: Set<PredicateValue>?
  /// The pattern of LIKE if it is a constant text.
  private let like: LikePattern?
  /// The regular expression of MATCHES if it is a constant text; nil for an invalid one, which matches nothing in
  /// memory. A fetch in SQL throws 134070 for it.
  private let expression: NSRegularExpression?
  /// Which sides are constants, for values that come from rows.
  private let affinity: Affinity

  /// Whether the caller may leave the right side unevaluated and pass `.null`.
  var hasConstantRight: Bool { constant != nil }

  /// A comparison whose right side is not known before `holds`.
  init(type: NSComparisonPredicate.Operator, options: NSComparisonPredicate.Options) {
    self.type = type
    self.options = options
    (constant, members, like, expression, affinity) = (nil, nil, nil, nil, Affinity())
  }

  /// Prepares a comparison of two expressions. An aggregate of constants counts as a constant; a key path, a variable
  /// or a function does not, even if its value never changes.
  init(
    type: NSComparisonPredicate.Operator, options: NSComparisonPredicate.Options, left: NSExpression,
    right: NSExpression
  ) {
    self.type = type
    self.options = options
    guard let value = right.constantPredicateValue else {
      (constant, members, like, expression) = (nil, nil, nil, nil)
      affinity = Affinity(left, right)
      return
    }
    let constant = Comparison.folded(value, options, for: type)
    self.constant = constant
    if type == .in, case .collection(let members) = constant {
      self.members = Set(members.map { Comparison.folded(PredicateValue($0), options, for: .equalTo) })
    } else {
      self.members = nil
    }
    affinity = Affinity(left, right, constant: constant, members: members)
    if case .string(let pattern) = constant {
      like = type == .like ? LikePattern(pattern) : nil
      expression = type == .matches ? StringMatching.regularExpression(pattern, options) : nil
    } else {
      (like, expression) = (nil, nil)
    }
  }

  /// Whether the comparison holds. Values that cannot be compared are unequal and have no order.
  ///
  /// For ANY and ALL the caller calls it once for each member. Operators on texts are false if a side is no text; order
  /// operators are false if the sides have no order; only `!=` is true for values of different kinds.
  ///
  /// ```text
  /// nil == nil    true       nil != 3     true      nil < 3      false
  /// 1 == 1.0      true       "1" == 1     false     (in a row:   a column of texts compares 1 as "1")
  /// ```
  ///
  /// - Parameter inRow: whether the values are those of a row, whose columns convert constants as SQL does.
  func holds(_ left: PredicateValue, _ right: PredicateValue, inRow: Bool = false) -> Bool {
    var left = options.isEmpty ? left : Comparison.folded(left, options, for: type)
    var right = constant ?? (options.isEmpty ? right : Comparison.folded(right, options, for: type))
    let affinity = inRow ? affinity : Affinity()
    switch type {
    case .in: return isMember(left, of: right, affinity)
    case .contains:
      if case .collection = left { return isMember(right, of: left, affinity.mirrored) }
      return strings(left, right) { StringMatching.contains($0, $1) }
    case .between: return isBetween(left, right, affinity)
    case .beginsWith: return strings(left, right) { StringMatching.begins($0, with: $1) }
    case .endsWith: return strings(left, right) { StringMatching.ends($0, with: $1) }
    case .like: return strings(left, right) { (like ?? LikePattern($1)).matches($0) }
    case .matches:
      return strings(left, right) { text, pattern in
        if let expression { return StringMatching.matches(text, expression, options) }
        return constant == nil && StringMatching.matches(text, pattern: pattern, options)
      }
    default: affinity.apply(&left, &right)
    }
    switch type {
    case .equalTo: return left == right
    case .notEqualTo: return left != right
    case .lessThan: return left.order(to: right) == .orderedAscending
    case .greaterThan: return left.order(to: right) == .orderedDescending
    case .lessThanOrEqualTo: return isOneOf([.orderedAscending, .orderedSame], left, right)
    default: return isOneOf([.orderedDescending, .orderedSame], left, right)
    }
  }

  /// For `<=` and `>=`, which values without an order never meet.
  private func isOneOf(_ orders: [ComparisonResult], _ left: PredicateValue, _ right: PredicateValue) -> Bool {
    left.order(to: right).map(orders.contains) ?? false
  }

  /// Runs a test of two texts; false if a side is something else.
  private func strings(_ left: PredicateValue, _ right: PredicateValue, _ test: (String, String) -> Bool) -> Bool {
    guard case .string(let left) = left, case .string(let right) = right else { return false }
    return test(left, right)
  }

  /// Both bounds belong to the range. The first has to be the lower one: `5 BETWEEN {9, 1}` is false, as in SQL.
  private func isBetween(_ value: PredicateValue, _ bounds: PredicateValue, _ affinity: Affinity) -> Bool {
    guard case .collection(let members) = bounds, members.count == 2 else { return false }
    let orders: [[ComparisonResult]] = [[.orderedDescending, .orderedSame], [.orderedAscending, .orderedSame]]
    return members.indices.allSatisfy { index in
      var (value, bound) = (value, Comparison.folded(PredicateValue(members[index]), options, for: type))
      affinity.apply(&value, &bound, member: index)
      return isOneOf(orders[index], value, bound)
    }
  }

  /// IN, and CONTAINS with the sides exchanged. A text on the right means a part of that text: `"a" IN "cat"`.
  private func isMember(_ value: PredicateValue, of collection: PredicateValue, _ affinity: Affinity) -> Bool {
    if let members, type == .in { return (affinity.members ?? members).contains(value) }
    switch collection {
    case .collection(let members):
      return members.indices.contains { index in
        var (value, member) = (value, Comparison.folded(PredicateValue(members[index]), options, for: .equalTo))
        affinity.apply(&value, &member, member: index)
        return member == value
      }
    case .string: return strings(collection, value) { StringMatching.contains($0, $1) }
    default: return false
    }
  }

  /// A string, folded by the options; any other value unchanged. MATCHES folds by itself, since some letters of a
  /// pattern are not text.
  private static func folded(
    _ value: PredicateValue, _ options: NSComparisonPredicate.Options, for type: NSComparisonPredicate.Operator
  ) -> PredicateValue {
    guard type != .matches, !options.isEmpty, case .string(let text) = value else { return value }
    return .string(StringMatching.folded(text, options))
  }
}

extension Comparison {
  /// Tells which sides of a comparison are constants. A column of text compares a constant number as text, and a column
  /// of numbers compares a constant text as a number.
  ///
  /// SQLite converts by the type of the column and not by that of the value, and Apple's programs rely on it, since
  /// text fields give texts: `NSPredicate(format: "pages == %@", field.text)`. A store in memory and the evaluation on
  /// objects have to find the same rows, so they convert in the same way.
  ///
  /// ```text
  /// title == 9            column of texts:    9 becomes "9"
  /// pages == "9"          column of numbers:  "9" becomes 9;  "nine" stays a text and equals nothing
  /// title IN {9, "x"}     each member by itself
  /// title == pages        two columns: nothing is converted
  /// 9 == "9"              two constants: nothing is converted
  /// ```
  ///
  /// Source: https://www.sqlite.org/datatype3.html, "Type Conversions Prior To Comparison".
  struct Affinity {
    /// At most one of the two is true: two constants need no row, and are compared as they are.
    private(set) var isLeftConstant = false
    private(set) var isRightConstant = false
    /// For each member of `{a, 1}` on a side whether it is constant; nil if that side is something else.
    private(set) var leftMembers: [Bool]?
    private(set) var rightMembers: [Bool]?
    /// The members of a constant collection, each in every form in which a column may compare it; nil for no
    /// collection.
    private(set) var members: Set<PredicateValue>?

    init() {}

    init(
      _ left: NSExpression, _ right: NSExpression, constant: PredicateValue? = nil, members: Set<PredicateValue>? = nil
    ) {
      (isLeftConstant, isRightConstant) = (left.isIndependent, right.isIndependent)
      if isLeftConstant && isRightConstant {
        (isLeftConstant, isRightConstant) = (false, false)
        return
      }
      (leftMembers, rightMembers) = (Self.members(of: left), Self.members(of: right))
      self.members = members.map { $0.union($0.map(\.asText)).union($0.map(\.asNumber)) }
    }

    private static func members(of expression: NSExpression) -> [Bool]? {
      if case .aggregate(let members) = expression.node { members.map(\.isIndependent) } else { nil }
    }

    /// With the sides exchanged, for CONTAINS, which is IN the other way round.
    var mirrored: Affinity {
      var copy = self
      (copy.isLeftConstant, copy.isRightConstant) = (isRightConstant, isLeftConstant)
      (copy.leftMembers, copy.rightMembers) = (rightMembers, leftMembers)
      return copy
    }

    /// Converts the constant side, if there is one, to what the column on the other side compares.
    func apply(_ left: inout PredicateValue, _ right: inout PredicateValue) {
      if isRightConstant {
        right = right.constant(comparedWith: left)
      } else if isLeftConstant {
        left = left.constant(comparedWith: right)
      }
    }

    /// For a value on the left and the member at an index on the right.
    func apply(_ value: inout PredicateValue, _ right: inout PredicateValue, member index: Int) {
      let isConstant = isRightConstant || rightMembers?[index] ?? false
      if isConstant, !isLeftConstant {
        right = right.constant(comparedWith: value)
      } else if isLeftConstant, !isConstant {
        value = value.constant(comparedWith: right)
      }
    }
  }
}

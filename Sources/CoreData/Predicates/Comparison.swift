/// A comparison with everything that can be prepared once: folded constants, compiled patterns, and the members of a
/// constant collection as a hash set.
struct Comparison {
  let type: NSComparisonPredicate.Operator
  let options: NSComparisonPredicate.Options

  /// The right side if it is a constant; `holds` then ignores its second argument.
  private let constant: PredicateValue?
  private let members: Set<PredicateValue>?
  private let like: LikePattern?
  private let expression: NSRegularExpression?

  var hasConstantRight: Bool { constant != nil }

  /// A comparison whose right side is not known before `holds`.
  init(type: NSComparisonPredicate.Operator, options: NSComparisonPredicate.Options) {
    self.type = type
    self.options = options
    (constant, members, like, expression) = (nil, nil, nil, nil)
  }

  init(type: NSComparisonPredicate.Operator, options: NSComparisonPredicate.Options, right: NSExpression) {
    self.type = type
    self.options = options
    guard let value = right.constantPredicateValue else {
      (constant, members, like, expression) = (nil, nil, nil, nil)
      return
    }
    let constant = Comparison.folded(value, options, for: type)
    self.constant = constant
    if type == .in, case .collection(let members) = constant {
      self.members = Set(members.map { Comparison.folded(PredicateValue($0), options, for: .equalTo) })
    } else {
      self.members = nil
    }
    if case .string(let pattern) = constant {
      like = type == .like ? LikePattern(pattern) : nil
      expression = type == .matches ? StringMatching.regularExpression(pattern, options) : nil
    } else {
      (like, expression) = (nil, nil)
    }
  }

  /// Whether the comparison holds. Values that cannot be compared are unequal and have no order.
  func holds(_ left: PredicateValue, _ right: PredicateValue) -> Bool {
    let left = options.isEmpty ? left : Comparison.folded(left, options, for: type)
    let right = constant ?? (options.isEmpty ? right : Comparison.folded(right, options, for: type))
    switch type {
    case .equalTo: return left == right
    case .notEqualTo: return left != right
    case .lessThan: return left.order(to: right) == .orderedAscending
    case .greaterThan: return left.order(to: right) == .orderedDescending
    case .lessThanOrEqualTo: return isOneOf([.orderedAscending, .orderedSame], left, right)
    case .greaterThanOrEqualTo: return isOneOf([.orderedDescending, .orderedSame], left, right)
    case .between: return isBetween(left, right)
    case .in: return isMember(left, of: right)
    case .contains:
      if case .collection = left { return isMember(right, of: left) }
      return strings(left, right) { StringMatching.contains($0, $1) }
    case .beginsWith: return strings(left, right) { StringMatching.begins($0, with: $1) }
    case .endsWith: return strings(left, right) { StringMatching.ends($0, with: $1) }
    case .like: return strings(left, right) { (like ?? LikePattern($1)).matches($0) }
    case .matches:
      return strings(left, right) { text, pattern in
        if let expression { return StringMatching.matches(text, expression, options) }
        return constant == nil && StringMatching.matches(text, pattern: pattern, options)
      }
    }
  }

  private func isOneOf(_ orders: [ComparisonResult], _ left: PredicateValue, _ right: PredicateValue) -> Bool {
    left.order(to: right).map(orders.contains) ?? false
  }

  private func strings(_ left: PredicateValue, _ right: PredicateValue, _ test: (String, String) -> Bool) -> Bool {
    guard case .string(let left) = left, case .string(let right) = right else { return false }
    return test(left, right)
  }

  private func isBetween(_ value: PredicateValue, _ bounds: PredicateValue) -> Bool {
    guard case .collection(let members) = bounds, members.count == 2 else { return false }
    let low = Comparison.folded(PredicateValue(members[0]), options, for: type)
    let high = Comparison.folded(PredicateValue(members[1]), options, for: type)
    return isOneOf([.orderedDescending, .orderedSame], value, low)
      && isOneOf([.orderedAscending, .orderedSame], value, high)
  }

  private func isMember(_ value: PredicateValue, of collection: PredicateValue) -> Bool {
    if let members, type == .in { return members.contains(value) }
    switch collection {
    case .collection(let members):
      return members.contains { Comparison.folded(PredicateValue($0), options, for: .equalTo) == value }
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

// Comparisons, strings, collections and ranges of Foundation's predicate macro.

/// `a && b`: `a AND b`.
extension PredicateExpressions.Conjunction: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    .truth(PredicateConversion.compound(.and, [try conversion.predicate(lhs), try conversion.predicate(rhs)]))
  }
}

/// `a || b`: `a OR b`.
extension PredicateExpressions.Disjunction: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    .truth(PredicateConversion.compound(.or, [try conversion.predicate(lhs), try conversion.predicate(rhs)]))
  }
}

/// `!a`: `NOT a`. In SQL a NOT keeps rows for which the inner comparison meets a nil, as in memory.
extension PredicateExpressions.Negation: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    .truth(PredicateConversion.compound(.not, [try conversion.predicate(wrapped)]))
  }
}

// MARK: Comparisons

/// `$0.title == "Emma"`: `title == "Emma"`. Nil on a side finds objects without a value.
///
/// A condition may stand on either side, `($0.pages > 3) == $0.isRead`: it becomes a TERNARY with the values 1 and 0.
extension PredicateExpressions.Equal: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    .truth(PredicateConversion.comparison(try conversion.value(lhs), .equalTo, try conversion.value(rhs)))
  }
}

/// `$0.title != "Emma"`: `title != "Emma"`, which in a fetch from SQL omits rows whose title is nil. Swift's own
/// evaluation of the macro would include them.
extension PredicateExpressions.NotEqual: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    .truth(PredicateConversion.comparison(try conversion.value(lhs), .notEqualTo, try conversion.value(rhs)))
  }
}

/// `<`, `<=`, `>` and `>=`. The macro has them for values that are not optional; a nil that a forced unwrapping let
/// through has no order, so the comparison is false.
extension PredicateExpressions.Comparison: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    let type: NSComparisonPredicate.Operator =
      switch op {
      case .lessThan: .lessThan
      case .lessThanOrEqual: .lessThanOrEqualTo
      case .greaterThan: .greaterThan
      case .greaterThanOrEqual: .greaterThanOrEqualTo
      @unknown default: throw PredicateConversion.Unsupported(what: "A comparison")
      }
    return .truth(PredicateConversion.comparison(try conversion.value(lhs), type, try conversion.value(rhs)))
  }
}

// MARK: Strings

/// `$0.title.contains("mm")`: `title CONTAINS "mm"`, by bytes. For other collections than texts the macro asks for a
/// run of members, which no store can search.
extension PredicateExpressions.CollectionContainsCollection: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    guard Base.Output.self == String.self else {
      throw PredicateConversion.Unsupported(what: "A collection in a collection")
    }
    return .truth(PredicateConversion.comparison(try conversion.value(base), .contains, try conversion.value(other)))
  }
}

/// `$0.title.starts(with: "Em")`: `title BEGINSWITH "Em"`. Unlike Swift's method it is false for an empty prefix.
extension PredicateExpressions.SequenceStartsWith: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    guard Base.Output.self == String.self else {
      throw PredicateConversion.Unsupported(what: "The beginning of a collection")
    }
    return .truth(PredicateConversion.comparison(try conversion.value(base), .beginsWith, try conversion.value(prefix)))
  }
}

// MARK: Collections

/// `["Emma", "Persuasion"].contains($0.title)`: `title IN {"Emma", "Persuasion"}`.
extension PredicateExpressions.SequenceContains: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    .truth(PredicateConversion.comparison(try conversion.value(element), .in, try conversion.value(sequence)))
  }
}

/// `$0.books.filter { $0.pages > 500 }`: `SUBQUERY(books, $member1, $member1.pages > 500)`, mostly followed by `count`.
extension PredicateExpressions.Filter: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    .value(try conversion.members(of: sequence, variable, filter))
  }
}

/// `$0.books.contains { $0.pages > 500 }`: `SUBQUERY(books, $member1, $member1.pages > 500).@count > 0`. A SUBQUERY and
/// not ANY, since the closure may hold several conditions on one member.
extension PredicateExpressions.SequenceContainsWhere: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    let count = PredicateConversion.path(try conversion.members(of: sequence, variable, test), "@count")
    return .truth(PredicateConversion.comparison(count, .greaterThan, NSExpression(forConstantValue: 0)))
  }
}

/// `$0.books.allSatisfy { $0.isRead }`: `SUBQUERY(books, $member1, NOT $member1.isRead == 1).@count == 0`, which is
/// true without members, as in Swift.
extension PredicateExpressions.SequenceAllSatisfy: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    let count = PredicateConversion.path(
      try conversion.members(of: sequence, variable, test, isNegated: true), "@count")
    return .truth(PredicateConversion.comparison(count, .equalTo, NSExpression(forConstantValue: 0)))
  }
}

/// `$0.scores.min()`: `min:(scores)`; nil without members.
extension PredicateExpressions.SequenceMinimum: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    PredicateConversion.function(.minimum, try conversion.value(elements))
  }
}

/// `$0.scores.max()`: `max:(scores)`; nil without members.
extension PredicateExpressions.SequenceMaximum: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    PredicateConversion.function(.maximum, try conversion.value(elements))
  }
}

// MARK: Ranges

/// A range with constant bounds.
///
/// A range is a generic type, so a cast to each kind of bound would be needed; this protocol gives the bounds of any.
private protocol ConstantRange {
  var lower: Any? { get }
  var upper: Any? { get }
  var includesUpper: Bool { get }
}

extension Range: ConstantRange {
  var lower: Any? { lowerBound }
  var upper: Any? { upperBound }
  var includesUpper: Bool { false }
}

extension ClosedRange: ConstantRange {
  var lower: Any? { lowerBound }
  var upper: Any? { upperBound }
  var includesUpper: Bool { true }
}

extension PartialRangeFrom: ConstantRange {
  var lower: Any? { lowerBound }
  var upper: Any? { nil }
  var includesUpper: Bool { false }
}

extension PartialRangeUpTo: ConstantRange {
  var lower: Any? { nil }
  var upper: Any? { upperBound }
  var includesUpper: Bool { false }
}

extension PartialRangeThrough: ConstantRange {
  var lower: Any? { nil }
  var upper: Any? { upperBound }
  var includesUpper: Bool { true }
}

/// A range with expressions as bounds.
///
/// `$0.minimum..<$0.maximum` in a closure: the macro keeps the two bounds as expressions, while `1..<9` is a constant.
private protocol ExpressionRange {
  var bounds: (lower: any PredicateExpression, upper: any PredicateExpression) { get }
  var includesUpper: Bool { get }
}

extension PredicateExpressions.Range: ExpressionRange {
  fileprivate var bounds: (lower: any PredicateExpression, upper: any PredicateExpression) { (lower, upper) }
  fileprivate var includesUpper: Bool { false }
}

extension PredicateExpressions.ClosedRange: ExpressionRange {
  fileprivate var bounds: (lower: any PredicateExpression, upper: any PredicateExpression) { (lower, upper) }
  fileprivate var includesUpper: Bool { true }
}

/// `(100..<500).contains($0.pages)`: `pages >= 100 AND pages < 500`. BETWEEN would include the upper bound, so the two
/// comparisons stand apart; an index serves both.
///
/// A partial range gives one comparison. A range of another type, such as one of the program's own, has no counterpart.
extension PredicateExpressions.RangeExpressionContains: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    let element = try conversion.value(element)
    var parts: [NSPredicate] = []
    if let range = range as? any ExpressionRange {
      let (lower, upper) = (try conversion.value(range.bounds.lower), try conversion.value(range.bounds.upper))
      parts = [
        PredicateConversion.comparison(element, .greaterThanOrEqualTo, lower),
        PredicateConversion.comparison(element, range.includesUpper ? .lessThanOrEqualTo : .lessThan, upper),
      ]
    } else if let range = try conversion.value(range).constant as? any ConstantRange {
      if let lower = range.lower {
        parts.append(
          PredicateConversion.comparison(element, .greaterThanOrEqualTo, NSExpression(forConstantValue: lower)))
      }
      if let upper = range.upper {
        parts.append(
          PredicateConversion.comparison(
            element, range.includesUpper ? .lessThanOrEqualTo : .lessThan, NSExpression(forConstantValue: upper)))
      }
    }
    guard !parts.isEmpty else { throw PredicateConversion.Unsupported(what: "A range of this kind") }
    return .truth(parts.count == 1 ? parts[0] : PredicateConversion.compound(.and, parts))
  }
}

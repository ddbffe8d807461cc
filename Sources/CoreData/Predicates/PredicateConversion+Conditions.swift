// Comparisons, strings, collections and ranges of Foundation's predicate macro.

extension PredicateExpressions.Conjunction: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    .truth(PredicateConversion.compound(.and, [try conversion.predicate(lhs), try conversion.predicate(rhs)]))
  }
}

extension PredicateExpressions.Disjunction: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    .truth(PredicateConversion.compound(.or, [try conversion.predicate(lhs), try conversion.predicate(rhs)]))
  }
}

extension PredicateExpressions.Negation: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    .truth(PredicateConversion.compound(.not, [try conversion.predicate(wrapped)]))
  }
}

// MARK: Comparisons

extension PredicateExpressions.Equal: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    .truth(PredicateConversion.comparison(try conversion.value(lhs), .equalTo, try conversion.value(rhs)))
  }
}

extension PredicateExpressions.NotEqual: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    .truth(PredicateConversion.comparison(try conversion.value(lhs), .notEqualTo, try conversion.value(rhs)))
  }
}

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

extension PredicateExpressions.CollectionContainsCollection: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    guard Base.Output.self == String.self else {
      throw PredicateConversion.Unsupported(what: "A collection in a collection")
    }
    return .truth(PredicateConversion.comparison(try conversion.value(base), .contains, try conversion.value(other)))
  }
}

extension PredicateExpressions.SequenceStartsWith: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    guard Base.Output.self == String.self else {
      throw PredicateConversion.Unsupported(what: "The beginning of a collection")
    }
    return .truth(PredicateConversion.comparison(try conversion.value(base), .beginsWith, try conversion.value(prefix)))
  }
}

// MARK: Collections

extension PredicateExpressions.SequenceContains: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    .truth(PredicateConversion.comparison(try conversion.value(element), .in, try conversion.value(sequence)))
  }
}

extension PredicateExpressions.Filter: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    .value(try conversion.members(of: sequence, variable, filter))
  }
}

extension PredicateExpressions.SequenceContainsWhere: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    let count = PredicateConversion.path(try conversion.members(of: sequence, variable, test), "@count")
    return .truth(PredicateConversion.comparison(count, .greaterThan, NSExpression(forConstantValue: 0)))
  }
}

extension PredicateExpressions.SequenceAllSatisfy: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    let count = PredicateConversion.path(
      try conversion.members(of: sequence, variable, test, isNegated: true), "@count")
    return .truth(PredicateConversion.comparison(count, .equalTo, NSExpression(forConstantValue: 0)))
  }
}

extension PredicateExpressions.SequenceMinimum: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    PredicateConversion.function(.minimum, try conversion.value(elements))
  }
}

extension PredicateExpressions.SequenceMaximum: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    PredicateConversion.function(.maximum, try conversion.value(elements))
  }
}

// MARK: Ranges

/// A range with constant bounds.
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

/// The operators of key paths: `pages.@count`, `items.@sum.price`.
///
/// Source: Key-Value Coding Programming Guide, "Using Collection Operators".
enum CollectionOperator: String, CaseIterable {
  case count = "@count"
  case sum = "@sum"
  case average = "@avg"
  case minimum = "@min"
  case maximum = "@max"
  case unionOfObjects = "@unionOfObjects"
  case distinctUnionOfObjects = "@distinctUnionOfObjects"

  /// The value of an operator over `object`; `path` follows the operator. An unknown operator reads as nil.
  static func value(of name: String, over object: Any, path: [String]) -> Any? {
    let members = NSExpression.members(of: object)
    guard let operation = CollectionOperator(rawValue: name) else { return nil }
    if operation == .count {
      guard case .collection = PredicateValue(object) else { return nil }
      return members.count
    }
    return operation.value(of: members.map { KeyValueReading.value(at: path, of: $0) })
  }

  /// Sums and averages count nil as 0; the other operators skip it. The sum and the average of no values are 0, their
  /// minimum and maximum are nil.
  func value(of values: [Any?]) -> Any? {
    switch self {
    case .count: values.count
    case .sum: PredicateArithmetic.sum(values)
    case .average:
      values.isEmpty ? 0.0 : PredicateArithmetic.double(PredicateArithmetic.sum(values)) / Double(values.count)
    case .minimum: PredicateArithmetic.extreme(values, .orderedAscending)
    case .maximum: PredicateArithmetic.extreme(values, .orderedDescending)
    case .unionOfObjects: values.compactMap { $0 }
    case .distinctUnionOfObjects: PredicateArithmetic.distinct(values.compactMap { $0 })
    }
  }
}

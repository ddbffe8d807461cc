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
  case unionOfArrays = "@unionOfArrays"
  case distinctUnionOfArrays = "@distinctUnionOfArrays"
  case distinctUnionOfSets = "@distinctUnionOfSets"

  /// The value of an operator over `object`; `path` follows the operator. An unknown operator traps, as Apple's raises
  /// an exception.
  static func value(of name: String, over object: Any, path: [String]) -> Any? {
    guard let operation = CollectionOperator(rawValue: name) else { fatalError(unknown(name)) }
    let members = NSExpression.members(of: object)
    if operation == .count {
      guard case .collection = PredicateValue(object) else { return nil }
      return members.count
    }
    let values = members.map { KeyValueReading.value(at: path, of: $0) }
    if operation == .distinctUnionOfObjects, case let kind = MemberValues.Kind(of: object), kind != .list {
      return MemberValues(kind: kind, values: PredicateArithmetic.distinct(values.compactMap { $0 }))
    }
    return operation.value(of: values)
  }

  /// The message for an operator that does not exist.
  static func unknown(_ name: String) -> String {
    "There is no collection operator \(name); there are \(allCases.map(\.rawValue).joined(separator: ", "))"
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
    case .unionOfArrays: joined(values)
    case .distinctUnionOfArrays: PredicateArithmetic.distinct(joined(values))
    case .distinctUnionOfSets: MemberValues(kind: .set, values: PredicateArithmetic.distinct(joined(values)))
    }
  }

  /// The members of several collections.
  private func joined(_ collections: [Any?]) -> [Any] {
    collections.flatMap { NSExpression.members(of: $0).compactMap { $0.flatMap(KeyValueReading.unwrapped) } }
  }
}

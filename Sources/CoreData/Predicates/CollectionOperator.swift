/// The operators of key paths: `pages.@count`, `items.@sum.price`.
///
/// The keys before the operator lead to a collection, the keys behind it are read from each member, and the operator
/// makes one value of the results.
///
/// ```text
/// books.@count                        3
/// books.@sum.pages                    nil counts as 0
/// books.@avg.pages                    the sum divided by the number of members, nil included
/// books.@max.pages                    nil is skipped
/// books.@unionOfObjects.title         ["Emma", "Emma", "Persuasion"]
/// books.@distinctUnionOfObjects.title ["Emma", "Persuasion"]
/// authors.@unionOfArrays.awards       the members of all the collections in one
/// ```
///
/// In SQL an operator becomes a subquery with an aggregate,
/// `(SELECT COUNT(*) FROM ZBOOK t1 WHERE t1.ZAUTHOR = t0.Z_PK)`; those that join several collections exist in memory
/// only. The function `average:` differs from `@avg`: it divides by the number of members that are not nil.
///
/// Source: Key-Value Coding Programming Guide, "Using Collection Operators"; `@avg` divides by the number of all
/// members there too.
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
  ///
  /// The parser of formats refuses unknown operators already, so this traps only for key paths that a program built,
  /// for example `value(forKeyPath: "books.@first")`.
  ///
  /// - Parameters:
  ///   - object: the collection; `@count` of anything else is nil, other operators see no members.
  ///   - path: the keys behind the operator, mostly one.
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
  ///
  /// Values that are no numbers count in sums as SQLite counts them: see `PredicateValue.summand`.
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

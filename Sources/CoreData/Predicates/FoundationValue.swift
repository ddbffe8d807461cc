/// The form in which the public interface returns values, as key-value coding does on Apple's platforms.
///
/// Evaluation uses Swift's numbers, and `as? Int` of an `Int64` in `Any` fails. An `NSNumber` casts to each type that
/// can hold its value.
///
/// The rule of the module: inside, numbers are Swift's; whatever leaves through `Any` is converted here once. It
/// concerns `value(forKey:)`, `expressionValue(with:context:)`, dictionary results and constants of expressions.
enum FoundationValue {
  /// Numbers become `NSNumber`, also inside arrays; the values of a collection's members become a collection of the
  /// same kind.
  ///
  /// Objects, texts and dates are returned at once: they are what most values are, and need no conversion.
  static func of(_ value: Any?) -> Any? {
    guard let value else { return nil }
    let type = type(of: value)
    if type is AnyClass || type == String.self || type == Date.self { return value }
    switch value {
    case let values as MemberValues: return values.collection
    case let list as [Any?]: return list.map { of($0) ?? NSNull() }
    default: return number(value)
    }
  }

  /// A number as an `NSNumber`; any other value unchanged.
  ///
  /// A `Bool` becomes an `NSNumber` that casts back to `Bool` and to `Int`.
  static func number(_ value: Any) -> Any {
    if let decimal = value as? Decimal { return NSDecimalNumber(decimal: decimal) }
    return value as? NSNumber ?? value
  }
}

/// The values of a collection's members at a key, or the result of an operation on collections.
///
/// Evaluation counts equal values and nil, so that `sum:(books.pages)` adds all pages, as SQL does. Only `collection`
/// drops them.
struct MemberValues {
  /// The kind of collection that a key was read from, and that the result will be for the caller.
  enum Kind {
    case set
    case orderedSet
    case list

    /// The kind of collection that the values come from.
    init(of collection: Any) {
      switch collection {
      case let values as MemberValues: self = values.kind
      case is NSOrderedSet: self = .orderedSet
      case is NSSet, is Set<AnyHashable>: self = .set
      default: self = .list
      }
    }
  }

  let kind: Kind
  let values: [Any?]

  /// The values in a Foundation collection. Sets have no nil; an array has `NSNull` in its place.
  var collection: Any {
    switch kind {
    case .set: NSSet(array: values.compactMap(FoundationValue.of))
    // On Linux `NSOrderedSet` keeps equal strings.
    case .orderedSet: NSOrderedSet(array: PredicateArithmetic.distinct(values.compactMap(FoundationValue.of)))
    case .list: values.map { FoundationValue.of($0) ?? NSNull() }
    }
  }
}

/// Converts the values that programs set to those that attributes hold.
///
/// `integer` and `double` come first in every conversion, with the types that programs mostly set: a failed cast from
/// `Any` to `NSNumber` costs a hundred times as much as a comparison of types.
package enum AttributeValue {
  package static func integer(_ value: Any) -> Int64? {
    switch value {
    case let integer as Int64: integer
    case let integer as Int: Int64(integer)
    case let boolean as Bool: boolean ? 1 : 0
    default: (value as? NSNumber)?.int64Value
    }
  }

  package static func double(_ value: Any) -> Double? {
    switch value {
    case let double as Double: double
    case let float as Float: Double(float)
    case let integer as Int: Double(integer)
    default: (value as? NSNumber)?.doubleValue
    }
  }

  /// A value of a type that is kept in a box.
  ///
  /// A `Decimal` becomes an NSDecimalNumber, the one form in which the attribute is kept; a UUID given as text is
  /// refused, as in Apple's framework.
  package static func boxed(_ value: Any, _ type: NSAttributeType) -> Any? {
    switch type {
    case .decimalAttributeType:
      if let decimal = value as? NSDecimalNumber { return decimal }
      if let decimal = value as? Decimal { return NSDecimalNumber(decimal: decimal) }
      return (value as? NSNumber).map { NSDecimalNumber(decimal: $0.decimalValue) }
    case .UUIDAttributeType: return value as? UUID
    case .URIAttributeType: return value as? URL
    default: return value
    }
  }

  /// An integer attribute's value, as key-value coding returns it.
  ///
  /// Key-value coding returns an NSNumber for each read. Those from 0 to 255 are shared for Integer 64: page counts,
  /// flags and counters are mostly small.
  static func number(_ integer: Int64, _ type: NSAttributeType) -> NSNumber {
    if type == .integer64AttributeType && smallNumbers.indices.contains(Int(truncatingIfNeeded: integer)) {
      return smallNumbers[Int(truncatingIfNeeded: integer)]
    }
    // A number that does not fit stays what it is: predicates and the store see it, too.
    switch type {
    case .integer16AttributeType: if let short = Int16(exactly: integer) { return NSNumber(value: short) }
    case .integer32AttributeType: if let short = Int32(exactly: integer) { return NSNumber(value: short) }
    default: break
    }
    return NSNumber(value: integer)
  }

  /// A number as key-value coding returns it from an attribute of the type; nil if the value is not a number.
  package static func numeric(_ value: Any, _ type: NSAttributeType) -> NSNumber? {
    switch type {
    case .booleanAttributeType: integer(value).map { NSNumber(value: $0 != 0) }
    case .doubleAttributeType: double(value).map { NSNumber(value: $0) }
    case .floatAttributeType: double(value).map { NSNumber(value: Float($0)) }
    default: integer(value).map { number($0, type) }
    }
  }

  /// The numbers from 0, made once: most integers of objects are small.
  private static let smallNumbers = (0..<256).map { NSNumber(value: Int64($0)) }

  /// The value as key-value coding returns it after it was set; nil if the attribute cannot hold it.
  package static func converted(_ value: Any, _ attribute: NSAttributeDescription) -> Any? {
    let type = attribute.attributeType
    switch type {
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType, .booleanAttributeType,
      .doubleAttributeType, .floatAttributeType:
      return numeric(value, type)
    case .dateAttributeType: return value as? Date
    case .stringAttributeType: return value as? String
    case .binaryDataAttributeType: return value as? Data
    case .compositeAttributeType:
      return (attribute as? NSCompositeAttributeDescription).flatMap { CompositeValue.converted(value, $0) }
    case .undefinedAttributeType, .decimalAttributeType, .UUIDAttributeType, .URIAttributeType,
      .transformableAttributeType, .objectIDAttributeType:
      return boxed(value, type)
    }
  }
}

/// The kind of value that an attribute holds. Raw values are Apple's; version hashes contain them.
public enum NSAttributeType: UInt, Sendable {
  /// No kind, for transient attributes of any value.
  case undefinedAttributeType = 0
  /// `Int16`.
  case integer16AttributeType = 100
  /// `Int32`.
  case integer32AttributeType = 200
  /// `Int64`.
  case integer64AttributeType = 300
  /// `NSDecimalNumber`, of up to 38 digits.
  case decimalAttributeType = 400
  /// `Double`.
  case doubleAttributeType = 500
  /// `Float`.
  case floatAttributeType = 600
  /// `String`.
  case stringAttributeType = 700
  /// `Bool`.
  case booleanAttributeType = 800
  /// `Date`.
  case dateAttributeType = 900
  /// `Data`.
  case binaryDataAttributeType = 1000
  /// `UUID`.
  case UUIDAttributeType = 1100
  /// `URL`.
  case URIAttributeType = 1200
  /// Any object that a `ValueTransformer` turns into data and back.
  case transformableAttributeType = 1800
  /// `NSManagedObjectID`, for transient attributes.
  case objectIDAttributeType = 2000
  /// A dictionary of the values of several attributes.
  case compositeAttributeType = 2100
}

extension NSAttributeType {
  private static let byModelFileName: [String: NSAttributeType] = [
    "Undefined": .undefinedAttributeType, "Integer 16": .integer16AttributeType,
    "Integer 32": .integer32AttributeType, "Integer 64": .integer64AttributeType,
    "Decimal": .decimalAttributeType, "Double": .doubleAttributeType, "Float": .floatAttributeType,
    "String": .stringAttributeType, "Boolean": .booleanAttributeType, "Date": .dateAttributeType,
    "Binary": .binaryDataAttributeType, "UUID": .UUIDAttributeType, "URI": .URIAttributeType,
    "Transformable": .transformableAttributeType, "ObjectID": .objectIDAttributeType,
    "Composite": .compositeAttributeType,
  ]

  /// The type with this name in model files; nil for an unknown name.
  package init?(modelFileName: String) {
    guard let type = Self.byModelFileName[modelFileName] else { return nil }
    self = type
  }

  /// The type's name in model files.
  package var modelFileName: String? { Self.byModelFileName.first { $0.value == self }?.key }

  /// Whether the minimum and the maximum in a model file are numbers.
  package var isNumber: Bool {
    switch self {
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType, .decimalAttributeType,
      .doubleAttributeType, .floatAttributeType:
      true
    default: false
    }
  }
}

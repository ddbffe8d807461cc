extension NSAttributeType {
  /// The name of the values' class, the default of `attributeValueClassName`.
  var valueClassName: String? {
    switch self {
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType, .doubleAttributeType,
      .floatAttributeType, .booleanAttributeType:
      "NSNumber"
    case .decimalAttributeType: "NSDecimalNumber"
    case .stringAttributeType: "NSString"
    case .dateAttributeType: "NSDate"
    case .binaryDataAttributeType: "NSData"
    case .UUIDAttributeType: "NSUUID"
    case .URIAttributeType: "NSURL"
    case .objectIDAttributeType: "NSManagedObjectID"
    case .undefinedAttributeType, .transformableAttributeType, .compositeAttributeType: nil
    }
  }
}

extension NSAttributeDescription {
  /// The kind of value that an attribute holds: `NSAttributeType` in the spelling of newer code, `.string` or
  /// `.integer64`.
  ///
  /// ```swift
  /// let pages = NSAttributeDescription()
  /// pages.type = .integer64  // attributeType = .integer64AttributeType
  /// ```
  ///
  /// Numbers are `NSNumber` in `value(forKey:)` whatever the type. In a SQLite file integers and Booleans are INTEGER
  /// columns, doubles and floats FLOAT, dates TIMESTAMP, decimals DECIMAL, texts and URLs VARCHAR, all others BLOB.
  public struct AttributeType: RawRepresentable, Hashable, Sendable {
    /// The same kind as the enumeration that model files and older code use.
    public let rawValue: NSAttributeType

    /// Wraps a kind.
    public init(rawValue: NSAttributeType) {
      self.rawValue = rawValue
    }

    /// No kind. Use it for transient attributes only, which then hold any value.
    public static let undefined = AttributeType(rawValue: .undefinedAttributeType)
    /// `Int16`. A save refuses a number that does not fit (1610, 1620).
    ///
    /// Choose it only where another program requires it: SQLite stores any integer in as few bytes as its value needs.
    public static let integer16 = AttributeType(rawValue: .integer16AttributeType)
    /// `Int32`. A save refuses a number that does not fit (1610, 1620).
    ///
    /// Saves no space in SQLite.
    public static let integer32 = AttributeType(rawValue: .integer32AttributeType)
    /// `Int64`: the type for counts and keys that may grow.
    ///
    /// Swift's `Int` has the same range on the platforms that this package supports.
    public static let integer64 = AttributeType(rawValue: .integer64AttributeType)
    /// `NSDecimalNumber`, of up to 38 digits in memory. SQLite keeps a number with a fraction as a `Double`, so about
    /// 15 digits come back.
    public static let decimal = AttributeType(rawValue: .decimalAttributeType)
    /// `Double`. SQLite stores NaN as NULL, so it comes back as nil.
    ///
    /// Not for money: 0.1 + 0.2 is not 0.3.
    public static let double = AttributeType(rawValue: .doubleAttributeType)
    /// `Float`, which SQLite keeps as a `Double`.
    public static let float = AttributeType(rawValue: .floatAttributeType)
    /// `String`, in UTF-8. SQL stores compare and sort it by its bytes, unless a predicate or descriptor says
    /// otherwise.
    public static let string = AttributeType(rawValue: .stringAttributeType)
    /// `Bool`, stored as 0 or 1.
    public static let boolean = AttributeType(rawValue: .booleanAttributeType)
    /// `Date`, stored as seconds since 2001-01-01 00:00 UTC.
    ///
    /// It has no time zone: store a calendar day as text, and the zone of a local time in an attribute of its own.
    public static let date = AttributeType(rawValue: .dateAttributeType)
    /// `Data`, stored in the row, or in a file of its own if `allowsExternalBinaryDataStorage` is set and it is large.
    public static let binaryData = AttributeType(rawValue: .binaryDataAttributeType)
    /// `UUID`, stored as its 16 bytes.
    ///
    /// With a uniqueness constraint over it an import can be repeated: the same UUID updates the same object.
    public static let uuid = AttributeType(rawValue: .UUIDAttributeType)
    /// `URL`, stored as its absolute text.
    ///
    /// In a predicate compare it with a `URL`, not with a `String`.
    public static let uri = AttributeType(rawValue: .URIAttributeType)
    /// Any object that the attribute's `ValueTransformer` turns into data and back. Core Data does not notice a change
    /// inside of the object: set the property again. SQL stores compare it with nil only.
    public static let transformable = AttributeType(rawValue: .transformableAttributeType)
    /// `NSManagedObjectID`. Use it for transient attributes only.
    public static let objectID = AttributeType(rawValue: .objectIDAttributeType)
    /// A dictionary of the values of `NSCompositeAttributeDescription.elements`.
    public static let composite = AttributeType(rawValue: .compositeAttributeType)
  }
}

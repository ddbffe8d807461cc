/// Reads values from the server's binary format: single ones for rows of any kind, and those of columns that have types
/// of their own.
///
/// Two ways lead from a column to a value. Rows of objects have columns that are cast to the type as which they are
/// decoded (`RowPlan.form`), so their decoder knows each one's form. Columns of dictionaries, aggregates and tombstones
/// have the type that the server gave them:
///
/// ```text
/// COUNT(t0."title")          bigint                 NSNumber
/// sum(t0."pages")            numeric                a whole number becomes NSNumber
/// min(t0."published")        timestamptz            Date
/// ```
enum ServerValue {
  static func decimal(_ bytes: UnsafeRawBufferPointer) -> NSDecimalNumber {
    NSDecimalNumber(decimal: ServerNumeric.decimal(bytes))
  }

  static func uuid(_ bytes: UnsafeRawBufferPointer) -> UUID? {
    bytes.count == 16 ? bytes.loadUnaligned(as: UUID.self) : nil
  }

  /// The text of JSON, which has a version number before it.
  static func json(_ bytes: UnsafeRawBufferPointer) -> Data { Data(bytes.dropFirst()) }

  /// A column's value in the form of an attribute type: the result type of an expression, or the type of an attribute.
  static func value(
    _ bytes: UnsafeRawBufferPointer, ofType type: UInt32, as attributeType: NSAttributeType,
    of attribute: NSAttributeDescription?
  ) -> Any? {
    let value = plain(bytes, type)
    switch attributeType {
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType, .booleanAttributeType,
      .doubleAttributeType, .floatAttributeType:
      return value.flatMap { AttributeValue.numeric($0, attributeType) }
    case .decimalAttributeType: return value.flatMap { AttributeValue.boxed($0, .decimalAttributeType) }
    case .URIAttributeType: return (value as? String).flatMap(URL.init(string:))
    case .transformableAttributeType:
      return (value as? Data).map { TransformableValue.decode($0, attribute?.valueTransformerName) }
    default:
      guard let decimal = value as? NSDecimalNumber else { return value }
      // A sum of integers.
      return Int64(decimal.stringValue).map { NSNumber(value: $0) } ?? NSNumber(value: decimal.doubleValue)
    }
  }

  /// A value in the form of its own type.
  static func plain(_ bytes: UnsafeRawBufferPointer, _ type: UInt32) -> Any? {
    switch ServerType(rawValue: type) {
    case .boolean: NSNumber(value: bytes[0] != 0)
    case .int2: NSNumber(value: Int64(bytes.bigEndian(Int16.self)))
    case .int4: NSNumber(value: Int64(bytes.bigEndian(Int32.self)))
    case .int8: NSNumber(value: bytes.bigEndian(Int64.self))
    case .float4: NSNumber(value: Double(Float(bitPattern: bytes.bigEndian(UInt32.self))))
    case .float8: NSNumber(value: Double(bitPattern: bytes.bigEndian(UInt64.self)))
    case .numeric: decimal(bytes)
    case .timestamp: Date(timeIntervalSinceReferenceDate: ServerDate.seconds(bytes.bigEndian(Int64.self)))
    case .uuid: uuid(bytes)
    case .bytes: Data(bytes)
    case .json: json(bytes)
    case .text, nil: String(decoding: bytes, as: UTF8.self)
    }
  }
}

extension ServerResult {
  /// A number that is not NULL; 0 for NULL. Of `bigint` and `integer`, the types of keys, versions and numbers of
  /// entities.
  @inline(__always)
  func integer(_ row: Int, _ column: Int) -> Int64 {
    guard let bytes = bytes(row, column) else { return 0 }
    return bytes.count == 8 ? bytes.bigEndian(Int64.self) : Int64(bytes.bigEndian(Int32.self))
  }

  func text(_ row: Int, _ column: Int) -> String? { bytes(row, column).map { String(decoding: $0, as: UTF8.self) } }
}

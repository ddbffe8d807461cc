/// Values of attributes in the server's binary format.
enum ServerValue {
  // MARK: Writing

  /// Appends a value as key-value coding has it.
  ///
  /// - Returns: false for a value that is stored as NULL.
  /// - Throws: ``RefusedValue`` if PostgreSQL cannot hold the value.
  static func append(_ value: Any?, _ attribute: NSAttributeDescription, to bytes: inout [UInt8]) throws -> Bool {
    guard let value, !(value is NSNull) else { return false }
    switch attribute.attributeType {
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType:
      guard let integer = AttributeValue.integer(value) else { return false }
      bytes.append(bigEndian: integer)
    case .booleanAttributeType:
      guard let integer = AttributeValue.integer(value) else { return false }
      bytes.append(integer == 0 ? 0 : 1)
    case .doubleAttributeType, .floatAttributeType:
      guard let double = AttributeValue.double(value) else { return false }
      bytes.append(bigEndian: double.bitPattern)
    case .dateAttributeType:
      guard let date = value as? Date else { return false }
      try append(date: date.timeIntervalSinceReferenceDate, attribute, to: &bytes)
    case .stringAttributeType:
      guard let text = value as? String else { return false }
      try append(text: text, attribute, to: &bytes)
    case .binaryDataAttributeType:
      guard let data = value as? Data else { return false }
      bytes.append(contentsOf: data)
    default: return try append(boxed: value, attribute, to: &bytes)
    }
    return true
  }

  static func append(
    boxed value: Any, _ attribute: NSAttributeDescription, to bytes: inout [UInt8]
  ) throws -> Bool {
    switch attribute.attributeType {
    case .decimalAttributeType:
      guard let number = value as? NSDecimalNumber else { return false }
      ServerNumeric.append(number.decimalValue, to: &bytes)
    case .UUIDAttributeType:
      guard let uuid = value as? UUID else { return false }
      withUnsafeBytes(of: uuid.uuid) { bytes.append(contentsOf: $0) }
    case .URIAttributeType:
      guard let url = value as? URL else { return false }
      try append(text: url.absoluteString, attribute, to: &bytes)
    case .transformableAttributeType where ServerType(attribute) == .json:
      return try append(json: value, attribute, to: &bytes)
    default:
      guard let data = try encode(value, attribute) else { return false }
      bytes.append(contentsOf: data)
    }
    return true
  }

  static func append(date seconds: Double, _ attribute: NSAttributeDescription, to bytes: inout [UInt8]) throws {
    bytes.append(bigEndian: try moment(seconds, attribute))
  }

  @inline(__always)
  static func moment(_ seconds: Double, _ attribute: NSAttributeDescription) throws -> Int64 {
    if let moment = ServerDate.microseconds(seconds) { return moment }
    throw refused(
      attribute, "is a date that PostgreSQL does not have (4713 BC to 294276 AD)",
      remedy: "give the object a date within them, or none")
  }

  static func append(text: String, _ attribute: NSAttributeDescription, to bytes: inout [UInt8]) throws {
    var text = text
    try text.withUTF8 {
      try check(UnsafeRawBufferPointer($0), attribute)
      bytes.append(contentsOf: $0)
    }
  }

  /// - Throws: ``RefusedValue`` for a text that PostgreSQL cannot hold.
  @inline(__always)
  static func check(_ text: UnsafeRawBufferPointer, _ attribute: NSAttributeDescription) throws {
    guard let start = text.baseAddress, memchr(start, 0, text.count) != nil else { return }
    throw nulRefused(attribute)
  }

  private static func nulRefused(_ attribute: NSAttributeDescription) -> RefusedValue {
    refused(
      attribute, "is a text with a NUL character, which PostgreSQL refuses", remedy: "remove the character (U+0000)")
  }

  /// The binary format is a version number, 1, and the text (`jsonb_recv` of PostgreSQL 15).
  private static func append(
    json value: Any, _ attribute: NSAttributeDescription, to bytes: inout [UInt8]
  ) throws -> Bool {
    guard let data = try encode(value, attribute) else { return false }
    // The escape of U+0000, which the server's texts cannot hold. A backslash before it may be one that is escaped.
    if data.range(of: Data("\\u0000".utf8)) != nil,
      hasNUL(TransformableValue.decode(data, attribute.valueTransformerName))
    {
      throw nulRefused(attribute)
    }
    bytes.append(1)
    bytes.append(contentsOf: data)
    return true
  }

  private static func encode(_ value: Any, _ attribute: NSAttributeDescription) throws -> Data? {
    do {
      return try TransformableValue.encode(value, attribute.valueTransformerName)
    } catch {
      throw error.of(attribute)
    }
  }

  private static func hasNUL(_ value: Any) -> Bool {
    switch value {
    case let text as String: text.utf8.contains(0)
    case let values as [Any]: values.contains(where: hasNUL)
    case let values as [String: Any]: values.contains { $0.utf8.contains(0) || hasNUL($1) }
    default: false
    }
  }

  private static func refused(
    _ attribute: NSAttributeDescription, _ reason: String, remedy: String
  ) -> RefusedValue {
    RefusedValue(entity: attribute.owner?.name, attribute: attribute.name, reason, remedy: remedy)
  }

  // MARK: Reading

  /// A column's value of an attribute's type, as key-value coding returns it.
  static func value(_ bytes: UnsafeRawBufferPointer, _ type: UInt32, as attribute: NSAttributeDescription) -> Any? {
    value(bytes, type, attribute.attributeType, attribute)
  }

  /// The same for a column of an attribute's own type.
  static func value(_ bytes: UnsafeRawBufferPointer, as attribute: NSAttributeDescription) -> Any? {
    value(bytes, (ServerType(attribute) ?? .text).rawValue, as: attribute)
  }

  /// A column's value in the form of an attribute type.
  static func value(
    _ bytes: UnsafeRawBufferPointer, _ type: UInt32, _ wanted: NSAttributeType, _ attribute: NSAttributeDescription?
  ) -> Any? {
    let found = plain(bytes, type)
    switch wanted {
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType, .booleanAttributeType,
      .doubleAttributeType, .floatAttributeType:
      return found.flatMap { AttributeValue.numeric($0, wanted) }
    case .decimalAttributeType: return found.flatMap { AttributeValue.boxed($0, .decimalAttributeType) }
    case .URIAttributeType: return (found as? String).flatMap(URL.init(string:))
    case .transformableAttributeType:
      return (found as? Data).map { TransformableValue.decode($0, attribute?.valueTransformerName) }
    default:
      guard let decimal = found as? NSDecimalNumber else { return found }
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
    case .numeric: NSDecimalNumber(decimal: ServerNumeric.decimal(bytes))
    case .timestamp: Date(timeIntervalSinceReferenceDate: ServerDate.seconds(bytes.bigEndian(Int64.self)))
    case .uuid: bytes.count == 16 ? bytes.loadUnaligned(as: UUID.self) : nil
    case .bytes: Data(bytes)
    case .json: Data(bytes.dropFirst())
    case .text, nil: String(decoding: bytes, as: UTF8.self)
    }
  }
}

extension ServerResult {
  /// A number that is not NULL; 0 for NULL.
  @inline(__always)
  func integer(_ row: Int, _ column: Int) -> Int64 {
    guard let bytes = bytes(row, column) else { return 0 }
    return bytes.count == 8 ? bytes.bigEndian(Int64.self) : Int64(bytes.bigEndian(Int32.self))
  }

  func text(_ row: Int, _ column: Int) -> String? { bytes(row, column).map { String(decoding: $0, as: UTF8.self) } }
}

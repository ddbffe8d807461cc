internal import CSQLite

/// The values of a statement's current row in the forms of a model.
extension SQLiteRow: RowCells {
  @inline(__always)
  func integer(_ column: Int32) -> Int64? {
    let number = key(column)
    // NULL reads as 0, so only 0 needs the check.
    return number == 0 && isNull(column) ? nil : number
  }

  @inline(__always)
  func boolean(_ column: Int32) -> Int64? { integer(column) }

  @inline(__always)
  func double(_ column: Int32) -> Double? {
    let number = real(column)
    return number == 0 && isNull(column) ? nil : number
  }

  @inline(__always)
  func date(_ column: Int32) -> Double? { double(column) }

  func data(_ column: Int32, isExternal: Bool, in storedEntity: StoredEntity) throws -> Data? {
    guard let stored = blob(column) else { return nil }
    return isExternal ? try ExternalData.decode(stored, storedEntity) : stored
  }

  func value(
    _ column: Int32, as type: NSAttributeType, of attribute: NSAttributeDescription?, in storedEntity: StoredEntity?
  ) throws -> Any? {
    if isNull(column) { return nil }
    switch type {
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType:
      return AttributeValue.number(key(column), type)
    case .booleanAttributeType: return NSNumber(value: key(column) != 0)
    case .doubleAttributeType: return NSNumber(value: real(column))
    case .floatAttributeType: return NSNumber(value: Float(real(column)))
    case .dateAttributeType: return Date(timeIntervalSinceReferenceDate: real(column))
    case .stringAttributeType: return string(column)
    case .UUIDAttributeType:
      return blob(column).flatMap {
        $0.count == 16 ? $0.withUnsafeBytes { $0.loadUnaligned(as: UUID.self) } : nil
      }
    case .URIAttributeType: return string(column).flatMap(URL.init(string:))
    case .decimalAttributeType:
      // SQLite's shortest text of the number, because a Double would bring its binary error into the decimal.
      return string(column).map { NSDecimalNumber(string: $0, locale: Locale(identifier: "en_US_POSIX")) }
    case .binaryDataAttributeType:
      guard let storedEntity, let attribute else { return blob(column) }
      return try data(column, isExternal: attribute.allowsExternalBinaryDataStorage, in: storedEntity)
    case .transformableAttributeType:
      return blob(column).map { TransformableValue.decode($0, attribute?.valueTransformerName) }
    case .undefinedAttributeType, .objectIDAttributeType, .compositeAttributeType:
      return stored(column).plain
    }
  }
}

extension SQLiteValue {
  /// A value without a declared type, as SQLite has it.
  fileprivate var plain: Any? {
    switch self {
    case .null: nil
    case .integer(let value): NSNumber(value: value)
    case .real(let value): NSNumber(value: value)
    case .text(let value): value
    case .blob(let value): value
    case .encoded: nil
    }
  }

  /// The form in which SQLite keeps a value of an attribute.
  static func stored(_ value: Any?, _ attribute: NSAttributeDescription) throws(RefusedValue) -> SQLiteValue {
    guard let value else { return .null }
    switch attribute.attributeType {
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType, .booleanAttributeType:
      return .integer(AttributeValue.integer(value) ?? 0)
    case .doubleAttributeType, .floatAttributeType: return .real(AttributeValue.double(value) ?? 0)
    case .dateAttributeType: return .real((value as? Date)?.timeIntervalSinceReferenceDate ?? 0)
    case .stringAttributeType: return .text(value as? String ?? "")
    case .binaryDataAttributeType:
      let data = value as? Data ?? Data()
      return .blob(attribute.allowsExternalBinaryDataStorage ? ExternalData.encode(data) : data)
    case .decimalAttributeType:
      let number = value as? NSDecimalNumber ?? .zero
      // A whole number is stored as an integer, a fraction as REAL, as in Apple's files.
      return Int64(number.stringValue).map { .integer($0) } ?? .real(number.doubleValue)
    case .UUIDAttributeType:
      return (value as? UUID).map { uuid in .blob(withUnsafeBytes(of: uuid.uuid) { Data($0) }) } ?? .null
    case .URIAttributeType: return (value as? URL).map { .text($0.absoluteString) } ?? .null
    case .transformableAttributeType, .undefinedAttributeType, .objectIDAttributeType, .compositeAttributeType:
      return try TransformableValue.encode(value, attribute.valueTransformerName).map { .blob($0) } ?? .null
    }
  }
}

extension SQLiteStatement {
  /// Binds a value of an attribute.
  func bind(_ value: Any?, of attribute: NSAttributeDescription, at index: Int32) {
    do { bind(try SQLiteValue.stored(value, attribute), at: index) } catch { refuse(error, at: index) }
  }
}

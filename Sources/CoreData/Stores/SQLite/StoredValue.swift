/// Converts the values that are stored in another form: decimals, URIs, transformables.
enum StoredValue {
  static func boxed(_ statement: SQLiteStatement, _ column: Int32, _ step: RowDecoder.Step, _ layout: EntityLayout)
    -> Boxed?
  {
    switch step.type {
    case .decimalAttributeType:
      // SQLite's shortest text of the number, because a Double would bring its binary error into the decimal.
      guard let text = statement.text(column) else { return nil }
      return Boxed(NSDecimalNumber(string: text, locale: Locale(identifier: "en_US_POSIX")))
    case .UUIDAttributeType:
      guard let bytes = statement.blob(column), bytes.count == 16 else { return nil }
      return Boxed(bytes.withUnsafeBytes { $0.loadUnaligned(as: UUID.self) })
    case .URIAttributeType:
      return statement.text(column).flatMap(URL.init(string:)).map(Boxed.init)
    default:
      guard let data = statement.blob(column) else { return nil }
      let attribute = layout.slots[step.slot].property as? NSAttributeDescription
      return Boxed(TransformableValue.decode(data, attribute?.valueTransformerName))
    }
  }

  static func bind(
    _ boxed: Boxed, type: NSAttributeType, attribute: NSAttributeDescription?, _ statement: SQLiteStatement,
    _ index: Int32
  ) {
    switch type {
    case .decimalAttributeType:
      let number = boxed.value as? NSDecimalNumber ?? .zero
      // A whole number is stored as an integer, a fraction as REAL, as in Apple's files.
      if let integer = Int64(number.stringValue) {
        statement.bind(integer, at: index)
      } else {
        statement.bind(number.doubleValue, at: index)
      }
    case .UUIDAttributeType:
      guard let uuid = boxed.value as? UUID else { return statement.bindNull(at: index) }
      statement.bind(withUnsafeBytes(of: uuid.uuid) { Data($0) }, at: index)
    case .URIAttributeType:
      if let url = boxed.value as? URL {
        statement.bind(url.absoluteString, at: index)
      } else {
        statement.bindNull(at: index)
      }
    default:
      do {
        if let data = try TransformableValue.encode(boxed.value, attribute?.valueTransformerName) {
          statement.bind(data, at: index)
        } else {
          statement.bindNull(at: index)
        }
      } catch {
        statement.refuse(error, at: index)
      }
    }
  }
}

extension StoredValue {
  /// A column that is not NULL, as key-value coding returns it.
  ///
  /// - Parameters:
  ///   - index: the column's number in the statement's row.
  ///   - storedEntity: the entity whose store tells the place of external data.
  static func value(
    of statement: SQLiteStatement, column index: Int32, type: NSAttributeType, attribute: NSAttributeDescription?,
    storedEntity: StoredEntity?
  ) throws -> Any? {
    switch type {
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType:
      return AttributeValue.number(statement.integer(index), type)
    case .booleanAttributeType: return NSNumber(value: statement.integer(index) != 0)
    case .doubleAttributeType: return NSNumber(value: statement.real(index))
    case .floatAttributeType: return NSNumber(value: Float(statement.real(index)))
    case .dateAttributeType: return Date(timeIntervalSinceReferenceDate: statement.real(index))
    case .stringAttributeType: return statement.text(index)
    case .UUIDAttributeType:
      return statement.blob(index).flatMap {
        $0.count == 16 ? $0.withUnsafeBytes { $0.loadUnaligned(as: UUID.self) } : nil
      }
    case .URIAttributeType: return statement.text(index).flatMap(URL.init(string:))
    case .decimalAttributeType:
      return statement.text(index).map { NSDecimalNumber(string: $0, locale: Locale(identifier: "en_US_POSIX")) }
    case .binaryDataAttributeType:
      let isExternal = attribute?.allowsExternalBinaryDataStorage ?? false
      return try statement.blob(index).map { data in
        guard isExternal, let storedEntity else { return data }
        return try ExternalData.decode(data, storedEntity)
      }
    case .transformableAttributeType:
      return statement.blob(index).map { TransformableValue.decode($0, attribute?.valueTransformerName) }
    case .undefinedAttributeType, .objectIDAttributeType, .compositeAttributeType:
      return plainValue(statement.value(index))
    }
  }

  /// A value without a declared type, as SQLite has it.
  private static func plainValue(_ value: SQLiteValue) -> Any? {
    switch value {
    case .null: nil
    case .integer(let value): NSNumber(value: value)
    case .real(let value): NSNumber(value: value)
    case .text(let value): value
    case .blob(let value): value
    }
  }
}

/// Composite attributes, which have several columns.
extension StoredValue {
  /// The composite's value in the statement's current row; nil if all its columns are NULL.
  static func composite(
    _ statement: SQLiteStatement, _ leaves: [(leaf: CompositeColumns.Leaf, column: Int32)],
    _ storedEntity: StoredEntity?
  ) throws -> [String: Any]? {
    var elements: [String: Any] = [:]
    for (leaf, column) in leaves where !statement.isNull(column) {
      let value = try value(
        of: statement, column: column, type: leaf.attribute.attributeType, attribute: leaf.attribute,
        storedEntity: storedEntity)
      if let value { CompositeValue.set(value, at: leaf.path[...], in: &elements) }
    }
    return elements.isEmpty ? nil : elements
  }

  /// Binds one element's value.
  static func bind(_ value: Any?, _ attribute: NSAttributeDescription, _ statement: SQLiteStatement, _ index: Int32) {
    guard let value else { return statement.bindNull(at: index) }
    let type = attribute.attributeType
    switch type {
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType, .booleanAttributeType:
      statement.bind(AttributeValue.integer(value) ?? 0, at: index)
    case .doubleAttributeType, .floatAttributeType: statement.bind(AttributeValue.double(value) ?? 0, at: index)
    case .dateAttributeType: statement.bind((value as? Date)?.timeIntervalSinceReferenceDate ?? 0, at: index)
    case .stringAttributeType: statement.bind(value as? String ?? "", at: index)
    case .binaryDataAttributeType:
      let data = value as? Data ?? Data()
      statement.bind(attribute.allowsExternalBinaryDataStorage ? ExternalData.encode(data) : data, at: index)
    case .decimalAttributeType, .UUIDAttributeType, .URIAttributeType, .transformableAttributeType,
      .undefinedAttributeType, .objectIDAttributeType, .compositeAttributeType:
      bind(Boxed(value), type: type, attribute: attribute, statement, index)
    }
  }
}

/// The columns of a composite attribute: one for each element that is not composite itself.
struct CompositeColumns: Sendable {
  struct Leaf: Sendable {
    /// The names of the elements that lead to it.
    let path: [String]
    let attribute: NSAttributeDescription
    /// Its name is the key path from the entity: "address.city".
    let column: AttributeColumn

    /// The element's value in a composite's; nil where it has none.
    func value(in elements: [String: Any]) -> Any? { CompositeValue.value(at: path[...], in: elements) }
  }

  private(set) var leaves: [Leaf] = []

  mutating func add(_ leaf: Leaf) {
    leaves.append(leaf)
    leaves.sort { $0.column.name.precedesByBytes($1.column.name) }
  }

  /// The leaves at or below an element; all for the composite itself.
  func leaves(at path: some Collection<String>) -> [Leaf] { leaves.filter { $0.path.starts(with: path) } }
}

extension StoredValue {
  /// The composite's value in the row that the statement stands on; nil where all its columns are NULL.
  static func composite(
    _ statement: SQLiteStatement, _ leaves: [(leaf: CompositeColumns.Leaf, column: Int32)], _ home: EntityHome?
  ) -> [String: Any]? {
    var elements: [String: Any] = [:]
    for (leaf, column) in leaves where !statement.isNull(column) {
      let value = value(statement, column, leaf.attribute.attributeType, leaf.attribute, home)
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

extension ModelReader {
  /// The attribute types by the names that model files use.
  private static let attributeTypes: [String: NSAttributeType] = [
    "Undefined": .undefinedAttributeType, "Integer 16": .integer16AttributeType,
    "Integer 32": .integer32AttributeType, "Integer 64": .integer64AttributeType,
    "Decimal": .decimalAttributeType, "Double": .doubleAttributeType, "Float": .floatAttributeType,
    "String": .stringAttributeType, "Boolean": .booleanAttributeType, "Date": .dateAttributeType,
    "Binary": .binaryDataAttributeType, "UUID": .UUIDAttributeType, "URI": .URIAttributeType,
    "Transformable": .transformableAttributeType, "ObjectID": .objectIDAttributeType,
    "Composite": .compositeAttributeType,
  ]

  /// The name of an attribute type in model files.
  static func attributeTypeName(_ rawValue: UInt) -> String? {
    attributeTypes.first { $0.value.rawValue == rawValue }?.key
  }

  func attribute(_ node: ModelNode, _ entityName: String) throws(ManagedObjectModelError) -> NSAttributeDescription {
    let name = node.attributes["name"] ?? ""
    let typeName = node.attributes["attributeType"] ?? "Undefined"
    guard let type = Self.attributeTypes[typeName] else {
      throw error(entityName, name, "has the unknown attribute type \(typeName)")
    }
    let attribute = try emptyAttribute(node, type, entityName)
    attribute.attributeType = type
    if type == .transformableAttributeType {
      attribute.attributeValueClassName = node.attributes["customClassName"]
    }
    attribute.customClassName = node.attributes["customClassName"]
    attribute.usesScalarValueType = node.flag("usesScalarValueType")
    attribute.valueTransformerName = node.attributes["valueTransformerName"]
    attribute.allowsExternalBinaryDataStorage = node.flag("allowsExternalBinaryDataStorage")
    attribute.preservesValueInHistoryOnDeletion = node.flag("preserveAfterDeletion")
    attribute.allowsCloudEncryption = node.flag("allowsCloudEncryption")
    attribute.defaultValue = try defaultValue(node, type, entityName)
    try readValidation(node, into: attribute, entityName)
    return attribute
  }

  private func emptyAttribute(
    _ node: ModelNode, _ type: NSAttributeType, _ entityName: String
  ) throws(ManagedObjectModelError) -> NSAttributeDescription {
    let name = node.attributes["name"] ?? ""
    if node.flag("derived") {
      let derived = NSDerivedAttributeDescription()
      derived.derivationExpression = try node.attributes["derivationExpression"].map {
        text throws(ManagedObjectModelError) in
        try expression(text, entityName, name)
      }
      return derived
    }
    guard type == .compositeAttributeType else { return NSAttributeDescription() }
    let compositeName = node.attributes["composite"] ?? ""
    guard let definition = composite(named: compositeName) else {
      throw error(entityName, name, "is of the composite type \(compositeName), which does not exist")
    }
    let composite = NSCompositeAttributeDescription()
    var elements: [NSAttributeDescription] = []
    for elementNode in definition.children(named: "attribute") {
      guard elementNode.attributes["composite"] != compositeName else {
        throw error(entityName, name, "is of the composite type \(compositeName), which contains itself")
      }
      let element = try attribute(elementNode, entityName)
      element.name = elementNode.attributes["name"] ?? ""
      element.isOptional = elementNode.flag("optional")
      elements.append(element)
    }
    composite.elements = elements
    return composite
  }

  private func defaultValue(
    _ node: ModelNode, _ type: NSAttributeType, _ entityName: String
  ) throws(ManagedObjectModelError) -> Any? {
    if type == .dateAttributeType, let text = node.attributes["defaultDateTimeInterval"] {
      guard let interval = Double(text) else {
        throw error(entityName, node.attributes["name"], "has the default date \(text), which is no number of seconds")
      }
      return Date(timeIntervalSinceReferenceDate: interval)
    }
    guard let text = node.attributes["defaultValueString"] else { return nil }
    guard let value = Self.value(text, of: type) else {
      throw error(
        entityName, node.attributes["name"], "has the default value \"\(text)\", which is no value of its type")
    }
    return value
  }

  /// What a model file writes as text, as a value of an attribute's type; nil where it is none.
  static func value(_ text: String, of type: NSAttributeType) -> Any? {
    switch type {
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType:
      // Xcode also writes "0.0" for an integer whose type was changed.
      (Int64(text) ?? Double(text).flatMap { Int64(exactly: $0.rounded(.towardZero)) }).map { NSNumber(value: $0) }
    case .doubleAttributeType: Double(text).map { NSNumber(value: $0) }
    case .floatAttributeType: Float(text).map { NSNumber(value: $0) }
    case .decimalAttributeType: Decimal(string: text).map { NSDecimalNumber(decimal: $0) }
    case .booleanAttributeType:
      switch text.uppercased() {
      case "YES", "TRUE", "1": NSNumber(value: true)
      case "NO", "FALSE", "0": NSNumber(value: false)
      default: nil
      }
    case .stringAttributeType: text
    case .UUIDAttributeType: UUID(uuidString: text)
    case .URIAttributeType: URL(string: text)
    case .dateAttributeType: Double(text).map { Date(timeIntervalSinceReferenceDate: $0) }
    case .undefinedAttributeType, .binaryDataAttributeType, .transformableAttributeType, .objectIDAttributeType,
      .compositeAttributeType:
      text
    }
  }
}

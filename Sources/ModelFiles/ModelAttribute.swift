/// An attribute in a model file.
package struct ModelAttribute {
  package let node: ModelNode
  package let type: NSAttributeType
  /// The value of a newly inserted object; nil for none.
  package let defaultValue: Any?
  /// The lower and the upper limit: a length for strings, seconds since 2001 for dates; nil for none.
  package let minimum: Decimal?
  package let maximum: Decimal?
  /// The parts of a composite attribute.
  package let elements: [ModelProperty]

  package var isDerived: Bool { node.flag("derived") }
  package var derivation: String? { node.attributes["derivationExpression"] }
  package var usesScalarValueType: Bool { node.flag("usesScalarValueType") }

  /// The class of transformable values that the file names; nil for none.
  package var customClassName: String? {
    node.attributes["customClassName"].flatMap { $0.isEmpty ? nil : $0 }
  }

  package var pattern: String? {
    type == .stringAttributeType ? node.attributes["regularExpressionString"] : nil
  }
}

extension ModelDocument {
  func attribute(
    _ node: ModelNode, _ entityName: String, inside composites: [String] = []
  ) throws(ManagedObjectModelError) -> ModelAttribute {
    let name = node.attributes["name"] ?? ""
    let typeName = node.attributes["attributeType"] ?? "Undefined"
    guard let type = NSAttributeType(modelFileName: typeName) else {
      throw error(node, entity: entityName, property: name, "has the unknown attribute type \(typeName)")
    }
    let limits = try limits(of: node, type, entityName)
    let attribute = ModelAttribute(
      node: node, type: type, defaultValue: try defaultValue(node, type, entityName), minimum: limits.minimum,
      maximum: limits.maximum,
      elements: type == .compositeAttributeType ? try elements(node, entityName, inside: composites) : [])
    // The error below names the attribute; the one of the pattern does not.
    if let pattern = attribute.pattern, (try? NSRegularExpression(pattern: pattern)) == nil {
      throw error(
        node, entity: entityName, property: name, "has the pattern \"\(pattern)\", which is not a regular expression")
    }
    return attribute
  }

  private func elements(
    _ node: ModelNode, _ entityName: String, inside composites: [String]
  ) throws(ManagedObjectModelError) -> [ModelProperty] {
    let name = node.attributes["name"] ?? ""
    let compositeName = node.attributes["composite"] ?? ""
    guard let definition = root.children(named: "composite").first(where: { $0.attributes["name"] == compositeName })
    else {
      throw error(
        node, entity: entityName, property: name, "is of the composite type \(compositeName), which does not exist")
    }
    guard !composites.contains(compositeName) else {
      throw error(
        node, entity: entityName, property: name, "is of the composite type \(compositeName), which contains itself")
    }
    var elements: [ModelProperty] = []
    for element in definition.children(named: "attribute") {
      let attribute = try attribute(element, entityName, inside: composites + [compositeName])
      elements.append(
        ModelProperty(node: element, name: element.attributes["name"] ?? "", kind: .attribute(attribute)))
    }
    return elements
  }

  private func limits(
    of node: ModelNode, _ type: NSAttributeType, _ entityName: String
  ) throws(ManagedObjectModelError) -> (minimum: Decimal?, maximum: Decimal?) {
    let keys: (minimum: String, maximum: String)
    switch type {
    case .dateAttributeType: keys = ("minDateTimeInterval", "maxDateTimeInterval")
    case .stringAttributeType: keys = ("minValueString", "maxValueString")
    default:
      guard type.isNumber else { return (nil, nil) }
      keys = ("minValueString", "maxValueString")
    }
    return (try limit(keys.minimum, of: node, entityName), try limit(keys.maximum, of: node, entityName))
  }

  private func limit(
    _ key: String, of node: ModelNode, _ entityName: String
  ) throws(ManagedObjectModelError) -> Decimal? {
    guard let text = node.attributes[key] else { return nil }
    guard let number = NumberText(text)?.decimal else {
      throw error(
        node, entity: entityName, property: node.attributes["name"], "has the \(key) \"\(text)\", which is not a number"
      )
    }
    return number
  }

  // MARK: Default values

  private func defaultValue(
    _ node: ModelNode, _ type: NSAttributeType, _ entityName: String
  ) throws(ManagedObjectModelError) -> Any? {
    let name = node.attributes["name"]
    if type == .dateAttributeType, let text = node.attributes["defaultDateTimeInterval"] {
      guard let interval = NumberText(text)?.double else {
        throw error(
          node, entity: entityName, property: name, "has the default date \(text), which is not a number of seconds")
      }
      return Date(timeIntervalSinceReferenceDate: interval)
    }
    guard let text = node.attributes["defaultValueString"] else { return nil }
    guard let value = Self.value(text, of: type) else {
      throw error(
        node, entity: entityName, property: name, "has the default value \"\(text)\", which is not a value of its type")
    }
    return value
  }

  /// The value that a text in a model file stands for; nil unless the whole text is one value of the type.
  static func value(_ text: String, of type: NSAttributeType) -> Any? {
    switch type {
    // Xcode leaves the text when an attribute's type changes: "0.0" for an integer, "NO" for any number that was a
    // Boolean.
    case _ where type.isNumber && boolean(text) != nil: boolean(text).flatMap { value($0 ? "1" : "0", of: type) }
    case .integer16AttributeType: NumberText(text)?.integer(Int16.self).map { NSNumber(value: Int64($0)) }
    case .integer32AttributeType: NumberText(text)?.integer(Int32.self).map { NSNumber(value: Int64($0)) }
    case .integer64AttributeType: NumberText(text)?.integer(Int64.self).map { NSNumber(value: $0) }
    case .doubleAttributeType: NumberText(text)?.double.map { NSNumber(value: $0) }
    case .floatAttributeType: NumberText(text)?.float.map { NSNumber(value: $0) }
    case .decimalAttributeType: NumberText(text)?.decimal.map { NSDecimalNumber(decimal: $0) }
    case .booleanAttributeType:
      switch NumberText(text)?.integer(Int64.self) {
      case 1: NSNumber(value: true)
      case 0: NSNumber(value: false)
      default: boolean(text).map { NSNumber(value: $0) }
      }
    case .stringAttributeType: text
    case .UUIDAttributeType: UUID(uuidString: text)
    case .URIAttributeType: URL(string: text, encodingInvalidCharacters: false)
    case .dateAttributeType: NumberText(text)?.double.map { Date(timeIntervalSinceReferenceDate: $0) }
    case .undefinedAttributeType, .binaryDataAttributeType, .transformableAttributeType, .objectIDAttributeType,
      .compositeAttributeType:
      text
    }
  }

  /// The words for a Boolean; nil for other texts.
  private static func boolean(_ text: String) -> Bool? {
    switch text.uppercased() {
    case "YES", "TRUE": true
    case "NO", "FALSE": false
    default: nil
    }
  }
}

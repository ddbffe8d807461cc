extension ModelReader {
  /// An attribute of any kind: plain, derived or composite; also an element of a composite.
  ///
  /// `attributeType` is set before the class of its values, because setting it resets that class. Default values were
  /// converted to the type by `ModelDocument`, so a text that is no number is an error with a line.
  func attribute(
    _ element: ModelAttribute, _ entityName: String
  ) throws(ManagedObjectModelError) -> NSAttributeDescription {
    // The caller sets name, optionality and the rest of what all properties have, since for an element of a composite
    // these stand elsewhere.
    let attribute = try emptyAttribute(element, entityName)
    let node = element.node
    attribute.attributeType = element.type
    if element.type == .transformableAttributeType {
      attribute.attributeValueClassName = element.customClassName
    }
    attribute.valueTransformerName = node.attributes["valueTransformerName"]
    attribute.allowsExternalBinaryDataStorage = node.flag("allowsExternalBinaryDataStorage")
    attribute.preservesValueInHistoryOnDeletion = node.flag("preserveAfterDeletion")
    attribute.allowsCloudEncryption = node.flag("allowsCloudEncryption")
    attribute.defaultValue = element.defaultValue
    try readValidation(element, into: attribute, entityName)
    return attribute
  }

  /// A description of the right class with what only this class has. The elements of a composite come from another
  /// element of the file, which `ModelDocument` has joined to the attribute.
  private func emptyAttribute(
    _ element: ModelAttribute, _ entityName: String
  ) throws(ManagedObjectModelError) -> NSAttributeDescription {
    if element.isDerived {
      let derived = NSDerivedAttributeDescription()
      derived.derivationExpression = try element.derivation.map { text throws(ManagedObjectModelError) in
        try expression(text, at: element.node, entity: entityName, property: element.node.attributes["name"])
      }
      return derived
    }
    guard element.type == .compositeAttributeType else { return NSAttributeDescription() }
    let composite = NSCompositeAttributeDescription()
    var parts: [NSAttributeDescription] = []
    for case let (property, .attribute(part)) in element.elements.map({ ($0, $0.kind) }) {
      let description = try attribute(part, entityName)
      description.name = property.name
      description.isOptional = property.isOptional
      description.versionHashModifier = property.node.attributes["versionHashModifier"]
      description.renamingIdentifier = property.node.attributes["elementID"]
      parts.append(description)
    }
    composite.elements = parts
    return composite
  }
}

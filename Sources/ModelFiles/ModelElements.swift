/// Reads "elements", the form of a model version that Xcode wrote before 2012: a keyed archive of the editor's objects.
///
/// The form was learnt from two such files. This type turns it into the document that newer versions of Xcode write.
/// The archive keeps each property in "stereotypes", bags of named values.
package struct ModelElements {
  private let objects: [PropertyListValue]
  private let root: PropertyListValue

  package init(_ data: Data) throws(ModelElementsError) {
    guard case .dictionary(let archive) = try BinaryPropertyList(data).root(),
      case .array(let objects)? = archive["$objects"],
      case .dictionary(let top)? = archive["$top"], let root = top["root"]
    else { throw ModelElementsError("is not a keyed archive") }
    self.objects = objects
    self.root = root
  }

  package func document() throws(ModelElementsError) -> ModelNode {
    let model = fields(of: root)
    let package = fields(of: model["_xd_rootPackage"])
    let classes = entries(of: package["XDBucketForClassesstorage"])
    guard !model.isEmpty, !package.isEmpty else { throw ModelElementsError("holds no model") }
    guard entries(of: model["_configurationsByName"]).isEmpty else {
      throw ModelElementsError("holds configurations, \(Self.advice)")
    }
    var attributes: [String: String] = [:]
    attributes["userDefinedModelVersionIdentifier"] = text(model["_modelVersionIdentifier"]) ?? ""
    let document = ModelNode(name: "model", attributes: attributes)
    for (name, value) in classes {
      document.append(try entity(name, fields(of: value)))
    }
    return document
  }

  private static let advice = "which are not read from this old form: open the model in Xcode and save it again"

  // MARK: The editor's objects

  private func entity(
    _ name: String, _ fields: [String: PropertyListValue]
  ) throws(ModelElementsError) -> ModelNode {
    guard items(of: fields["XDBucketForGeneralizationsstorage"]).isEmpty else {
      throw ModelElementsError("holds the entity \(name) with a parent entity, \(Self.advice)")
    }
    let values = stereotypes(of: fields)
    guard items(of: values["XD_PSK_fetchRequestsArray"]).isEmpty else {
      throw ModelElementsError("holds fetch requests for the entity \(name), \(Self.advice)")
    }
    let node = ModelNode(
      name: "entity",
      attributes: [
        "name": name,
        "representedClassName": text(values["XD_PSK_entityClassName"]),
        "isAbstract": flag(values["XD_PSK_isAbstract"]),
        "versionHashModifier": text(values["XD_PSK_versionHashModifier"]),
        "elementID": text(values["XD_PSK_elementID"]),
      ].compactMapValues { $0 })
    let properties = entries(of: fields["XDBucketForOwnedAttributesstorage"]).sorted(on: { $0.key })
    for (propertyName, value) in properties {
      node.append(try property(propertyName, self.fields(of: value), of: name))
    }
    return node
  }

  private func property(
    _ name: String, _ fields: [String: PropertyListValue], of entity: String
  ) throws(ModelElementsError) -> ModelNode {
    let values = stereotypes(of: fields)
    var attributes: [String: String?] = [
      "name": name,
      "optional": flag(values["XD_PPSK_isOptional"]),
      "transient": flag(values["XD_PPSK_isTransient"]),
      "indexed": flag(values["XD_PPSK_isIndexed"]),
      "versionHashModifier": text(values["XD_PPSK_versionHashModifier"]),
      "elementID": text(values["XD_PPSK_elementID"]),
    ]
    if let destination = values["XD_PRK_destination"] {
      attributes["toMany"] = flag(values["XD_PRK_isToMany"])
      attributes["ordered"] = flag(values["XD_PRK_ordered"])
      attributes["minCount"] = text(values["XD_PRK_minCount"])
      attributes["maxCount"] = text(values["XD_PRK_maxCount"])
      attributes["deletionRule"] = try deleteRule(values["XD_PRK_deleteRule"])
      attributes["destinationEntity"] = text(self.fields(of: destination)["_name"])
      attributes["inverseName"] = text(self.fields(of: values["XD_PRK_inverseRelationship"])["_name"])
      return ModelNode(name: "relationship", attributes: attributes.compactMapValues { $0 })
    }
    guard let type = values["XD_PAttK_attributeType"] else {
      throw ModelElementsError("holds \(entity).\(name), neither attribute nor relationship, \(Self.advice)")
    }
    attributes["attributeType"] = try attributeTypeName(type)
    attributes["defaultValueString"] = text(values["XD_PAttK_defaultValueAsString"])
    attributes["valueTransformerName"] = text(values["XD_PAttK_valueTransformerName"])
    attributes["allowsExternalBinaryDataStorage"] = flag(values["XD_PAttK_allowsExternalBinaryDataStorage"])
    return ModelNode(name: "attribute", attributes: attributes.compactMapValues { $0 })
  }

  private func attributeTypeName(_ value: PropertyListValue) throws(ModelElementsError) -> String {
    let number = text(value) ?? ""
    guard let raw = UInt(number), let name = NSAttributeType(rawValue: raw)?.modelFileName else {
      throw ModelElementsError("holds the unknown attribute type \(number)")
    }
    return name
  }

  private func deleteRule(_ value: PropertyListValue?) throws(ModelElementsError) -> String {
    let names = ["No Action", "Nullify", "Cascade", "Deny"]
    guard let number = text(value).flatMap({ Int($0) }) else { return "Nullify" }
    guard names.indices.contains(number) else { throw ModelElementsError("holds the unknown delete rule \(number)") }
    return names[number]
  }

  /// The values in all stereotypes of an object, by name.
  private func stereotypes(of fields: [String: PropertyListValue]) -> [String: PropertyListValue] {
    var values: [String: PropertyListValue] = [:]
    for bag in entries(of: fields["XDBucketForStereotypesstorage"]).values {
      for (name, value) in entries(of: self.fields(of: bag)["XDBucketForOwnedAttributesstorage"]) {
        let content = resolved(self.fields(of: value)["_default"])
        if case .null = content { continue }
        values[name] = content
      }
    }
    return values
  }

  // MARK: Keyed archive

  /// The value that a reference leads to. "$null" is the archive's nil.
  private func resolved(_ value: PropertyListValue?) -> PropertyListValue {
    guard case .reference(let index)? = value else { return value ?? .null }
    guard objects.indices.contains(index), index != 0 else { return .null }
    return objects[index]
  }

  private func fields(of value: PropertyListValue?) -> [String: PropertyListValue] {
    guard case .dictionary(let fields) = resolved(value) else { return [:] }
    return fields
  }

  private func items(of value: PropertyListValue?) -> [PropertyListValue] {
    guard case .array(let items)? = fields(of: value)["NS.objects"] else { return [] }
    return items
  }

  private func entries(of value: PropertyListValue?) -> [String: PropertyListValue] {
    guard case .array(let keys)? = fields(of: value)["NS.keys"] else { return [:] }
    var entries: [String: PropertyListValue] = [:]
    for (key, item) in zip(keys, items(of: value)) {
      if let key = text(key) { entries[key] = item }
    }
    return entries
  }

  private func text(_ value: PropertyListValue?) -> String? {
    switch resolved(value) {
    case .string(let text): text
    case .integer(let number): String(number)
    default: nil
    }
  }

  private func flag(_ value: PropertyListValue?) -> String? {
    guard case .bool(let flag) = resolved(value) else { return nil }
    return flag ? "YES" : "NO"
  }
}

/// The reason why an "elements" file cannot be read, as the rest of a sentence that begins with the file's name.
package struct ModelElementsError: Error {
  package let reason: String

  package init(_ reason: String) {
    self.reason = reason
  }
}

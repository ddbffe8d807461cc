/// The document inside a `.xcmappingmodel`: an XML store of Xcode's with one object for each mapping, and one for the
/// whole, which holds both data models.
struct MappingDocument {
  private struct Object {
    let kind: String
    var values: [String: String] = [:]
    var members: [String: [String]] = [:]

    func data(_ key: String) -> Data? {
      values[key].flatMap { Data(base64Encoded: $0, options: .ignoreUnknownCharacters) }
    }
  }

  private var objects: [String: Object] = [:]

  init(_ root: ModelNode) {
    for node in root.children(named: "object") {
      guard let id = node.attributes["id"], let kind = node.attributes["type"] else { continue }
      var object = Object(kind: kind)
      for attribute in node.children(named: "attribute") {
        object.values[attribute.attributes["name"] ?? ""] =
          attribute.text.trimmingCharacters(in: .whitespacesAndNewlines)
      }
      for relationship in node.children(named: "relationship") {
        object.members[relationship.attributes["name"] ?? ""] =
          (relationship.attributes["idrefs"] ?? "").split(separator: " ").map(String.init)
      }
      objects[id] = object
    }
  }

  /// The two data models that the mappings lead from and to.
  typealias Models = (source: NSManagedObjectModel, destination: NSManagedObjectModel)

  /// The data models as they were when Xcode last read them; nil if one cannot be read.
  var models: Models? {
    func model(_ key: String) -> NSManagedObjectModel? {
      objects.values.first { $0.kind == "XDDEVMAPPINGMODEL" }?.data(key).flatMap(EditorModel.read)
    }
    guard let source = model("sourcemodeldata"), let destination = model("destinationmodeldata") else { return nil }
    return (source, destination)
  }

  /// The mappings in Xcode's order.
  var mappings: [NSEntityMapping] {
    objects.values.filter { $0.kind == "XDDEVENTITYMAPPING" }
      .sorted(on: { Int($0.values["mappingnumber"] ?? "") ?? 0 })
      .map(mapping)
  }

  private func mapping(_ object: Object) -> NSEntityMapping {
    func value(_ key: String) -> String? { object.values[key].flatMap { $0.isEmpty ? nil : $0 } }
    let (source, destination) = (value("sourcename"), value("destinationname"))
    let mapping = NSEntityMapping()
    mapping.sourceEntityName = source
    mapping.destinationEntityName = destination
    mapping.entityMigrationPolicyClassName = value("migrationpolicyclassname")
    // Xcode's compiler names and classifies mappings so.
    mapping.name =
      value("name") ?? (source.map { from in destination.map { "\(from)To\($0)" } ?? from } ?? destination ?? "")
    mapping.mappingType =
      source == nil
      ? .addEntityMappingType
      : destination == nil
        ? .removeEntityMappingType
        : mapping.entityMigrationPolicyClassName != nil
          ? .customEntityMappingType : source == destination ? .copyEntityMappingType : .transformEntityMappingType
    mapping.attributeMappings = properties(object, "attributemappings")
    mapping.relationshipMappings = properties(object, "relationshipmappings")
    if let source { mapping.sourceExpression = sourceExpression(source, object) }
    return mapping
  }

  /// The objects of an entity that match the mapping's predicate.
  private func sourceExpression(_ entity: String, _ object: Object) -> NSExpression {
    let predicate = object.values.first { $0.key.contains("predicate") && !$0.value.isEmpty }?.value ?? "TRUEPREDICATE"
    let manager = NSExpression(forVariable: NSMigrationManagerKey)
    return NSFetchRequestExpression.expression(
      forFetch: NSExpression(
        node: .function(
          name: MappingFunction.fetchRequest.rawValue, operand: manager,
          arguments: [NSExpression(forConstantValue: entity), NSExpression(forConstantValue: predicate)])),
      context: NSExpression(node: .keyPath(operand: manager, path: KeyPathComponents("sourceContext"))),
      countOnly: false)
  }

  private func properties(_ object: Object, _ key: String) -> [NSPropertyMapping] {
    (object.members[key] ?? []).compactMap { objects[$0] }.map { source in
      let mapping = NSPropertyMapping()
      let name = source.values["name"] ?? ""
      mapping.name = name
      // An expression that cannot be read is replaced by the generated one.
      if let data = source.data("valueexpressiondata"), let expression = (try? KeyedArchive(data))?.root?.expression {
        mapping.valueExpression = expression
      } else if let mappingName = source.values["sourcemappingname"], !mappingName.isEmpty {
        mapping.valueExpression =
          NSPropertyMapping.Source.relationship(
            name, mappingName: mappingName, path: Self.path(source.values["sourcekeypath"] ?? "")
          ).expression
      } else {
        mapping.isGenerated = true
      }
      return mapping
    }
    .sorted(onBytes: { $0.name ?? "" })
  }

  /// A key path of the old object: what follows `$source.`; "" for the old object itself.
  private static func path(_ text: String) -> String {
    let variable = "$" + NSMigrationSourceObjectKey
    if text == variable { return "" }
    return text.hasPrefix(variable + ".") ? String(text.dropFirst(variable.count + 1)) : text
  }
}

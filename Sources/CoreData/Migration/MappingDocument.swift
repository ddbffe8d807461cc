/// The document inside a `.xcmappingmodel`: an XML store of Xcode's with one object for each mapping, and one for the
/// whole, which holds both data models.
///
/// ```text
/// <database>
///   <object type="XDDEVMAPPINGMODEL" id="z102">
///     <attribute name="sourcemodeldata" type="binary">YnBsaXN0MDD…</attribute>          EditorModel, base64
///     <attribute name="destinationmodeldata" type="binary">…</attribute>
///   </object>
///   <object type="XDDEVENTITYMAPPING" id="z104">
///     <attribute name="sourcename" type="string">Author</attribute>
///     <attribute name="destinationname" type="string">Writer</attribute>
///     <attribute name="migrationpolicyclassname" type="string">SplitName</attribute>
///     <attribute name="mappingnumber" type="int16">1</attribute>
///     <relationship name="attributemappings" type="0/0" destination="…" idrefs="z110 z111"></relationship>
///   </object>
///   <object type="XDDEVATTRIBUTEMAPPING" id="z110">
///     <attribute name="name" type="string">familyName</attribute>
///     <attribute name="valueexpressiondata" type="binary">…</attribute>                  a keyed archive
///   </object>
/// </database>
/// ```
///
/// Xcode leaves out the values of properties that keep their name, and generates them when it compiles the file. Such a
/// mapping is marked `isGenerated`, and `NSEntityMapping.resolve` fills it in as soon as both models are known.
///
/// Source: files that Xcode wrote.
struct MappingDocument {
  /// One element `object`: its type, its attributes as texts, and its relationships as IDs of other elements.
  private struct Object {
    let kind: String
    var values: [String: String] = [:]
    var members: [String: [String]] = [:]

    /// An attribute that holds bytes, in base64 with line breaks.
    func data(_ key: String) -> Data? {
      values[key].flatMap { Data(base64Encoded: $0, options: .ignoreUnknownCharacters) }
    }
  }

  /// The objects by their ID in the file.
  private var objects: [String: Object] = [:]

  /// Reads the objects of a parsed file, without checking them: missing parts read as nil.
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

  /// The mapping that an object describes. Its kind is not in the file: it follows from the names of the entities and
  /// the policy, as in Xcode's compiler.
  private func mapping(_ object: Object) -> NSEntityMapping {
    func value(_ key: String) -> String? { object.values[key].flatMap { $0.isEmpty ? nil : $0 } }
    let (source, destination) = (value("sourcename"), value("destinationname"))
    let mapping = NSEntityMapping()
    mapping.sourceEntityName = source
    mapping.destinationEntityName = destination
    mapping.entityMigrationPolicyClassName = value("migrationpolicyclassname")
    // The names and kinds that Xcode's compiler gives.
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
  ///
  /// It is what Xcode's compiler generates: `FETCH(FUNCTION($manager,
  /// "fetchRequestForSourceEntityNamed:predicateString:", "Author", "TRUEPREDICATE"), $manager.sourceContext, NO)`.
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

  /// The property mappings under a key, in the order of their names. A mapping has an expression that the developer
  /// wrote, or the key path and mapping of a relationship, or neither: then its value is the one that Xcode generates.
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

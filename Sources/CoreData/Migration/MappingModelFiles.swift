/// Reads mapping models: Xcode's `.xcmappingmodel` and the compiled `.cdm`.
enum MappingModelFiles {
  static let fileTypes = ["cdm", "xcmappingmodel"]

  /// Whether the program's bundles have any mapping model.
  static var exist: Bool {
    fileTypes.contains { type in
      Bundle.ofProgram.contains { !($0.urls(forResourcesWithExtension: type, subdirectory: nil) ?? []).isEmpty }
    }
  }

  static func mappings(at url: URL) -> [NSEntityMapping]? {
    if url.pathExtension == "xcmappingmodel" {
      guard let data = FileManager.default.contents(atPath: url.appendingPathComponent("xcmapping.xml").path),
        let root = try? ModelNode.parse(data)
      else { return nil }
      return MappingDocument(root).mappings
    }
    guard let data = FileManager.default.contents(atPath: url.path), let root = try? KeyedArchive(data).root,
      root.className == "NSMappingModel"
    else { return nil }
    let mappings = root.objects("NSEntityMappings").map(mapping)
    return root.limits.areExceeded ? nil : mappings
  }

  /// The mapping model between two models among the files of bundles; compiled ones first.
  static func find(
    in bundles: [Bundle], from source: NSManagedObjectModel, to destination: NSManagedObjectModel
  ) -> NSMappingModel? {
    for type in fileTypes {
      for bundle in bundles {
        for url in (bundle.urls(forResourcesWithExtension: type, subdirectory: nil) ?? []) {
          guard let model = NSMappingModel(contentsOf: url as URL), model.leads(from: source, to: destination) else {
            continue
          }
          model.resolve(source, destination)
          return model
        }
      }
    }
    return nil
  }

  private static func mapping(_ archived: ArchivedObject) -> NSEntityMapping {
    let mapping = NSEntityMapping()
    mapping.name = archived.string("NSMappingName")
    mapping.mappingType =
      NSEntityMappingType(rawValue: UInt(clamping: archived.integer("NSMappingType") ?? 0))
      ?? .undefinedEntityMappingType
    mapping.sourceEntityName = archived.string("NSSourceEntityName")
    mapping.sourceEntityVersionHash = archived.data("NSSourceEntityVersionHash")
    mapping.destinationEntityName = archived.string("NSDestinationEntityName")
    mapping.destinationEntityVersionHash = archived.data("NSDestinationEntityVersionHash")
    mapping.attributeMappings = archived.objects("NSAttributeMappings").map(propertyMapping)
    mapping.relationshipMappings = archived.objects("NSRelationshipMappings").map(propertyMapping)
    mapping.sourceExpression = archived.expression("NSSourceExpression")
    mapping.userInfo = archived.value("NSUserInfo") as? [AnyHashable: Any]
    mapping.entityMigrationPolicyClassName = archived.string("NSEntityMigrationPolicyClassName")
    return mapping
  }

  private static func propertyMapping(_ archived: ArchivedObject) -> NSPropertyMapping {
    let mapping = NSPropertyMapping()
    mapping.name = archived.string("NSDestinationPropertyName")
    mapping.valueExpression = archived.expression("NSValueExpression")
    mapping.userInfo = archived.value("NSUserInfo") as? [AnyHashable: Any]
    return mapping
  }
}

extension NSMappingModel {
  /// Whether the mappings are those between two models: by version hashes, or without these by the names of entities
  /// and properties.
  fileprivate func leads(from source: NSManagedObjectModel, to destination: NSManagedObjectModel) -> Bool {
    func fits(_ name: String?, _ hash: Data?, _ model: NSManagedObjectModel) -> Bool {
      guard let name else { return true }
      guard let entity = model.entitiesByName[name] else { return false }
      return hash == nil || hash == entity.versionHash
    }
    let mappings = entityMappings ?? []
    guard
      mappings.allSatisfy({
        fits($0.sourceEntityName, $0.sourceEntityVersionHash, source)
          && fits($0.destinationEntityName, $0.destinationEntityVersionHash, destination)
      })
    else { return false }
    return Set(mappings.compactMap(\.destinationEntityName)) == Set(destination.entities.compactMap(\.name))
      && mappings.allSatisfy { mapping in
        guard let entity = mapping.destinationEntityName.flatMap({ destination.entitiesByName[$0] }) else {
          return true
        }
        let attributes = Set(entity.attributesByName.values.filter { !$0.isTransient }.map(\.name))
        let mapped = Set((mapping.attributeMappings ?? []).compactMap(\.name))
        return mapped.isSubset(of: entity.attributesByName.keys)
          && attributes.subtracting(mapped).allSatisfy { entity.attributesByName[$0]?.entity !== entity }
      }
  }
}

/// The document inside a `.xcmappingmodel`: an XML store of Xcode's with one object for each mapping.
private struct MappingDocument {
  private struct Object {
    let kind: String
    var values: [String: String] = [:]
    var members: [String: [String]] = [:]
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

  /// The mappings in Xcode's order.
  var mappings: [NSEntityMapping] {
    objects.values.filter { $0.kind == "XDDEVENTITYMAPPING" }
      .sorted { Int($0.values["mappingnumber"] ?? "") ?? 0 < Int($1.values["mappingnumber"] ?? "") ?? 0 }
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
      if let text = source.values["valueexpressiondata"],
        let data = Data(base64Encoded: text, options: .ignoreUnknownCharacters),
        let expression = (try? KeyedArchive(data))?.root?.expression
      {
        mapping.valueExpression = expression
      } else if let mappingName = source.values["sourcemappingname"], !mappingName.isEmpty {
        let path = source.values["sourcekeypath"] ?? ""
        mapping.valueExpression =
          NSPropertyMapping.Source.relationship(
            name, mappingName: mappingName, path: path.hasPrefix("$source.") ? String(path.dropFirst(8)) : path
          ).expression
      } else {
        mapping.isGenerated = true
      }
      return mapping
    }
    .sorted { ($0.name ?? "").precedesByBytes($1.name ?? "") }
  }
}

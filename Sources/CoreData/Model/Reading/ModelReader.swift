/// Makes a model of the document that Xcode's model editor writes.
struct ModelReader {
  let file: URL
  let document: ModelNode
  private let composites: [String: ModelNode]

  init(_ file: ModelFile) throws(ManagedObjectModelError) {
    self.file = file.version
    self.document = try file.document()
    self.composites = Dictionary(
      document.children(named: "composite").map { ($0.attributes["name"] ?? "", $0) },
      uniquingKeysWith: { first, _ in first })
  }

  /// Fills an empty model.
  func read(into model: NSManagedObjectModel) throws(ManagedObjectModelError) {
    let nodes = document.children(named: "entity")
    var entities: [NSEntityDescription] = []
    var byName: [String: NSEntityDescription] = [:]
    for node in nodes {
      let entity = try self.entity(node)
      let name = entity.name ?? ""
      guard byName.updateValue(entity, forKey: name) == nil else { throw error(name, "is there twice") }
      entities.append(entity)
    }
    try connectHierarchy(nodes, byName)
    for (node, entity) in zip(nodes, entities) {
      try readProperties(node, into: entity)
      try readIndexes(node, into: entity)
    }
    for (node, entity) in zip(nodes, entities) {
      try connectRelationships(node, of: entity, byName)
      try connectFetchedProperties(node, of: entity, byName)
    }
    model.entities = entities
    try readConfigurations(into: model, byName)
    try readFetchRequestTemplates(into: model, byName)
    if let identifier = document.attributes["userDefinedModelVersionIdentifier"] {
      model.versionIdentifiers = [identifier]
    }
  }

  func error(_ entity: String?, _ reason: String) -> ManagedObjectModelError {
    ManagedObjectModelError(file, entity: entity, reason)
  }

  func error(_ entity: String?, _ property: String?, _ reason: String) -> ManagedObjectModelError {
    ManagedObjectModelError(file, entity: entity, property: property, reason)
  }

  // MARK: Entities

  private func entity(_ node: ModelNode) throws(ManagedObjectModelError) -> NSEntityDescription {
    guard let name = node.attributes["name"], !name.isEmpty else { throw error(nil, "has an entity without a name") }
    let entity = NSEntityDescription()
    entity.name = name
    entity.isAbstract = node.flag("isAbstract")
    entity.versionHashModifier = node.attributes["versionHashModifier"]
    entity.renamingIdentifier = node.attributes["elementID"]
    entity.userInfo = userInfo(node)
    entity.codeGeneration = node.attributes["codeGenerationType"].flatMap(CodeGeneration.init) ?? .manual
    if let className = node.attributes["representedClassName"], !className.isEmpty {
      // A leading dot means "in the module of the product that the model is built into".
      entity.isInProductModule = className.hasPrefix(".")
      entity.managedObjectClassName = String(className.drop { $0 == "." })
    }
    return entity
  }

  private func connectHierarchy(
    _ nodes: [ModelNode], _ byName: [String: NSEntityDescription]
  ) throws(ManagedObjectModelError) {
    var parents: [String: String] = [:]
    var subentities: [String: [NSEntityDescription]] = [:]
    for node in nodes {
      guard let parent = node.attributes["parentEntity"], let name = node.attributes["name"] else { continue }
      guard byName[parent] != nil else { throw error(name, "has the parent entity \(parent), which does not exist") }
      parents[name] = parent
      subentities[parent, default: []].append(byName[name]!)  // every node's entity is in `byName`
    }
    for name in parents.keys {
      let line = Array(sequence(first: name, next: { parents[$0] }).prefix(parents.count + 2))
      guard line.count <= parents.count + 1 else { throw error(name, "inherits from itself") }
    }
    for (parent, children) in subentities {
      byName[parent]?.subentities = children
    }
  }

  private func readConfigurations(
    into model: NSManagedObjectModel, _ byName: [String: NSEntityDescription]
  ) throws(ManagedObjectModelError) {
    for node in document.children(named: "configuration") {
      let name = node.attributes["name"] ?? ""
      var members: [NSEntityDescription] = []
      for member in node.children(named: "memberEntity") {
        let memberName = member.attributes["name"] ?? ""
        guard let entity = byName[memberName] else {
          throw error(nil, "has the configuration \(name) with the entity \(memberName), which does not exist")
        }
        members.append(entity)
      }
      model.setEntities(members, forConfigurationName: name)
    }
  }

  // MARK: Properties

  private func readProperties(
    _ node: ModelNode, into entity: NSEntityDescription
  ) throws(ManagedObjectModelError) {
    let entityName = entity.name ?? ""
    var properties: [NSPropertyDescription] = []
    var names: Set<String> = []
    for child in node.children {
      let property: NSPropertyDescription
      switch child.name {
      case "attribute": property = try attribute(child, entityName)
      case "relationship": property = try relationship(child, entityName)
      case "fetchedProperty": property = NSFetchedPropertyDescription()
      default: continue
      }
      guard let name = child.attributes["name"], !name.isEmpty else {
        throw error(entityName, "has a property without a name")
      }
      guard names.insert(name).inserted else { throw error(entityName, name, "is there twice") }
      readCommonValues(child, name: name, into: property)
      properties.append(property)
    }
    entity.properties = properties
  }

  private func readCommonValues(_ node: ModelNode, name: String, into property: NSPropertyDescription) {
    property.name = name
    property.isOptional = node.flag("optional")
    property.isTransient = property.isTransient || node.flag("transient")
    property.isIndexed = node.flag("indexed")
    property.isIndexedBySpotlight = node.flag("spotlightIndexingEnabled")
    property.isStoredInExternalRecord = node.flag("storedInTruthFile")
    property.versionHashModifier = node.attributes["versionHashModifier"]
    property.renamingIdentifier = node.attributes["elementID"]
    property.userInfo = userInfo(node)
  }

  func userInfo(_ node: ModelNode) -> [AnyHashable: Any] {
    let entries = node.children(named: "userInfo").flatMap { $0.children(named: "entry") }
    return Dictionary(
      entries.map { ($0.attributes["key"] ?? "", $0.attributes["value"] ?? "") }, uniquingKeysWith: { _, last in last })
  }

  func composite(named name: String) -> ModelNode? {
    composites[name]
  }
}

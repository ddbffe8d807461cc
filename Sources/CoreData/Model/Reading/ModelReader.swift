/// Makes a model from a parsed model file.
struct ModelReader {
  let document: ModelDocument

  init(_ file: ModelFile) throws(ManagedObjectModelError) {
    document = try file.document()
  }

  init(_ document: ModelDocument) {
    self.document = document
  }

  /// Fills an empty model.
  func read(into model: NSManagedObjectModel) throws(ManagedObjectModelError) {
    let entities = document.entities.map(entity)
    let byName = Dictionary(uniqueKeysWithValues: entities.map { ($0.name ?? "", $0) })
    for (parent, children) in Dictionary(grouping: document.entities.filter { $0.parentName != nil }, by: \.parentName)
    {
      byName[parent ?? ""]?.subentities = children.compactMap { byName[$0.name] }
    }
    for (element, entity) in zip(document.entities, entities) {
      var properties: [NSPropertyDescription] = []
      for property in element.properties { properties.append(try self.property(property, element.name)) }
      entity.properties = properties
    }
    for (element, entity) in zip(document.entities, entities) {
      try readIndexes(element, into: entity)
      connectRelationships(element, of: entity, byName)
      try connectFetchedProperties(element, of: entity, byName)
    }
    model.entities = entities
    for (name, members) in document.configurations {
      model.setEntities(members.compactMap { byName[$0] }, forConfigurationName: name)
    }
    for (name, request) in document.fetchRequests {
      model.setFetchRequestTemplate(try fetchRequest(request, of: nil, name: name, entities: byName), forName: name)
    }
    if let identifier = document.root.attributes["userDefinedModelVersionIdentifier"] {
      model.versionIdentifiers = [identifier]
    }
  }

  // MARK: Entities

  private func entity(_ element: ModelEntity) -> NSEntityDescription {
    let entity = NSEntityDescription()
    entity.name = element.name
    entity.isAbstract = element.isAbstract
    entity.versionHashModifier = element.node.attributes["versionHashModifier"]
    entity.renamingIdentifier = element.node.attributes["elementID"]
    entity.userInfo = userInfo(element.node)
    entity.productModuleName = document.productModuleName
    if let name = element.representedClassName {
      entity.managedObjectClassName =
        element.isInProductModule
        ? (document.productModuleName.map { "\($0)\(name)" } ?? String(name.dropFirst())) : name
    }
    return entity
  }

  // MARK: Properties

  private func property(
    _ element: ModelProperty, _ entityName: String
  ) throws(ManagedObjectModelError) -> NSPropertyDescription {
    let property: NSPropertyDescription
    switch element.kind {
    case .attribute(let attribute): property = try self.attribute(attribute, entityName)
    case .relationship(let relationship): property = self.relationship(relationship)
    case .fetched: property = NSFetchedPropertyDescription()
    }
    let node = element.node
    property.name = element.name
    property.isOptional = element.isOptional
    property.isTransient = property.isTransient || element.isTransient
    property.isIndexed = node.flag("indexed")
    property.isIndexedBySpotlight = node.flag("spotlightIndexingEnabled")
    property.isStoredInExternalRecord = node.flag("storedInTruthFile")
    property.versionHashModifier = node.attributes["versionHashModifier"]
    property.renamingIdentifier = node.attributes["elementID"]
    property.userInfo = userInfo(node)
    return property
  }

  /// A relationship whose destination is set later, when all entities are known.
  private func relationship(_ element: ModelRelationship) -> NSRelationshipDescription {
    let relationship = NSRelationshipDescription()
    relationship.deleteRule = element.deleteRule
    relationship.isOrdered = element.isOrdered
    relationship.maxCount = element.maxCount
    relationship.minCount = element.minCount
    return relationship
  }

  /// Sets the destinations and inverses of an entity's relationships.
  private func connectRelationships(
    _ element: ModelEntity, of entity: NSEntityDescription, _ byName: [String: NSEntityDescription]
  ) {
    for property in element.properties {
      guard case .relationship(let relationship) = property.kind else { continue }
      let description = entity.relationshipsByName[property.name]
      let destination = byName[relationship.destinationName]
      description?.destinationEntity = destination
      guard let inverseName = relationship.inverseName else { continue }
      description?.inverseRelationship = destination?.relationshipsByName[inverseName]
    }
  }

  private func userInfo(_ node: ModelNode) -> [AnyHashable: Any] {
    let entries = node.children(named: "userInfo").flatMap { $0.children(named: "entry") }
    return Dictionary(
      entries.map { ($0.attributes["key"] ?? "", $0.attributes["value"] ?? "") }, uniquingKeysWith: { _, last in last })
  }
}

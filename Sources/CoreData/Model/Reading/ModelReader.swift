/// Makes a model from a parsed model file.
///
/// ```text
/// <model userDefinedModelVersionIdentifier="1.0" …>
///   <entity name="Book" representedClassName=".Book" parentEntity="Medium" isAbstract="YES" elementID="Tome" …>
///     <attribute name="pages" attributeType="Integer 32" defaultValueString="0" minValueString="0" optional="YES"/>
///     <attribute name="bookCount" attributeType="Integer 64" derived="YES" derivationExpression="books.@count"/>
///     <relationship name="author" maxCount="1" deletionRule="Nullify" destinationEntity="Author" inverseName="books"/>
///     <fetchedProperty name="namesakes"><fetchRequest entity="Author" predicateString="…"/></fetchedProperty>
///     <fetchIndex name="byTitle"><fetchIndexElement property="title" type="Binary" order="ascending"/></fetchIndex>
///     <uniquenessConstraints>…</uniquenessConstraints>
///     <userInfo><entry key="note" value="…"/></userInfo>
///   </entity>
///   <fetchRequest name="longBooks" entity="Book" predicateString="pages &gt; $PAGES" fetchLimit="10"/>
///   <configuration name="Local"><memberEntity name="Book"/></configuration>
/// </model>
/// ```
///
/// `ModelDocument`, which the model compiler shares, has parsed the XML and checked what concerns the file alone:
/// names, types, destinations. This type builds the descriptions and parses the predicates and expressions in it, for
/// which a compiler has no classes. Its errors name file, line, entity and property.
///
/// The aspects have files of their own: attributes, indexes, validation, fetch requests.
///
/// Source: the files that Xcode writes; the names of the keys are Xcode's.
struct ModelReader {
  /// The parsed file, in which errors find their line.
  let document: ModelDocument

  /// A reader of a file in Xcode's or in this package's compiled XML form. Keyed archives are for `ArchivedModel`.
  init(_ file: ModelFile) throws(ManagedObjectModelError) {
    document = try file.document()
  }

  /// A reader of a parsed document: the compiled model in a program's code.
  init(_ document: ModelDocument) {
    self.document = document
  }

  /// Fills an empty model.
  ///
  /// The order, in which each step needs the one before:
  ///
  /// 1. entities without properties, so that names lead to objects;
  /// 2. the hierarchy;
  /// 3. properties, by which `propertiesByName` of all entities is complete;
  /// 4. indexes, which mark attributes; destinations and inverses, which are looked up among the properties of all
  ///    entities; requests of fetched properties;
  /// 5. the model's own parts: configurations and templates, which name entities.
  ///
  /// - Parameter model: a model without entities. It has a part of the content if this throws.
  /// - Throws: for a predicate, expression, minimum or pattern that cannot be parsed.
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

  /// An entity with its own settings. A class name with a point in front, ".Book", is one of the module that the model
  /// was compiled into; a source file does not know that module, and the point is dropped.
  private func entity(_ element: ModelEntity) -> NSEntityDescription {
    let entity = NSEntityDescription()
    entity.name = element.name
    entity.isAbstract = element.isAbstract
    entity.versionHashModifier = element.node.attributes["versionHashModifier"]
    entity.renamingIdentifier = element.node.attributes["elementID"]
    entity.userInfo = userInfo(element.node)
    entity.productModuleName = document.productModuleName
    if let name = element.representedClassName {
      // The name begins with the dot that divides it from the module's.
      let qualifiedName = document.productModuleName.map { "\($0)\(name)" } ?? String(name.dropFirst())
      entity.managedObjectClassName = element.isInProductModule ? qualifiedName : name
    }
    return entity
  }

  // MARK: Properties

  /// A property by its kind, then what all kinds have. The file's `elementID` is the renaming identifier.
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

  /// The developer's notes. Of two entries with one key the last one counts.
  private func userInfo(_ node: ModelNode) -> [AnyHashable: Any] {
    let entries = node.children(named: "userInfo").flatMap { $0.children(named: "entry") }
    return Dictionary(
      entries.map { ($0.attributes["key"] ?? "", $0.attributes["value"] ?? "") }, uniquingKeysWith: { _, last in last })
  }
}

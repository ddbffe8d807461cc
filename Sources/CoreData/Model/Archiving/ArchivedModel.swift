/// Makes a model from a keyed archive: a compiled model (`.mom`), or the copy that a SQLite store keeps.
///
/// ```text
/// NSManagedObjectModel
///   NSEntities                { "Book": NSEntityDescription, … }
///   NSConfigurations          { "Default": set of entities, … }            if there are any
///   NSFetchRequestTemplates   { "longBooks": NSFetchRequest, … } or nil
///   NSVersionIdentifiers      set of texts
/// NSEntityDescription
///   NSEntityName NSClassNameForEntity NSIsAbstract NSSuperentity NSUserInfo NSVersionHashModifier NSRenamingIdentifier
///   NSProperties              { "title": NSAttributeDescription, "author": NSRelationshipDescription, … }
///   NSUniqueTuples            [[ "isbn" ]]
///   NSFetchIndexDescriptions  [ NSFetchIndexDescription … ]   NSCompoundIndexes  [[ "a", "b" ]]
/// ```
///
/// Inherited properties may be repeated in each subentity; they are left out, since a subentity here refers to its
/// superentity's own. So are the proxies, `_NSPropertyDescriptionProxy`, that some archives have in their place.
///
/// A damaged archive gives an error. One with unknown keys is read without them: newer frameworks add settings, and a
/// store must open nevertheless.
struct ArchivedModel {
  /// The entities made so far, by their place in the archive, to which relationships and requests refer.
  private var entities: [Int: NSEntityDescription] = [:]

  /// Fills an empty model.
  ///
  /// - Parameter model: a model without entities that may be changed. It has a part of the content if this throws.
  /// - Throws: a reason for a message that begins with the file's name.
  static func read(_ data: Data, into model: NSManagedObjectModel) throws(ModelElementsError) {
    let archive = try KeyedArchive(data)
    guard let root = archive.root, root.className == "NSManagedObjectModel" else {
      throw ModelElementsError("holds no model")
    }
    var reader = ArchivedModel()
    let sources = root.entries("NSEntities").map(\.object)
    try reader.readEntities(sources)
    model.entities = sources.compactMap { reader.entities[$0.place] }
    for (name, members) in root.entries("NSConfigurations") {
      model.setEntities(members.objects.compactMap { reader.entities[$0.place] }, forConfigurationName: name)
    }
    for (name, request) in root.entries("NSFetchRequestTemplates") {
      model.setFetchRequestTemplate(reader.fetchRequest(request), forName: name)
    }
    model.versionIdentifiers = Set(root.values("NSVersionIdentifiers").compactMap { $0 as? AnyHashable })
    if archive.limits.areExceeded { throw ModelElementsError("has objects that contain themselves") }
  }

  /// Reads entities that refer to each other.
  ///
  /// In four rounds over all entities, because each needs what the one before made:
  ///
  /// 1. the entities with their own settings, so that references have something to lead to; names must be unique, and
  ///    no entity below itself;
  /// 2. the hierarchy, so that inherited properties are known;
  /// 3. the declared properties, without what leads to other entities;
  /// 4. destinations and inverses, which are found by name among the properties of all entities, and indexes and
  ///    constraints, which name properties.
  ///
  /// It is also used for a single entity with its surroundings (`ModelCoding`).
  mutating func readEntities(_ sources: [ArchivedObject]) throws(ModelElementsError) {
    var names: Set<String> = []
    for source in sources {
      guard let name = source.string("NSEntityName"), !name.isEmpty else {
        throw ModelElementsError("has an entity without a name")
      }
      guard names.insert(name).inserted else { throw ModelElementsError("has two entities of the name \(name)") }
      if Self.isBelowItself(source) { throw ModelElementsError("has an entity below itself: \(name)") }
      entities[source.place] = Self.entity(source)
    }
    let children = Dictionary(grouping: sources) { $0.object("NSSuperentity")?.place }
    for (parent, children) in children {
      guard let parent else { continue }
      entities[parent]?.subentities = children.compactMap { entities[$0.place] }
    }
    for source in sources {
      guard let entity = entities[source.place] else { continue }
      let inherited = Self.inheritedNames(source)
      let ownProperties: [ArchivedObject] = source.entries("NSProperties").map(\.object)
        .filter { $0.className != "_NSPropertyDescriptionProxy" }
        .filter { !inherited.contains($0.string("NSPropertyName") ?? "") }
      entity.properties = try ownProperties.map { property throws(ModelElementsError) in try self.property(property) }
      let names = entity.declaredProperties.map(\.name)
      guard Set(names).count == names.count, !names.contains("") else {
        throw ModelElementsError("has properties of \(entity.name ?? "") that share a name or have none")
      }
    }
    for source in sources {
      guard let entity = entities[source.place] else { continue }
      for property in source.entries("NSProperties").map(\.object) { connect(property, of: entity) }
      entity.indexes = source.objects("NSFetchIndexDescriptions").map(index)
      entity.uniquenessConstraints = source.object("NSUniqueTuples")?.objects.map(\.strings) ?? []
      entity.compoundIndexes = source.object("NSCompoundIndexes")?.objects.map(\.strings) ?? []
    }
  }

  /// The entity that was made of an archived one.
  func entity(of source: ArchivedObject?) -> NSEntityDescription? { source.flatMap { entities[$0.place] } }

  /// Whether the superentities lead back to the entity, which happens only in a damaged or hostile archive. Without
  /// this check, code that walks the hierarchy would not end.
  private static func isBelowItself(_ entity: ArchivedObject) -> Bool {
    var seen: Set<Int> = [entity.place]
    var next = entity.object("NSSuperentity")
    while let parent = next {
      guard seen.insert(parent.place).inserted else { return true }
      next = parent.object("NSSuperentity")
    }
    return false
  }

  /// The names of all properties of the superentities. Only names are compared, since the repeated copies are objects
  /// of their own.
  private static func inheritedNames(_ entity: ArchivedObject) -> Set<String> {
    var names: Set<String> = []
    var seen: Set<Int> = [entity.place]
    var next = entity.object("NSSuperentity")
    while let parent = next, seen.insert(parent.place).inserted {
      names.formUnion(parent.entries("NSProperties").map(\.key))
      next = parent.object("NSSuperentity")
    }
    return names
  }

  /// An entity with its own settings, without properties and relations. Archives always have a renaming identifier; one
  /// that equals the name means none.
  private static func entity(_ source: ArchivedObject) -> NSEntityDescription {
    let entity = NSEntityDescription()
    let name = source.string("NSEntityName")
    entity.name = name
    entity.managedObjectClassName = source.string("NSClassNameForEntity")
    entity.isAbstract = source.bool("NSIsAbstract")
    entity.userInfo = source.value("NSUserInfo") as? [AnyHashable: Any] ?? [:]
    entity.versionHashModifier = source.string("NSVersionHashModifier")
    if let identifier = source.string("NSRenamingIdentifier"), identifier != name {
      entity.renamingIdentifier = identifier
    }
    return entity
  }

  // MARK: Properties

  /// A property with its settings, by the archived class. What leads to other entities comes later: see `connect`.
  ///
  /// - Throws: a reason that names a class of property that is unknown: leaving it out would give the entity another
  ///   hash.
  func property(_ source: ArchivedObject) throws(ModelElementsError) -> NSPropertyDescription {
    let property: NSPropertyDescription
    switch source.className {
    case "NSAttributeDescription": property = attribute(source, NSAttributeDescription())
    case "NSDerivedAttributeDescription":
      let derived = NSDerivedAttributeDescription()
      derived.derivationExpression = source.expression("NSDerivationExpression")
      property = attribute(source, derived)
    case "NSCompositeAttributeDescription":
      let composite = NSCompositeAttributeDescription()
      var elements: [NSAttributeDescription] = []
      for element in source.objects("NSElements") {
        let element = try source.limits.deeper { () throws(ModelElementsError) in try self.property(element) }
        if let element = element as? NSAttributeDescription { elements.append(element) }
      }
      composite.elements = elements
      property = attribute(source, composite)
    case "NSRelationshipDescription":
      let relationship = NSRelationshipDescription()
      relationship.deleteRule =
        NSDeleteRule(rawValue: UInt(clamping: source.integer("NSDeleteRule") ?? 1)) ?? .nullifyDeleteRule
      relationship.maxCount = source.integer("NSMaxCount") ?? 0
      relationship.minCount = source.integer("NSMinCount") ?? 0
      relationship.isOrdered = source.bool("NSIsOrdered")
      property = relationship
    case "NSFetchedPropertyDescription": property = NSFetchedPropertyDescription()
    case "NSExpressionDescription":
      let computed = NSExpressionDescription()
      computed.expression = source.expression("NSExpression")
      computed.expressionResultType = Self.type(source, "NSExpressionResultType")
      property = computed
    default: throw ModelElementsError("has a property of the unknown kind \(source.className)")
    }
    let name = source.string("NSPropertyName") ?? ""
    property.name = name
    property.isOptional = source.bool("NSIsOptional")
    property.isTransient = source.bool("NSIsTransient")
    property.isIndexed = source.bool("NSIsIndexed")
    property.isIndexedBySpotlight = source.bool("NSIndexedBySpotlight")
    property.isStoredInExternalRecord = source.bool(ArchivedNames.externalRecord)
    property.userInfo = source.value("NSUserInfo") as? [AnyHashable: Any] ?? [:]
    property.versionHashModifier = source.string("NSVersionHashModifier")
    if let identifier = source.string("NSRenamingIdentifier"), identifier != name {
      property.renamingIdentifier = identifier
    }
    // A rule that cannot be read goes with its warning: the others keep theirs.
    let rules = source.objects("NSValidationPredicates").map(\.predicate)
    let warnings = source.values("NSValidationWarnings").enumerated().filter { place, _ in
      !rules.indices.contains(place) || rules[place] != nil
    }
    property.setValidationPredicates(
      rules.compactMap(\.self), withValidationWarnings: warnings.map(\.element))
    return property
  }

  /// Fills an attribute of any class with what attributes have in common. The type comes first, since setting it sets
  /// the class of the values too.
  private func attribute(_ source: ArchivedObject, _ attribute: NSAttributeDescription) -> NSAttributeDescription {
    attribute.attributeType = Self.type(source, "NSAttributeType")
    attribute.attributeValueClassName = source.string("NSAttributeValueClassName")
    attribute.valueTransformerName = source.string("NSValueTransformerName")
    attribute.defaultValue = source.value("NSDefaultValue")
    let flags = AttributeFlags(rawValue: source.integer("NSFlagsKey") ?? 0)
    attribute.allowsExternalBinaryDataStorage = flags.contains(.external)
    attribute.preservesValueInHistoryOnDeletion = flags.contains(.preserved)
    return attribute
  }

  /// An attribute type by Apple's number; undefined for one that is missing or newer than this framework.
  private static func type(_ source: ArchivedObject, _ key: String) -> NSAttributeType {
    NSAttributeType(rawValue: UInt(clamping: source.integer(key) ?? 0)) ?? .undefinedAttributeType
  }

  /// Sets what leads from a property to other entities.
  ///
  /// An inverse is found by its entity and name: the archived inverse may be the copy of a subentity.
  private func connect(_ source: ArchivedObject, of entity: NSEntityDescription) {
    let name = source.string("NSPropertyName") ?? ""
    let declared = entity.declaredProperties.first { $0.name == name }
    switch declared {
    case let relationship as NSRelationshipDescription:
      let destination = self.entity(of: source.object("NSDestinationEntity"))
      relationship.destinationEntity = destination
      relationship.inverseRelationship = source.object("NSInverseRelationship").flatMap { inverse in
        (self.entity(of: inverse.object("NSEntity")) ?? destination)?
          .relationshipsByName[inverse.string("NSPropertyName") ?? ""]
      }
    case let fetched as NSFetchedPropertyDescription:
      fetched.fetchRequest = source.object("NSFetchRequest").map(fetchRequest)
    default: break
    }
  }

  // MARK: Indexes and requests

  /// A fetch index. Its elements name their properties, which the entity has when the index is set.
  func index(_ source: ArchivedObject) -> NSFetchIndexDescription {
    let index = NSFetchIndexDescription(
      name: source.string("NSIndexName") ?? "", elements: source.objects("NSIndexElements").compactMap(indexElement))
    index.partialIndexPredicate = source.predicate("NSPartialIndexPredicate")
    return index
  }

  private func indexElement(_ source: ArchivedObject) -> NSFetchIndexElementDescription? {
    let collation = NSFetchIndexElementType(rawValue: UInt(clamping: source.integer("NSFetchIndexElementType") ?? 0))
    let element: NSFetchIndexElementDescription
    if let computed = source.object("NSProperty"), computed.className == "NSExpressionDescription" {
      // An element with an expression that cannot be read is left out.
      guard let property = try? self.property(computed) else { return nil }
      element = NSFetchIndexElementDescription(property: property, collationType: collation ?? .binary)
    } else {
      element = NSFetchIndexElementDescription(
        propertyName: source.string("NSPropertyName") ?? "", collationType: collation ?? .binary)
    }
    element.isAscending = source.bool("NSAscending")
    return element
  }

  /// A template, or the request of a fetched property. Lists that are missing stay nil, which differs from an empty
  /// list.
  private func fetchRequest(_ source: ArchivedObject) -> NSFetchRequest<any NSFetchRequestResult> {
    let name = source.object("NSEntity")?.string("NSEntityName") ?? source.string("NSEntityName")
    let request = name.map(NSFetchRequest<any NSFetchRequestResult>.init(entityName:)) ?? NSFetchRequest()
    if let entity = entity(of: source.object("NSEntity")) { request.entity = entity }
    request.predicate = source.filter("NSPredicate")
    if source.object("NSSortDescriptors") != nil {
      request.sortDescriptors = source.objects("NSSortDescriptors").compactMap(\.sortDescriptor)
    }
    request.fetchLimit = source.integer("NSFetchLimit") ?? 0
    request.fetchOffset = source.integer("NSFetchOffset") ?? 0
    request.fetchBatchSize = source.integer("NSBatchSize") ?? 0
    request.resultType = NSFetchRequestResultType(rawValue: UInt(clamping: source.integer("NSResultType") ?? 0))
    if source.object("NSValuesToFetch") != nil { request.propertiesToFetch = source.strings("NSValuesToFetch") }
    if source.object("NSValuesToGroupBy") != nil { request.propertiesToGroupBy = source.strings("NSValuesToGroupBy") }
    request.havingPredicate = source.filter("NSHavingPredicate")
    if source.object("NSRelationshipKeyPathsForPrefetching") != nil {
      request.relationshipKeyPathsForPrefetching = source.strings("NSRelationshipKeyPathsForPrefetching")
    }
    let flags = FetchFlags(rawValue: source.integer("NSFetchRequestFlags") ?? FetchFlags.usual.rawValue)
    request.returnsDistinctResults = flags.contains(.distinct)
    request.includesSubentities = flags.contains(.subentities)
    request.includesPropertyValues = flags.contains(.values)
    request.returnsObjectsAsFaults = flags.contains(.faults)
    request.includesPendingChanges = flags.contains(.pending)
    return request
  }
}

/// The settings of an attribute that archives keep as bits. The first is that of the structure in Apple's header
/// NSAttributeDescription.h; the second is that of archives with preserved attributes.
///
/// Apple's framework uses other bits, which are neither read nor written here.
struct AttributeFlags: OptionSet {
  let rawValue: Int
  /// `allowsExternalBinaryDataStorage`.
  static let external = AttributeFlags(rawValue: 4)
  /// `preservesValueInHistoryOnDeletion`.
  static let preserved = AttributeFlags(rawValue: 16)
}

/// The settings of a fetch request that archives keep as bits. Of the archives at hand only those with the usual
/// settings are known; the order of the bits is that of the properties in Apple's header NSFetchRequest.h.
struct FetchFlags: OptionSet {
  let rawValue: Int
  static let distinct = FetchFlags(rawValue: 1)
  static let subentities = FetchFlags(rawValue: 2)
  static let values = FetchFlags(rawValue: 4)
  static let faults = FetchFlags(rawValue: 8)
  static let pending = FetchFlags(rawValue: 16)
  /// What a request has that archives without flags hold: the defaults of `NSFetchRequest`.
  static let usual: FetchFlags = [.subentities, .values, .faults, .pending]
}

/// Maps the entities and properties of a new model to those of an old one, for lightweight migration.
///
/// `renamingIdentifier` decides first, then the name. A property may have moved along its hierarchy.
///
/// Source: https://developer.apple.com/documentation/coredata/migrating-your-data-model-automatically
package struct InferredMapping {
  /// An entity of the new model.
  package struct Entity {
    package let destination: NSEntityDescription
    /// Nil for a new entity.
    package let source: NSEntityDescription?
    /// The old counterpart of each property of the new entity, inherited ones included, by the new name.
    package fileprivate(set) var attributes: [String: NSAttributeDescription] = [:]
    package internal(set) var relationships: [String: NSRelationshipDescription] = [:]
  }

  package let entities: [Entity]
  /// By the name of the new entity.
  let byDestination: [String: Entity]
  /// The new entity's name by the old one's.
  let renamed: [String: String]

  /// Whether the new model has all that the old one has as it was, and what is new needs no value: then a store needs
  /// additions only.
  let onlyAdds: Bool
  /// What the migration loses although names stay: a sentence each.
  let warnings: [String]

  /// - Throws: 134190 (`inferredMappingModel`) if no mapping can be inferred.
  package init(from sources: [NSEntityDescription], to destinations: [NSEntityDescription]) throws {
    let pairs = Self.match(destinations, sources, { ($0.name ?? "", $0.renamingIdentifier) })
    let renamed = Dictionary(
      zip(destinations, pairs).compactMap { destination, source in
        source.map { ($0.name ?? "", destination.name ?? "") }
      },
      uniquingKeysWith: { first, _ in first })
    var entities = try zip(destinations, pairs).map { destination, source in
      var entity = Entity(destination: destination, source: source)
      if let source { try Self.matchProperties(of: &entity, source, renamed) }
      try Self.checkNewAttributes(of: entity)
      return entity
    }
    onlyAdds = renamed.count == sources.count && entities.allSatisfy(\.onlyAdds)
    warnings = Self.followInverses(&entities)
    self.entities = entities
    self.renamed = renamed
    byDestination = Dictionary(uniqueKeysWithValues: entities.map { ($0.destination.name ?? "", $0) })
  }

  /// The old counterpart of each new thing: the one that its renaming identifier names, else the one of its name. Each
  /// old one is taken once.
  @_semantics("optimize.sil.specialize.generic.never")  // a copy for each type takes long to compile
  private static func match<Thing: AnyObject>(
    _ new: [Thing], _ old: [Thing], _ names: (Thing) -> (name: String, identifier: String?)
  ) -> [Thing?] {
    var taken: Set<ObjectIdentifier> = []
    var counterparts: [Thing?] = Array(repeating: nil, count: new.count)
    func take(_ index: Int, where isWanted: (String, String?) -> Bool) {
      guard counterparts[index] == nil,
        let thing = old.first(where: {
          let (name, identifier) = names($0)
          return !taken.contains(ObjectIdentifier($0)) && isWanted(name, identifier)
        })
      else { return }
      taken.insert(ObjectIdentifier(thing))
      counterparts[index] = thing
    }
    for (index, thing) in new.enumerated() {
      guard let identifier = names(thing).identifier else { continue }
      take(index) { $1 == identifier }
      take(index) { name, _ in name == identifier }
    }
    for (index, thing) in new.enumerated() {
      let name = names(thing).name
      take(index) { old, _ in old == name }
    }
    return counterparts
  }

  private static func matchProperties(
    of entity: inout Entity, _ source: NSEntityDescription, _ renamed: [String: String]
  ) throws {
    let new = entity.destination.properties.filter { !$0.isTransient }
    let old = source.properties.filter { !$0.isTransient }
    for (property, was) in zip(new, match(new, old, { ($0.name, $0.renamingIdentifier) })) {
      let name = "\(entity.destination.name ?? "").\(property.name)"
      switch (property, was) {
      case (let new as NSAttributeDescription, let old as NSAttributeDescription):
        try check(new, old, name)
        entity.attributes[new.name] = old
      case (let new as NSRelationshipDescription, let old as NSRelationshipDescription):
        try check(new, against: old, name: name, renamed: renamed)
        entity.relationships[new.name] = old
      case (is NSFetchedPropertyDescription, _), (_, is NSFetchedPropertyDescription), (_, nil): break
      // The attribute is gone, and the relationship is new.
      case (is NSRelationshipDescription, is NSAttributeDescription): break
      default: throw failure("\(name) changed between attribute and relationship")
      }
    }
  }

  private static func check(_ new: NSAttributeDescription, _ old: NSAttributeDescription, _ name: String) throws {
    let isWidened = old.attributeType == .booleanAttributeType && new.attributeType.isWhole
    guard new.attributeType == old.attributeType || isWidened else { throw failure("\(name) changed its type") }
    guard let new = new as? NSCompositeAttributeDescription, let old = old as? NSCompositeAttributeDescription else {
      return
    }
    for (element, was) in zip(new.elements, matchElements(of: new, old)) {
      let name = "\(name).\(element.name)"
      if let was {
        try check(element, was, name)
      } else if !element.isOptional && element.initialValue == nil {
        throw failure("\(name) is mandatory now and has no default value for objects without one")
      }
    }
  }

  /// The old counterpart of each element of a composite attribute.
  private static func matchElements(
    of new: NSCompositeAttributeDescription, _ old: NSCompositeAttributeDescription
  ) -> [NSAttributeDescription?] {
    match(new.elements, old.elements, { ($0.name, $0.renamingIdentifier) })
  }

  /// The key path of the element's counterpart in the old composite attribute; nil for a new element.
  static func path(
    _ path: ArraySlice<String>, of new: NSCompositeAttributeDescription, in old: NSCompositeAttributeDescription
  ) -> [String]? {
    guard let name = path.first, let index = new.elements.firstIndex(where: { $0.name == name }),
      let was = matchElements(of: new, old)[index]
    else { return nil }
    let remainingPath = path.dropFirst()
    if remainingPath.isEmpty { return [was.name] }
    guard let inner = new.elements[index] as? NSCompositeAttributeDescription,
      let innerOld = was as? NSCompositeAttributeDescription
    else { return nil }
    return self.path(remainingPath, of: inner, in: innerOld).map { [was.name] + $0 }
  }

  private static func check(
    _ new: NSRelationshipDescription, against old: NSRelationshipDescription, name: String, renamed: [String: String]
  ) throws {
    if old.isToMany && !new.isToMany {
      throw failure("\(name) was a to-many relationship and is a to-one now, which would lose members")
    }
    guard let was = old.destinationEntity, let now = new.destinationEntity else { return }
    // The destination may have moved up the hierarchy: it still holds all the objects that it held.
    let isKept = sequence(first: was, next: \.superentity).contains { renamed[$0.name ?? ""] == now.name }
    let isWidened = now.isKindOfMapped(was, renamed)
    guard isKept || isWidened else { throw failure("\(name) changed its destination entity") }
  }

  private static func checkNewAttributes(of entity: Entity) throws {
    for attribute in entity.destination.attributesByName.values where !attribute.isOptional && !attribute.isTransient {
      let was = entity.attributes[attribute.name]
      guard attribute.initialValue == nil, was?.isOptional ?? true, entity.source != nil else { continue }
      if attribute is NSDerivedAttributeDescription { continue }
      throw failure(
        "\(entity.destination.name ?? "").\(attribute.name) is mandatory now and has no default value for "
          + "objects without one")
    }
  }

  static func failure(_ what: String) -> NSError {
    CoreDataErrors.error(.inferredMappingModel, "No mapping can be inferred: \(what).")
  }
}

extension InferredMapping.Entity {
  /// The old counterpart of each stored property, by the new name.
  package var former: [String: NSPropertyDescription] {
    (attributes as [String: NSPropertyDescription]).merging(relationships) { $1 }
  }

  /// Whether the old entity is as it was, and its new attributes need no value.
  fileprivate var onlyAdds: Bool {
    guard let source else { return true }
    let former = former
    return source.name == destination.name && source.superentity?.name == destination.superentity?.name
      && former.count == source.storedProperties.count
      && destination.storedProperties.allSatisfy { name, property in
        guard let was = former[name] else { return (property as? NSAttributeDescription)?.needsNoValue == true }
        return was.name == name && property.isStored(as: was)
      }
  }
}

extension NSAttributeDescription {
  /// Whether the attribute is nil in rows that it is added to.
  var needsNoValue: Bool { isOptional && initialValue == nil && !(self is NSDerivedAttributeDescription) }
}

extension NSPropertyDescription {
  /// Whether stores keep the property as they keep the other one.
  fileprivate func isStored(as other: NSPropertyDescription) -> Bool {
    versionHash == other.versionHash
      && (self as? NSAttributeDescription)?.valueTransformerName
        == (other as? NSAttributeDescription)?.valueTransformerName
  }
}

extension NSEntityDescription {
  /// The properties that stores keep, by name.
  package var storedProperties: [String: NSPropertyDescription] {
    propertiesByName.filter { !$0.value.isTransient && !($0.value is NSFetchedPropertyDescription) }
  }
}

extension NSAttributeType {
  fileprivate var isWhole: Bool {
    self == .integer16AttributeType || self == .integer32AttributeType || self == .integer64AttributeType
  }
}

extension NSEntityDescription {
  /// Whether this new entity is an ancestor of the counterpart of an old one.
  fileprivate func isKindOfMapped(_ old: NSEntityDescription, _ renamed: [String: String]) -> Bool {
    subentities.contains { $0.name == renamed[old.name ?? ""] || $0.isKindOfMapped(old, renamed) }
  }
}

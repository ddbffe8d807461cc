/// Maps the entities and properties of a new model to those of an old one, for lightweight migration.
///
/// `renamingIdentifier` decides first, then the name. A property may have moved along its hierarchy.
///
/// ```text
/// old model                         new model                            mapping
/// Author(name, books)               Writer [was Author](name, works      Writer: Author
///                                   [was books], born)                     name: name, works: books, born: new
/// Book(title, author)               Book(title, author, pages = 0)       Book: Book
///                                                                          title: title, author: author, pages: new
/// Draft(text)                       -                                    its rows are deleted
/// ```
///
/// What can be inferred: properties and entities that are added, removed or renamed; optional and mandatory, if there
/// is a default value; to-one to to-many; ordered or not; an entity that gets a superentity; a Bool that becomes an
/// integer. What cannot, with an error that names the property: another type of attribute, to-many to to-one, an
/// attribute that became a relationship, another destination that is not its ancestor or descendant.
///
/// SQLite stores rewrite their tables by it or only add to them (`onlyAdds`), stores in files and copies
/// between stores convert their rows (`RowMapping`), servers migrate by it, and `NSMappingModel.inferredMappingModel`
/// shows it to the program.
///
/// Source: https://developer.apple.com/documentation/coredata/migrating-your-data-model-automatically
package struct InferredMapping {
  /// An entity of the new model.
  ///
  /// Transient properties and fetched properties are left out, as no store has them.
  package struct Entity {
    package let destination: NSEntityDescription
    /// Nil for a new entity.
    package let source: NSEntityDescription?
    /// The old counterpart of each property of the new entity, inherited ones included, by the new name.
    ///
    /// A new attribute is not among the keys: its value is the default value.
    package fileprivate(set) var attributes: [String: NSAttributeDescription] = [:]
    /// The old counterpart of each relationship; `followInverses` may add some that the names alone do not give.
    package internal(set) var relationships: [String: NSRelationshipDescription] = [:]
  }

  /// All entities of the new model, in its order. An old entity that none of them continues is gone with its rows.
  package let entities: [Entity]
  /// By the name of the new entity.
  let byDestination: [String: Entity]
  /// The new entity's name by the old one's.
  let renamed: [String: String]

  /// Whether the new model has all that the old one has as it was, and what is new needs no value: then a store needs
  /// additions only.
  ///
  /// A SQLite store then gets columns and tables by `ALTER TABLE … ADD COLUMN` and `CREATE TABLE`, in time that does
  /// not depend on the number of rows. Everything else makes the tables again and copies the rows.
  let onlyAdds: Bool
  /// A sentence for each relationship that keeps its name and loses its members.
  let warnings: [String]

  /// The order matters: entities are matched first, because a relationship may keep its values only if its destination
  /// continues the old one; then properties; inverses last, since they need the mapping of both entities.
  ///
  /// - Parameters:
  ///   - sources: the entities that the store has.
  ///   - destinations: those that it gets, of its configuration.
  ///
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

  /// The old counterpart of each new entity or property: the one that its renaming identifier names, else the one of
  /// its name. Each old one is taken once.
  ///
  /// A first pass takes identifiers, a second one names. So a new entity "Book" does not take the rows of the old one
  /// if another entity says that it was called so. In the first pass a new identifier may equal the old identifier
  /// (both versions were called differently before) or the old name.
  ///
  /// ```text
  /// new Volume (identifier Book), new Book          old Book
  /// pass 1: Volume takes Book;  Book finds none left
  /// pass 2: Book is new
  /// ```
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

  /// Matches the properties of one entity, inherited ones included: a property that moved into a superentity is found
  /// under its name in both.
  ///
  /// - Throws: 134190 for a property that cannot keep its values, and for one that turned from a relationship into an
  ///   attribute.
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

  /// Refuses another type of attribute, except a Bool that becomes an integer, which is stored alike. Elements of
  /// composite attributes are compared one by one.
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

  /// The key path of the element's counterpart in the old composite attribute; nil for a new element. Copying needs it
  /// for the columns of elements that were renamed.
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

  /// Refuses a relationship that would lose members or whose members would have another entity.
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

  /// Refuses a mandatory attribute for which existing rows have no value: new ones, and ones that were optional. An
  /// entity that is new has no rows, and a derived attribute is computed.
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

  /// 134190 with the reason. The message names entity and property, and a mapping model is the way out.
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
  ///
  /// A renamed property, a changed one, and a changed transformer are no additions. The last one is in no version hash,
  /// and changes the stored bytes nevertheless.
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
  ///
  /// Then a new column of NULLs is right, and no row has to be written.
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
  ///
  /// Inherited ones included.
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
  ///
  /// The relationship then leads to more objects than before, and all old ones are among them.
  fileprivate func isKindOfMapped(_ old: NSEntityDescription, _ renamed: [String: String]) -> Bool {
    subentities.contains { $0.name == renamed[old.name ?? ""] || $0.isKindOfMapped(old, renamed) }
  }
}

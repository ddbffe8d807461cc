extension NSEntityDescription {
  /// A copy of one entity, for `copy()`. It has no superentity and no subentities. Its relationships lead to the
  /// original's destinations until the copy comes into a model.
  func copyOfSelf() -> NSEntityDescription {
    let copy = NSEntityDescription()
    copyOwnValues(into: copy)
    copy.properties = declaredProperties.map { $0.copyOfSelf() }
    copy.indexes = indexes.map { $0.copyOfSelf() }
    return copy
  }

  /// Copies of entities with distinct names. Hierarchy and relationships of the copies lead to the copies.
  ///
  /// The entities may come from several models, so a reference to another entity is matched by its name.
  ///
  /// It takes four rounds: the entities with their own settings, so that each name has a copy; the hierarchy; the
  /// declared properties and indexes; destinations and inverses, which are looked up among the copies. A relationship
  /// to an entity that is not in the list loses its destination.
  ///
  /// - Parameter entities: all entities of a model, or of several after a merge.
  /// - Returns: the copies in the same order.
  static func copies(of entities: [NSEntityDescription]) -> [NSEntityDescription] {
    var copyByName: [String: NSEntityDescription] = [:]
    let copies = entities.map { entity in
      let copy = NSEntityDescription()
      entity.copyOwnValues(into: copy)
      copyByName[entity.name ?? ""] = copy
      return copy
    }
    for (parent, children) in Dictionary(grouping: entities, by: { $0.superentity?.name }) {
      guard let parent else { continue }
      copyByName[parent]?.subentities = children.compactMap { copyByName[$0.name ?? ""] }
    }
    for (entity, copy) in zip(entities, copies) {
      copy.properties = entity.declaredProperties.map { $0.copyOfSelf() }
      copy.indexes = entity.indexes.map { $0.copyOfSelf() }
    }
    for (entity, copy) in zip(entities, copies) {
      for case (let original as NSRelationshipDescription, let relationship as NSRelationshipDescription) in zip(
        entity.declaredProperties, copy.declaredProperties)
      {
        let destination = copyByName[original.destinationEntity?.name ?? ""]
        relationship.destinationEntity = destination
        relationship.inverseRelationship = original.inverseRelationship.flatMap {
          destination?.relationshipsByName[$0.name]
        }
      }
    }
    return copies
  }

  /// Copies everything but properties, indexes and references to other entities.
  ///
  /// Constraints and compound indexes are copied as names, since their descriptions belong to the original.
  func copyOwnValues(into copy: NSEntityDescription) {
    copy.name = name
    copy.managedObjectClassName = managedObjectClassName
    copy.isAbstract = isAbstract
    copy.userInfo = userInfo
    copy.uniquenessConstraints = uniquenessConstraints.map(names(of:))
    copy.compoundIndexes = compoundIndexes.map(names(of:))
    copy.versionHashModifier = versionHashModifier
    copy.storedRenamingIdentifier = storedRenamingIdentifier
    copy.productModuleName = productModuleName
  }
}

/// Lets predicates and sort descriptors read objects and IDs.
///
/// Evaluation in memory must give what the store's SQL gives, where a table holds all entities of an inheritance: a
/// column of a subentity is NULL in a row of another.
extension NSManagedObject: KeyValueReadable, PersistentKeyed {
  /// `value(forKey:)` would end the process for a key that the entity lacks; here the key may be right for other
  /// objects of the same fetch.
  final func readableValue(forKey key: String) -> Any? {
    // A property of a subentity is nil for an object of another entity, as in the shared table.
    if layout.locations[key] == nil, !["objectID", "self", "SELF", "entity"].contains(key), !layout.computes(key) {
      return nil
    }
    return value(forKey: key)
  }

  /// Two objects of two contexts are equal in a predicate if they are of one row.
  package final var persistentKey: (entityName: String, key: Int64)? { objectID.persistentKey }
}

/// Predicates over IDs, such as those of a history request, know the ID and its entity, and nothing of the row: reading
/// that would need a context.
extension NSManagedObjectID: KeyValueReadable, PersistentKeyed {
  func readableValue(forKey key: String) -> Any? {
    switch key {
    case "self", "objectID": self
    case "entity": entity
    default: nil
    }
  }

  package var persistentKey: (entityName: String, key: Int64)? { isTemporaryID ? nil : (storedEntity.layout.name, key) }
}

/// For predicates such as `entity.name == "Book"` in memory, and `entity == %@`, which the stores translate to numbers.
extension NSEntityDescription: KeyValueReadable {
  func readableValue(forKey key: String) -> Any? {
    switch key {
    case "self": self
    case "name": name
    case "managedObjectClassName": managedObjectClassName
    case "isAbstract", "abstract": isAbstract
    case "superentity": superentity
    case "renamingIdentifier": renamingIdentifier
    case "userInfo": userInfo
    default: nil
    }
  }
}

/// For `ANY updatedProperties.name == "title"` in the predicate of a history request.
extension NSPropertyDescription: KeyValueReadable {
  func readableValue(forKey key: String) -> Any? {
    switch key {
    case "self": self
    case "name": name
    case "entity": entity
    case "isOptional", "optional": isOptional
    case "isTransient", "transient": isTransient
    case "renamingIdentifier": renamingIdentifier
    case "versionHashModifier": versionHashModifier
    case "userInfo": userInfo
    default: nil
    }
  }
}

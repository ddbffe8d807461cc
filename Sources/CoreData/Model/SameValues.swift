/// Compares the untyped values that models hold: user info, defaults, fetch requests.
///
/// Models are compared to tell whether a file has changed, in tests, and when models are merged. The values come from
/// XML, from archives and from code, so a number may be an `Int` in one model and an `NSNumber` in the other.
enum SameValues {
  /// Whether two values are equal, collections member by member. Fetch requests have no equality of their own, so those
  /// of a model are compared by their settings.
  static func of(_ one: Any?, _ other: Any?) -> Bool {
    switch (one, other) {
    case (nil, nil): true
    case (let one as NSFetchRequest<any NSFetchRequestResult>, let other as NSFetchRequest<any NSFetchRequestResult>):
      one.hasSameValues(as: other)
    case (let one as [Any], let other as [Any]):
      one.count == other.count && zip(one, other).allSatisfy { of($0, $1) }
    case (let one as [AnyHashable: Any], let other as [AnyHashable: Any]):
      one.count == other.count && one.allSatisfy { key, value in other[key].map { of(value, $0) } ?? false }
    case (let one?, let other?): ofSingle(one, other)
    default: false
    }
  }

  /// Compares two values that are not collections. Numbers of different types are equal if their values are.
  ///
  /// Objects compare by `isEqual`, Swift's values as `AnyHashable`; a value that is neither equals nothing.
  static func ofSingle(_ one: Any, _ other: Any) -> Bool {
    if let one = one as? NSObject, let other = other as? NSObject { return one.isEqual(other) }
    guard let one = one as? AnyHashable, let other = other as? AnyHashable else { return false }
    return one == other
  }
}

extension NSEntityDescription {
  fileprivate var subentityNames: Set<String?> { Set(subentities.map(\.name)) }

  /// Whether another entity, mostly of another model, has equal settings and equal properties. The hierarchy counts by
  /// names: comparing superentities and subentities by value would not end.
  func hasSameValues(as other: NSEntityDescription) -> Bool {
    name == other.name && managedObjectClassName == other.managedObjectClassName && isAbstract == other.isAbstract
      && superentity?.name == other.superentity?.name && subentityNames == other.subentityNames
      && versionHashModifier == other.versionHashModifier && renamingIdentifier == other.renamingIdentifier
      && SameValues.of(userInfo, other.userInfo)
      && uniquenessConstraints.map(names(of:)) == other.uniquenessConstraints.map(other.names(of:))
      && compoundIndexes.map(names(of:)) == other.compoundIndexes.map(other.names(of:)) && indexes == other.indexes
      && propertiesByName == other.propertiesByName
  }
}

extension NSFetchRequest where ResultType == any NSFetchRequestResult {
  /// Whether another request of a model asks for the same objects in the same form.
  ///
  /// Compares the settings that a model file can have, not those that only code sets, such as stores and grouping.
  fileprivate func hasSameValues(as other: NSFetchRequest<any NSFetchRequestResult>) -> Bool {
    entityName == other.entityName && predicate == other.predicate && sortDescriptors == other.sortDescriptors
      && fetchLimit == other.fetchLimit && fetchOffset == other.fetchOffset && fetchBatchSize == other.fetchBatchSize
      && resultType == other.resultType && includesSubentities == other.includesSubentities
      && includesPropertyValues == other.includesPropertyValues
      && returnsObjectsAsFaults == other.returnsObjectsAsFaults
      && includesPendingChanges == other.includesPendingChanges
      && returnsDistinctResults == other.returnsDistinctResults
      && relationshipKeyPathsForPrefetching == other.relationshipKeyPathsForPrefetching
      && SameValues.of(propertiesToFetch, other.propertiesToFetch)
  }
}

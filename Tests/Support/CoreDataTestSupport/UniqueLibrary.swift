import CoreData

/// Books with unique titles, authors with unique names, tags with unique labels, and two stacks on one file.
package struct UniqueLibrary {
  package let store: TemporaryStore

  package init() throws {
    let model = LibraryModel.make()
    model.entitiesByName["Book"]?.uniquenessConstraints = [["title"]]
    model.entitiesByName["Author"]?.uniquenessConstraints = [["name"]]
    model.entitiesByName["Tag"]?.uniquenessConstraints = [["label"]]
    store = try TemporaryStore(model)
  }

  package func context(_ policy: NSMergePolicyType, on coordinator: NSPersistentStoreCoordinator? = nil)
    -> NSManagedObjectContext
  {
    let context = (coordinator ?? store.coordinator).context()
    context.mergePolicy = NSMergePolicy(merge: policy)
    return context
  }

  /// Key, version, pages and rating of each book, by title.
  package func books() throws -> [[String?]] {
    try store.sql("SELECT ZTITLE, Z_PK, Z_OPT, ZPAGES, ZRATING FROM ZBOOK ORDER BY ZTITLE")
  }
}

/// The merge policies that resolve a conflict of unique values, by the side that wins.
package enum ConstraintPolicies {
  /// The object in memory wins.
  package static let winning: [NSMergePolicyType] = [
    .mergeByPropertyObjectTrumpMergePolicyType, .overwriteMergePolicyType,
  ]
  /// The row in the store wins.
  package static let yielding: [NSMergePolicyType] = [
    .mergeByPropertyStoreTrumpMergePolicyType, .rollbackMergePolicyType,
  ]
  package static let resolving = winning + yielding
}

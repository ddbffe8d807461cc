extension Notification.Name {
  /// Posted by a coordinator before one of its stores is replaced by another: by `migratePersistentStore`.
  public static let NSPersistentStoreCoordinatorStoresWillChange = Notification.Name(
    "NSPersistentStoreCoordinatorStoresWillChangeNotification")

  /// Posted by a coordinator after stores were added, removed or replaced, with them under `NSAddedPersistentStoresKey`,
  /// `NSRemovedPersistentStoresKey` or `NSUUIDChangedPersistentStoresKey`.
  public static let NSPersistentStoreCoordinatorStoresDidChange = Notification.Name(
    "NSPersistentStoreCoordinatorStoresDidChangeNotification")

  /// Posted by a coordinator before it removes a store, with that under `NSRemovedPersistentStoresKey`.
  public static let NSPersistentStoreCoordinatorWillRemoveStore = Notification.Name(
    "NSPersistentStoreCoordinatorWillRemoveStoreNotification")
}

/// An array of `NSPersistentStore`: the stores that were added.
public let NSAddedPersistentStoresKey = "added"
/// An array of `NSPersistentStore`: the stores that were removed.
public let NSRemovedPersistentStoresKey = "removed"
/// An array: the old store, the new store, and then the IDs of all objects, each old one followed by the new one.
public let NSUUIDChangedPersistentStoresKey = "uuid"

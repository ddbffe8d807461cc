extension Notification.Name {
  /// Posted by a coordinator before `migratePersistentStore` replaces one of its stores by another, on the caller's
  /// thread.
  public static let NSPersistentStoreCoordinatorStoresWillChange = Notification.Name(
    "NSPersistentStoreCoordinatorStoresWillChangeNotification")

  /// Posted by a coordinator after stores were added, removed or replaced, on the caller's thread. The user info has
  /// them under `NSAddedPersistentStoresKey`, `NSRemovedPersistentStoresKey` or `NSUUIDChangedPersistentStoresKey`.
  public static let NSPersistentStoreCoordinatorStoresDidChange = Notification.Name(
    "NSPersistentStoreCoordinatorStoresDidChangeNotification")

  /// Posted by a coordinator before it removes a store, which is under `NSRemovedPersistentStoresKey`, on the caller's
  /// thread.
  public static let NSPersistentStoreCoordinatorWillRemoveStore = Notification.Name(
    "NSPersistentStoreCoordinatorWillRemoveStoreNotification")
}

/// An array of `NSPersistentStore`: the stores that were added.
public let NSAddedPersistentStoresKey = "added"
/// An array of `NSPersistentStore`: the stores that were removed.
public let NSRemovedPersistentStoresKey = "removed"
/// An array of the old store, the new store, and the IDs of all objects, each old one followed by the new one.
public let NSUUIDChangedPersistentStoresKey = "uuid"

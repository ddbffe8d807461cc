extension Notification.Name {
  /// Never posted here. Apple's framework posts it for stores that iCloud replaced.
  public static let NSPersistentStoreCoordinatorStoresWillChange = Notification.Name(
    "NSPersistentStoreCoordinatorStoresWillChangeNotification")

  /// Posted by a coordinator after stores were added, removed or replaced, on the caller's thread. The notification's
  /// object is the coordinator. The user info has the stores under `NSAddedPersistentStoresKey`,
  /// `NSRemovedPersistentStoresKey` or `NSUUIDChangedPersistentStoresKey`; after the last one reset the contexts, since
  /// all IDs are new.
  public static let NSPersistentStoreCoordinatorStoresDidChange = Notification.Name(
    "NSPersistentStoreCoordinatorStoresDidChangeNotification")

  /// Posted before a coordinator removes a store, on the caller's thread. The notification's object is the store.
  public static let NSPersistentStoreCoordinatorWillRemoveStore = Notification.Name(
    "NSPersistentStoreCoordinatorWillRemoveStoreNotification")
}

/// An array of `NSPersistentStore`: the stores that were added.
public let NSAddedPersistentStoresKey = "added"
/// An array of `NSPersistentStore`: the stores that were removed.
public let NSRemovedPersistentStoresKey = "removed"
/// An array of three: the old store, the new store, and an array of the IDs of all objects, each old one followed by
/// the new one.
public let NSUUIDChangedPersistentStoresKey = "uuid"

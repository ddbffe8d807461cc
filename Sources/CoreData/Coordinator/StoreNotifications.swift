extension Notification.Name {
  /// Posted on Apple's platforms before iCloud replaces a store of a coordinator. It is never posted here: Linux has no
  /// iCloud.
  ///
  /// Source: Apple's documentation of `NSPersistentStoreCoordinatorStoresWillChange`.
  public static let NSPersistentStoreCoordinatorStoresWillChange = Notification.Name(
    "NSPersistentStoreCoordinatorStoresWillChangeNotification")

  /// Posted by a coordinator after stores were added, removed or replaced, on the caller's thread. The notification's
  /// object is the coordinator. The user info has the stores under `NSAddedPersistentStoresKey`,
  /// `NSRemovedPersistentStoresKey` or `NSUUIDChangedPersistentStoresKey`; after the last of these changes reset the
  /// contexts, since all IDs are new.
  ///
  /// ```swift
  /// let token = NotificationCenter.default.addObserver(
  ///   forName: .NSPersistentStoreCoordinatorStoresDidChange, object: coordinator, queue: nil
  /// ) { notification in
  ///   let added = notification.userInfo?[NSAddedPersistentStoresKey] as? [NSPersistentStore] ?? []
  ///   print(added.map { $0.url?.path ?? "" })
  /// }
  /// defer { NotificationCenter.default.removeObserver(token) }
  /// ```
  ///
  /// It is about which stores are open, not about their content: a save posts `NSManagedObjectContextDidSave`, and
  /// another process's commit `NSPersistentStoreRemoteChange`. `migratePersistentStore` posts it twice, for the removal
  /// of the original and for the new IDs. It is not posted when stores are closed because their coordinator is freed.
  ///
  /// Source: Apple's documentation of `NSPersistentStoreCoordinatorStoresDidChange`.
  public static let NSPersistentStoreCoordinatorStoresDidChange = Notification.Name(
    "NSPersistentStoreCoordinatorStoresDidChangeNotification")

  /// Posted before a coordinator removes a store, on the caller's thread. The notification's object is the store, which
  /// can still be read and saved.
  ///
  /// ```swift
  /// let token = NotificationCenter.default.addObserver(
  ///   forName: .NSPersistentStoreCoordinatorWillRemoveStore, object: nil, queue: nil
  /// ) { notification in
  ///   print("closing", (notification.object as? NSPersistentStore)?.url?.path ?? "")
  /// }
  /// defer { NotificationCenter.default.removeObserver(token) }
  /// ```
  ///
  /// An observer has the last chance to save or reset contexts that have objects of the store. Removing the store
  /// cannot be refused.
  ///
  /// Source: Apple's documentation of `NSPersistentStoreCoordinatorWillRemoveStore`.
  public static let NSPersistentStoreCoordinatorWillRemoveStore = Notification.Name(
    "NSPersistentStoreCoordinatorWillRemoveStoreNotification")
}

/// An array of `NSPersistentStore`: the stores that were added. In the user info of
/// `NSPersistentStoreCoordinatorStoresDidChange`.
public let NSAddedPersistentStoresKey = "added"
/// An array of `NSPersistentStore`: the stores that were removed. They are closed, and their
/// `persistentStoreCoordinator` is nil already. In the user info of `NSPersistentStoreCoordinatorStoresDidChange`.
public let NSRemovedPersistentStoresKey = "removed"

/// An array of three: the old store, the new store, and an array of the IDs of all objects, each old one followed by
/// the new one. In the user info of `NSPersistentStoreCoordinatorStoresDidChange` after a store was migrated to another
/// place.
///
/// A program that keeps URIs replaces them with it:
///
/// ```swift
/// let center = NotificationCenter.default
/// let changes = center.notifications(named: .NSPersistentStoreCoordinatorStoresDidChange, object: coordinator)
/// for await change in changes {
///   guard let parts = change.userInfo?[NSUUIDChangedPersistentStoresKey] as? [Any], parts.count == 3 else { continue }
///   let ids = parts[2] as? [NSManagedObjectID] ?? []
///   for index in stride(from: 0, to: ids.count, by: 2) { print(ids[index].uriString, "is", ids[index + 1].uriString) }
/// }
/// ```
public let NSUUIDChangedPersistentStoresKey = "uuid"

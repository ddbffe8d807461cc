/// In the user info of a context's notifications: the new objects, a `Set<NSManagedObject>`.
public let NSInsertedObjectsKey = "inserted"
/// The changed objects, a `Set<NSManagedObject>`.
public let NSUpdatedObjectsKey = "updated"
/// The deleted objects, a `Set<NSManagedObject>`.
public let NSDeletedObjectsKey = "deleted"
/// The objects whose values a refresh or a merge replaced, a `Set<NSManagedObject>`.
public let NSRefreshedObjectsKey = "refreshed"
/// The objects that became unusable, a `Set<NSManagedObject>`. No notification here has it.
public let NSInvalidatedObjectsKey = "invalidated"
/// After a reset: the IDs of the objects that the context had, an `[NSManagedObjectID]`.
public let NSInvalidatedAllObjectsKey = "invalidatedAll"
/// The IDs of new objects, a `Set<NSManagedObjectID>`.
public let NSInsertedObjectIDsKey = "inserted_objectIDs"
/// The IDs of changed objects, a `Set<NSManagedObjectID>`.
public let NSUpdatedObjectIDsKey = "updated_objectIDs"
/// The IDs of deleted objects, a `Set<NSManagedObjectID>`.
public let NSDeletedObjectIDsKey = "deleted_objectIDs"
/// The IDs of the objects that a merge refreshed, a `Set<NSManagedObjectID>`.
public let NSRefreshedObjectIDsKey = "refreshed_objectIDs"
/// The IDs of objects that became unusable, a `Set<NSManagedObjectID>`. No notification here has it.
public let NSInvalidatedObjectIDsKey = "invalidated_objectIDs"
/// The `NSQueryGenerationToken` that a pinned context's reads see after its save.
public let NSManagedObjectContextQueryGenerationKey = "newQueryGeneration"

extension Notification.Name {
  /// Posted at the end of each event that changed objects, on the context's queue: sets of objects under
  /// `NSInsertedObjectsKey` and the like. An object is in one of the sets for inserted, updated and deleted objects.
  /// The notification's object is the context. After a merge the user info has "NSObjectsChangedByMergeChangesKey" too,
  /// after a reset only `NSInvalidatedAllObjectsKey`.
  public static let NSManagedObjectContextObjectsDidChange = Notification.Name(
    "NSObjectsChangedInManagingContextNotification")
  /// Posted before a save that has changes, on the context's queue, before `willSave()` of the objects and before
  /// validation: changes that an observer makes are saved too.
  public static let NSManagedObjectContextWillSave = Notification.Name("NSManagingContextWillSaveChangesNotification")
  /// Posted after a save, on the context's queue: sets of objects, which are empty if nothing changed. If a store keeps
  /// a history, the token of its end is under "newChangeToken".
  ///
  /// The objects belong to the context that saved. To use them in another one pass the notification to its
  /// `mergeChanges(fromContextDidSave:)`, on its queue, or observe `NSManagedObjectContextDidSaveObjectIDs`, whose
  /// content may go anywhere.
  public static let NSManagedObjectContextDidSave = Notification.Name("NSManagingContextDidSaveChangesNotification")
  /// Posted after a save that had changes, on the context's queue: sets of object IDs, which may be passed to other
  /// queues. Those of a child's new objects are temporary.
  public static let NSManagedObjectContextDidSaveObjectIDs = Notification.Name(
    "_NSManagedObjectContextDidSaveObjectIDsNotification")
  /// Posted after another save was merged and `NSManagedObjectContextObjectsDidChange` was posted, on the context's
  /// queue: sets of the IDs of that save, whether or not the context has their objects.
  public static let NSManagedObjectContextDidMergeChangesObjectIDs = Notification.Name(
    "_NSManagedObjectContextDidMergeChangesObjectIDsNotification")
}

extension NSManagedObjectContext {
  /// Posted before a save: `NSManagedObjectContextWillSave` in the spelling of newer code.
  public static let willSaveObjectsNotification = Notification.Name.NSManagedObjectContextWillSave
  /// Posted after a save, with objects: `NSManagedObjectContextDidSave` in the spelling of newer code.
  public static let didSaveObjectsNotification = Notification.Name.NSManagedObjectContextDidSave
  /// Posted at the end of an event: `NSManagedObjectContextObjectsDidChange` in the spelling of newer code.
  public static let didChangeObjectsNotification = Notification.Name.NSManagedObjectContextObjectsDidChange
  /// Posted after a save, with IDs: `NSManagedObjectContextDidSaveObjectIDs` in the spelling of newer code.
  public static let didSaveObjectIDsNotification = Notification.Name.NSManagedObjectContextDidSaveObjectIDs
  /// Posted after a merge: `NSManagedObjectContextDidMergeChangesObjectIDs` in the spelling of newer code.
  public static let didMergeChangesObjectIDsNotification =
    Notification.Name.NSManagedObjectContextDidMergeChangesObjectIDs

  /// The keys of the notifications' user info, as an enumeration.
  public enum NotificationKey: String, Sendable {
    /// `NSInsertedObjectsKey`.
    case insertedObjects = "inserted"
    /// `NSUpdatedObjectsKey`.
    case updatedObjects = "updated"
    /// `NSDeletedObjectsKey`.
    case deletedObjects = "deleted"
    /// `NSRefreshedObjectsKey`.
    case refreshedObjects = "refreshed"
    /// `NSInvalidatedObjectsKey`.
    case invalidatedObjects = "invalidated"
    /// `NSInvalidatedAllObjectsKey`.
    case invalidatedAllObjects = "invalidatedAll"
    /// `NSInsertedObjectIDsKey`.
    case insertedObjectIDs = "inserted_objectIDs"
    /// `NSUpdatedObjectIDsKey`.
    case updatedObjectIDs = "updated_objectIDs"
    /// `NSDeletedObjectIDsKey`.
    case deletedObjectIDs = "deleted_objectIDs"
    /// `NSRefreshedObjectIDsKey`.
    case refreshedObjectIDs = "refreshed_objectIDs"
    /// `NSInvalidatedObjectIDsKey`.
    case invalidatedObjectIDs = "invalidated_objectIDs"
    /// `NSManagedObjectContextQueryGenerationKey`.
    case queryGeneration = "newQueryGeneration"
  }
}

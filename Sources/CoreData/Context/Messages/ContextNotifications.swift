/// In the user info of a context's notifications: the new objects, a `Set<NSManagedObject>`.
public let NSInsertedObjectsKey = "inserted"
/// The changed objects, a `Set<NSManagedObject>`.
public let NSUpdatedObjectsKey = "updated"
/// The deleted objects, a `Set<NSManagedObject>`.
public let NSDeletedObjectsKey = "deleted"
/// The objects that were read anew or became faults, a `Set<NSManagedObject>`.
public let NSRefreshedObjectsKey = "refreshed"
/// The objects that became unusable, a `Set<NSManagedObject>`. No notification here has it.
public let NSInvalidatedObjectsKey = "invalidated"
/// After a reset: the objects that the context had, an `[NSManagedObject]`.
public let NSInvalidatedAllObjectsKey = "invalidatedAll"
/// The IDs of new objects, a `Set<NSManagedObjectID>`.
public let NSInsertedObjectIDsKey = "inserted_objectIDs"
/// The IDs of changed objects, a `Set<NSManagedObjectID>`.
public let NSUpdatedObjectIDsKey = "updated_objectIDs"
/// The IDs of deleted objects, a `Set<NSManagedObjectID>`.
public let NSDeletedObjectIDsKey = "deleted_objectIDs"
/// The IDs of objects that were read anew, a `Set<NSManagedObjectID>`. No notification here has it.
public let NSRefreshedObjectIDsKey = "refreshed_objectIDs"
/// The IDs of objects that became unusable, a `Set<NSManagedObjectID>`. No notification here has it.
public let NSInvalidatedObjectIDsKey = "invalidated_objectIDs"
/// After a save of a context whose reads are pinned: the `NSQueryGenerationToken` of what they see now.
public let NSManagedObjectContextQueryGenerationKey = "newQueryGeneration"

extension Notification.Name {
  /// At the end of each event that changed objects: sets of objects under `NSInsertedObjectsKey` and its like.
  public static let NSManagedObjectContextObjectsDidChange = Notification.Name(
    "NSObjectsChangedInManagingContextNotification")
  /// Before a save, on the context's queue.
  public static let NSManagedObjectContextWillSave = Notification.Name("NSManagingContextWillSaveChangesNotification")
  /// After a save, on the context's queue: sets of objects.
  public static let NSManagedObjectContextDidSave = Notification.Name("NSManagingContextDidSaveChangesNotification")
  /// After a save, on the context's queue: sets of object IDs.
  public static let NSManagedObjectContextDidSaveObjectIDs = Notification.Name(
    "_NSManagedObjectContextDidSaveObjectIDsNotification")
  /// After a save made elsewhere was merged, and `NSManagedObjectContextObjectsDidChange` told what that changed here:
  /// sets of the IDs that the save was about, be their objects in this context or not.
  public static let NSManagedObjectContextDidMergeChangesObjectIDs = Notification.Name(
    "_NSManagedObjectContextDidMergeChangesObjectIDsNotification")
}

extension NSManagedObjectContext {
  /// `NSManagedObjectContextWillSave`.
  public static let willSaveObjectsNotification = Notification.Name.NSManagedObjectContextWillSave
  /// `NSManagedObjectContextDidSave`.
  public static let didSaveObjectsNotification = Notification.Name.NSManagedObjectContextDidSave
  /// `NSManagedObjectContextObjectsDidChange`.
  public static let didChangeObjectsNotification = Notification.Name.NSManagedObjectContextObjectsDidChange
  /// `NSManagedObjectContextDidSaveObjectIDs`.
  public static let didSaveObjectIDsNotification = Notification.Name.NSManagedObjectContextDidSaveObjectIDs
  /// `NSManagedObjectContextDidMergeChangesObjectIDs`.
  public static let didMergeChangesObjectIDsNotification =
    Notification.Name.NSManagedObjectContextDidMergeChangesObjectIDs

  /// The keys of the notifications' user info.
  public enum NotificationKey: String, Sendable {
    case insertedObjects = "inserted"
    case updatedObjects = "updated"
    case deletedObjects = "deleted"
    case refreshedObjects = "refreshed"
    case invalidatedObjects = "invalidated"
    case invalidatedAllObjects = "invalidatedAll"
    case insertedObjectIDs = "inserted_objectIDs"
    case updatedObjectIDs = "updated_objectIDs"
    case deletedObjectIDs = "deleted_objectIDs"
    case refreshedObjectIDs = "refreshed_objectIDs"
    case invalidatedObjectIDs = "invalidated_objectIDs"
    case queryGeneration = "newQueryGeneration"
  }
}

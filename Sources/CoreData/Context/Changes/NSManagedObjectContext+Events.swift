/// The end of an event: delete rules are applied and observers told.
extension NSManagedObjectContext {
  /// Applies delete rules and posts `NSManagedObjectContextObjectsDidChange` if anything changed since the last call.
  public final func processPendingChanges() {
    checkQueue()
    guard !isProcessing else { return }
    isProcessing = true
    defer { isProcessing = false }
    if propagatesDeletesAtEndOfEvent { propagateDeletes() }
    undoTracking?.register(event)
    if !event.isEmpty { postObjectsDidChange() }
    while let object = dropped.popLast() { forget(object) }
  }

  /// Lets go of an object that is in no store and no list of changes any more.
  final func forget(_ object: NSManagedObject) {
    registry.remove(object.objectID.key, object.objectID.home.table)
    object.state.subtract([.inserted, .updated, .deleted, .isNoted])
    object.state.insert(.gone)
    object.reference = nil
  }

  final func postObjectsDidChange() {
    var event = self.event
    event.isOver = true
    self.event = ContextEvent()
    for object in event.revived.items {
      event.inserted.insert(object)
      event.updated.remove(object)
    }
    var info: [AnyHashable: Any] = [:]
    for (key, list) in [
      (NSInsertedObjectsKey, event.inserted), (NSUpdatedObjectsKey, event.updated),
      (NSDeletedObjectsKey, event.deleted),
      (NSRefreshedObjectsKey, event.refreshed),
    ] {
      // An object may be in two lists.
      for object in list.items where object.state.contains(.isNoted) {
        object.state.remove(.isNoted)
        for case let toMany? in object.toManys {
          if let start = toMany.endEvent() { event.toManyStarts[ObjectIdentifier(toMany)] = start }
        }
      }
      if !list.isEmpty { info[key] = Set(list.items) }
    }
    if !event.invalidatedAll.isEmpty { info[NSInvalidatedAllObjectsKey] = event.invalidatedAll }
    guard !info.isEmpty else { return }
    // Observers may ask what the event's values were, and may make changes that belong to the next event.
    let outer = postedEvent
    postedEvent = event
    post(.NSManagedObjectContextObjectsDidChange, info)
    postedEvent = outer
  }

  /// Lets each deletion take its related objects along, or loose, until nothing more follows.
  final func propagateDeletes() {
    while !unpropagated.isEmpty {
      let objects = unpropagated
      unpropagated.removeAll()
      for object in objects where object.isDeleted { propagateDelete(of: object) }
    }
  }

  private func propagateDelete(of object: NSManagedObject) {
    for slot in object.layout.toOneSlots {
      guard let relationship = object.layout.slots[slot].relationship, let other = object.related(slot),
        !other.isDeleted
      else { continue }
      apply(relationship, from: object, to: other)
    }
    for (index, relationship) in object.layout.toManys.enumerated()
    where relationship.deleteRule != .noActionDeleteRule && relationship.deleteRule != .denyDeleteRule {
      for other in object.toMany(index).members?.items ?? [] where !other.isDeleted {
        apply(relationship, from: object, to: other)
      }
    }
    // Never saved: nothing of it stays behind.
    if !deleted.contains(object) { dropped.append(object) }
  }

  private func apply(_ relationship: NSRelationshipDescription, from object: NSManagedObject, to other: NSManagedObject)
  {
    switch relationship.deleteRule {
    case .cascadeDeleteRule where undoTracking?.isApplying != true: delete(other)
    // What the undone event took along, it brings back by itself.
    case .cascadeDeleteRule, .nullifyDeleteRule:
      guard let inverse = relationship.inverseRelationship else { return }
      other.loosen(inverse, from: object)
    case .denyDeleteRule, .noActionDeleteRule: return
    }
  }
}

// MARK: Notifications

public let NSInsertedObjectsKey = "inserted"
public let NSUpdatedObjectsKey = "updated"
public let NSDeletedObjectsKey = "deleted"
public let NSRefreshedObjectsKey = "refreshed"
public let NSInvalidatedObjectsKey = "invalidated"
public let NSInvalidatedAllObjectsKey = "invalidatedAll"
public let NSInsertedObjectIDsKey = "inserted_objectIDs"
public let NSUpdatedObjectIDsKey = "updated_objectIDs"
public let NSDeletedObjectIDsKey = "deleted_objectIDs"
public let NSRefreshedObjectIDsKey = "refreshed_objectIDs"
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
  /// After a save made elsewhere was merged, and `NSManagedObjectContextObjectsDidChange` told what that changed here: sets of the
  /// IDs that the save was about, be their objects in this context or not.
  public static let NSManagedObjectContextDidMergeChangesObjectIDs = Notification.Name(
    "_NSManagedObjectContextDidMergeChangesObjectIDsNotification")
}

extension NSManagedObjectContext {
  public static let willSaveObjectsNotification = Notification.Name.NSManagedObjectContextWillSave
  public static let didSaveObjectsNotification = Notification.Name.NSManagedObjectContextDidSave
  public static let didChangeObjectsNotification = Notification.Name.NSManagedObjectContextObjectsDidChange
  public static let didSaveObjectIDsNotification = Notification.Name.NSManagedObjectContextDidSaveObjectIDs
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

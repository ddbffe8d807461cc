/// In the user info of a context's notifications: the new objects, a `Set<NSManagedObject>`. After a merge they include
/// the objects that the other context has inserted.
///
/// `NSManagedObjectContext.NotificationKey.insertedObjects` is the same key. The objects belong to the context that
/// posted: use them on its queue. In a dictionary for `mergeChanges(fromRemoteContextSave:into:)` the value may also be
/// an array of IDs or URIs, and the same holds for the next two keys.
///
/// Source: Apple's documentation of `NSInsertedObjectsKey`.
public let NSInsertedObjectsKey = "inserted"

/// The changed objects, a `Set<NSManagedObject>`. A new object that was changed is not among them, and neither is one
/// whose values a merge or a refresh replaced.
///
/// Source: Apple's documentation of `NSUpdatedObjectsKey`.
public let NSUpdatedObjectsKey = "updated"

/// The deleted objects, a `Set<NSManagedObject>`. After a save they belong to no context any more; values that were
/// read stay readable.
///
/// Source: Apple's documentation of `NSDeletedObjectsKey`.
public let NSDeletedObjectsKey = "deleted"

/// The objects whose values a refresh, a merge, a rollback or a merge policy replaced, a `Set<NSManagedObject>`. Only
/// `NSManagedObjectContextObjectsDidChange` has it. A user interface redraws these objects like updated ones.
///
/// Source: Apple's documentation of `NSRefreshedObjectsKey`.
public let NSRefreshedObjectsKey = "refreshed"
/// The objects that became unusable, a `Set<NSManagedObject>`. Only notifications of Apple's framework have it; here a
/// single object is never invalidated. A reset invalidates all objects: see `NSInvalidatedAllObjectsKey`.
public let NSInvalidatedObjectsKey = "invalidated"

/// After a reset: the IDs of the objects that the context had, an `[NSManagedObjectID]`. The objects themselves are
/// unusable by then, so a user interface drops what it shows and fetches again.
///
/// Source: Apple's documentation of `NSInvalidatedAllObjectsKey`.
public let NSInvalidatedAllObjectsKey = "invalidatedAll"

/// The IDs of new objects, a `Set<NSManagedObjectID>`: in `NSManagedObjectContextDidSaveObjectIDs`, in
/// `NSManagedObjectContextDidMergeChangesObjectIDs`, and in the dictionaries that programs make for
/// `mergeChanges(fromRemoteContextSave:into:)`.
///
/// ```swift
/// let request = NSBatchInsertRequest(entityName: "Book", objects: [["title": "Emma"]])
/// request.resultType = .objectIDs
/// let result = try context.execute(request) as? NSBatchInsertResult
/// let changes: [AnyHashable: Any] = [NSInsertedObjectIDsKey: result?.result ?? []]
/// NSManagedObjectContext.mergeChanges(fromRemoteContextSave: changes, into: [container.viewContext])
/// ```
///
/// Source: Apple's documentation of `NSInsertedObjectIDsKey`.
public let NSInsertedObjectIDsKey = "inserted_objectIDs"
/// The IDs of changed objects, a `Set<NSManagedObjectID>`, where `NSInsertedObjectIDsKey` has those of new ones.
///
/// Source: Apple's documentation of `NSUpdatedObjectIDsKey`.
public let NSUpdatedObjectIDsKey = "updated_objectIDs"
/// The IDs of deleted objects, a `Set<NSManagedObjectID>`, where `NSInsertedObjectIDsKey` has those of new ones.
///
/// Source: Apple's documentation of `NSDeletedObjectIDsKey`.
public let NSDeletedObjectIDsKey = "deleted_objectIDs"

/// The IDs of the objects that a merge refreshed, a `Set<NSManagedObjectID>`: those of the updated objects that the
/// context has. Only `NSManagedObjectContextDidMergeChangesObjectIDs` has it.
///
/// Source: Apple's documentation of `NSRefreshedObjectIDsKey`.
public let NSRefreshedObjectIDsKey = "refreshed_objectIDs"
/// The IDs of objects that became unusable, a `Set<NSManagedObjectID>`. Only notifications of Apple's framework have
/// it: see `NSInvalidatedObjectsKey`.
public let NSInvalidatedObjectIDsKey = "invalidated_objectIDs"

/// The context's `queryGenerationToken` after its save, in `NSManagedObjectContextDidSave`. Absent if the context is
/// not pinned. It is mostly `current`: the save ends the pin, and the next read pins the state of that moment.
///
/// Source: Apple's documentation of `NSManagedObjectContextQueryGenerationKey`.
public let NSManagedObjectContextQueryGenerationKey = "newQueryGeneration"

extension Notification.Name {
  /// Posted at the end of each event that changed objects, on the context's queue: sets of objects under
  /// `NSInsertedObjectsKey` and the like. The notification's object is the context.
  ///
  /// ```swift
  /// let token = NotificationCenter.default.addObserver(
  ///   forName: .NSManagedObjectContextObjectsDidChange, object: context, queue: nil
  /// ) { notification in
  ///   let updated = notification.userInfo?[NSUpdatedObjectsKey] as? Set<NSManagedObject> ?? []
  ///   print(updated.count, "objects were changed")
  /// }
  /// defer { NotificationCenter.default.removeObserver(token) }
  /// ```
  ///
  /// It is what a user interface observes: it tells of unsaved changes too, and of merges. An event ends with a
  /// `perform` block, with a turn of the main queue, with a save, and with `processPendingChanges()`; a property that
  /// is set ten times in it is told once. An object is in at most one of the sets for inserted, updated and deleted
  /// objects. After a merge the user info has "NSObjectsChangedByMergeChangesKey" too, after a reset only
  /// `NSInvalidatedAllObjectsKey`.
  ///
  /// `NSFetchedResultsController` makes its own changes of rows from it. Changes that an observer makes belong to the
  /// next event.
  ///
  /// Source: Apple's documentation of `NSManagedObjectContextObjectsDidChange`.
  public static let NSManagedObjectContextObjectsDidChange = Notification.Name(
    "NSObjectsChangedInManagingContextNotification")

  /// Posted before a save that has changes, on the context's queue, before `willSave()` of the objects and before
  /// validation: changes that an observer makes are saved too. It has no user info: `insertedObjects` and the like of
  /// the context tell what will be saved.
  ///
  /// An observer cannot stop the save; a validation method can. A save that fails has posted it too.
  ///
  /// Source: Apple's documentation of `NSManagedObjectContextWillSave`.
  public static let NSManagedObjectContextWillSave = Notification.Name("NSManagingContextWillSaveChangesNotification")

  /// Posted after a save, on the context's queue: sets of objects, which are empty if nothing changed. If a store keeps
  /// a history, the token of its end is under "newChangeToken".
  ///
  /// The objects belong to the context that saved. To use them in another one pass the notification to its
  /// `mergeChanges(fromContextDidSave:)`, on its queue, or observe `NSManagedObjectContextDidSaveObjectIDs`, whose
  /// content may go anywhere.
  ///
  /// ```swift
  /// let token = NotificationCenter.default.addObserver(
  ///   forName: .NSManagedObjectContextDidSave, object: context, queue: nil
  /// ) { notification in
  ///   let saved = notification.userInfo?[NSInsertedObjectsKey] as? Set<NSManagedObject> ?? []
  ///   print("new and saved:", saved.map(\.objectID.uriString))
  /// }
  /// defer { NotificationCenter.default.removeObserver(token) }
  /// ```
  ///
  /// `object: nil` observes all contexts of the process, including those that the framework makes. The save has ended:
  /// the objects are clean, and the IDs of a context without a parent are permanent. Saves of other processes are
  /// `NSPersistentStoreRemoteChange`.
  ///
  /// Source: Apple's documentation of `NSManagedObjectContextDidSave`.
  public static let NSManagedObjectContextDidSave = Notification.Name("NSManagingContextDidSaveChangesNotification")

  /// Posted after a save that had changes, on the context's queue: sets of object IDs, which may be passed to other
  /// queues. Those of a child's new objects are temporary.
  ///
  /// It comes right after `NSManagedObjectContextDidSave`. The key `newChangeToken` has the place in the stores'
  /// histories, if they have any. Source: Apple's documentation of
  /// `NSManagedObjectContextDidSaveObjectIDs`.
  public static let NSManagedObjectContextDidSaveObjectIDs = Notification.Name(
    "_NSManagedObjectContextDidSaveObjectIDsNotification")

  /// Posted after another save was merged and `NSManagedObjectContextObjectsDidChange` was posted, on the context's
  /// queue: sets of the IDs of that save, whether or not the context has their objects.
  ///
  /// Those under `NSRefreshedObjectIDsKey` are objects that the context has and whose values are new. Observe it to do
  /// something once a merge is complete, such as telling the user that the data is up to date.
  ///
  /// Source: Apple's documentation of `NSManagedObjectContextDidMergeChangesObjectIDs`.
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

  /// The keys of the notifications' user info, as an enumeration. The user info has texts for keys: use `rawValue`.
  ///
  /// ```swift
  /// for await saved in NotificationCenter.default.notifications(
  ///   named: NSManagedObjectContext.didSaveObjectIDsNotification, object: context)
  /// {
  ///   let key = NSManagedObjectContext.NotificationKey.insertedObjectIDs.rawValue
  ///   print((saved.userInfo?[key] as? Set<NSManagedObjectID>)?.count ?? 0, "new")
  /// }
  /// ```
  ///
  /// Source: Apple's documentation of `NSManagedObjectContext.NotificationKey`.
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

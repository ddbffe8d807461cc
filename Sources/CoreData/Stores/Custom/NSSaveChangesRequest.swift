/// The changes of a save in one store, as an incremental store gets them.
///
/// For an incremental store the objects belong to the context that comes with the request, and may be used until
/// `execute(_:with:)` returns. A context or a coordinator that executes a request saves the objects that it names.
///
/// An incremental store writes all of it or throws. Contexts save by `save()`, without a program making such a request.
///
/// Source: Apple's documentation of `NSSaveChangesRequest`.
///
/// ```swift
/// let request = NSSaveChangesRequest(inserted: nil, updated: [book], deleted: nil, locked: nil)
/// try context.execute(request)  // saves this one book; other changes of the context stay unsaved
/// ```
open class NSSaveChangesRequest: NSPersistentStoreRequest {
  /// New objects, with their permanent IDs.
  public let insertedObjects: Set<NSManagedObject>?
  /// Objects with changed values or members.
  public let updatedObjects: Set<NSManagedObject>?
  /// Objects whose rows the save deletes.
  public let deletedObjects: Set<NSManagedObject>?
  /// Unchanged objects that must still be as they were read: those of `detectConflicts(for:)`.
  public let lockedObjects: Set<NSManagedObject>?

  /// Makes a request; nil means no objects.
  public init(
    inserted insertedObjects: Set<NSManagedObject>?, updated updatedObjects: Set<NSManagedObject>?,
    deleted deletedObjects: Set<NSManagedObject>?, locked lockedObjects: Set<NSManagedObject>?
  ) {
    self.insertedObjects = insertedObjects
    self.updatedObjects = updatedObjects
    self.deletedObjects = deletedObjects
    self.lockedObjects = lockedObjects
    super.init()
  }

  open override var requestType: NSPersistentStoreRequestType { .saveRequestType }

  open override func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSSaveChangesRequest(
      inserted: insertedObjects, updated: updatedObjects, deleted: deletedObjects, locked: lockedObjects)
    copy.affectedStores = affectedStores
    return copy
  }
}

extension NSSaveChangesRequest: SavingRequest {
  var changes: SavedChanges {
    SavedChanges(
      inserted: Array(insertedObjects ?? []), updated: Array(updatedObjects ?? []),
      deleted: Array(deletedObjects ?? []))
  }
}

/// Taking over what other contexts and processes have saved.
extension NSManagedObjectContext {
  /// Brings this context up to date with another's save: pass the `DidSave` notification on this context's queue.
  ///
  /// Updated objects that are realised here are read anew, with own changes kept; deleted ones are deleted here.
  public final func mergeChanges(fromContextDidSave notification: Notification) {
    checkQueue()
    merge(SavedIDs(notification.userInfo ?? [:], coordinator: persistentStoreCoordinator))
  }

  /// Brings contexts up to date with a save made elsewhere, another process included.
  ///
  /// - Parameter changeNotificationData: arrays or sets of object IDs or their URIs under `NSInsertedObjectIDsKey`
  ///   or `NSInsertedObjectsKey`, and their likes.
  public class func mergeChanges(
    fromRemoteContextSave changeNotificationData: [AnyHashable: Any], into contexts: [NSManagedObjectContext]
  ) {
    for context in contexts {
      let ids = SavedIDs(changeNotificationData, coordinator: context.persistentStoreCoordinator)
      context.performAndWait {
        context.merge(ids)
        context.processPendingChanges()
      }
    }
  }

  final func merge(_ saved: SavedIDs) {
    reading.needsCacheCheck = true
    reading.advance()
    // Rows that another process wrote are not what the cache has, whether or not the file says so yet.
    for id in saved.updated + saved.deleted {
      id.objectStore?.rowCache.forget(id, unless: saved.isLocal)
    }
    let followed = followers.objectsToMerge(updated: saved.updated, deleted: saved.deleted)
    defer { withExtendedLifetime(followed) {} }
    for id in saved.inserted { mergeInsertion(of: id) }
    for id in saved.updated { mergeUpdate(of: id) }
    let deletions = saved.deleted.compactMap(mergeDeletion)
    processPendingChanges()
    // What observers still hold can be read as far as it was, and belongs to no context any more.
    for object in deletions { object.reference = nil }
    postDidMerge(saved)
  }

  private func postDidMerge(_ saved: SavedIDs) {
    var info: [AnyHashable: Any] = [:]
    for (key, ids) in [
      (NSInsertedObjectIDsKey, saved.inserted), (NSUpdatedObjectIDsKey, saved.updated),
      (NSDeletedObjectIDsKey, saved.deleted),
    ] where !ids.isEmpty { info[key] = Set(ids) }
    guard !info.isEmpty else { return }
    post(.NSManagedObjectContextDidMergeChangesObjectIDs, info)
  }

  private func mergeInsertion(of id: NSManagedObjectID) {
    // A child knows what it has itself saved into its parent.
    if registeredObject(for: id) != nil { return mergeUpdate(of: id) }
    changes.noteInsertionElsewhere(of: object(with: id))
  }

  private func mergeUpdate(of id: NSManagedObjectID) {
    guard let object = registeredObject(for: id), !object.isInserted, !object.isDeleted else { return }
    let observed = object.willChangeAllObserved()
    defer { observed?.finish() }
    if object.hasChanges {
      reread(object)
      object.awake(.refresh)
    } else if object.isFault {
      // A snapshot may have come along with a fetch.
      object.forgetValues()
    } else {
      object.forgetValues()
      _ = object.access()
    }
    // A row that turned out to be missing is in the event as deleted.
    if !object.isDeleted { changes.noteRefresh(of: object) }
  }

  /// Returns the object, which has left the context: its row is gone already, so there is nothing to save.
  private func mergeDeletion(of id: NSManagedObjectID) -> NSManagedObject? {
    guard let object = registeredObject(for: id) else { return nil }
    graph.remove(object)
    changes.noteDeletionElsewhere(of: object)
    return object
  }
}

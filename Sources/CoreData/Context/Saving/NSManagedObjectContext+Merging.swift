/// Merges the saves of other contexts and processes.
extension NSManagedObjectContext {
  /// Merges another context's save: call it on this context's queue with the `DidSave` or `DidSaveObjectIDs`
  /// notification.
  ///
  /// Updated objects with values are read again and keep their own changes; faults stay faults. Deleted objects leave
  /// the context. `NSManagedObjectContextObjectsDidChange` follows.
  public final func mergeChanges(fromContextDidSave notification: Notification) {
    checkQueue()
    merge(SavedIDs(notification.userInfo ?? [:], coordinator: persistentStoreCoordinator))
  }

  /// Merges a save of anybody, other processes included, into contexts. It waits for each context's queue.
  ///
  /// - Parameter changeNotificationData: arrays or sets of object IDs or their URIs, under `NSInsertedObjectIDsKey` or
  ///   `NSInsertedObjectsKey` and the like.
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
    // The cache does not have rows that another process wrote, even if the file does not show the change yet.
    for id in saved.updated + saved.deleted {
      id.objectStore?.rowCache.forget(id, unless: saved.isLocal)
    }
    let followed = followers.objectsToMerge(updated: saved.updated, deleted: saved.deleted)
    defer { withExtendedLifetime(followed) {} }
    for id in saved.inserted { mergeInsertion(of: id) }
    for id in saved.updated { mergeUpdate(of: id) }
    let deletions = saved.deleted.compactMap(mergeDeletion)
    processPendingChanges()
    // Observers can still read the values of the objects that they hold. These belong to no context any more.
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
    // A child context knows what it saved into its parent.
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
      // A fetch may have brought a snapshot.
      object.forgetValues()
    } else {
      object.forgetValues()
      _ = object.access()
    }
    // A row that turned out to be missing is already in the event as a deletion.
    if !object.isDeleted { changes.noteRefresh(of: object) }
  }

  /// Returns the object, which left the context: its row is gone, so there is nothing to save.
  private func mergeDeletion(of id: NSManagedObjectID) -> NSManagedObject? {
    guard let object = registeredObject(for: id) else { return nil }
    graph.remove(object)
    changes.noteDeletionElsewhere(of: object)
    return object
  }
}

/// Merges the saves of other contexts and processes.
extension NSManagedObjectContext {
  /// Merges another context's save: call it on this context's queue with the `DidSave` or `DidSaveObjectIDs`
  /// notification.
  ///
  /// ```swift
  /// let reader = container.viewContext
  /// let token = NotificationCenter.default.addObserver(
  ///   forName: .NSManagedObjectContextDidSaveObjectIDs, object: context, queue: nil
  /// ) { notification in
  ///   nonisolated(unsafe) let saved = notification
  ///   reader.perform { reader.mergeChanges(fromContextDidSave: saved) }
  /// }
  /// defer { NotificationCenter.default.removeObserver(token) }
  /// ```
  ///
  /// `automaticallyMergesChangesFromParent` does the same for contexts of one coordinator.
  ///
  /// The context reads updated objects that have values again, and they keep their own changes; faults stay faults. It
  /// registers each new object as a fault. Objects whose rows were deleted are deleted here if the program holds them;
  /// they leave the context with the next save, which does not touch their rows. The context then posts
  /// `NSManagedObjectContextObjectsDidChange`, with an empty set under "NSObjectsChangedByMergeChangesKey", and
  /// `NSManagedObjectContextDidMergeChangesObjectIDs`. It costs a query for each updated object with values whose row
  /// the coordinator has not cached.
  ///
  /// What happens otherwise: without a merge, the objects here keep the values with which they were read, and saving a
  /// change to one that the other save has changed is a conflict (133020).
  ///
  /// - Parameter notification: of a context of any coordinator on the same stores. IDs of stores that this context's
  ///   coordinator does not have open are passed over.
  ///
  /// Source: Apple's documentation of `mergeChanges(fromContextDidSave:)`.
  public final func mergeChanges(fromContextDidSave notification: Notification) {
    checkQueue()
    merge(SavedIDs(notification.userInfo ?? [:], coordinator: persistentStoreCoordinator))
  }

  /// Merges a save of another context or process, or the result of a batch request, into contexts. It waits for each
  /// context's queue in turn.
  ///
  /// ```swift
  /// let changes: [AnyHashable: Any] = [NSUpdatedObjectIDsKey: [book.objectID.uriRepresentation()]]
  /// NSManagedObjectContext.mergeChanges(fromRemoteContextSave: changes, into: [container.viewContext])
  /// ```
  ///
  /// Each context merges as `mergeChanges(fromContextDidSave:)` does. Rows of these objects leave the coordinator's
  /// cache first, so that the new values are read. URIs of stores that a context's coordinator does not have open are
  /// passed over.
  ///
  /// Call it on any thread. Programs that read persistent history need no dictionary:
  /// `NSPersistentHistoryTransaction.objectIDNotification()` gives a notification for
  /// `mergeChanges(fromContextDidSave:)`. What happens otherwise: objects that were read keep the old values of the
  /// row, and saving a change of them is a conflict.
  ///
  /// - Parameter changeNotificationData: arrays or sets of object IDs or their URIs, under `NSInsertedObjectIDsKey` or
  ///   `NSInsertedObjectsKey` and the like.
  /// - Parameter contexts: the contexts to merge into, for example `[container.viewContext]`.
  ///
  /// Source: Apple's documentation of `mergeChanges(fromRemoteContextSave:into:)`.
  public class func mergeChanges(
    fromRemoteContextSave changeNotificationData: [AnyHashable: Any], into contexts: [NSManagedObjectContext]
  ) {
    for context in contexts {
      let ids = SavedIDs(changeNotificationData, coordinator: context.persistentStoreCoordinator)
      context.performAndWait { context.merge(ids) }
    }
  }

  /// Merges a save, in this order: the rows leave the cache if another process wrote them; followers name the objects
  /// that they want to hear of; insertions, updates and deletions are noted; the event ends; observers are told of the
  /// merge.
  ///
  ///     other process      this coordinator's cache      this context
  ///     commits version 5
  ///                        has version 4
  ///                                                      merge: forget the row
  ///                                                      refresh: reads version 5 from the file
  ///
  /// The row is forgotten although the cache is compared with the file at each turn: in WAL mode a commit may be
  /// announced, by an inotify event or a message, before a reader's connection sees it.
  final func merge(_ saved: SavedIDs) {
    reading.needsCacheCheck = true
    reading.advance()
    // The cache does not have rows that another process wrote, even if the file does not show the change yet.
    if !saved.isLocal {
      for id in saved.updated + saved.deleted { id.objectStore?.rowCache.forget(id) }
    }
    let followed = followers.objectsToMerge(updated: saved.updated, deleted: saved.deleted)
    defer { withExtendedLifetime(followed) {} }
    let inserted = saved.inserted.map(mergeInsertion)
    let refreshed = saved.updated.filter(mergeUpdate)
    for id in saved.deleted { mergeDeletion(of: id) }
    processEvent(isMerge: true)
    heldAfterMerge = inserted
    postDidMerge(saved, refreshed)
  }

  /// Tells observers which IDs the merged save had, and its place in the histories. The stores are asked for that only
  /// if the save did not say it, as one of another process.
  private func postDidMerge(_ saved: SavedIDs, _ refreshed: [NSManagedObjectID]) {
    var info: [AnyHashable: Any] = [:]
    for (key, ids) in [
      (NSInsertedObjectIDsKey, saved.inserted), (NSUpdatedObjectIDsKey, saved.updated),
      (NSDeletedObjectIDsKey, saved.deleted), (NSRefreshedObjectIDsKey, refreshed),
    ] where !ids.isEmpty { info[key] = Set(ids) }
    guard !info.isEmpty else { return }
    if parentContext == nil, let token = saved.historyToken ?? currentHistoryToken {
      info[UserInfoKey.historyToken] = token
    }
    post(.NSManagedObjectContextDidMergeChangesObjectIDs, info)
  }

  /// Registers the object that another context inserted, and returns it: the caller retains it until the next event
  /// ends, since the program does not refer to it yet.
  private func mergeInsertion(of id: NSManagedObjectID) -> NSManagedObject {
    if let object = registeredObject(for: id) {
      if object.isDeleted && object.state.contains(.gone) {
        // The row is back: another context undid its deletion.
        forget(object)
      } else {
        // A child context knows what it saved into its parent.
        _ = mergeUpdate(of: id)
        return object
      }
    }
    let object = object(with: id)
    changes.noteInsertionElsewhere(of: object)
    return object
  }

  /// False if the context does not have the object, or the object keeps its own state.
  ///
  /// A fault stays a fault, without a query. An object with values gets the current ones: by forgetting and reading
  /// them if it has no changes, else by putting its changes on top of the current row (`reread`).
  private func mergeUpdate(of id: NSManagedObjectID) -> Bool {
    guard let object = registeredObject(for: id), !object.isInserted, !object.isDeleted else { return false }
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
    return true
  }

  /// The row is gone, so the next save has nothing to write. The object becomes a deleted one, which observers hear of
  /// once.
  private func mergeDeletion(of id: NSManagedObjectID) {
    guard let object = registeredObject(for: id), !object.state.contains(.gone) else { return }
    let isToldAlready = object.isDeleted
    object.state.insert(.gone)
    if !isToldAlready { changes.deleteMissing(object) }
  }
}

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

  fileprivate final func merge(_ saved: SavedIDs) {
    needsCacheCheck = true
    advanceGeneration()
    // Rows that another process wrote are not what the cache has, whether or not the file says so yet.
    for id in saved.updated + saved.deleted {
      id.objectStore?.rowCache.forget(id, unless: saved.isLocal)
    }
    let followed = followers.compactMap(\.follower).map {
      $0.objectsToMerge(updated: saved.updated, deleted: saved.deleted)
    }
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
    event.inserted.insert(object(with: id))
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
    if !object.isDeleted { event.refreshed.insert(object) }
  }

  /// Returns the object, which has left the context: its row is gone already, so there is nothing to save.
  private func mergeDeletion(of id: NSManagedObjectID) -> NSManagedObject? {
    guard let object = registeredObject(for: id) else { return nil }
    updated.remove(object)
    deleted.remove(object)
    unpropagated.removeAll { $0 === object }
    for list in [\ContextEvent.updated, \.refreshed, \.inserted] { event[keyPath: list].remove(object) }
    registry.remove(object.objectID.key, object.objectID.home.table)
    object.state.subtract([.updated, .deleted])
    object.state.insert(.gone)
    event.deleted.insert(object)
    return object
  }

  /// Follows the parent's or the coordinator's saves, or stops following.
  final func observeParent() {
    if let mergeObserver { NotificationCenter.default.removeObserver(mergeObserver) }
    mergeObserver = nil
    guard automaticallyMergesChangesFromParent else { return }
    mergeObserver = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextDidSave, object: nil, queue: nil
    ) { [weak self] notification in
      guard let self, let saved = notification.object as? NSManagedObjectContext, saved !== self else { return }
      if let parent = self.parentContext {
        // Its own saves, and those of other children into it.
        guard saved === parent || saved.parentContext === parent else { return }
      } else {
        guard saved.parentContext == nil, saved.coordinator != nil, saved.coordinator === self.coordinator else {
          return
        }
      }
      let ids = SavedIDs(notification.userInfo ?? [:], coordinator: nil)
      self.perform { self.merge(ids) }
    }
  }
}

/// What a save changed, by ID: read out of a notification on the thread that posts it.
private struct SavedIDs: Sendable {
  let inserted: [NSManagedObjectID]
  let updated: [NSManagedObjectID]
  let deleted: [NSManagedObjectID]
  /// The objects of a context of the same coordinator, whose cache has its rows already.
  let isLocal: Bool

  init(_ info: [AnyHashable: Any], coordinator: NSPersistentStoreCoordinator?) {
    func ids(_ keys: [String]) -> [NSManagedObjectID] {
      for key in keys {
        if let value = info[key] { return SavedIDs.ids(in: value, coordinator) }
      }
      return []
    }
    inserted = ids([NSInsertedObjectsKey, NSInsertedObjectIDsKey])
    updated = ids([NSUpdatedObjectsKey, NSUpdatedObjectIDsKey])
    deleted = ids([NSDeletedObjectsKey, NSDeletedObjectIDsKey])
    isLocal = info.values.contains { $0 is Set<NSManagedObject> }
  }

  private static func ids(in value: Any, _ coordinator: NSPersistentStoreCoordinator?) -> [NSManagedObjectID] {
    let elements: [Any] =
      switch value {
      case let set as NSSet: set.allObjects
      case let array as [Any]: array
      default: (value as? Set<AnyHashable>).map { $0.map(\.base) } ?? []
      }
    return elements.compactMap { element in
      switch element {
      case let object as NSManagedObject: localized(object.objectID, coordinator)
      case let id as NSManagedObjectID: localized(id, coordinator)
      case let uri as URL: coordinator?.managedObjectID(forURIRepresentation: uri)
      default: nil
      }
    }
  }

  /// The ID as the coordinator has it: another coordinator on the same file has IDs of its own.
  private static func localized(_ id: NSManagedObjectID, _ coordinator: NSPersistentStoreCoordinator?)
    -> NSManagedObjectID?
  {
    guard let coordinator, !id.isTemporaryID, id.persistentStore?.persistentStoreCoordinator !== coordinator else {
      return id
    }
    return coordinator.objectID(forURI: id.uriString)
  }
}

/// What shows a context's objects, and has to know of changes to some that the context does not have.
protocol ContextFollower: AnyObject {
  /// The objects to register before a merge, so that it tells of them: those that may belong to what is shown now.
  func objectsToMerge(updated: [NSManagedObjectID], deleted: [NSManagedObjectID]) -> [NSManagedObject]
}

struct WeakFollower {
  weak var follower: (any ContextFollower)?
}

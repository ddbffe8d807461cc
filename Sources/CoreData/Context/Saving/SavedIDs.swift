/// The IDs of a save's changes, read from a notification on the thread that posts it. The IDs may then go to any queue,
/// which the notification may not.
struct SavedIDs: Sendable {
  let inserted: [NSManagedObjectID]
  let updated: [NSManagedObjectID]
  let deleted: [NSManagedObjectID]
  /// The place in the stores' histories after the save; nil if the notification does not say it.
  let historyToken: NSPersistentHistoryToken?
  /// Whether the save was made through the same coordinator, whose cache has its rows.
  let isLocal: Bool

  /// Reads the sets or arrays under the keys for objects or those for IDs, whichever the notification has: `DidSave`,
  /// `DidSaveObjectIDs`, a history transaction, a batch request's result, or what a program has put together.
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
    historyToken = info[UserInfoKey.historyToken] as? NSPersistentHistoryToken
    isLocal = info.values.contains { $0 is Set<NSManagedObject> }
  }

  var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty }

  /// The IDs of objects, IDs or URIs. Other values, which a dictionary of the program may have, are left out.
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

  /// The coordinator's own ID: another coordinator on the same file has different ones, which lead to its stores and
  /// caches.
  private static func localized(_ id: NSManagedObjectID, _ coordinator: NSPersistentStoreCoordinator?)
    -> NSManagedObjectID?
  {
    guard let coordinator, !id.isTemporaryID, id.persistentStore?.persistentStoreCoordinator !== coordinator else {
      return id
    }
    return coordinator.objectID(forURI: id.uriString)
  }
}

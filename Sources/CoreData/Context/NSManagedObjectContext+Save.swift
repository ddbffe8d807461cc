/// Saving: to the stores, or one level up to the parent.
extension NSManagedObjectContext {
  /// Writes all changes to the stores in one transaction for each file, or hands them to the parent context.
  ///
  /// Throws validation errors, a merge error (133020) or constraint error (133021) that the merge policy did not resolve, and
  /// the store's own errors; the context then has its changes as before. Does nothing without changes.
  public final func save() throws {
    checkQueue()
    guard hasChanges else { return }
    processPendingChanges()
    NotificationCenter.default.post(name: .NSManagedObjectContextWillSave, object: self)
    try callWillSave()
    propagateDeletes()
    processPendingChanges()
    try validate()

    let changes = SavedChanges(inserted: inserted.items, updated: updated.items, deleted: deleted.items)
    if let parentContext {
      try parentContext.performAndWait { try parentContext.takeOver(changes, from: self) }
      settleAfterParentSave(changes)
    } else {
      try saveToStores(changes)
    }
    finish(changes)
  }

  /// Lets objects prepare, and those that others change by that, until nothing more changes.
  private func callWillSave() throws {
    var called = Set<ObjectIdentifier>()
    for _ in 0..<1000 {
      let waiting = (inserted.items + updated.items + deleted.items).filter {
        called.insert(ObjectIdentifier($0)).inserted
      }
      if waiting.isEmpty { return }
      for object in waiting { object.willSave() }
      processPendingChanges()
    }
    throw CoreDataErrors.error(.persistentStoreSave, "willSave() methods change objects without end.")
  }

  private func validate() throws {
    var errors: [NSError] = []
    func check(_ body: () throws -> Void) {
      do { try body() } catch { errors.append(error as NSError) }
    }
    for object in deleted.items { check(object.validateForDelete) }
    for object in inserted.items { check(object.validateForInsert) }
    for object in updated.items where object.snapshot != nil { check(object.validateForUpdate) }
    if let error = CoreDataErrors.combined(errors) { throw error }
  }

  // MARK: To the stores

  private func saveToStores(_ changes: SavedChanges) throws {
    guard let coordinator else {
      throw CoreDataErrors.error(.persistentStoreSave, "The context \(label) has no coordinator to save to.")
    }
    var attempts = 0
    while true {
      let current = SavedChanges(inserted: inserted.items, updated: updated.items, deleted: deleted.items)
      do {
        let operations = try coordinator.saveOperations(for: current, assignedStores: assignedStores)
        try coordinator.commit(operations)
        forgetTemporary(operations)
        return
      } catch let conflicts as MergeConflicts {
        attempts += 1
        // Each attempt sees the rows as they are now; only a storm of writers could outrun a hundred.
        guard attempts < 100, let policy = mergePolicy as? NSMergePolicy else { throw conflicts.nsError }
        try policy.resolve(mergeConflicts: conflicts.conflicts)
      }
    }
  }

  /// Registers objects under their permanent IDs.
  private func forgetTemporary(_ operations: [SaveOperation]) {
    for operation in operations {
      let temporary = operation.inserted.map(\.objectID)
      operation.finish()
      for (object, old) in zip(operation.inserted, temporary) where old.isTemporaryID {
        registry.remove(old.key, EntityHome.temporaryTable)
        registry.set(object, object.objectID.key, object.objectID.home.table)
        if hasChildren { permanentIDs[old.key] = object.objectID }
      }
    }
  }

  // MARK: Afterwards

  private func finish(_ changes: SavedChanges) {
    for object in changes.inserted { object.state.subtract([.inserted, .isNoted]) }
    for object in changes.updated { object.state.subtract([.updated, .isNoted]) }
    for object in changes.deleted {
      let id = object.objectID
      registry.remove(id.key, id.home.table)
      object.state.subtract([.deleted, .isNoted])
      object.state.insert(.gone)
      object.reference = nil
    }
    inserted.removeAll()
    updated.removeAll()
    deleted.removeAll()
    assignedStores.removeAll()
    for object in changes.inserted { object.didSave() }
    for object in changes.updated { object.didSave() }
    for object in changes.deleted { object.didSave() }
    postDidSave(changes)
  }

  private func postDidSave(_ changes: SavedChanges) {
    var objects: [AnyHashable: Any] = [:]
    var ids: [AnyHashable: Any] = [:]
    for (key, idKey, list) in [
      (NSInsertedObjectsKey, NSInsertedObjectIDsKey, changes.inserted),
      (NSUpdatedObjectsKey, NSUpdatedObjectIDsKey, changes.updated),
      (NSDeletedObjectsKey, NSDeletedObjectIDsKey, changes.deleted),
    ] where !list.isEmpty {
      objects[key] = Set(list)
      ids[idKey] = Set(list.map(\.objectID))
    }
    NotificationCenter.default.post(name: .NSManagedObjectContextDidSave, object: self, userInfo: objects)
    NotificationCenter.default.post(name: .NSManagedObjectContextDidSaveObjectIDs, object: self, userInfo: ids)
  }

  /// Gives new objects their permanent IDs before they are saved.
  public final func obtainPermanentIDs(for objects: [NSManagedObject]) throws {
    checkQueue()
    let waiting = objects.filter { $0.objectID.isTemporaryID && $0.isInserted }
    guard !waiting.isEmpty else { return }
    guard let coordinator = persistentStoreCoordinator else {
      throw CoreDataErrors.error(
        .persistentStoreOperation, "The context \(label) has no coordinator that could give IDs.")
    }
    let ids = try coordinator.permanentIDs(for: waiting, assignedStores: assignedStores)
    for (object, id) in zip(waiting, ids) { makePermanent(object, id) }
  }

  private func makePermanent(_ object: NSManagedObject, _ id: NSManagedObjectID) {
    let old = object.objectID
    registry.remove(old.key, EntityHome.temporaryTable)
    object.become(id)
    registry.set(object, id.key, id.home.table)
    // What refers to the object by its old number finds it here.
    permanentIDs[old.key] = id
    for other in inserted.items + updated.items {
      guard let snapshot = other.snapshot else { continue }
      for slot in other.layout.toOneSlots where snapshot.related(slot)?.key == old.key {
        guard other.state.contains(.ownsSnapshot) else { continue }
        snapshot.assign(slot: slot, to: id.relatedKey)
      }
    }
  }
}

/// The objects of one save.
struct SavedChanges {
  var inserted: [NSManagedObject]
  var updated: [NSManagedObject]
  var deleted: [NSManagedObject]
}

/// Saves to the stores, or into the parent.
extension NSManagedObjectContext {
  /// `save()` without a subclass's override. Its steps, and what may send it back:
  ///
  ///     processEvent                 delete rules; observers hear of the changes so far
  ///     WillSave                     an observer may change more
  ///     willSave() of each object    again for those that changed, 1,000 rounds at most
  ///     validate                     all faults are collected
  ///     propagateDeletes             validation may have changed more
  ///     saveToStores                 write; on a conflict ask the policy and write again, 100 times at most
  ///       or saveToParent            the parent's objects take the changes
  ///     settle, didSave(), DidSave
  ///
  /// An error before the last line leaves the changes as they are. What hooks and policies did to them stays done.
  final func saveChanges() throws {
    checkQueue()
    guard hasChanges else { return try saveNothing() }
    if let unread = inaccessible.unread { throw unread }
    undoTracking?.isSaving = true
    notificationSets = NotificationSets()
    defer {
      undoTracking?.isSaving = false
      notificationSets = nil
    }
    processEvent()
    post(.NSManagedObjectContextWillSave)
    try callWillSave()
    try validate()
    // A `willSave()` or a validation may have changed more, and a cascade may have removed all changes.
    propagateDeletes()
    processEvent()
    guard hasChanges else { return try saveNothing() }
    finish(try parentContext == nil ? saveToStores() : saveToParent())
  }

  /// Ends a save that has no changes.
  ///
  /// Observers still hear of it, with empty sets: programs wait for `DidSave` after each `save()`.
  private func saveNothing() throws {
    if parentContext == nil { try coordinator?.saveMetadata(ChangeOrigin(self)) }
    postDidSave(SavedChanges(inserted: [], updated: [], deleted: []))
  }

  /// Saves some of the changes to the stores, without hooks, validation and merge policy. Throws 134030 for objects
  /// without such a change and in a child context, and the stores' errors. After an error the context keeps all
  /// changes.
  ///
  /// `NSSaveChangesRequest` comes here. Apple's contexts pass such requests to stores, and a program that makes one
  /// itself means exactly these objects.
  ///
  /// - Parameter requestedChanges: objects of this context that have these changes.
  final func save(only requestedChanges: SavedChanges) throws {
    checkQueue()
    guard let coordinator else {
      throw CoreDataErrors.error(.persistentStoreSave, "The context \(label) has no coordinator to save to.")
    }
    processEvent()
    guard requestedChanges.inserted.allSatisfy({ graph.owns($0) && $0.isInserted }),
      requestedChanges.updated.allSatisfy({ graph.owns($0) && !$0.isInserted && !$0.isDeleted }),
      requestedChanges.deleted.allSatisfy({ graph.owns($0) && $0.isDeleted })
    else {
      throw CoreDataErrors.error(
        .persistentStoreSave, "A save request names objects that the context \(label) did not change that way.")
    }
    let updated = requestedChanges.updated.filter(\.isUpdated)
    let parts = try changesByStore(
      SavedChanges(inserted: requestedChanges.inserted, updated: updated, deleted: requestedChanges.deleted))
    do {
      try coordinator.save(parts.map { ($0.store, $0.rows) }) { saved in
        for (part, rows) in zip(parts, saved) { part.apply(rows) }
      }
    } catch let rowConflicts as RowConflicts {
      guard let part = parts.first(where: { $0.store === rowConflicts.store }) else { throw rowConflicts }
      throw NSMergeConflict.error(part.mergeConflicts(rowConflicts))
    } catch let rejected as RejectedRows {
      guard let part = parts.first(where: { $0.store === rejected.store }) else { throw rejected }
      throw part.error(rejected, try part.constraintConflicts(rejected, in: self))
    }
    finish(parts)
  }

  /// Hands the changes to the parent, which takes them over on its own queue while this one waits.
  ///
  ///     child                                 parent
  ///     save()
  ///       WillSave, willSave, validate
  ///       parent.performAndWait ->            takes values, insertions and deletions; ends its event
  ///       settles: its objects are clean
  ///       DidSave
  ///                                           save(), later: writes them to the stores
  private func saveToParent() throws -> SavedChanges {
    adoptPermanentIDs()
    let saved = changes.toSave
    guard let parentContext else { return saved }
    try parentContext.performAndWait { try parentContext.takeOver(saved, from: self) }
    settleAfterParentSave(saved)
    return saved
  }

  /// Calls `willSave()`, and again for objects that changed, until nothing changes.
  ///
  /// An object that sets a value of its own in `willSave()` without a test is changed in each round, hence the limit.
  /// Hooks of classes that do not override the method are not called: `saveHooks` of the layout knows.
  private func callWillSave() throws {
    propagateDeletes()
    processEvent()
    guard changes.hooks.contains(.willSave) else { return }
    var unprepared = changes.toSave.all
    for _ in 0..<1000 {
      for object in unprepared where object.hasChanges && object.layout.saveHooks.contains(.willSave) {
        object.willSave()
      }
      propagateDeletes()
      unprepared = changes.event.inserted.items + changes.event.updated.items + changes.event.deleted.items
      processEvent()
      if unprepared.isEmpty { return }
    }
    throw CoreDataErrors.error(.persistentStoreSave, "willSave() methods change objects without end.")
  }

  /// Validates what the save will write, deletions first, and throws all faults together. Only classes and entities
  /// that have something to validate are asked.
  private func validate() throws {
    var errors: [any Error] = []
    func check(_ list: ChangedObjects, _ hook: SaveHooks, _ validate: (NSManagedObject) throws -> Void) {
      guard changes.hooks.contains(hook) else { return }
      for object in list.items where object.layout.saveHooks.contains(hook) {
        do { try validate(object) } catch { errors.append(error) }
      }
    }
    // An object without a row is gone whatever its rules say.
    check(changes.deleted, .validateForDelete) { if !$0.state.contains(.gone) { try $0.validateForDelete() } }
    check(changes.inserted, .validateForInsert) { try $0.validateForInsert() }
    check(changes.updated, .validateForUpdate) { try $0.validateForUpdate() }
    if let error = CoreDataErrors.combined(errors) { throw error }
  }

  // MARK: To the stores

  /// Returns the saved objects: a merge policy may have removed some. If a part is saved for good and the rest is not,
  /// the error is a 134040 around the reason.
  private func saveToStores() throws -> SavedChanges {
    var saved: [any ObjectStore] = []
    do {
      return try saveToStores(noting: &saved)
    } catch {
      if saved.isEmpty { throw error }
      let parts = try changesByStore(changes.toSave)
      let names = saved.map { $0.url?.absoluteString ?? $0.type }.joined(separator: ", ")
      throw CoreDataErrors.error(
        .persistentStoreIncompleteSave,
        "Only a part is saved, in \(names), which cannot take it back: \(error.localizedDescription)",
        [
          NSUnderlyingErrorKey: error, NSAffectedStoresErrorKey: parts.map { $0.store as NSPersistentStore },
          NSAffectedObjectsErrorKey: parts.flatMap(\.objects.all),
        ])
    }
  }

  /// Each round reads the changes again, since a policy has changed them. Stores throw `RowConflicts` and
  /// `RejectedRows`, which name places in lists of rows. They become conflicts of objects here, and the policy is
  /// asked.
  ///
  ///     this context                          another process
  ///     BEGIN IMMEDIATE, write: row 17 has version 4, not 3
  ///     ROLLBACK
  ///                                           may commit more
  ///     policy: put the changes on version 4
  ///     BEGIN IMMEDIATE, write …
  ///
  /// Between two attempts no lock is held: the policy is the program's code, and may take its time.
  ///
  /// - Parameter finished: gets the stores that have committed their part of a save that fails.
  private func saveToStores(noting finished: inout [any ObjectStore]) throws -> SavedChanges {
    guard let coordinator else {
      throw CoreDataErrors.error(.persistentStoreSave, "The context \(label) has no coordinator to save to.")
    }
    var attempts = 0
    while true {
      let current = changes.toSave
      let parts = try changesByStore(current)
      func part(of store: NSPersistentStore) -> StoreChanges { parts.first { $0.store === store }.unsafelyUnwrapped }
      do {
        do {
          try coordinator.save(
            parts.map { ($0.store, $0.rows) }, check: { for check in changes.saveChecks { try check() } }
          ) { saved in
            for (part, rows) in zip(parts, saved) { part.apply(rows) }
          } applyPart: { saved in
            for (index, rows) in saved { parts[index].apply(rows) }
          }
        } catch let incomplete as IncompleteSave {
          finish(incomplete.saved.keys.sorted().map { parts[$0] })
          finished += incomplete.saved.keys.map { parts[$0].store }
          throw incomplete.error
        }
        adoptPermanentIDs(of: parts)
        return current
      } catch let rowConflicts as RowConflicts {
        attempts += 1
        let conflicts = part(of: rowConflicts.store).mergeConflicts(rowConflicts)
        try resolve(conflicts, attempts) { NSMergeConflict.error(conflicts) }
      } catch let rejected as RejectedRows {
        attempts += 1
        let refused = part(of: rejected.store)
        let conflicts = try refused.constraintConflicts(rejected, in: self)
        // If the other row is gone again there are no conflicts, and the next attempt succeeds.
        if conflicts.isEmpty && attempts < 10 { continue }
        try resolve(conflicts, attempts) { refused.error(rejected, conflicts) }
      }
    }
  }

  /// Sorts the changes by store.
  ///
  /// Objects of one entity mostly follow each other and go to one store, so they are sorted in runs: the store is
  /// looked up once for each run. Objects that are only checked go with the store that has changes; a store without
  /// changes has no transaction in which they could be checked.
  private func changesByStore(_ current: SavedChanges) throws -> [StoreChanges] {
    var parts: [StoreChanges] = []
    func part(for object: NSManagedObject) throws -> StoreChanges {
      let store = try store(of: object)
      if store.isReadOnly {
        throw CoreDataErrors.error(
          .persistentStoreSave, "The store of \(object.objectID.uriString) was opened read-only.")
      }
      if let part = parts.first(where: { $0.store === store }) { return part }
      let part = StoreChanges(store, ChangeOrigin(self), permanentIDs.byKey)
      parts.append(part)
      return part
    }
    func add(_ objects: [NSManagedObject], _ note: (StoreChanges, ArraySlice<NSManagedObject>) -> Void) throws {
      var remainingObjects = objects[...]
      while let first = remainingObjects.first {
        let part = try part(for: first)
        let run = try remainingObjects.prefix { try isOfSameEntity($0, first) || self.store(of: $0) === part.store }
        note(part, run)
        remainingObjects = remainingObjects[run.endIndex...]
      }
    }
    try add(current.inserted) { $0.insert($1) }
    try add(current.updated) { $0.update($1) }
    // A row that is gone need not be deleted, not even from a store that may not be written. Others never had one.
    try add(current.deleted.filter { $0.key > 0 && !$0.state.contains(.gone) }) { $0.delete($1) }
    func check(_ objects: some Sequence<NSManagedObject>, mayHaveChanged: Bool) {
      // An object whose row was gone when it was read is a deleted one, whose row no save deletes.
      for object in objects where (!object.hasChanges || object.state.contains(.gone)) && graph.owns(object) {
        parts.first { $0.store === object.objectID.persistentStore }?.check(object, mayHaveChanged: mayHaveChanged)
      }
    }
    check(changes.checked, mayHaveChanged: false)
    check(changes.required.values, mayHaveChanged: true)
    if parts.count > 1 { try StoreChanges.checkReferences(parts) }
    return parts
  }

  /// Whether both objects are of one stored entity, or new ones of one entity: then their store is the same, unless new
  /// objects were assigned to stores.
  @inline(__always)
  private func isOfSameEntity(_ one: NSManagedObject, _ other: NSManagedObject) -> Bool {
    one.hasStoredEntity(of: other) && (one.key > 0 || !changes.hasAssignedStores)
  }

  /// The store of an object, or the one to which it will be saved: the assigned one, or the first writable one with its
  /// entity.
  final func store(of object: NSManagedObject) throws -> any ObjectStore {
    if !object.objectID.isTemporaryID {
      if let store = object.objectID.objectStore { return store }
      throw CoreDataErrors.error(
        .persistentStoreSave, "The store of \(object.objectID.uriString) is not open any more.")
    }
    if let store = changes.assignedStore(of: object) { return store }
    if let store = persistentStoreCoordinator?.store(forInserted: object.entity) { return store }
    throw CoreDataErrors.error(
      .persistentStoreSave, "No open store that may be written holds the entity \(object.entity.name ?? "").")
  }

  /// Lets the merge policy change the objects of the save. Each attempt reads the current rows, so a hundred attempts
  /// fail only if other writers commit all the time.
  private func resolve(_ conflicts: [Any], _ attempts: Int, _ error: () -> NSError) throws {
    guard attempts < 100, !conflicts.isEmpty, let policy = mergePolicy as? NSMergePolicy else { throw error() }
    try policy.resolve(mergeConflicts: conflicts)
    acceptConflictChecks(conflicts)
    propagateDeletes()
  }

  // MARK: Afterwards

  /// Ends the save of all changes.
  private func finish(_ saved: SavedChanges) { finish(saved) { changes.settle() } }

  /// Ends the save of a part of the changes.
  private func finish(_ parts: [StoreChanges]) {
    adoptPermanentIDs(ofSaved: parts)
    for part in parts {
      let saved = part.objects
      finish(saved) { changes.settle(saved) }
    }
  }

  /// Clears the changes, lets deleted objects leave the context, calls `didSave()` and posts. From the first line on
  /// the save counts as done: a `didSave()` that changes an object makes a change of the next save.
  private func finish(_ saved: SavedChanges, _ settle: () -> Void) {
    reading.advance()
    let hooks = changes.hooks
    settle()
    for object in saved.deleted { graph.release(object) }
    if hooks.contains(.didSave) {
      for object in saved.all where object.layout.saveHooks.contains(.didSave) { object.didSave() }
    }
    postDidSave(saved)
  }

  /// Posts the sets of objects, and the sets of IDs if there was a change. The sets of objects are those of the event
  /// where both have the same objects, since a set of many objects takes time to make.
  private func postDidSave(_ saved: SavedChanges) {
    var objects = UserInfoKey.emptySets
    var ids: [AnyHashable: Any] = Dictionary(minimumCapacity: 3)
    var sets = notificationSets ?? NotificationSets()
    func add(
      _ list: [NSManagedObject], _ key: @autoclosure () -> AnyHashable, _ idKey: @autoclosure () -> AnyHashable
    ) {
      if list.isEmpty { return }
      objects[key()] = sets.set(of: list)
      ids[idKey()] = Set(distinct: list.lazy.map(\.objectID))
    }
    add(saved.inserted, UserInfoKey.inserted, UserInfoKey.insertedIDs)
    add(saved.updated, UserInfoKey.updated, UserInfoKey.updatedIDs)
    add(saved.deleted, UserInfoKey.deleted, UserInfoKey.deletedIDs)
    // Once for both notifications and their messages: it is a question to each store.
    if let token = currentHistoryToken {
      objects[UserInfoKey.historyToken] = token
      if !ids.isEmpty { ids[UserInfoKey.historyToken] = token }
    }
    if let savedGeneration { objects[NSManagedObjectContextQueryGenerationKey] = savedGeneration }
    post(.NSManagedObjectContextDidSave, objects)
    if !ids.isEmpty { post(.NSManagedObjectContextDidSaveObjectIDs, ids) }
  }
}

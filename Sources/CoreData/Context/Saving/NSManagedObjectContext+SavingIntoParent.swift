/// Parent and child contexts: a child reads its parent's objects and saves into it.
extension NSManagedObjectContext {
  // MARK: Reading through the parent

  /// The values of an object as the level above has them; nil where it has no such object.
  final func storedRow(_ id: NSManagedObjectID) throws -> Snapshot? {
    if let parentContext {
      return try parentContext.performAndWait { try parentContext.sharedSnapshot(id) }
    }
    guard !id.isTemporaryID, let store = id.objectStore else { return nil }
    if needsCacheCheck {
      for store in coordinator?.objectStores ?? [] { store.validateRowCache() }
      // A main-queue context is used outside of blocks too, where no turn begins that would ask for a check.
      needsCacheCheck = PerformScope.current == nil
    }
    let generation = try readGeneration()
    // What is pinned does not grow old.
    let age = generation == nil ? stalenessInterval : -1
    if let cached = store.cache(generation).find(id, maximumAge: age) { return cached }
    return try store.row(id, in: generation)
  }

  /// This context's present values of an object, for a child; the object is not changed in place any more while shared.
  private func sharedSnapshot(_ id: NSManagedObjectID) throws -> Snapshot? {
    let id = currentID(id)
    if let object = reusable(id.key, id.home.table), !object.state.contains(.gone) {
      if object.isDeleted { return nil }
      if let snapshot = object.snapshot {
        if object.committed == nil && !object.isInserted && object.state.contains(.ownsSnapshot) {
          object.committed = snapshot
        }
        object.state.remove(.ownsSnapshot)
        return snapshot
      }
    }
    return try storedRow(id)
  }

  /// The members of a to-many as the level above has them.
  final func storedMembers(of object: NSManagedObject, _ relationship: NSRelationshipDescription) -> [NSManagedObject] {
    if parentContext != nil { return parentMembers(of: object, relationship) }
    guard let store = object.objectID.objectStore else { return [] }
    do {
      var members: [NSManagedObject] = []
      try store.members(of: object.objectID, relationship, in: readGeneration()) { home, key, snapshot in
        let member = reusable(key, home.table) ?? register(home, key, snapshot: nil)
        member.supply(snapshot)
        members.append(member)
      }
      return members
    } catch {
      handleInaccessible(object, relationship, error)
      return []
    }
  }

  final func parentMembers(of object: NSManagedObject, _ relationship: NSRelationshipDescription) -> [NSManagedObject] {
    guard let parentContext else { return [] }
    let id = object.objectID
    let ids: [NSManagedObjectID] = parentContext.performAndWait {
      let id = parentContext.currentID(id)
      if id.isTemporaryID && !parentContext.knows(id) { return [] }
      return parentContext.object(with: id).objectIDs(forRelationshipNamed: relationship.name)
    }
    return ids.map { self.object(with: $0) }
  }

  /// Whether a new object is here or in a context further up.
  private func knows(_ temporaryID: NSManagedObjectID) -> Bool {
    if registry.find(temporaryID.key, EntityHome.temporaryTable) != nil { return true }
    guard let parentContext else { return false }
    return parentContext.performAndWait { parentContext.knows(temporaryID) }
  }

  // MARK: Saving into the parent

  /// Makes a child's changes this context's own. On this context's queue, while the child waits on its own.
  final func takeOver(_ changes: SavedChanges, from child: NSManagedObjectContext) throws {
    let updated = changes.updated.map { (theirs: $0, mine: counterpart(of: $0)) }
    for (object, mine) in updated {
      _ = mine.access()
      if mine.isDeleted || mine.state.contains(.gone) { throw goneInParent(object) }
    }
    let inserted = changes.inserted.map { (theirs: $0, mine: adopt($0)) }
    for (_, mine) in inserted { resolveTemporaries(of: mine, knownTo: child) }
    for (object, mine) in updated { takeOverValues(of: object, into: mine) }
    for (object, mine) in inserted + updated { takeOverMembers(of: object, into: mine) }
    for object in changes.deleted { delete(counterpart(of: object)) }
    processPendingChanges()
  }

  /// This context's object for a child's changed one. Where it has no values of its own, or not any more, it takes those that the
  /// child has read through it: the changes are made upon these, and what another has saved since is a conflict.
  private func counterpart(of object: NSManagedObject) -> NSManagedObject {
    let mine = self.object(with: object.objectID)
    if mine.isFault, let base = object.committed ?? object.snapshot, base.version > 0 { mine.supply(base) }
    return mine
  }

  /// Registers a child's new object here, with the child's values.
  private func adopt(_ object: NSManagedObject) -> NSManagedObject {
    let id = object.objectID
    let mine = registry.find(id.key, id.home.table) ?? register(id.home, id.key, snapshot: nil)
    if deleted.contains(mine) {
      // The child has undone a deletion that it had saved before.
      revive(mine)
      mine.willEdit()
      for slot in mine.layout.slots.indices {
        mine.snapshot.unsafelyUnwrapped.assign(slot: slot, from: object.access())
      }
      return mine
    }
    mine.snapshot = object.access()
    object.state.remove(.ownsSnapshot)
    mine.state.subtract([.fault, .ownsSnapshot, .gone])
    mine.state.insert([.inserted, .isNoted])
    inserted.insert(mine)
    event.inserted.insert(mine)
    if let store = object.reference?.context?.assignedStores[ObjectIdentifier(object)] {
      assignedStores[ObjectIdentifier(mine)] = store
    }
    return mine
  }

  /// Refers by permanent IDs to what had temporary ones when the child related it.
  private func resolveTemporaries(of mine: NSManagedObject, knownTo child: NSManagedObjectContext) {
    guard let snapshot = mine.snapshot else { return }
    for slot in mine.layout.toOneSlots {
      guard let key = snapshot.related(slot), key.key < 0,
        let id = permanentIDs[key.key] ?? child.permanentIDs[key.key]
      else { continue }
      mine.willEditPrimitively()
      mine.snapshot.unsafelyUnwrapped.assign(slot: slot, to: id.relatedKey)
    }
  }

  private func takeOverValues(of object: NSManagedObject, into mine: NSManagedObject) {
    noteUpdate(mine)
    guard let snapshot = object.snapshot, let base = object.committed else { return }
    for slot in object.layout.slots.indices where !base.isEqual(snapshot, slot: slot) {
      if object.layout.slots[slot].kind == .toOne {
        // Through the relationship, so that both ends agree here even where this context had changed them otherwise.
        mine.setRelated(object.related(slot).map { self.object(with: $0.objectID) }, slot: slot)
      } else {
        mine.set(slot: slot, from: snapshot)
      }
    }
  }

  private func takeOverMembers(of object: NSManagedObject, into mine: NSManagedObject) {
    for (index, toMany) in object.toManys.enumerated() {
      guard let toMany, toMany.hasChanges else { continue }
      for member in toMany.removed.items { mine.dropMember(self.object(with: member.objectID), of: index) }
      for member in toMany.added.items { mine.takeMember(self.object(with: member.objectID), into: index) }
      if toMany.orderChanged, let members = toMany.members {
        mine.reorderMembers(members.items.map { self.object(with: $0.objectID) }, of: index)
      }
      noteUpdate(mine)
    }
  }

  private func goneInParent(_ object: NSManagedObject) -> NSError {
    CoreDataErrors.error(
      .managedObjectReferentialIntegrity,
      "\(object.objectID.uriString) was changed in a child context, but is deleted in the parent.",
      [NSAffectedObjectsErrorKey: [object]])
  }

  /// The child's objects are clean now; their values are what the parent has.
  final func settleAfterParentSave(_ changes: SavedChanges) {
    for object in changes.inserted where object.objectID.isTemporaryID { temporaryKeys.insert(object.objectID.key) }
    for object in changes.inserted + changes.updated {
      object.committed = nil
      // Which version of its row these values become is decided above.
      if let current = object.snapshot, current.version != 0 {
        let snapshot = object.state.contains(.ownsSnapshot) ? current : current.copy()
        snapshot.version = 0
        object.snapshot = snapshot
      }
      object.state.remove(.ownsSnapshot)
      for case let toMany? in object.toManys { toMany.markSaved() }
    }
  }
}

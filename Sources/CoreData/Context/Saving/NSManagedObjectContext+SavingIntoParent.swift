/// Saving into the parent: a child's changes become the parent's own.
extension NSManagedObjectContext {
  /// Makes a child's changes this context's own. On this context's queue, while the child waits on its own.
  final func takeOver(_ saved: SavedChanges, from child: NSManagedObjectContext) throws {
    let updated = saved.updated.map { (theirs: $0, mine: counterpart(of: $0)) }
    for (object, mine) in updated {
      _ = mine.access()
      if mine.isDeleted || mine.state.contains(.gone) { throw goneInParent(object) }
    }
    let inserted = saved.inserted.map { (theirs: $0, mine: adopt($0)) }
    for (_, mine) in inserted { resolveTemporaries(of: mine, knownTo: child) }
    for (object, mine) in updated { takeOverValues(of: object, into: mine) }
    for (object, mine) in inserted + updated { takeOverMembers(of: object, into: mine) }
    for object in saved.deleted { delete(counterpart(of: object)) }
    processPendingChanges()
  }

  /// This context's object for a child's changed one. Where it has no values of its own, or not any more, it takes
  /// those that the child has read through it: the changes are made upon these, and what another has saved since is a
  /// conflict.
  private func counterpart(of object: NSManagedObject) -> NSManagedObject {
    let mine = self.object(with: object.objectID)
    if mine.isFault, let base = object.committed ?? object.snapshot, base.version > 0 { mine.supply(base) }
    return mine
  }

  /// Registers a child's new object here, with the child's values.
  private func adopt(_ object: NSManagedObject) -> NSManagedObject {
    let id = object.objectID
    let mine = graph.find(id) ?? register(id)
    if changes.deleted.contains(mine) {
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
    changes.insert(mine)
    if let store = object.reference?.context?.changes.assignedStore(of: object) { changes.assign(mine, to: store) }
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
  final func settleAfterParentSave(_ saved: SavedChanges) {
    for object in saved.inserted where object.objectID.isTemporaryID { permanentIDs.noteAwaited(object.objectID.key) }
    for object in saved.inserted + saved.updated {
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

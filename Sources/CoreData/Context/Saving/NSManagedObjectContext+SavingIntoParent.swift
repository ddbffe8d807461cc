/// Saves into the parent, which adopts a child's changes.
extension NSManagedObjectContext {
  /// Adopts a child's changes, on this context's queue while the child waits on its own. So both contexts' objects may
  /// be used here, and only here.
  ///
  /// The order matters:
  ///
  /// - Deleted counterparts are looked for before anything changes: if there is one, the child's save fails, and both
  ///   contexts are as before.
  /// - New objects come before the values of others, which may refer to them.
  /// - Values of relationships are set through the relationship, so that inverses here are kept, also for objects that
  ///   this context has changed itself.
  /// - Deletions come last, when nothing refers to the objects any more.
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
    processEvent()
  }

  /// This context's object for a child's changed one. If it has no values, it gets those that the child read through
  /// it: the changes are based on them, and a later save by another context is a conflict.
  private func counterpart(of object: NSManagedObject) -> NSManagedObject {
    let mine = self.object(with: object.objectID)
    if mine.isFault, let base = object.committed ?? object.snapshot, base.version > 0 { mine.supply(base) }
    return mine
  }

  /// Registers a child's new object here, with the child's values. Both contexts then share the snapshot: each makes a
  /// copy before its next change.
  private func adopt(_ object: NSManagedObject) -> NSManagedObject {
    let id = object.objectID
    let mine = graph.find(id) ?? register(id)
    if changes.deleted.contains(mine) {
      // The child undid a deletion that it had saved before.
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

  /// Replaces temporary IDs that the child related by the permanent ones, if the objects were saved since the child
  /// read them.
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

  /// Sets the values that the child changed, and leaves the others: this context may have changed those itself.
  private func takeOverValues(of object: NSManagedObject, into mine: NSManagedObject) {
    noteUpdate(mine)
    guard let snapshot = object.snapshot, let base = object.committed else { return }
    for slot in object.layout.slots.indices where !base.isEqual(snapshot, slot: slot) {
      if object.layout.slots[slot].kind == .toOne {
        // Set through the relationship, so that both ends agree even if this context changed them.
        mine.setRelated(object.related(slot).map { self.object(with: $0.objectID) }, slot: slot)
      } else {
        mine.set(slot: slot, from: snapshot)
      }
    }
  }

  /// Applies the child's additions, removals and order to this context's to-many relationships.
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

  /// The 133000 for an object that the child changed and the parent has deleted: the child's values have no place to
  /// go.
  private func goneInParent(_ object: NSManagedObject) -> NSError {
    CoreDataErrors.error(
      .managedObjectReferentialIntegrity,
      "\(object.objectID.uriString) was changed in a child context, but is deleted in the parent.",
      [NSAffectedObjectsErrorKey: [object]])
  }

  /// Marks the child's objects as clean; their values equal the parent's.
  ///
  /// Their version becomes 0, "not that of a row": when the child changes such an object again, its next save into the
  /// parent takes the parent's version for the base.
  final func settleAfterParentSave(_ saved: SavedChanges) {
    for object in saved.inserted where object.objectID.isTemporaryID { permanentIDs.noteAwaited(object.objectID.key) }
    for object in saved.inserted + saved.updated {
      object.committed = nil
      // The code above decided which version of the row these values become.
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

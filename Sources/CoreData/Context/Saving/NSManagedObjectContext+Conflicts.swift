/// Putting an object on top of what its row is now, after a save found that another changed it.
extension NSManagedObjectContext {
  /// Puts an object's changes on top of the row as it is now, as far as the policy lets them stand.
  final func rebase(_ object: NSManagedObject, on stored: Snapshot, _ policy: NSMergePolicyType) {
    event.refreshed.insert(object)
    scheduleEndOfEvent()
    let isGivenUp =
      policy == .rollbackMergePolicyType
      || policy == .mergeByPropertyStoreTrumpMergePolicyType && object.isDeleted
    guard !isGivenUp, let snapshot = object.snapshot else {
      updated.remove(object)
      deleted.remove(object)
      object.state.subtract([.updated, .deleted, .ownsSnapshot])
      object.toManys = []
      object.committed = nil
      object.snapshot = stored
      return
    }
    if object.isDeleted {
      object.committed = stored
      return
    }
    let base = object.committed ?? snapshot
    let merged = stored.copy()
    for slot in object.layout.slots.indices {
      let isMine = !base.isEqual(snapshot, slot: slot)
      let isTheirs = !base.isEqual(stored, slot: slot)
      let staysMine =
        switch policy {
        case .overwriteMergePolicyType: true
        case .mergeByPropertyObjectTrumpMergePolicyType: isMine
        default: isMine && !isTheirs
        }
      if staysMine || object.layout.slots[slot].isTransient { merged.assign(slot: slot, from: snapshot) }
    }
    object.committed = stored
    object.snapshot = merged
    object.state.insert(.ownsSnapshot)
  }

  /// Forgets an object whose row is gone.
  final func dropMissing(_ object: NSManagedObject) {
    evict(object)
    event.deleted.insert(object)
    scheduleEndOfEvent()
  }

  /// Lets the save write the object's row anew, under its old key.
  final func insertAgain(_ object: NSManagedObject) {
    updated.remove(object)
    object.state.remove(.updated)
    inserted.insert(object)
    object.state.insert(.inserted)
    object.committed = nil
  }

  /// Takes an object out of the context, whatever is to be saved of it.
  final func evict(_ object: NSManagedObject) {
    updated.remove(object)
    deleted.remove(object)
    unpropagated.removeAll { $0 === object }
    for list in [\ContextEvent.updated, \.refreshed] { event[keyPath: list].remove(object) }
    registry.remove(object.objectID.key, object.objectID.home.table)
    object.state.subtract([.updated, .deleted, .isNoted])
    object.state.insert(.gone)
    object.reference = nil
  }

  /// An object's row as the file has it, past the cache; nil where there is none.
  final func rowNow(of object: NSManagedObject) throws -> Snapshot? {
    guard !object.objectID.isTemporaryID, let store = object.objectID.objectStore else { return nil }
    return try store.row(object.objectID, in: nil)
  }

  // MARK: Objects that are only checked

  /// Lets the next save be a conflict if the object's row has changed by then, though the object itself has not.
  public final func detectConflicts(for object: NSManagedObject) {
    checkQueue()
    guard object.reference === reference, !object.objectID.isTemporaryID else { return }
    _ = object.access()
    if !conflictChecks.contains(where: { $0 === object }) { conflictChecks.append(object) }
  }

  /// A policy that does not throw has seen the conflict: there are no changes to merge, just values to take over.
  final func acceptConflictChecks(_ conflicts: [Any]) {
    guard !conflictChecks.isEmpty else { return }
    for case let conflict as NSMergeConflict in conflicts {
      let object = conflict.sourceObject
      guard !object.hasChanges, let index = conflictChecks.firstIndex(where: { $0 === object }) else { continue }
      conflictChecks.remove(at: index)
      if object.reference === reference { refresh(object, mergeChanges: true) }
    }
  }
}

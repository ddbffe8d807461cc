/// Back to what the stores have: refresh, reset, roll back.
extension NSManagedObjectContext {
  /// Makes the object a fault; with `mergeChanges` its values are read anew and its own changes put on top.
  public final func refresh(_ object: NSManagedObject, mergeChanges flag: Bool) {
    checkQueue()
    guard object.reference === reference, !object.isInserted, !object.isDeleted else { return }
    event.updated.remove(object)
    needsCacheCheck = true
    let observed = object.willChangeAllObserved()
    if flag && object.hasChanges {
      reread(object)
      object.awake(.refresh)
    } else {
      updated.remove(object)
      object.turnIntoFault()
    }
    event.refreshed.insert(object)
    scheduleEndOfEvent()
    observed?.finish()
  }

  /// Puts the object's changes on top of what the store has now.
  final func reread(_ object: NSManagedObject) {
    for case let toMany? in object.toManys { toMany.unload() }
    guard let snapshot = object.snapshot, let stored = try? storedRow(object.objectID) else { return }
    guard let base = object.committed else {
      // Only to-many relationships were changed.
      object.snapshot = stored
      object.state.remove(.ownsSnapshot)
      return
    }
    guard stored !== base else { return }
    let merged = stored.copy()
    for slot in object.layout.slots.indices
    where object.layout.slots[slot].isTransient || !base.isEqual(snapshot, slot: slot) {
      merged.assign(slot: slot, from: snapshot)
    }
    object.committed = stored
    object.snapshot = merged
    object.state.insert(.ownsSnapshot)
  }

  /// Makes clean objects faults; changed ones keep their changes.
  public final func refreshAllObjects() {
    checkQueue()
    needsCacheCheck = true
    var all: [NSManagedObject] = []
    registry.forEach { all.append($0) }
    for object in all {
      let observed = object.willChangeAllObserved()
      if object.hasChanges {
        if object.isUpdated {
          reread(object)
          object.awake(.refresh)
        }
      } else {
        object.turnIntoFault()
      }
      event.refreshed.insert(object)
      observed?.finish()
    }
    scheduleEndOfEvent()
  }

  /// Forgets all objects and changes. Objects that are still held can no longer be used.
  public final func reset() {
    checkQueue()
    var all: [NSManagedObject] = []
    registry.forEach { all.append($0) }
    for object in all {
      object.reference = nil
      object.state = [.fault]
      object.snapshot = nil
      object.committed = nil
      object.toManys = []
    }
    registry.removeAll()
    forgetChanges()
    advanceGeneration()
    event = ContextEvent()
    sweepThreshold = 4096
    needsCacheCheck = true
    temporaryKeys.removeAll()
    // Children may still hold what was new here.
    if !hasChildren { permanentIDs.removeAll() }
    guard !all.isEmpty else { return }
    event.invalidatedAll = all
    postObjectsDidChange()
  }

  private func forgetChanges() {
    undoTracking?.manager.removeAllActions(withTarget: self)
    manualChanges.removeAll()
    unreadError = nil
    conflictChecks.removeAll()
    inserted.removeAll()
    updated.removeAll()
    deleted.removeAll()
    unpropagated.removeAll()
    dropped.removeAll()
    assignedStores.removeAll()
  }

  /// Takes back all changes since the last fetch or save of each object; they cannot be undone or redone any more.
  public final func rollback() {
    checkQueue()
    let newObjects = inserted.items + unpropagated.filter { !deleted.contains($0) }
    let changed = updated.items + deleted.items
    forgetChanges()
    event = ContextEvent()
    for object in newObjects {
      forget(object)
      event.deleted.insert(object)
    }
    for object in changed {
      let observed = object.willChangeAllObserved()
      object.state.subtract([.updated, .deleted, .isNoted, .ownsSnapshot])
      if let committed = object.committed { object.snapshot = committed }
      object.committed = nil
      object.toManys = []
      event.refreshed.insert(object)
      observed?.finish()
    }
    for object in changed { object.awake(.rollback) }
    processPendingChanges()
  }
}

/// Returns to the stored state: refresh, reset, roll back.
extension NSManagedObjectContext {
  /// `refresh(_:mergeChanges:)` without a subclass's override. Nothing happens to a deleted object, and to a new one
  /// with `keepsChanges`, which has no row to read.
  final func refreshObject(_ object: NSManagedObject, keepsChanges flag: Bool) {
    checkQueue()
    requireNoOtherContext(of: object, "refreshed in")
    guard graph.owns(object), !object.isDeleted, !(flag && object.isInserted) else { return }
    changes.forgetUpdateInEvent(of: object)
    reading.needsCacheCheck = true
    let observed = object.willChangeAllObserved()
    if flag && object.hasChanges {
      reread(object)
      object.awake(.refresh)
    } else {
      turnIntoFault(object)
    }
    noteRefresh(of: object)
    observed?.finish()
  }

  /// Drops an object's values and changes. A row that a batch request has superseded stays with it: Apple's contexts
  /// show the former values until the staleness interval or a merge says otherwise.
  private func turnIntoFault(_ object: NSManagedObject) {
    let row = supersededRow(of: object)
    object.turnIntoFault()
    changes.withdraw(object)
    if let row { object.supply(row) }
  }

  /// The row that a batch request has replaced in the file, and that a context with any staleness goes on to use.
  private func supersededRow(of object: NSManagedObject) -> Snapshot? {
    guard stalenessInterval < 0, parentContext == nil, object.key > 0,
      let cache = object.storedEntity.storeReference?.store?.rowCache, cache.hasSuperseded
    else { return nil }
    if reading.needsCacheCheck { validateRowCaches() }
    return cache.superseded(object.key, object.storedEntity.table)
  }

  /// Applies the object's changes to its current row.
  ///
  ///     read      here        the row now      afterwards
  ///     Emma      Emma 2      Emma 3           Emma 2, on top of the new row
  ///     474       474         500              500
  ///
  /// An object whose row cannot be read stays as it is: the next save finds out whether there is a conflict.
  final func reread(_ object: NSManagedObject) {
    for case let toMany? in object.toManys { toMany.unload() }
    guard let snapshot = object.snapshot,
      let stored = supersededRow(of: object) ?? (try? storedRow(object.objectID))
    else { return }
    guard let base = object.committed else {
      // Only to-many relationships were changed.
      object.snapshot = stored
      object.state.remove(.ownsSnapshot)
      object.resetTransients()
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

  /// Makes clean objects faults. Changed ones are read again and keep their changes; new and deleted ones stay as they
  /// are.
  ///
  /// ```swift
  /// context.refreshAllObjects()
  /// print(book.title ?? "")  // as the store has it now
  /// ```
  ///
  /// Use it to see what other contexts and processes have saved, without losing changes as `reset()` does: the next use
  /// of each object reads its row. Observers hear of all registered objects under `NSRefreshedObjectsKey` when the
  /// event ends.
  ///
  /// Call it on the context's queue. It reads nothing by itself, except the rows of objects with changes: one query for
  /// each that the coordinator has not cached. A context that merges saves needs it only for writes that it cannot
  /// merge, such as those of another process without history.
  ///
  /// Source: Apple's documentation of `refreshAllObjects()`.
  public final func refreshAllObjects() {
    checkQueue()
    reading.needsCacheCheck = true
    for object in graph.all {
      let observed = object.willChangeAllObserved()
      if !object.hasChanges {
        turnIntoFault(object)
      } else if object.isUpdated {
        reread(object)
        object.awake(.refresh)
      }
      changes.noteRefresh(of: object)
      observed?.finish()
    }
    scheduleEndOfEvent()
  }

  /// `reset()` without a subclass's override. The memory goes back to the system after the last object has been freed,
  /// so the list of them must be gone by then: hence two functions.
  final func forgetEverything() {
    checkQueue()
    let count = graph.count
    forgetAll()
    RegisteredObjects.giveBackMemory(of: count)
  }

  /// Forgets all objects, changes and registrations, tells observers, and begins as a new context would, which reads
  /// the newest state.
  private func forgetAll() {
    // Objects to which the program has no reference count as gone already.
    graph.sweep()
    let releasedIDs = graph.releaseAll().map(\.objectID)
    heldAfterMerge = []
    forgetWhatChangesLedTo()
    changes.reset()
    reading.advance()
    reading.needsCacheCheck = true
    permanentIDs.stopAwaiting()
    // Children may still hold objects that were new here.
    permanentIDs.forgetUnlessForChildren()
    if !permanentIDs.isForChildren { childOfParent = parentContext?.permanentIDs.addChild() }
    changes.noteInvalidation(of: releasedIDs)
    postObjectsDidChange()
  }

  /// `rollback()` without a subclass's override. Objects get back the values of `committed`, the snapshot with which
  /// they were read: nothing is asked of the store, so it works without one.
  final func revertChanges() {
    checkQueue()
    forgetWhatChangesLedTo()
    let (new, all) = changes.takeBack()
    // What was deleted elsewhere does not come back.
    for object in all where object.state.contains(.gone) { graph.release(object) }
    let stored = all.filter { !$0.state.contains(.gone) }
    for object in new { forgetAsDeleted(object) }
    for object in stored {
      let observed = object.willChangeAllObserved()
      object.state.remove(.ownsSnapshot)
      if let committed = object.committed { object.snapshot = committed }
      object.committed = nil
      object.toManys = []
      changes.noteRefresh(of: object)
      observed?.finish()
    }
    for object in stored { object.awake(.rollback) }
    processEvent()
  }

  /// Drops undo registrations, changes that are half done, and errors of unreadable faults.
  private func forgetWhatChangesLedTo() {
    undoTracking?.manager.removeAllActions(withTarget: self)
    manualChanges.removeAll()
    inaccessible.unread = nil
  }
}

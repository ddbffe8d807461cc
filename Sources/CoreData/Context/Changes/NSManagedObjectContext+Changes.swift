/// Objects coming, changing and going.
extension NSManagedObjectContext {
  /// Puts a new object into the context: the next save writes a row for it. An object whose deletion was not saved yet
  /// stays.
  ///
  /// Traps for an object of another context.
  public final func insert(_ object: NSManagedObject) {
    checkQueue()
    if object.isDeleted, graph.owns(object) { return undelete(object) }
    require(
      object.reference?.context == nil || graph.owns(object),
      "\(object.objectID) belongs to another context and cannot be inserted into \(label).")
    guard !object.isInserted else { return }
    graph.sweepIfDue()
    // An ID is made when it is first asked for.
    _ = object.objectID
    // Values may have been set before; an object whose deletion was saved while it was a fault has none.
    if object.state.contains(.unborn) || object.snapshot == nil {
      object.snapshot = object.layout.defaults.copy()
      object.state.insert(.ownsSnapshot)
    }
    object.committed = nil
    object.state.subtract([.fault, .unborn, .gone])
    if ConcurrencyDebug.isEnabled { object.state.insert(.isChecked) }
    graph.add(object)
    changes.insert(object)
    scheduleEndOfEvent()
    object.awakeFromInsert()
  }

  private func undelete(_ object: NSManagedObject) {
    if changes.takeBackDeletion(of: object) { return noteUpdate(object) }
    changes.takeBackDeletion(ofNew: object)
    scheduleEndOfEvent()
  }

  /// Marks the object to be deleted by the next save. An object that was never saved is forgotten.
  ///
  /// Related objects follow their delete rules at the end of the event. Traps for an object of another context.
  public final func delete(_ object: NSManagedObject) {
    checkQueue()
    require(
      object.managedObjectContext == nil || graph.owns(object),
      "\(object.objectID) belongs to another context and cannot be deleted from \(label).")
    guard graph.owns(object), !object.isDeleted, !object.state.contains(.gone) else { return }
    object.prepareForDeletion()
    // It cannot be read any more when the deletion is undone after a save.
    if undoTracking != nil { object.loadAll() }
    markDeleted(object)
  }

  /// Takes the object out of what is saved, without telling it.
  final func markDeleted(_ object: NSManagedObject) {
    guard !object.isDeleted else { return }
    changes.delete(object)
    scheduleEndOfEvent()
  }

  /// Called at each change of an object; the first of an event counts.
  final func noteUpdate(_ object: NSManagedObject) {
    if PendingChanges.isUpdateNoted(object) { return }
    checkQueue()
    changes.update(object)
    scheduleEndOfEvent()
  }

  /// Notes that an object has other values, or is a fault, though nobody set it.
  final func noteRefresh(of object: NSManagedObject) {
    changes.noteRefresh(of: object)
    scheduleEndOfEvent()
  }

  /// Lets go of an object, whatever is to be saved of it: it belongs to no context any more.
  final func forget(_ object: NSManagedObject) {
    changes.forget(object)
    graph.release(object)
  }

  /// Lets go of an object, and lets observers know it as deleted.
  final func forgetAsDeleted(_ object: NSManagedObject) {
    forget(object)
    changes.noteDeletion(ofForgotten: object)
  }

  /// The event in which the object changed: the current one, or the one that is being posted; nil where it did not.
  final func currentEvent(of object: NSManagedObject) -> ContextEvent? { changes.currentEvent(of: object) }
}

/// Inserts, changes and deletes objects.
extension NSManagedObjectContext {
  /// `insert(_:)` without a subclass's override. The cases, in this order: the deletion of a deleted object is undone;
  /// an object of this context stays as it is; an object of another context traps; an object that refers to others is
  /// inserted with them; any other is enlisted.
  final func insertObject(_ object: NSManagedObject) {
    checkQueue()
    if object.isDeleted, graph.owns(object) { return undelete(object) }
    // It is inserted already, or saved.
    if graph.owns(object) { return }
    requireNoOtherContext(of: object, "inserted into")
    // Most new objects are inserted before they refer to anything.
    if object.reference != nil || !object.toManys.isEmpty { return insertLoose(object) }
    enlist(object)
    scheduleEndOfEvent()
    object.awakeFromInsert()
  }

  /// Ends the process if the object belongs to another context; Apple's framework raises an exception. Methods that
  /// take an object of this context call it: they would otherwise change an object that another queue uses, or ignore
  /// the call. An object without a context passes.
  final func requireNoOtherContext(of object: NSManagedObject, _ action: StaticString) {
    require(
      graph.owns(object) || object.managedObjectContext == nil,
      "\(object.objectID) belongs to another context and cannot be \(action) \(label).")
  }

  /// Registers and records a new object. An object that comes with values of its own keeps them; one that was never
  /// touched gets the defaults, in a snapshot that it owns.
  final func enlist(_ object: NSManagedObject) {
    graph.sweepIfDue()
    object.ensureKey()
    // Values may have been set before. An object whose deletion was saved while it was a fault has none.
    if object.state.contains(.unborn) || object.snapshot == nil {
      object.snapshot = object.layout.defaults.copy()
      object.state.insert(.ownsSnapshot)
    }
    if object.committed != nil { object.committed = nil }
    let isNew = object.state.contains(.unborn) || object.isLoose
    object.state.subtract([.fault, .unborn, .gone])
    if ConcurrencyDebug.isEnabled { object.state.insert(.isChecked) }
    graph.add(object)
    if isNew { changes.insert(new: object) } else { changes.insert(object) }
  }

  /// Takes back a deletion: of an object with a row, which may have other changes too, or of a new one.
  private func undelete(_ object: NSManagedObject) {
    if changes.takeBackDeletion(of: object) { return noteUpdate(object) }
    changes.takeBackDeletion(ofNew: object)
    scheduleEndOfEvent()
  }

  /// `delete(_:)` without a subclass's override.
  ///
  /// `prepareForDeletion()` is the program's code and may delete the object itself, so the state is asked again after
  /// it.
  final func deleteObject(_ object: NSManagedObject) {
    checkQueue()
    requireNoOtherContext(of: object, "deleted from")
    guard graph.owns(object), !object.state.contains(.gone) else { return }
    object.prepareForDeletion()
    if object.isDeleted { return }
    // If the deletion is undone after a save, the object can no longer be read.
    if undoTracking != nil { object.loadAll() }
    markDeleted(object)
  }

  /// Removes the object from the lists of changes and notes that its delete rules must still be applied. It is marked
  /// at once, and its partners follow at the end of the event, as Apple documents it.
  final func markDeleted(_ object: NSManagedObject) {
    guard !object.isDeleted else { return }
    changes.delete(object)
    scheduleEndOfEvent()
  }

  /// Called at each change of an object; only the first of an event counts.
  ///
  /// It is on the way of each property that is set, so the case that nothing is to be noted comes first and costs one
  /// test of bits.
  final func noteUpdate(_ object: NSManagedObject) {
    if PendingChanges.isUpdateNoted(object) { return }
    checkQueue()
    changes.update(object)
    scheduleEndOfEvent()
  }

  /// Records that an object has other values or is a fault, although no code set it.
  final func noteRefresh(of object: NSManagedObject) {
    changes.noteRefresh(of: object)
    scheduleEndOfEvent()
  }

  /// Removes an object from the context along with its changes. It belongs to no context any more, and keeps the values
  /// that it has.
  final func forget(_ object: NSManagedObject) {
    changes.forget(object)
    graph.release(object)
  }

  /// Removes an object from the context and reports it to observers as deleted: for new objects after a rollback, and
  /// objects whose row is gone.
  final func forgetAsDeleted(_ object: NSManagedObject) {
    forget(object)
    changes.noteDeletion(ofForgotten: object)
  }

  /// The event in which the object changed: the current one, or the one that is being posted; nil for neither.
  final func currentEvent(of object: NSManagedObject) -> ContextEvent? { changes.currentEvent(of: object) }
}

/// Objects coming and going, and the noting of what changes.
extension NSManagedObjectContext {
  /// Puts a new object into the context: to be saved as a new row.
  public final func insert(_ object: NSManagedObject) {
    checkQueue()
    if object.isDeleted, object.reference === reference { return undelete(object) }
    require(
      object.reference?.context == nil || object.reference === reference,
      "\(object.objectID) belongs to another context and cannot be inserted into \(label).")
    guard !object.isInserted else { return }
    if registry.count >= sweepThreshold { sweep() }
    let id = object.objectID
    // Values may have been set before; an object whose deletion was saved while it was a fault has none.
    if object.state.contains(.unborn) || object.snapshot == nil {
      object.snapshot = object.layout.defaults.copy()
      object.state.insert(.ownsSnapshot)
    }
    object.committed = nil
    object.state.subtract([.fault, .unborn, .gone])
    object.state.insert(.inserted)
    if ConcurrencyDebug.isEnabled { object.state.insert(.isChecked) }
    object.reference = reference
    registry.set(object, id.key, id.home.table)
    inserted.insert(object)
    event.inserted.insert(object)
    object.state.insert(.isNoted)
    scheduleEndOfEvent()
    object.awakeFromInsert()
  }

  private func undelete(_ object: NSManagedObject) {
    object.state.remove(.deleted)
    // Then observers have not heard of the deletion, and know the object.
    let isKnown = event.deleted.remove(object)
    unpropagated.removeAll { $0 === object }
    if deleted.remove(object) {
      if !isKnown { event.revived.insert(object) }
      return noteUpdate(object)
    }
    object.state.insert([.inserted, .isNoted])
    inserted.insert(object)
    if isKnown { event.updated.insert(object) } else { event.inserted.insert(object) }
    scheduleEndOfEvent()
  }

  /// Marks the object to be deleted by the next save; an object that was never saved is just forgotten.
  ///
  /// Related objects follow their delete rules at the end of the event.
  public final func delete(_ object: NSManagedObject) {
    checkQueue()
    require(
      object.managedObjectContext == nil || object.reference === reference,
      "\(object.objectID) belongs to another context and cannot be deleted from \(label).")
    guard object.reference === reference, !object.isDeleted, !object.state.contains(.gone) else { return }
    object.prepareForDeletion()
    // It cannot be read any more when the deletion is undone after a save.
    if undoTracking != nil { object.loadAll() }
    markDeleted(object)
  }

  /// Takes the object out of what is saved, and notes that its delete rules have yet to be applied.
  final func markDeleted(_ object: NSManagedObject) {
    guard !object.isDeleted else { return }
    // Earlier events may have changed it: what they left is what this one begins with.
    if !object.state.contains(.isNoted) { keepStart(of: object) }
    if object.isInserted {
      inserted.remove(object)
      object.state.remove(.inserted)
      // Inserted and deleted within one event: nobody has heard of it.
      if !event.inserted.remove(object) { event.deleted.insert(object) }
    } else {
      updated.remove(object)
      object.state.remove(.updated)
      deleted.insert(object)
      // Brought back and deleted again within one event: nobody has heard of it.
      if !event.revived.remove(object) { event.deleted.insert(object) }
    }
    forgetNews(of: object)
    object.state.insert([.deleted, .isNoted])
    unpropagated.append(object)
    scheduleEndOfEvent()
  }

  /// Deletes an object whose row turned out to be missing.
  final func deleteInaccessible(_ object: NSManagedObject) {
    guard !object.isDeleted, registry.find(object.objectID.key, object.objectID.home.table) === object else { return }
    updated.remove(object)
    object.state.remove(.updated)
    object.state.insert(.deleted)
    deleted.insert(object)
    forgetNews(of: object)
    event.deleted.insert(object)
  }

  /// What became of a deleted object earlier in the event is not told.
  private func forgetNews(of object: NSManagedObject) {
    for list in [\ContextEvent.updated, \.refreshed] { event[keyPath: list].remove(object) }
  }

  // MARK: Noting changes

  /// Called at each change of an object; the first of an event counts.
  final func noteUpdate(_ object: NSManagedObject) {
    if object.state.contains(.isNoted) && !object.state.isDisjoint(with: [.updated, .inserted]) { return }
    checkQueue()
    if !object.state.contains(.isNoted) { keepStart(of: object) }
    if object.state.isDisjoint(with: [.inserted, .deleted]) {
      if !object.state.contains(.updated) {
        object.state.insert(.updated)
        updated.insert(object)
      }
      event.updated.insert(object)
    } else if object.isInserted && !event.inserted.contains(object) {
      event.updated.insert(object)
    }
    object.state.insert(.isNoted)
    scheduleEndOfEvent()
  }

  /// Keeps the values that the object begins the event with, unless its last saved ones are the same.
  private func keepStart(of object: NSManagedObject) {
    guard event.starts[ObjectIdentifier(object)] == nil else { return }
    let ownsSnapshot = object.state.contains(.ownsSnapshot)
    guard object.committed != nil || object.isInserted || ownsSnapshot, let snapshot = object.snapshot else { return }
    // What the object owns it changes in place.
    event.starts[ObjectIdentifier(object)] = ownsSnapshot ? snapshot.copy() : snapshot
  }

  /// The event in which the object changed: the current one, or the one that is being posted; nil where it did not.
  final func currentEvent(of object: NSManagedObject) -> ContextEvent? {
    if event.has(object) { return event }
    return postedEvent?.has(object) == true ? postedEvent : nil
  }
}

/// A context's unsaved changes, and those that observers do not know yet.
///
/// An object is in at most one of `inserted`, `updated` and `deleted`, as its `isInserted`, `isUpdated` and `isDeleted`
/// say. Nothing else sets these. One exception: a new object that was deleted is in no list, and counts as deleted
/// until observers were told.
///
/// The event's list of updated objects has only objects that are noted (`isNoted`), and its list of deleted ones only
/// objects that are noted or `isDeleted`, or left the context. So mostly no list has to be searched.
///
/// It knows nothing of rows, notifications or queues. Used on the context's queue.
///
/// No access to a list overlaps another one, which is therefore not checked: changing a list calls nothing that comes
/// back here.
///
/// The states of an object, and what moves it from one to another:
///
///     clean    -- set a property -->     updated    -- save -->  clean
///     clean    -- delete -->             deleted    -- save -->  no context
///     updated  -- delete -->             deleted    -- insert -> updated
///     (none)   -- insert -->             inserted   -- save -->  clean
///     inserted -- delete -->             (no list)  -- end of the event -> no context
final class PendingChanges {
  @exclusivity(unchecked) private(set) var inserted = ChangedObjects()
  @exclusivity(unchecked) private(set) var updated = ChangedObjects()
  @exclusivity(unchecked) private(set) var deleted = ChangedObjects()
  /// The hooks that a save has to call on objects in the lists; it may have more than they need.
  @exclusivity(unchecked) private(set) var hooks: SaveHooks = []
  /// The changes since observers were last notified.
  @exclusivity(unchecked) private(set) var event = ContextEvent()
  /// The event that is being posted to observers, who may ask for its values.
  private var postedEvent: ContextEvent?
  /// Deleted objects whose delete rules are not applied yet.
  @exclusivity(unchecked) private var unpropagated: [NSManagedObject] = []
  /// New objects that were deleted, to be forgotten after observers heard of it.
  @exclusivity(unchecked) private var dropped: [NSManagedObject] = []
  /// The stores that new objects were assigned to.
  @exclusivity(unchecked) private var assignedStores: [ObjectIdentifier: any ObjectStore] = [:]
  /// Unchanged objects whose rows the next save checks for other changes: `detectConflicts(for:)`.
  private(set) var checked: [NSManagedObject] = []
  /// Unchanged objects whose rows must be there at the next save, changed or not: `detectDeletion(of:)`.
  private(set) var required: [ObjectIdentifier: NSManagedObject] = [:]
  /// What the next save runs in its transaction.
  private(set) var saveChecks: [() throws -> Void] = []

  /// Whether there is nothing to save.
  var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty }

  /// The objects that a save would take now. The arrays are shared, not copied, until the lists change.
  var toSave: SavedChanges {
    SavedChanges(inserted: inserted.items, updated: updated.items, deleted: deleted.items)
  }

  // MARK: Changes of one object

  /// Records a new object, or one that is new again: an object whose deletion was saved and then undone.
  func insert(_ object: NSManagedObject) {
    if object.isUpdated { withdrawUpdate(of: object) }
    noteInserted(object)
    event.inserted.insert(object)
  }

  /// Records a new object that has never been in a context, so it is in no list and need not be searched in any.
  func insert(new object: NSManagedObject) {
    noteInserted(object)
    event.inserted.append(unlisted: object)
  }

  private func noteInserted(_ object: NSManagedObject) {
    object.state.insert([.inserted, .isNoted])
    inserted.insert(object)
    hooks.formUnion(object.layout.saveHooks)
  }

  /// Whether recording another change of the object would have no effect.
  @inline(__always)
  static func isUpdateNoted(_ object: NSManagedObject) -> Bool {
    object.state.contains(.isNoted) && !object.state.isDisjoint(with: [.updated, .inserted])
  }

  /// Records that an object is about to change. Only the first change of an event counts.
  ///
  ///     in this event     isNoted   the lists
  ///     first change      no        updated, and the event's updated objects; its start is kept
  ///     another change    yes       nothing changes
  ///     a new object      -         only the event is told, if it is not that of the insertion
  func update(_ object: NSManagedObject) {
    let isNoted = object.state.contains(.isNoted)
    if !isNoted { event.keepStart(of: object) }
    if object.state.isDisjoint(with: [.inserted, .deleted]) {
      if !object.state.contains(.updated) {
        object.state.insert(.updated)
        updated.insert(object)
        hooks.formUnion(object.layout.saveHooks)
      }
      if isNoted { event.updated.insert(object) } else { event.updated.append(unlisted: object) }
    } else if object.isInserted && !event.inserted.contains(object) {
      event.updated.insert(object)
    }
    object.state.insert(.isNoted)
  }

  /// Records a deleted object. The end of the event, or the save, applies its delete rules.
  ///
  /// What observers are told depends on what they know: an object that came and went within one event is not mentioned.
  func delete(_ object: NSManagedObject) {
    // Earlier events may have changed it: their result is the state at the beginning of this one.
    let isNoted = object.state.contains(.isNoted)
    if !isNoted { event.keepStart(of: object) }
    if object.isInserted {
      inserted.remove(object)
      object.state.remove(.inserted)
      // It was inserted and deleted within one event: observers do not know it.
      if !event.inserted.remove(object) { event.deleted.insert(object) }
    } else {
      withdrawUpdate(of: object)
      deleted.insert(object)
      hooks.formUnion(object.layout.saveHooks)
      // It was restored and deleted again within one event: observers do not know of either.
      if !event.revived.remove(object) {
        if isNoted { event.deleted.insert(object) } else { event.deleted.append(unlisted: object) }
      }
    }
    if isNoted { event.updated.remove(object) }
    event.refreshed.remove(object)
    object.state.insert([.deleted, .isNoted])
    unpropagated.append(object)
  }

  /// Records that an object's row is missing: the next save does not write it.
  ///
  /// The object is in the list of deleted ones, so that `isDeleted` is true and the next save removes it from the
  /// context.
  func deleteMissing(_ object: NSManagedObject) {
    inserted.remove(object)
    object.state.remove(.inserted)
    withdrawUpdate(of: object)
    object.state.insert([.deleted, .isNoted])
    deleted.insert(object)
    hooks.formUnion(object.layout.saveHooks)
    forgetNews(of: object)
    event.deleted.insert(object)
  }

  /// Earlier changes of a deleted object in the event are not reported.
  private func forgetNews(of object: NSManagedObject) {
    event.updated.remove(object)
    event.refreshed.remove(object)
  }

  /// Removes the object from the updated ones, if it is there.
  private func withdrawUpdate(of object: NSManagedObject) {
    updated.remove(object)
    object.state.remove(.updated)
  }

  // MARK: Taking back

  /// Reverts the deletion of an object with a row; false if it has none.
  ///
  /// Its delete rules may have been applied already: what they did to related objects stays.
  func takeBackDeletion(of object: NSManagedObject) -> Bool {
    guard deleted.remove(object) else { return false }
    object.state.remove(.deleted)
    unpropagated.removeAll { $0 === object }
    // Observers that did not hear of the deletion know the object.
    if !event.deleted.remove(object) { event.revived.insert(object) }
    return true
  }

  /// Makes a deleted new object a new one again.
  func takeBackDeletion(ofNew object: NSManagedObject) {
    object.state.remove(.deleted)
    unpropagated.removeAll { $0 === object }
    object.state.insert([.inserted, .isNoted])
    inserted.insert(object)
    hooks.formUnion(object.layout.saveHooks)
    if event.deleted.remove(object) { event.updated.insert(object) } else { event.inserted.insert(object) }
  }

  /// Removes an object from the unsaved changes: it equals its row, or will.
  ///
  /// Not for new objects, which have no row.
  func withdraw(_ object: NSManagedObject) {
    withdrawUpdate(of: object)
    deleted.remove(object)
    object.state.remove(.deleted)
  }

  /// Makes a changed object a new one: its row is gone.
  func insertAgain(_ object: NSManagedObject) {
    withdrawUpdate(of: object)
    inserted.insert(object)
    hooks.formUnion(object.layout.saveHooks)
    object.state.insert(.inserted)
  }

  /// Makes a new object a changed one: it took over a row.
  func updateInsteadOfInserting(_ object: NSManagedObject) {
    inserted.remove(object)
    object.state.remove(.inserted)
    updated.insert(object)
    hooks.formUnion(object.layout.saveHooks)
    object.state.insert(.updated)
  }

  /// Drops everything about an object that is about to leave the context, also the store to which it was assigned: a
  /// later object may have its address.
  ///
  /// The event forgets it too, so observers hear nothing more of it: see `noteDeletion(ofForgotten:)`.
  func forget(_ object: NSManagedObject) {
    inserted.remove(object)
    if hasAssignedStores { assignedStores[ObjectIdentifier(object)] = nil }
    unlist(object)
    object.state.subtract([.inserted, .isNoted])
  }

  /// Removes an object from all lists but that of the inserted ones.
  private func unlist(_ object: NSManagedObject) {
    withdraw(object)
    unpropagated.removeAll { $0 === object }
    forgetNews(of: object)
  }

  // MARK: Changes that are reported and not saved

  /// Records an object that another context inserted.
  func noteInsertionElsewhere(of object: NSManagedObject) { event.inserted.insert(object) }

  /// Reports a forgotten object to observers as deleted.
  func noteDeletion(ofForgotten object: NSManagedObject) { event.deleted.insert(object) }

  /// Records that an object has other values or is a fault, although no code set it.
  func noteRefresh(of object: NSManagedObject) { event.refreshed.insert(object) }

  /// Leaves an object's changes out of the event.
  func forgetUpdateInEvent(of object: NSManagedObject) { event.updated.remove(object) }

  /// Records that all objects of the context became unusable.
  func noteInvalidation(of ids: [NSManagedObjectID]) { event.invalidatedAll = ids }

  // MARK: Delete rules

  /// The deleted objects whose delete rules have to be applied. Each is returned once.
  func takeUnpropagated() -> [NSManagedObject] {
    defer { unpropagated.removeAll() }
    return unpropagated
  }

  /// Records that an object's delete rules were applied. A new object is then gone.
  ///
  /// It leaves the context after observers heard of it, at the end of the event.
  func didPropagate(_ object: NSManagedObject) {
    if !deleted.contains(object) { dropped.append(object) }
  }

  /// A deleted new object that can be forgotten now; nil for none.
  func takeDropped() -> NSManagedObject? { dropped.popLast() }

  /// Removes a deleted new object from those to be forgotten.
  func removeDropped(_ object: NSManagedObject) { dropped.removeAll { $0 === object } }

  // MARK: Events

  /// Ends the event and begins the next.
  ///
  /// The ended event gets the state of to-many relationships at its beginning, for those who ask while it is posted.
  func endEvent() -> ContextEvent {
    var ended = event
    event = ContextEvent()
    ended.end()
    return ended
  }

  /// Runs a body that reports an event to observers. They may ask for its values, and their changes belong to the next
  /// event.
  ///
  /// Events may be nested: an observer that saves posts another one.
  func posting(_ ended: ContextEvent, _ post: () -> Void) {
    let outer = postedEvent
    postedEvent = ended
    post()
    postedEvent = outer
  }

  /// The event in which the object changed: the current one, or the one that is being posted; nil if it did not change.
  func currentEvent(of object: NSManagedObject) -> ContextEvent? {
    if event.has(object) { return event }
    return postedEvent?.has(object) == true ? postedEvent : nil
  }

  // MARK: Saves

  /// Assigns a new object to a store. The object's address is the key: new objects stay in the context until the save
  /// or the reset, which clears the table, or until `forget`.
  func assign(_ object: NSManagedObject, to store: any ObjectStore) { assignedStores[ObjectIdentifier(object)] = store }

  /// The store to which a new object was assigned; nil for none.
  func assignedStore(of object: NSManagedObject) -> (any ObjectStore)? {
    assignedStores.isEmpty ? nil : assignedStores[ObjectIdentifier(object)]
  }

  /// Whether objects of one entity may belong to different stores.
  var hasAssignedStores: Bool { !assignedStores.isEmpty }

  /// Makes the next save check an object for other changes.
  func check(_ object: NSManagedObject) {
    if !checked.contains(where: { $0 === object }) { checked.append(object) }
  }

  /// Makes the next save check that an object's row is there.
  func require(_ object: NSManagedObject) { required[ObjectIdentifier(object)] = object }

  /// Cancels the checks of an object; false if there was none.
  func stopChecking(_ object: NSManagedObject) -> Bool {
    let isRequired = required.removeValue(forKey: ObjectIdentifier(object)) != nil
    guard let index = checked.firstIndex(where: { $0 === object }) else { return isRequired }
    checked.remove(at: index)
    return true
  }

  /// Makes the next save run the body in its transaction.
  func addSaveCheck(_ body: @escaping () throws -> Void) { saveChecks.append(body) }

  /// Clears the changes after a save.
  ///
  /// The lists are emptied at once, instead of object by object.
  func settle() {
    // Objects of an event that has not ended stay noted.
    let noted: NSManagedObject.State = event.isEmpty ? .isNoted : []
    for object in inserted.items { object.state.subtract([.inserted, noted]) }
    for object in updated.items { object.state.subtract([.updated, noted]) }
    for object in deleted.items { object.state.subtract([.deleted, noted]) }
    removeAll()
  }

  /// Clears the changes of these objects, which are saved while others are not.
  func settle(_ saved: SavedChanges) {
    let noted: NSManagedObject.State = event.isEmpty ? .isNoted : []
    for object in saved.all {
      inserted.remove(object)
      updated.remove(object)
      deleted.remove(object)
      object.state.subtract([.inserted, .updated, .deleted, noted])
      assignedStores[ObjectIdentifier(object)] = nil
    }
  }

  /// Reverts all changes. Returns the changed objects, which still have their values: new ones, and those with a row.
  ///
  /// The event is dropped, and observers do not hear of it. The caller tells them of deleted and refreshed objects
  /// instead.
  func takeBack() -> (new: [NSManagedObject], stored: [NSManagedObject]) {
    let new = inserted.items + unpropagated.filter { !deleted.contains($0) }
    let stored = updated.items + deleted.items
    for object in new + stored { object.state.subtract([.inserted, .updated, .deleted, .isNoted]) }
    removeAll()
    unpropagated.removeAll()
    event = ContextEvent()
    return (new, stored)
  }

  /// Drops everything; the objects become unusable.
  func reset() {
    removeAll()
    unpropagated.removeAll()
    dropped.removeAll()
    event = ContextEvent()
  }

  /// Empties everything that belongs to one save.
  private func removeAll() {
    inserted.removeAll()
    updated.removeAll()
    deleted.removeAll()
    hooks = []
    assignedStores.removeAll()
    checked.removeAll()
    required.removeAll()
    saveChecks.removeAll()
  }
}

/// The objects of one save: what was written, or is about to be.
struct SavedChanges {
  let inserted: [NSManagedObject]
  let updated: [NSManagedObject]
  let deleted: [NSManagedObject]

  var all: [NSManagedObject] { inserted + updated + deleted }
}

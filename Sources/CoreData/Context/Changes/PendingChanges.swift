/// What a context has changed and not saved, and what of it observers have yet to be told.
///
/// An object is in at most one of `inserted`, `updated` and `deleted`, and its `isInserted`, `isUpdated` and
/// `isDeleted` say in which. Nothing else sets these. One exception: a new object that is deleted is in no list, and
/// counts as deleted until observers were told.
///
/// Knows nothing of rows, notifications or queues. Used on the context's queue.
final class PendingChanges {
  private(set) var inserted = MemberList()
  private(set) var updated = MemberList()
  private(set) var deleted = MemberList()
  /// What changed since observers were last told.
  private(set) var event = ContextEvent()
  /// The event that observers are being told of.
  private var postedEvent: ContextEvent?
  /// Deleted objects whose delete rules have yet to be applied.
  private var unpropagated: [NSManagedObject] = []
  /// New objects that were deleted, until observers were told.
  private var dropped: [NSManagedObject] = []
  /// The stores that new objects were assigned to.
  private var assignedStores: [ObjectIdentifier: any ObjectStore] = [:]
  /// Objects that the next save checks for others' changes, though they themselves have none.
  private(set) var checked: [NSManagedObject] = []

  /// Whether there is nothing to save.
  var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty }

  /// What a save would take now.
  var toSave: SavedChanges {
    SavedChanges(inserted: inserted.items, updated: updated.items, deleted: deleted.items)
  }

  // MARK: Changes of one object

  /// Notes that an object is new.
  func insert(_ object: NSManagedObject) {
    object.state.insert([.inserted, .isNoted])
    inserted.insert(object)
    event.inserted.insert(object)
  }

  /// Whether noting a change of the object again would change nothing.
  @inline(__always)
  static func isUpdateNoted(_ object: NSManagedObject) -> Bool {
    object.state.contains(.isNoted) && !object.state.isDisjoint(with: [.updated, .inserted])
  }

  /// Notes that an object is about to change. The first change of an event counts.
  func update(_ object: NSManagedObject) {
    if !object.state.contains(.isNoted) { event.keepStart(of: object) }
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
  }

  /// Notes that an object is deleted, and that its delete rules have yet to be applied.
  func delete(_ object: NSManagedObject) {
    // Earlier events may have changed it: what they left is what this one begins with.
    if !object.state.contains(.isNoted) { event.keepStart(of: object) }
    if object.isInserted {
      inserted.remove(object)
      object.state.remove(.inserted)
      // Inserted and deleted within one event: nobody has heard of it.
      if !event.inserted.remove(object) { event.deleted.insert(object) }
    } else {
      withdrawUpdate(of: object)
      deleted.insert(object)
      // Brought back and deleted again within one event: nobody has heard of it.
      if !event.revived.remove(object) { event.deleted.insert(object) }
    }
    forgetNews(of: object)
    object.state.insert([.deleted, .isNoted])
    unpropagated.append(object)
  }

  /// Notes that an object's row turned out to be missing: the next save leaves no trace of it.
  func deleteMissing(_ object: NSManagedObject) {
    withdrawUpdate(of: object)
    object.state.insert(.deleted)
    deleted.insert(object)
    forgetNews(of: object)
    event.deleted.insert(object)
  }

  /// What became of a deleted object earlier in the event is not told.
  private func forgetNews(of object: NSManagedObject) {
    event.updated.remove(object)
    event.refreshed.remove(object)
  }

  private func withdrawUpdate(of object: NSManagedObject) {
    updated.remove(object)
    object.state.remove(.updated)
  }

  // MARK: Taking back

  /// Takes the deletion of an object back that has a row; false if it has none.
  func takeBackDeletion(of object: NSManagedObject) -> Bool {
    guard deleted.remove(object) else { return false }
    object.state.remove(.deleted)
    unpropagated.removeAll { $0 === object }
    // Observers that have not heard of the deletion know the object.
    if !event.deleted.remove(object) { event.revived.insert(object) }
    return true
  }

  /// Makes a new object that was deleted a new one again.
  func takeBackDeletion(ofNew object: NSManagedObject) {
    object.state.remove(.deleted)
    unpropagated.removeAll { $0 === object }
    object.state.insert([.inserted, .isNoted])
    inserted.insert(object)
    if event.deleted.remove(object) { event.updated.insert(object) } else { event.inserted.insert(object) }
  }

  /// Takes an object out of what is saved: it is, or becomes, what its row is.
  func withdraw(_ object: NSManagedObject) {
    withdrawUpdate(of: object)
    deleted.remove(object)
    object.state.remove(.deleted)
  }

  /// Saves a changed object as a new one: its row is gone.
  func insertAgain(_ object: NSManagedObject) {
    withdrawUpdate(of: object)
    inserted.insert(object)
    object.state.insert(.inserted)
  }

  /// Saves a new object as a changed one: it has taken a row over.
  func updateInsteadOfInserting(_ object: NSManagedObject) {
    inserted.remove(object)
    object.state.remove(.inserted)
    updated.insert(object)
    object.state.insert(.updated)
  }

  /// Forgets all of an object, which is about to leave the context.
  func forget(_ object: NSManagedObject) {
    inserted.remove(object)
    unlist(object)
    object.state.subtract([.inserted, .isNoted])
  }

  private func unlist(_ object: NSManagedObject) {
    withdraw(object)
    unpropagated.removeAll { $0 === object }
    forgetNews(of: object)
  }

  // MARK: What is told without being saved

  /// Notes that another context inserted the object.
  func noteInsertionElsewhere(of object: NSManagedObject) { event.inserted.insert(object) }

  /// Notes that the object was deleted elsewhere, and forgets what was to be saved of it.
  func noteDeletionElsewhere(of object: NSManagedObject) {
    unlist(object)
    event.inserted.remove(object)
    event.deleted.insert(object)
  }

  /// Notes that the object, which was forgotten, counts as deleted for observers.
  func noteDeletion(ofForgotten object: NSManagedObject) { event.deleted.insert(object) }

  /// Notes that an object has other values, or is a fault, though nobody set it.
  func noteRefresh(of object: NSManagedObject) { event.refreshed.insert(object) }

  /// Leaves an object's changes out of what is told of the event.
  func forgetUpdateInEvent(of object: NSManagedObject) { event.updated.remove(object) }

  /// Notes that all objects of the context became unusable.
  func noteInvalidation(of objects: [NSManagedObject]) { event.invalidatedAll = objects }

  // MARK: Delete rules

  /// The deleted objects whose delete rules have to be applied; taken once.
  func takeUnpropagated() -> [NSManagedObject] {
    defer { unpropagated.removeAll() }
    return unpropagated
  }

  /// Notes that the delete rules of an object were applied: nothing of a new one stays behind.
  func didPropagate(_ object: NSManagedObject) {
    if !deleted.contains(object) { dropped.append(object) }
  }

  /// A new object that was deleted and can be forgotten now; nil if there is none left.
  func takeDropped() -> NSManagedObject? { dropped.popLast() }

  /// Takes a new object that was deleted out of those to be forgotten.
  func removeDropped(_ object: NSManagedObject) { dropped.removeAll { $0 === object } }

  // MARK: Events

  /// Ends the event, and begins the next.
  func endEvent() -> ContextEvent {
    var ended = event
    event = ContextEvent()
    ended.end()
    return ended
  }

  /// Runs a body that tells observers of an event: they may ask for its values, and make changes that belong to the
  /// next.
  func posting(_ ended: ContextEvent, _ post: () -> Void) {
    let outer = postedEvent
    postedEvent = ended
    post()
    postedEvent = outer
  }

  /// The event in which the object changed: the current one, or the one that is being posted; nil where it did not.
  func currentEvent(of object: NSManagedObject) -> ContextEvent? {
    if event.has(object) { return event }
    return postedEvent?.has(object) == true ? postedEvent : nil
  }

  // MARK: Saves

  /// Assigns a new object to a store.
  func assign(_ object: NSManagedObject, to store: any ObjectStore) { assignedStores[ObjectIdentifier(object)] = store }

  /// The store that a new object was assigned to; nil if none was named.
  func assignedStore(of object: NSManagedObject) -> (any ObjectStore)? {
    assignedStores.isEmpty ? nil : assignedStores[ObjectIdentifier(object)]
  }

  /// Whether objects of one entity may go to different stores.
  var hasAssignedStores: Bool { !assignedStores.isEmpty }

  /// Has the next save check an object for others' changes.
  func check(_ object: NSManagedObject) {
    if !checked.contains(where: { $0 === object }) { checked.append(object) }
  }

  /// Ends the check of an object; false if it was not asked for.
  func stopChecking(_ object: NSManagedObject) -> Bool {
    guard let index = checked.firstIndex(where: { $0 === object }) else { return false }
    checked.remove(at: index)
    return true
  }

  /// Notes that everything was saved.
  func settle() {
    for object in inserted.items { object.state.subtract([.inserted, .isNoted]) }
    for object in updated.items { object.state.subtract([.updated, .isNoted]) }
    for object in deleted.items { object.state.subtract([.deleted, .isNoted]) }
    removeAll()
  }

  /// Takes all changes back. Returns the objects that had changes, which still have their values: new ones, and those
  /// with a row.
  func takeBack() -> (new: [NSManagedObject], stored: [NSManagedObject]) {
    let new = inserted.items + unpropagated.filter { !deleted.contains($0) }
    let stored = updated.items + deleted.items
    for object in new + stored { object.state.subtract([.inserted, .updated, .deleted, .isNoted]) }
    removeAll()
    unpropagated.removeAll()
    event = ContextEvent()
    return (new, stored)
  }

  /// Forgets everything; the objects are unusable.
  func reset() {
    removeAll()
    unpropagated.removeAll()
    dropped.removeAll()
    event = ContextEvent()
  }

  private func removeAll() {
    inserted.removeAll()
    updated.removeAll()
    deleted.removeAll()
    assignedStores.removeAll()
    checked.removeAll()
  }
}

/// The objects of one save.
struct SavedChanges {
  let inserted: [NSManagedObject]
  let updated: [NSManagedObject]
  let deleted: [NSManagedObject]

  var all: [NSManagedObject] { inserted + updated + deleted }
}

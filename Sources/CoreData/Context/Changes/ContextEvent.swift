/// The changes since observers were last told: the content of the next `NSManagedObjectContextObjectsDidChange`.
///
/// It differs from the unsaved changes in both directions: a change of an earlier event is still unsaved, and a refresh
/// is reported without being one. Undo and `changedValuesForCurrentEvent()` need the values at the beginning of the
/// event, which it keeps only where they differ from the last saved ones.
struct ContextEvent {
  var inserted = MemberList()
  var updated = MemberList()
  var deleted = MemberList()
  var refreshed = MemberList()
  /// Objects whose deletion was undone: they were in their store all the time.
  var revived = MemberList()
  /// The IDs of all objects that the context had before a reset; nil without one.
  var invalidatedAll: [NSManagedObjectID]?
  /// The values of objects at the beginning of the event, if these are not the last saved ones.
  var starts: [ObjectIdentifier: Snapshot] = [:]
  /// Whether the event is being posted; new changes belong to the next one.
  private(set) var isOver = false
  /// The to-many relationships at the beginning of the event, if they are not the last saved ones. Known once the event
  /// is over.
  private(set) var toManyStarts: [ObjectIdentifier: ToMany.EventStart] = [:]

  var isEmpty: Bool {
    inserted.isEmpty && updated.isEmpty && deleted.isEmpty && refreshed.isEmpty && invalidatedAll == nil
      && revived.isEmpty
  }

  /// Whether the object changed in this event.
  mutating func has(_ object: NSManagedObject) -> Bool {
    prepareQuestions()
    return updated.contains(object) || inserted.contains(object) || deleted.contains(object) || revived.contains(object)
  }

  /// Completes the indexes of the lists, for many calls of `has(_:)` in a row.
  mutating func prepareQuestions() {
    inserted.completeIndex()
    updated.completeIndex()
    deleted.completeIndex()
  }

  /// The values of a changed object at the beginning of the event; nil if they did not change. A new object began with
  /// the model's default values.
  func start(of object: NSManagedObject) -> Snapshot? {
    starts[ObjectIdentifier(object)] ?? (inserted.contains(object) ? object.layout.defaults : object.committed)
  }

  /// Keeps the object's values from the beginning of the event, unless the last saved ones are equal.
  ///
  /// Called before the first change of an object in an event, and so once for each object and event.
  mutating func keepStart(of object: NSManagedObject) {
    guard starts[ObjectIdentifier(object)] == nil else { return }
    let ownsSnapshot = object.state.contains(.ownsSnapshot)
    guard object.hasCommitted || object.isInserted || ownsSnapshot, let snapshot = object.snapshot else { return }
    // The object changes a snapshot that it owns in place.
    starts[ObjectIdentifier(object)] = ownsSnapshot ? snapshot.copy() : snapshot
  }

  // MARK: At its end

  /// Ends the event: later changes of its objects belong to the next one.
  ///
  /// Revived objects are told as inserted: observers heard of their deletion, and must show them again.
  mutating func end() {
    isOver = true
    for object in revived.items {
      inserted.insert(object)
      updated.remove(object)
    }
    for list in [inserted, updated, deleted, refreshed] {
      // An object may be in two lists.
      for object in list.items where object.state.contains(.isNoted) {
        object.state.remove(.isNoted)
        for case let toMany? in object.toManys {
          if let start = toMany.endEvent() { toManyStarts[ObjectIdentifier(toMany)] = start }
        }
      }
    }
  }

  /// The user info of the notification; empty without changes.
  func userInfo(_ sets: inout NotificationSets) -> [AnyHashable: Any] {
    var info: [AnyHashable: Any] = Dictionary(minimumCapacity: 4)
    func add(_ list: MemberList, _ key: @autoclosure () -> AnyHashable) {
      if !list.isEmpty { info[key()] = sets.set(of: list.items) }
    }
    add(inserted, UserInfoKey.inserted)
    add(updated, UserInfoKey.updated)
    add(deleted, UserInfoKey.deleted)
    add(refreshed, UserInfoKey.refreshed)
    if let invalidatedAll { info[NSInvalidatedAllObjectsKey] = invalidatedAll }
    return info
  }
}

/// What changed since observers were last told: the contents of the next `NSManagedObjectContextObjectsDidChange`.
struct ContextEvent {
  var inserted = MemberList()
  var updated = MemberList()
  var deleted = MemberList()
  var refreshed = MemberList()
  /// Objects whose deletion was taken back: they are in their store all the time.
  var revived = MemberList()
  var invalidatedAll: [NSManagedObject] = []
  /// The values that objects began the event with, where these are not the last saved ones.
  var starts: [ObjectIdentifier: Snapshot] = [:]
  /// Observers are told of it, and what changes now belongs to the next.
  private(set) var isOver = false
  /// What to-many relationships began the event with, where that is not what was last saved; known once the event is
  /// over.
  private(set) var toManyStarts: [ObjectIdentifier: ToMany.EventStart] = [:]

  var isEmpty: Bool {
    inserted.isEmpty && updated.isEmpty && deleted.isEmpty && refreshed.isEmpty && invalidatedAll.isEmpty
      && revived.isEmpty
  }

  func has(_ object: NSManagedObject) -> Bool {
    updated.contains(object) || inserted.contains(object) || deleted.contains(object) || revived.contains(object)
  }

  /// The values that a changed object began the event with; nil where they did not change.
  func start(of object: NSManagedObject) -> Snapshot? {
    starts[ObjectIdentifier(object)] ?? (inserted.contains(object) ? object.layout.defaults : object.committed)
  }

  /// Keeps the values that the object begins the event with, unless its last saved ones are the same.
  mutating func keepStart(of object: NSManagedObject) {
    guard starts[ObjectIdentifier(object)] == nil else { return }
    let ownsSnapshot = object.state.contains(.ownsSnapshot)
    guard object.committed != nil || object.isInserted || ownsSnapshot, let snapshot = object.snapshot else { return }
    // What the object owns it changes in place.
    starts[ObjectIdentifier(object)] = ownsSnapshot ? snapshot.copy() : snapshot
  }

  // MARK: At its end

  /// Ends the event: later changes of its objects belong to another one.
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

  /// The user info of the notification; empty if there is nothing to tell.
  var userInfo: [AnyHashable: Any] {
    var info: [AnyHashable: Any] = [:]
    for (key, list) in [
      (NSInsertedObjectsKey, inserted), (NSUpdatedObjectsKey, updated), (NSDeletedObjectsKey, deleted),
      (NSRefreshedObjectsKey, refreshed),
    ] where !list.isEmpty { info[key] = Set(list.items) }
    if !invalidatedAll.isEmpty { info[NSInvalidatedAllObjectsKey] = invalidatedAll }
    return info
  }
}

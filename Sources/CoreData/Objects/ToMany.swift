/// A to-many relationship of one object: its members once they are read, and the changes since the last save.
///
/// While the members are not read, changes from the other side are only noted. So setting a to-one relationship never
/// reads the whole to-many relationship of its new partner.
final class ToMany {
  let relationship: NSRelationshipDescription
  /// The current members; nil before they are read.
  var members: MemberList?
  private(set) var added = MemberList()
  private(set) var removed = MemberList()
  /// The order differs from the store's, or may do so.
  var orderChanged = false
  private var collection: NSObject?
  /// A mutable view in use, which is told of each change.
  weak var liveView: MutableRelationshipList?

  /// The state at the beginning of the current event, if it differs from the last saved one.
  private(set) var eventStart: EventStart?
  private var hadChangesAtEventStart = false

  /// The state of the relationship at the beginning of an event.
  final class EventStart {
    let members: [NSManagedObject]?
    fileprivate let added: MemberList
    fileprivate let removed: MemberList

    fileprivate init(_ toMany: ToMany) {
      members = toMany.members?.items
      added = toMany.added
      removed = toMany.removed
    }
  }

  init(_ relationship: NSRelationshipDescription) { self.relationship = relationship }

  var hasChanges: Bool { !added.isEmpty || !removed.isEmpty || orderChanged }

  /// Whether the object is a member; nil if only the store knows.
  func knows(_ object: NSManagedObject) -> Bool? {
    if let members { return members.contains(object) }
    if added.contains(object) { return true }
    return removed.contains(object) ? false : nil
  }

  /// Adds a member; false if it is known to be one already.
  @discardableResult
  func insert(_ object: NSManagedObject) -> Bool {
    if let members, members.contains(object) { return false }
    if members == nil && added.contains(object) { return false }
    members?.insert(object)
    // It is unknown whether the store has it while the members are not read.
    if !removed.remove(object) || members == nil { added.insert(object) }
    if relationship.isOrdered { orderChanged = true }
    collection = nil
    liveView?.follow(insertionOf: object)
    return true
  }

  /// Removes a member; false if it is known not to be one.
  @discardableResult
  func remove(_ object: NSManagedObject) -> Bool {
    if let members, !members.contains(object) { return false }
    if members == nil && removed.contains(object) { return false }
    members?.remove(object)
    if !added.remove(object) || members == nil { removed.insert(object) }
    collection = nil
    liveView?.follow(removalOf: object)
    return true
  }

  /// Reorders the members.
  func reorder(_ objects: [NSManagedObject]) {
    members?.replaceAll(objects)
    orderChanged = true
    collection = nil
    liveView?.follow(objects)
  }

  /// Sets the stored members and applies the noted changes to them.
  func load(_ stored: [NSManagedObject]) {
    var list = MemberList()
    list.keepsOrder = relationship.isOrdered
    for object in stored where !removed.contains(object) { list.insert(object) }
    let storedMembers = MemberList(stored, keepsOrder: false)
    for object in added.items {
      list.insert(object)
      if storedMembers.contains(object) { added.remove(object) }
    }
    for object in removed.items where !storedMembers.contains(object) { removed.remove(object) }
    members = list
    collection = nil
    liveView?.follow(list.items)
  }

  /// Drops the members: the next access reads them again and applies the noted changes. Keeps an order that was changed
  /// here.
  func unload() {
    guard !(relationship.isOrdered && orderChanged) else { return }
    members = nil
    collection = nil
  }

  /// Drops the members even if their order was changed here: the stored ones come first.
  func forgetMembers() {
    members = nil
    collection = nil
  }

  /// Replaces some objects by others.
  func replace(_ others: [ObjectIdentifier: NSManagedObject]) {
    func replaced(_ list: MemberList) -> MemberList? {
      guard list.items.contains(where: { others[ObjectIdentifier($0)] != nil }) else { return nil }
      return MemberList(list.items.map { others[ObjectIdentifier($0)] ?? $0 }, keepsOrder: list.keepsOrder)
    }
    if let list = members.flatMap(replaced) {
      members = list
      collection = nil
      liveView?.follow(list.items)
    }
    if let list = replaced(added) { added = list }
    if let list = replaced(removed) { removed = list }
  }

  /// The last fetched or saved members; nil before they are read.
  var committedMembers: [NSManagedObject]? {
    members.map { $0.items.filter { !added.contains($0) } + removed.items }
  }

  /// Clears the changes after a save.
  func markSaved() {
    added.removeAll()
    removed.removeAll()
    orderChanged = false
    eventStart = nil
    hadChangesAtEventStart = false
  }

  /// Marks all members as added: the row is written again, and no store has them.
  func markUnsaved() {
    added = MemberList(members?.items ?? added.items, keepsOrder: false)
    removed.removeAll()
    orderChanged = relationship.isOrdered
  }

  /// The members as an NSSet, or as an NSOrderedSet if the relationship is ordered.
  var asCollection: NSObject {
    if let collection { return collection }
    let items = members?.items ?? []
    let made: NSObject = relationship.isOrdered ? NSOrderedSet(array: items) : NSSet(array: items)
    collection = made
    return made
  }

  // MARK: Since the event began

  /// Called before each change. It costs nothing while the last saved state tells the members before the event, unless
  /// the caller also needs the order, which the lists of changes lack.
  @inline(__always)
  func willChange(keepsStart: Bool) {
    if eventStart == nil && (hadChangesAtEventStart || keepsStart) { eventStart = EventStart(self) }
  }

  /// Begins another event. Returns the state at the beginning of the last one, if it differed from the last saved one.
  func endEvent() -> EventStart? {
    defer {
      eventStart = nil
      hadChangesAtEventStart = hasChanges
    }
    return eventStart ?? (hadChangesAtEventStart ? EventStart(self) : nil)
  }

  /// The members that were added and removed in the current event.
  var changesInEvent: (came: [NSManagedObject], went: [NSManagedObject]) {
    eventStart == nil && hadChangesAtEventStart ? ([], []) : changes(since: eventStart)
  }

  /// The members that were added and removed since the beginning of an event; nil stands for one that began with the
  /// last saved state.
  func changes(since start: EventStart?) -> (came: [NSManagedObject], went: [NSManagedObject]) {
    guard let start else { return (added.items, removed.items) }
    // A member that left one list without entering the other was undone, or the store had it already.
    let came =
      added.items.filter { !start.added.contains($0) }
      + start.removed.items.filter { !removed.contains($0) && !added.contains($0) && (members?.contains($0) ?? true) }
    let went =
      removed.items.filter { !start.removed.contains($0) }
      + start.added.items.filter { !added.contains($0) && !removed.contains($0) && !(members?.contains($0) ?? false) }
    return (came, went)
  }
}

/// A to-many relationship of one object: its members once they are known, and what changed since the last save.
///
/// While the members are not loaded, changes made from the other side are only noted, so that setting a to-one
/// never reads the whole to-many of its new partner.
final class ToMany {
  let relationship: NSRelationshipDescription
  /// The members as they are now, or nil while they have not been read.
  var members: MemberList?
  private(set) var added = MemberList()
  private(set) var removed = MemberList()
  /// The order differs from what is in the store, or is not known to be the same.
  var orderChanged = false
  /// Members were added or removed at this end, not just by their other end.
  var isChangedHere = false
  private var collection: NSObject?
  /// A mutable view that somebody holds, which has to be told of each change.
  weak var liveView: MutableRelationshipList?

  /// What it was when the current event began, where that is not what was last saved.
  private(set) var eventStart: EventStart?
  private var hadChangesAtEventStart = false

  /// The relationship at the beginning of an event.
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

  /// Whether the members are known, or were asked for by changing them: their other ends' changes alone do not read
  /// them.
  var isShownAsChanged: Bool { hasChanges && (members != nil || isChangedHere) }

  /// Whether the object is a member; nil where only the store knows.
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
    // Whether the store has it already is not known before the members are.
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

  /// Puts the members, which stay the same ones, into another order.
  func reorder(_ objects: [NSManagedObject]) {
    members?.replaceAll(objects)
    orderChanged = true
    collection = nil
    liveView?.follow(objects)
  }

  /// Takes the members that the store has, and puts the noted changes on top.
  func load(_ stored: [NSManagedObject]) {
    var list = MemberList()
    list.keepsOrder = relationship.isOrdered
    for object in stored where !removed.contains(object) { list.insert(object) }
    let known = MemberList(stored, keepsOrder: false)
    for object in added.items {
      list.insert(object)
      if known.contains(object) { added.remove(object) }
    }
    for object in removed.items where !known.contains(object) { removed.remove(object) }
    members = list
    collection = nil
    liveView?.follow(list.items)
  }

  /// Forgets the members, so that the next access reads them anew and puts the noted changes on top. An order that was
  /// changed here is not given up.
  func unload() {
    guard !(relationship.isOrdered && orderChanged) else { return }
    members = nil
    collection = nil
  }

  /// Forgets the members though their order was changed here: those that the store has come first.
  func forgetMembers() {
    members = nil
    collection = nil
  }

  /// Puts other objects in the places of some.
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

  /// The members as last fetched or saved; nil while they have not been read.
  var committedMembers: [NSManagedObject]? {
    members.map { $0.items.filter { !added.contains($0) } + removed.items }
  }

  /// Forgets what changed: it has been saved.
  func markSaved() {
    added.removeAll()
    removed.removeAll()
    orderChanged = false
    isChangedHere = false
    eventStart = nil
    hadChangesAtEventStart = false
  }

  /// Makes the members ones that no store has: what they are in a row that is written anew.
  func markUnsaved() {
    added = MemberList(members?.items ?? added.items, keepsOrder: false)
    removed.removeAll()
    orderChanged = relationship.isOrdered
  }

  /// The members as an NSSet, or an NSOrderedSet where the relationship is ordered.
  var asCollection: NSObject {
    if let collection { return collection }
    let items = members?.items ?? []
    let made: NSObject = relationship.isOrdered ? NSOrderedSet(array: items) : NSSet(array: items)
    collection = made
    return made
  }

  // MARK: Since the event began

  /// Comes before each change. Costs nothing while what was last saved tells what there was before the event, unless
  /// the caller wants more: the order, which the lists of changes do not know.
  @inline(__always)
  func willChange(keepsStart: Bool) {
    if eventStart == nil && (hadChangesAtEventStart || keepsStart) { eventStart = EventStart(self) }
  }

  /// Begins another event; returns what the last one began with, unless that was what was last saved.
  func endEvent() -> EventStart? {
    defer {
      eventStart = nil
      hadChangesAtEventStart = hasChanges
    }
    return eventStart ?? (hadChangesAtEventStart ? EventStart(self) : nil)
  }

  /// Which members came and which went in the current event.
  var changesInEvent: (came: [NSManagedObject], went: [NSManagedObject]) {
    eventStart == nil && hadChangesAtEventStart ? ([], []) : changes(since: eventStart)
  }

  /// Which members came and which went since the beginning of an event; nil for one that began with what was last
  /// saved.
  func changes(since start: EventStart?) -> (came: [NSManagedObject], went: [NSManagedObject]) {
    guard let start else { return (added.items, removed.items) }
    // What left one of the lists without entering the other was undone, or found to be so in the store already.
    let came =
      added.items.filter { !start.added.contains($0) }
      + start.removed.items.filter { !removed.contains($0) && !added.contains($0) && (members?.contains($0) ?? true) }
    let went =
      removed.items.filter { !start.removed.contains($0) }
      + start.added.items.filter { !added.contains($0) && !removed.contains($0) && !(members?.contains($0) ?? false) }
    return (came, went)
  }
}

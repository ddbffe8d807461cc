/// A to-many relationship of one object: its members once they are read, and the changes since the last save.
///
/// While the members are not read, changes from the other side are only noted. So setting a to-one relationship never
/// reads the whole to-many relationship of its new partner: a thousand new books of one author cost no query for the
/// author's ten thousand old ones.
///
/// The two forms, and what each list means in them:
///
/// ```text
///                     members == nil (unread)            members != nil (read)
/// members             -                                  what the program sees
/// added               to add when they are read; the     members that the store lacks
///                     store may have some already
/// removed             to remove when they are read; the  members of the store that are gone
///                     store may lack some
/// ```
///
/// So `added` and `removed` are exact once the members are read, and may say too much before. `load` makes them exact;
/// `committedMembers` goes back from `members` to what the store has.
///
/// An object is never in both lists, and is in `members` if it is in `added` and these are read.
///
/// Changes come through `NSManagedObject.takeMember`, `dropMember` and `reorderMembers`, which keep the state of the
/// event before, tell observers, and note the change with the context. Primitive values skip these steps, as they do
/// for attributes.
///
/// Used on the context's queue, by one object.
final class ToMany {
  let relationship: NSRelationshipDescription
  /// The current members; nil before they are read.
  var members: MemberList?
  /// What a save inserts: for a many-to-many relationship rows of the join table, for the others nothing of this side,
  /// since the column is the member's.
  private(set) var added = MemberList()
  private(set) var removed = MemberList()
  /// The order differs from the store's, or may do so.
  ///
  /// Set by each insertion into an ordered relationship as well, because the new member needs an order of its own. A
  /// save then writes the positions of all members, or of the new ones if the others are unread (`Z_FOK_…` columns of
  /// the members or of the join table).
  var orderChanged = false
  /// The stored members of an ordered relationship, in the store's order; nil while nothing has changed since.
  ///
  /// The lists of changes have no order, so the former one cannot be computed from the members.
  private var storedOrder: [NSManagedObject]?
  /// The members as the program gets them, kept until the next change: `author.books` in a loop makes one set, not one
  /// for each turn.
  private var collection: NSObject?
  /// A mutable view in use, which is told of each change.
  ///
  /// Weak, because the view holds the object, and with it this.
  weak var liveView: MutableRelationshipList?

  /// The state at the beginning of the current event, if it differs from the last saved one.
  ///
  /// Nil in two cases that `hadChangesAtEventStart` tells apart: the event began with the saved state, and then `added`
  /// and `removed` are the changes of the event; or it began with changes, and nothing has changed since.
  private(set) var eventStart: EventStart?
  private var hadChangesAtEventStart = false

  /// The state of the relationship at the beginning of an event.
  ///
  /// Lists share their memory with the relationship's until one of them changes, so making one costs a few retains.
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
  ///
  /// Observers are told of an insertion only if it can be one: `nil` counts as possible, since asking the store would
  /// read all members.
  func knows(_ object: NSManagedObject) -> Bool? {
    if let members { return members.contains(object) }
    if added.contains(object) { return true }
    return removed.contains(object) ? false : nil
  }

  /// Adds a member; false if it is known to be one already.
  ///
  /// Of an object that `removed` has, read members take it out there: the store has it, so there is nothing to write.
  /// Unread ones put it into `added` as well, because it was perhaps never in the store.
  ///
  /// O(1) on average, by `MemberList`'s index.
  @discardableResult
  func insert(_ object: NSManagedObject) -> Bool {
    if let members, members.contains(object) { return false }
    if members == nil && added.contains(object) { return false }
    keepStoredOrder()
    members?.insert(object)
    // It is unknown whether the store has it while the members are not read.
    if !removed.remove(object) || members == nil { added.insert(object) }
    if relationship.isOrdered { orderChanged = true }
    collection = nil
    liveView?.follow(insertionOf: object)
    return true
  }

  /// Removes a member; false if it is known not to be one.
  ///
  /// The mirror image of `insert`. O(1) on average; O(n) in an ordered relationship, whose later members move up.
  @discardableResult
  func remove(_ object: NSManagedObject) -> Bool {
    if let members, !members.contains(object) { return false }
    if members == nil && removed.contains(object) { return false }
    keepStoredOrder()
    members?.remove(object)
    if !added.remove(object) || members == nil { removed.insert(object) }
    collection = nil
    liveView?.follow(removalOf: object)
    return true
  }

  /// Reorders the members.
  ///
  /// - Parameter objects: the present members, each once, in their new order. Membership is not checked: the callers
  ///   have it from `members`.
  func reorder(_ objects: [NSManagedObject]) {
    keepStoredOrder()
    members?.replaceAll(objects)
    orderChanged = true
    collection = nil
    liveView?.follow(objects)
  }

  /// Called before each change. The array is shared with the members until these change.
  private func keepStoredOrder() {
    if relationship.isOrdered && !hasChanges { storedOrder = members?.items }
  }

  /// Sets the stored members and applies the noted changes to them.
  ///
  /// Called at the first reading, with the members in the store's order. What the store has already leaves `added`,
  /// what it lacks leaves `removed`: a save of another context has written the same change meanwhile, and there is
  /// nothing left to write.
  ///
  /// Example, after A was removed and C added while unread; another context may have written the same changes:
  ///
  /// ```text
  /// stored [A, B]   added [C]   removed [A]   ->   members [B, C]   added [C]   removed [A]
  /// stored [B, C]   added [C]   removed [A]   ->   members [B, C]   added []    removed []
  /// ```
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
    storedOrder = relationship.isOrdered && hasChanges ? stored : nil
    collection = nil
    liveView?.follow(list.items)
  }

  /// Drops the members: the next access reads them again and applies the noted changes. Keeps an order that was changed
  /// here.
  ///
  /// Called by a refresh that keeps changes. An order that was changed here would be lost with the members, because the
  /// lists of changes have none: such a relationship stays as it is until the save.
  func unload() {
    guard !(relationship.isOrdered && orderChanged) else { return }
    members = nil
    collection = nil
  }

  /// Drops the members even if their order was changed here: the stored ones come first.
  ///
  /// For a new object that takes over a row with the same unique values: the members of the row are read next, and
  /// those that were added here join them.
  func forgetMembers() {
    members = nil
    collection = nil
  }

  /// Replaces some objects by others.
  ///
  /// For the resolution of a conflict of unique values: the object that was to be inserted gives way to the one with
  /// the row, in every relationship of the context that names it.
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
    storedOrder = storedOrder?.map { others[ObjectIdentifier($0)] ?? $0 }
    if let list = replaced(added) { added = list }
    if let list = replaced(removed) { removed = list }
  }

  /// The last fetched or saved members; nil before they are read.
  ///
  /// Those of an ordered relationship are in the store's order, others in any.
  var committedMembers: [NSManagedObject]? {
    guard let members else { return nil }
    if let storedOrder, hasChanges { return storedOrder }
    return members.items.filter { !added.contains($0) } + removed.items
  }

  /// Clears the changes after a save.
  ///
  /// The store has everything now. The event, too, begins anew with respect to the saved state:
  /// `changedValuesForCurrentEvent()` after a save shows what came since.
  func markSaved() {
    added.removeAll()
    removed.removeAll()
    orderChanged = false
    storedOrder = nil
    eventStart = nil
    hadChangesAtEventStart = false
  }

  /// Marks all members as added: the row is written again, and no store has them.
  ///
  /// Called when undo restores an object whose deletion was saved: its row comes back with the next save, and its join
  /// rows with it.
  func markUnsaved() {
    added = MemberList(members?.items ?? added.items, keepsOrder: false)
    removed.removeAll()
    orderChanged = relationship.isOrdered
    storedOrder = relationship.isOrdered ? [] : nil
  }

  /// The members as an NSSet, or as an NSOrderedSet if the relationship is ordered.
  var asCollection: NSObject {
    if let collection { return collection }
    let made = relationship.collection(of: members?.items ?? [])
    collection = made
    return made
  }

  // MARK: Since the event began

  /// Called before each change. It costs nothing while the last saved state tells the members before the event, unless
  /// the caller also needs the order, which the lists of changes lack.
  ///
  /// Called by `NSManagedObject.willChangeMembers` before each insertion, removal and reordering. Most events begin
  /// with a saved state, and then nothing is copied.
  ///
  /// - Parameter keepsStart: true with an undo manager, which has to put members back at their places.
  @inline(__always)
  func willChange(keepsStart: Bool) {
    if eventStart == nil && (hadChangesAtEventStart || keepsStart) { eventStart = EventStart(self) }
  }

  /// Begins another event. Returns the state at the beginning of the last one, if it differed from the last saved one.
  ///
  /// Called once for each changed object when the context's event ends, before it is posted: an observer that asks for
  /// `changedValuesForCurrentEvent()` finds the former members in `ContextEvent.toManyStarts`.
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
  ///
  /// Both lists of changes are relative to the saved state, so the difference of two moments is the difference of their
  /// lists:
  ///
  /// ```text
  /// at the start   added [X]      removed [Y]
  /// now            added [Z]      removed []
  /// came           Z (new in added), Y (left removed)
  /// went           X (left added)
  /// ```
  ///
  /// - Returns: `came` and `went` without order.
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

extension NSRelationshipDescription {
  /// Objects as the relationship's value in key-value coding: an NSSet, or an NSOrderedSet if it is ordered.
  func collection(of objects: [NSManagedObject]) -> NSObject {
    isOrdered ? NSOrderedSet(array: objects) : NSSet(array: objects)
  }
}

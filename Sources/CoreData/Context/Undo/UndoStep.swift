/// The changes of an event: enough to return to its beginning, however often objects were saved since.
///
/// It has objects and values, not IDs: an object that was deleted and saved has no row, and undoing its deletion
/// inserts it again. Undoing is an event too, from which a step is made in the same way: that is the step for redoing.
struct UndoStep {
  /// Attributes and to-one relationships of one object.
  struct Values {
    let object: NSManagedObject
    /// The values at the beginning of the event.
    let before: Snapshot
    /// The attributes that changed.
    let slots: [Int]
    /// The to-one relationships that changed, with the objects themselves, since a save may change IDs.
    let related: [(slot: Int, object: NSManagedObject?)]
  }

  /// A to-many relationship of one object.
  struct Members {
    let object: NSManagedObject
    let index: Int
    let came: [NSManagedObject]
    let went: [NSManagedObject]
    /// All members in order at the beginning of the event, for an ordered relationship.
    let order: [NSManagedObject]?
  }

  /// The new objects: undoing deletes them.
  private(set) var inserted: [NSManagedObject]
  /// The deleted objects: undoing revives them.
  private(set) var deleted: [NSManagedObject]
  /// The stores to which deleted objects were assigned that have no row.
  private(set) var assignedStores: [(object: NSManagedObject, store: any ObjectStore)]
  private(set) var values: [Values] = []
  private(set) var members: [Members] = []

  /// Whether there is nothing to undo: an event may consist of merges and refreshes alone.
  var isEmpty: Bool { inserted.isEmpty && deleted.isEmpty && values.isEmpty && members.isEmpty }

  /// Reads the step out of an event that is about to end. The context's objects still have the values after the event;
  /// the event has those before it, where they differ from the saved ones.
  init(_ event: ContextEvent, in context: NSManagedObjectContext) {
    // Merged changes are in the event too, but have none of these states.
    inserted = (event.inserted.items + event.revived.items).filter { $0.isInserted || event.revived.contains($0) }
    deleted = event.deleted.items.filter { $0.isDeleted && !$0.state.contains(.gone) }
    // The context forgets a new object, and with it the store, when the event has ended.
    assignedStores = deleted.compactMap { object in
      context.changes.assignedStore(of: object).map { (object, $0) }
    }
    for object in event.updated.items where object.hasChanges { add(object, event.start(of: object), context) }
    for object in deleted { add(object, event.start(of: object), context) }
  }

  /// Adds what changed of one object. Of a deleted one all to-one relationships are kept: its values stay as they are
  /// while its partners are saved and get other IDs.
  private mutating func add(_ object: NSManagedObject, _ start: Snapshot?, _ context: NSManagedObjectContext) {
    if let snapshot = object.snapshot {
      // A deleted object does not learn the IDs that its partners get meanwhile.
      let before = start ?? snapshot
      var slots: [Int] = []
      var related: [(Int, NSManagedObject?)] = []
      for slot in object.layout.slots.indices where object.isDeleted || !before.isEqual(snapshot, slot: slot) {
        if object.layout.slots[slot].kind == .toOne {
          related.append((slot, before.related(slot).flatMap { context.object(for: $0, from: object, slot: slot) }))
        } else if !before.isEqual(snapshot, slot: slot) {
          slots.append(slot)
        }
      }
      if !slots.isEmpty || !related.isEmpty {
        values.append(Values(object: object, before: before, slots: slots, related: related))
      }
    }
    for (index, toMany) in object.toManys.enumerated() {
      guard let toMany else { continue }
      let (came, went) = toMany.changesInEvent
      let order = toMany.relationship.isOrdered ? toMany.eventStart?.members : nil
      if came.isEmpty && went.isEmpty && (order == nil || order == toMany.members?.items) { continue }
      members.append(Members(object: object, index: index, came: came, went: went, order: order))
    }
  }
}

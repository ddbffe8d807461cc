/// The changes of an event: enough to return to its beginning, however often objects were saved since.
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

  private(set) var inserted: [NSManagedObject]
  private(set) var deleted: [NSManagedObject]
  private(set) var values: [Values] = []
  private(set) var members: [Members] = []

  var isEmpty: Bool { inserted.isEmpty && deleted.isEmpty && values.isEmpty && members.isEmpty }

  init(_ event: ContextEvent, in context: NSManagedObjectContext) {
    // Merged changes are in the event too, but have none of these states.
    inserted = (event.inserted.items + event.revived.items).filter { $0.isInserted || event.revived.contains($0) }
    deleted = event.deleted.items.filter { $0.isDeleted && !$0.state.contains(.gone) }
    for object in event.updated.items where object.hasChanges { add(object, event.start(of: object), context) }
    for object in deleted { add(object, event.start(of: object), context) }
  }

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

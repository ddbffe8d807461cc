/// The changes since the last save, and in the current event.
extension NSManagedObject {
  /// The new values of the properties that were set since the last fetch or save, by name; NSNull for nil.
  ///
  /// It reads the members of to-many relationships that changed, through whichever end, and fires no other fault.
  ///
  /// ```swift
  /// book.title = "Emma"
  /// let names = book.changedValues().keys.sorted()  // ["title"]
  /// ```
  ///
  /// Properties that were set to an equal value are left out; transient ones are included. Of a new object it has what
  /// differs from the default values.
  ///
  /// It compares the slots of the last fetched or saved row with the present ones: O(properties), without a query
  /// unless to-many relationships changed through their other end. Call it on the context's queue, mostly in
  /// `willSave()`.
  ///
  /// To-many relationships are there with all their members, ordered ones as an `NSOrderedSet`; ask
  /// `committedValues(forKeys:)` for the former ones.
  ///
  /// Source: Apple's documentation of `changedValues()`.
  public final func changedValues() -> [String: Any] {
    checkQueue()
    var changes: [String: Any] = [:]
    guard hasChanges, !state.contains(.unborn) else { return changes }
    if let snapshot { addChangedSlots(of: snapshot, to: &changes) }
    for index in toManys.indices where toManys[index]?.hasChanges == true {
      // Reading shows whether the store has the change already.
      let toMany = toMany(index)
      if toMany.hasChanges { changes[toMany.relationship.name] = toMany.asCollection }
    }
    return changes
  }

  /// A changed object has a committed row; one without has changes of to-many relationships only. A new object has none
  /// either, and is compared with the defaults.
  private func addChangedSlots(of snapshot: Snapshot, to changes: inout [String: Any]) {
    for (index, slot) in layout.slots.enumerated() {
      if let committed {
        if committed.isEqual(snapshot, slot: index) { continue }
      } else if !isInserted || layout.defaults.isEqual(snapshot, slot: index) {
        continue
      }
      changes[slot.name] = (slot.kind == .toOne ? related(index) : snapshot.value(index)) ?? NSNull()
    }
  }

  /// The last fetched or saved values of the named persistent properties, or of all attributes and to-one relationships
  /// for nil; NSNull for nil. To-many relationships are included if they are named, ordered ones as an `NSOrderedSet`.
  ///
  /// ```swift
  /// let before = book.committedValues(forKeys: ["title"])["title"] as? String
  /// ```
  ///
  /// A new object has none, so the result is empty. It fills a fault.
  ///
  /// The values are those that this context has fetched or saved. Another process may have written since:
  /// `refresh(_:mergeChanges:)` reads the store's present values.
  ///
  /// ```swift
  /// book.pages += 10
  /// let before = book.committedValues(forKeys: ["pages"])["pages"] as? Int ?? 0
  /// print(Int(book.pages) - before)  // 10
  /// ```
  ///
  /// It costs a query for each named to-many relationship that is unread. Call it on the context's queue.
  ///
  /// - Parameter keys: names of properties. Unknown ones are passed over.
  ///
  /// Source: Apple's documentation of `committedValues(forKeys:)`.
  public final func committedValues(forKeys keys: [String]?) -> [String: Any] {
    var values: [String: Any] = [:]
    _ = access()
    for (name, location) in layout.locations where keys?.contains(name) ?? true {
      switch location {
      case .slot(let slot) where !layout.slots[slot].isTransient:
        guard !isInserted, let stored = committed ?? snapshot else { continue }
        let value: Any? =
          layout.slots[slot].kind == .toOne
          ? stored.related(slot).flatMap { reference?.context?.object(for: $0, from: self, slot: slot) }
          : stored.value(slot)
        values[name] = value ?? NSNull()
      case .toMany(let index) where !isInserted && keys != nil:
        let toMany = toMany(index)
        values[name] = toMany.relationship.collection(of: toMany.committedMembers ?? [])
      default: continue
      }
    }
    return values
  }

  /// Whether a save would write a property. Unlike `hasChanges` it ignores properties that were set to an equal value,
  /// and transient ones. True for new and deleted objects. A program that sets properties from outside data can thus
  /// avoid a save that writes nothing new: `refresh(_:mergeChanges:)` with false makes such an object clean.
  ///
  /// ```swift
  /// book.title = "Emma"  // as it was before
  /// if !book.hasPersistentChangedValues { context.refresh(book, mergeChanges: false) }
  /// ```
  ///
  /// It stops at the first difference and reads nothing from the store. Members of to-many relationships that were
  /// added and removed again count until they are read. Call it on the context's queue.
  ///
  /// Source: Apple's documentation of `hasPersistentChangedValues`.
  public final var hasPersistentChangedValues: Bool {
    checkQueue()
    // A deleted object may be a fault, which has no values to compare.
    if isInserted || isDeleted { return true }
    if hasChanges, let snapshot, hasChangedSlots(snapshot) { return true }
    return toManys.contains { $0?.hasChanges ?? false }
  }

  /// For an object of which only the row counts, such as one that a merge policy looks at.
  final func hasChangedSlots(_ snapshot: Snapshot) -> Bool {
    guard let committed else { return false }
    return layout.slots.indices.contains { !layout.slots[$0].isTransient && !committed.isEqual(snapshot, slot: $0) }
  }

  // MARK: In the current event

  /// The old values of the properties that changed since `NSManagedObjectContextObjectsDidChange` was last posted;
  /// NSNull for nil.
  ///
  /// ```swift
  /// let token = NotificationCenter.default.addObserver(
  ///   forName: .NSManagedObjectContextObjectsDidChange, object: context, queue: nil
  /// ) { notification in
  ///   for object in notification.userInfo?[NSUpdatedObjectsKey] as? Set<NSManagedObject> ?? [] {
  ///     print("before:", object.changedValuesForCurrentEvent())
  ///   }
  /// }
  /// defer { NotificationCenter.default.removeObserver(token) }
  /// ```
  ///
  /// Observers of that notification see the values from before the event that it reports. It reads the members of
  /// to-many relationships that changed, and fires no other fault.
  ///
  /// An event begins when the one before was posted: at `processPendingChanges()`, a save, and on the main queue at the
  /// end of the turn. Outside of an event, and for an object that did not change in it, the result is empty. Values are
  /// those from the beginning of the event, where `committedValues(forKeys:)` gives those of the last save.
  ///
  /// ```text
  /// title = "Emma"           save          title = "Sanditon"        event posted   title = "Persuasion"
  /// committedValues                        "Emma"                                   "Emma"
  /// changedValuesForCurrentEvent           ["title": "Emma"]                        ["title": "Sanditon"]
  /// ```
  ///
  /// It costs a copy of an object's values at its first change in an event, if the object had changes before; nothing
  /// else is kept. Call it on the context's queue.
  ///
  /// Source: Apple's documentation of `changedValuesForCurrentEvent()`.
  public final func changedValuesForCurrentEvent() -> [String: Any] {
    checkQueue()
    var changes: [String: Any] = [:]
    guard let context = reference?.context, let event = context.currentEvent(of: self) else { return changes }
    if let snapshot, let start = event.start(of: self) {
      for (index, slot) in layout.slots.enumerated() where !start.isEqual(snapshot, slot: index) {
        let value: Any? =
          slot.kind == .toOne
          ? start.related(index).flatMap { context.object(for: $0, from: self, slot: index) } : start.value(index)
        changes[slot.name] = value ?? NSNull()
      }
    }
    for index in toManys.indices where toManys[index]?.hasChanges == true || toManys[index]?.members != nil {
      let toMany = toMany(index)
      let start = event.isOver ? event.toManyStarts[ObjectIdentifier(toMany)] : toMany.eventStart
      let (came, went) = event.isOver ? toMany.changes(since: start) : toMany.changesInEvent
      let isReordered =
        toMany.relationship.isOrdered && start?.members != nil && start?.members != toMany.members?.items
      if came.isEmpty && went.isEmpty && !isReordered { continue }
      let absent = MemberList(came, keepsOrder: false)
      let members = start?.members ?? (toMany.members?.items ?? []).filter { !absent.contains($0) } + went
      changes[toMany.relationship.name] = toMany.relationship.collection(of: members)
    }
    return changes
  }
}

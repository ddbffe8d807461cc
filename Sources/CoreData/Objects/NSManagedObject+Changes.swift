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
  /// for nil; NSNull for nil. To-many relationships are included if they are named.
  ///
  /// ```swift
  /// let before = book.committedValues(forKeys: ["title"])["title"] as? String
  /// ```
  ///
  /// A new object has none, so the result is empty. It fills a fault.
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
        values[name] = NSSet(array: toMany(index).committedMembers ?? [])
      default: continue
      }
    }
    return values
  }

  /// Whether a save would write a property. Unlike `hasChanges` it ignores properties that were set to an equal value,
  /// and transient ones. True for new and deleted objects. A program that sets properties from outside data can thus
  /// avoid a save without content: `refresh(_:mergeChanges:)` with false makes such an object clean.
  ///
  /// ```swift
  /// book.title = "Emma"  // as it was before
  /// if !book.hasPersistentChangedValues { context.refresh(book, mergeChanges: false) }
  /// ```
  public final var hasPersistentChangedValues: Bool {
    checkQueue()
    guard hasChanges, let snapshot else { return toManys.contains { $0?.hasChanges ?? false } }
    if isInserted || isDeleted { return true }
    return hasChangedSlots(snapshot) || toManys.contains { $0?.hasChanges ?? false }
  }

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
      changes[toMany.relationship.name] =
        toMany.relationship.isOrdered ? NSOrderedSet(array: members) : NSSet(array: members)
    }
    return changes
  }
}

/// Fills faults and turns objects into faults.
///
/// How one property is read, from the cheapest case to the most expensive:
///
/// ```text
/// object.title
///   └ access(slot:)            no bit of fault, isChecked: the slot is there
///       └ prepareReading       the row came with the fetch and no hook has to run: clear `fault`
///           └ batch.values     a fetch of some properties left this one: no filling at all
///           └ prepareAccess    check the queue; an unborn object takes the defaults
///               └ fill         batch of neighbours, then context.storedRow: parent, row cache, store
///                   └ fillInaccessible   no row, or an error: a deleted object with nil values, or a trap
/// ```
///
/// Everything below the first line is in functions that are not inlined, so that the accessors of a program have the
/// one test and nothing else.
extension NSManagedObject {
  /// The values. It fills a fault and checks the queue; every access to a property passes through it.
  ///
  /// Invariant: afterwards `snapshot` is not nil and `fault` is clear, whatever the store said. A missing or unreadable
  /// row leaves a snapshot of nils or traps, as the context's
  /// `shouldHandleInaccessibleFault(_:for:triggeredByProperty:)` says.
  ///
  /// Fires `awakeFromFetch()`, which may come back here: `fault` is cleared before the call.
  @inline(__always)
  final func access() -> Snapshot {
    if !state.isDisjoint(with: [.fault, .isChecked]) { prepareAccess() }
    // Filling always leaves a snapshot, even if the row is missing.
    return snapshot.unsafelyUnwrapped
  }

  /// The values for reading one slot, which a partial fault may have without being filled.
  ///
  /// Of a full object it is `access()`. The two differ for a fault with a `batch` that has values
  /// (`propertiesToFetch`): reading a named property leaves it a fault.
  @inline(__always)
  final func access(slot: Int) -> Snapshot {
    if !state.isDisjoint(with: [.fault, .isChecked]), let fetched = prepareReading(slot) { return fetched }
    return snapshot.unsafelyUnwrapped
  }

  /// Like `access(slot:)` for typed reading: the slots themselves, without reference counting. The object keeps them.
  ///
  /// The pointer is valid as long as the object keeps the snapshot: use it at once, before any call that could change,
  /// refresh or fill the object.
  @inline(__always)
  final func accessSlots(reading slot: Int) -> UnsafeMutablePointer<SnapshotSlot> {
    if !state.isDisjoint(with: [.fault, .isChecked]), let fetched = prepareReading(slot) { return fetched.slots }
    return snapshot.unsafelyUnwrapped.slots
  }

  /// The values of a partial fetch if they include the slot. Otherwise it fills the object.
  ///
  /// Nil means: read `snapshot`, which is there now. A value means: read that one, the object stays a fault.
  ///
  /// The first test is the common case of a loop over a fetch's results, taken out of `prepareAccess` because it needs
  /// neither the queue check nor a call of the class: the state has no other bit, and `layout.wakes` says that the
  /// class does not override `awakeFromFetch()` and no transient attribute has to be reset.
  @inline(never)
  private final func prepareReading(_ slot: Int) -> Snapshot? {
    // The first reading after a fetch.
    if state == .fault && snapshot != nil && !layout.wakes {
      state = []
      return nil
    }
    if snapshot == nil, let fetched = batch?.values(having: slot), reference?.context != nil {
      checkQueue()
      return fetched
    }
    prepareAccess()
    return nil
  }

  /// Traps if the current thread may not use the object and the check is on.
  ///
  /// Called by what reads no slot as well: `description`, `changedValues()`, `primitiveValue(forKey:)`. The bit is set
  /// for each object of a process with the launch argument, so that other processes pay a test of a word that they load
  /// anyway.
  @inline(__always)
  final func checkQueue() {
    if state.contains(.isChecked) { ConcurrencyDebug.check(self) }
  }

  /// The order matters: the fault bit goes before `awakeFromFetch()`, since an override reads properties; `isQuiet`
  /// holds while it runs, so that what it sets is neither recorded nor sets inverses; `ownsSnapshot` goes afterwards,
  /// so that the values that it set become the base of later changes and `changedValues()` does not list them.
  ///
  /// `awakeFromFetch()` does not run for a new object and for one whose row is missing: neither has values from the
  /// store.
  @inline(never)
  private final func prepareAccess() {
    checkQueue()
    guard state.contains(.fault) else { return }
    if state.contains(.unborn) {
      snapshot = layout.defaults
      state.subtract([.fault, .unborn])
      return
    }
    if snapshot == nil { fill() }
    state.remove(.fault)
    guard state.isDisjoint(with: [.gone, .inserted]) else { return }
    if layout.hasTransients { resetTransients() }
    state.insert(.isQuiet)
    awakeFromFetch()
    // The values that it set are the base of later changes: the next change makes a copy.
    state.subtract([.isQuiet, .ownsSnapshot])
  }

  /// Gives transient attributes their default values. A row has none, and that of a parent has the parent's.
  ///
  /// Called whenever an object gets a row: by `prepareAccess`, and by `reread` where only to-many relationships had
  /// changed. The copy is made only if there is something to reset, because a copied row is memory of its own for each
  /// object.
  final func resetTransients() {
    guard layout.hasTransientDefaults || reference?.context?.parentContext != nil, let row = snapshot else { return }
    // The row is shared with other contexts.
    let privateRow = row.copy()
    for slot in layout.slots.indices where layout.slots[slot].isTransient {
      privateRow.assign(slot: slot, from: layout.defaults)
    }
    snapshot = privateRow
  }

  /// Tells the object that its values were replaced. Like `awakeFromFetch()` it may change them without a record.
  ///
  /// Called by undo, roll-back, refresh with changes, and merge policies, each after it has replaced the values of all
  /// its objects: an override may look at related ones.
  ///
  /// `ownsSnapshot` keeps its value: an object that was clean before stays so although the override has set something.
  final func awake(_ event: NSSnapshotEventType) {
    let ownedSnapshot = state.contains(.ownsSnapshot)
    state.insert(.isQuiet)
    awakeFromSnapshotEvents(event)
    state.remove(.isQuiet)
    if !ownedSnapshot { state.remove(.ownsSnapshot) }
  }

  /// The sources in this order: nothing for an object that left (`gone`), the defaults for a new one, the neighbours of
  /// the fetch's batch in one query, the context's row (`storedRow`: parent, row cache, store). Leaves `snapshot` set.
  ///
  /// Objects do not retain their context. If it was freed, nothing can be read any more, and nil would be a wrong
  /// answer: it traps.
  private final func fill() {
    if state.contains(.gone) {
      snapshot = Snapshot.make(layout)
      return
    }
    if isInserted {
      // A refresh dropped the values of a new object, which has no row.
      snapshot = layout.defaults.copy()
      state.insert(.ownsSnapshot)
      return
    }
    guard let context = reference?.context else {
      fatalError("The values of \(objectID) cannot be read: its context is gone.")
    }
    batch?.fill(in: context)
    batch = nil
    if snapshot != nil { return }
    do {
      snapshot = try context.storedRow(objectID)
      if snapshot == nil { context.fillInaccessible(self, nil) }
    } catch {
      context.fillInaccessible(self, error)
    }
  }

  /// Gives the object its row's values without waking it. It stays a fault, and filling it costs nothing.
  ///
  /// Called by code that has read the row for another reason: prefetching, `existingObject(with:)`, a merge policy, a
  /// refetch. An object with changes keeps the row that these are based on: a newer base would hide the conflict from
  /// the next save.
  final func supply(_ stored: Snapshot) {
    if state.contains(.fault) && committed == nil { snapshot = stored }
  }

  /// Drops values and changes. The next access reads them again.
  ///
  /// Called by `refresh(_:mergeChanges:)` and `refreshAllObjects()`. An unborn object has nothing to drop and nothing
  /// to read again.
  final func turnIntoFault() {
    guard !state.contains(.unborn) else { return }
    willTurnIntoFault()
    forgetValues()
    didTurnIntoFault()
  }

  /// Without the two hooks: for a merge, which reads the values again at once, and for an object that comes back after
  /// the program released it. A batch of neighbours stays, so that the object is read with them; values of a partial
  /// fetch go, since they may be old.
  ///
  /// It does not touch the context's lists: the caller withdraws the object's changes, if it had any.
  final func forgetValues() {
    snapshot = nil
    committed = nil
    toManys = []
    if batch?.values != nil { batch = nil }
    state.insert(.fault)
    state.remove(.ownsSnapshot)
  }

  /// Makes the snapshot this object's own and tells the context of the change.
  ///
  /// Every setter passes here before it writes a slot: accessors, key-value coding, the other end of a relationship,
  /// undo. Invariant afterwards: `snapshot` is the object's own, and the context has the object among its changes,
  /// unless `isQuiet`.
  ///
  /// The test of the bits answers for the second and further changes of an object in one event, and for every change of
  /// a new object whose insertion is in the same event: that is an import, which sets each attribute of each object
  /// once.
  @inline(__always)
  final func willEdit() {
    // Most changes follow another one of the same event.
    if state.isSuperset(of: [.isNoted, .ownsSnapshot]) && state.isDisjoint(with: [.fault, .isChecked])
      && !state.isDisjoint(with: [.updated, .inserted])
    {
      return
    }
    beginEdit()
  }

  /// `noteUpdate` comes before the copy: it keeps the values from the beginning of the event
  /// (`ContextEvent.keepStart`), which are those of the snapshot that is still shared.
  @inline(never)
  private final func beginEdit() {
    let current = access()
    if !state.contains(.isQuiet) { reference?.context?.noteUpdate(self) }
    if !state.contains(.ownsSnapshot) { ownSnapshot(current) }
  }

  /// Replaces the shared snapshot by a copy.
  ///
  /// `committed` is set at the first change since the last fetch or save only. A new object has no row to compare with,
  /// and what `awakeFromFetch()` sets is no change.
  @inline(__always)
  private final func ownSnapshot(_ current: Snapshot) {
    let copy = current.copy()
    if state.isDisjoint(with: [.inserted, .isQuiet]) && !hasCommitted { committed = current }
    snapshot = copy
    state.insert(.ownsSnapshot)
  }

  /// Copies the value of a slot that is not a relationship.
  ///
  /// For undo, which puts back one slot of a former snapshot. The value is retained or copied as bytes, without a
  /// detour through `Any`.
  final func set(slot: Int, from other: Snapshot) {
    let observed = willChangeObserved(layout.slots[slot].name)
    willEdit()
    snapshot.unsafelyUnwrapped.assign(slot: slot, from: other)
    observed?.finish()
  }

  /// Reads the values, and the members of all relationships.
  ///
  /// Called before a deletion that undo may take back, and by undo itself: once the deletion is saved there is no row
  /// to read values or members from.
  final func loadAll() {
    _ = access()
    guard !state.contains(.gone) else { return }
    for index in layout.toManys.indices { _ = toMany(index) }
  }

  /// Makes the snapshot this object's own without telling the context. A later recorded change includes this one.
  ///
  /// For `setPrimitiveValue(_:forKey:)`: without a note the context does not save the object for it, but if something
  /// else marks the object, `committed` tells the difference and the value is written too.
  final func willEditPrimitively() {
    let current = access()
    if !state.contains(.ownsSnapshot) { ownSnapshot(current) }
  }

  /// Fills the object if it is a fault. Handwritten accessors call it before they read a primitive value, which of a
  /// fault is nil.
  ///
  /// ```swift
  /// final class Note: NSManagedObject {
  ///   var text: String? {
  ///     willAccessValue(forKey: "text")
  ///     defer { didAccessValue(forKey: "text") }
  ///     return primitiveValue(forKey: "text") as? String
  ///   }
  /// }
  /// ```
  ///
  /// Generated accessors, `@NSManaged` and `value(forKey:)` need no such call. It costs nothing for an object with
  /// values, and for a fault what filling costs: nothing further if the fetch brought the row, else a query. Call it on
  /// the context's queue; it traps for a fault whose context was freed.
  ///
  /// Source: Apple's documentation of `willAccessValue(forKey:)`.
  ///
  /// - Parameter key: the property's name; the whole object is filled, whatever it is.
  public final func willAccessValue(forKey key: String?) { _ = access() }

  /// Comes after an access in handwritten accessors, as on Apple's platforms. Does nothing.
  ///
  /// Apple's framework may free what it held for the access; here nothing is held. Keep the call in code that is
  /// compiled for both.
  ///
  /// Source: Apple's documentation of `didAccessValue(forKey:)`.
  public final func didAccessValue(forKey key: String?) {}
}

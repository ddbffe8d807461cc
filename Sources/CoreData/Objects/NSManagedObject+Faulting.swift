/// Fills faults and turns objects into faults.
extension NSManagedObject {
  /// The values. It fills a fault and checks the queue; every access to a property passes through it.
  @inline(__always)
  final func access() -> Snapshot {
    if !state.isDisjoint(with: [.fault, .isChecked]) { prepareAccess() }
    // Filling always leaves a snapshot, even if the row is missing.
    return snapshot.unsafelyUnwrapped
  }

  /// The values for reading one slot, which a partial fault may have without being filled.
  @inline(__always)
  final func access(slot: Int) -> Snapshot {
    if !state.isDisjoint(with: [.fault, .isChecked]), let fetched = prepareReading(slot) { return fetched }
    return snapshot.unsafelyUnwrapped
  }

  /// Like `access(slot:)` for typed reading: the slots themselves, without reference counting. The object keeps them.
  @inline(__always)
  final func accessSlots(reading slot: Int) -> UnsafeMutablePointer<SnapshotSlot> {
    if !state.isDisjoint(with: [.fault, .isChecked]), let fetched = prepareReading(slot) { return fetched.slots }
    return snapshot.unsafelyUnwrapped.slots
  }

  /// The values of a partial fetch if they include the slot. Otherwise it fills the object.
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
  @inline(__always)
  final func checkQueue() {
    if state.contains(.isChecked) { ConcurrencyDebug.check(self) }
  }

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
  final func awake(_ event: NSSnapshotEventType) {
    let ownedSnapshot = state.contains(.ownsSnapshot)
    state.insert(.isQuiet)
    awakeFromSnapshotEvents(event)
    state.remove(.isQuiet)
    if !ownedSnapshot { state.remove(.ownsSnapshot) }
  }

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
  final func supply(_ stored: Snapshot) {
    if state.contains(.fault) && committed == nil { snapshot = stored }
  }

  /// Drops values and changes. The next access reads them again.
  final func turnIntoFault() {
    guard !state.contains(.unborn) else { return }
    willTurnIntoFault()
    forgetValues()
    didTurnIntoFault()
  }

  final func forgetValues() {
    snapshot = nil
    committed = nil
    toManys = []
    if batch?.values != nil { batch = nil }
    state.insert(.fault)
    state.remove(.ownsSnapshot)
  }

  /// Makes the snapshot this object's own and tells the context of the change.
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

  @inline(never)
  private final func beginEdit() {
    let current = access()
    if !state.contains(.isQuiet) { reference?.context?.noteUpdate(self) }
    if !state.contains(.ownsSnapshot) { ownSnapshot(current) }
  }

  /// Replaces the shared snapshot by a copy.
  @inline(__always)
  private final func ownSnapshot(_ current: Snapshot) {
    let copy = current.copy()
    if state.isDisjoint(with: [.inserted, .isQuiet]) && !hasCommitted { committed = current }
    snapshot = copy
    state.insert(.ownsSnapshot)
  }

  /// Copies the value of a slot that is not a relationship.
  final func set(slot: Int, from other: Snapshot) {
    let observed = willChangeObserved(layout.slots[slot].name)
    willEdit()
    snapshot.unsafelyUnwrapped.assign(slot: slot, from: other)
    observed?.finish()
  }

  /// Reads the values, and the members of all relationships.
  final func loadAll() {
    _ = access()
    guard !state.contains(.gone) else { return }
    for index in layout.toManys.indices { _ = toMany(index) }
  }

  /// Makes the snapshot this object's own without telling the context. A later recorded change includes this one.
  final func willEditPrimitively() {
    let current = access()
    if !state.contains(.ownsSnapshot) { ownSnapshot(current) }
  }

  /// Fills the object if it is a fault. Handwritten accessors call it before they read a primitive value, which of a
  /// fault is nil.
  ///
  /// - Parameter key: the property's name; the whole object is filled, whatever it is.
  public final func willAccessValue(forKey key: String?) { _ = access() }

  /// Comes after an access in handwritten accessors, as on Apple's platforms. Does nothing.
  public final func didAccessValue(forKey key: String?) {}
}

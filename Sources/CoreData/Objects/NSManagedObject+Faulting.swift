/// From fault to values and back.
extension NSManagedObject {
  /// The values, after filling a fault and checking the queue. Every access to a property comes through here.
  @inline(__always)
  final func access() -> Snapshot {
    if !state.isDisjoint(with: [.fault, .isChecked]) { prepareAccess() }
    // Filling leaves a snapshot, whatever happened to the row.
    return snapshot.unsafelyUnwrapped
  }

  /// The values for reading one slot: a fault may have it without being filled.
  @inline(__always)
  final func access(slot: Int) -> Snapshot {
    if !state.isDisjoint(with: [.fault, .isChecked]), let fetched = prepareReading(slot) { return fetched }
    return snapshot.unsafelyUnwrapped
  }

  /// As `access(slot:)`, for typed reading: the slots themselves, with nothing counted.
  @inline(__always)
  final func accessSlots(reading slot: Int) -> UnsafeMutablePointer<SnapshotSlot> {
    if !state.isDisjoint(with: [.fault, .isChecked]), let fetched = prepareReading(slot) { return fetched.slots }
    return slots.unsafelyUnwrapped
  }

  /// What a fetch of some properties left, if the slot is among it; else the object has all its values after this.
  @inline(never)
  private final func prepareReading(_ slot: Int) -> Snapshot? {
    if snapshot == nil, let fetched = batch?.values(having: slot), reference?.context != nil {
      checkQueue()
      return fetched
    }
    prepareAccess()
    return nil
  }

  /// Traps where the thread may not use the object, if that is checked.
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
    guard !state.contains(.gone) else { return }
    state.insert(.isQuiet)
    awakeFromFetch()
    // What it changed is where later changes start from: the next one makes a copy.
    state.subtract([.isQuiet, .ownsSnapshot])
  }

  /// Tells the object that its values were replaced. Like `awakeFromFetch()`, it may change them unseen.
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
    guard let context = reference?.context else {
      fatalError(
        "The values of \(objectID) cannot be read: its context is gone, was reset, or the object was deleted.")
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

  /// Gives the object its row's values without waking it; it stays a fault whose firing costs nothing.
  final func supply(_ stored: Snapshot) {
    if state.contains(.fault) && committed == nil { snapshot = stored }
  }

  /// Forgets values and changes: the next access reads them anew.
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

  /// Makes the snapshot this object's own, and the context know of the change.
  final func willEdit() {
    let current = access()
    if !state.contains(.isQuiet) { reference?.context?.noteUpdate(self) }
    if !state.contains(.ownsSnapshot) {
      if state.isDisjoint(with: [.inserted, .isQuiet]) && committed == nil { committed = current }
      snapshot = current.copy()
      state.insert(.ownsSnapshot)
    }
  }

  /// Takes over the value of a slot that is no relationship.
  final func set(slot: Int, from other: Snapshot) {
    let observed = willChangeObserved(layout.slots[slot].name)
    willEdit()
    snapshot.unsafelyUnwrapped.assign(slot: slot, from: other)
    observed?.finish()
  }

  /// Reads the values and the members of all relationships.
  final func loadAll() {
    _ = access()
    guard !state.contains(.gone) else { return }
    for index in layout.toManys.indices { _ = toMany(index) }
  }

  /// Makes the snapshot this object's own without telling anybody; a later change of the object takes this one along.
  final func willEditPrimitively() {
    let current = access()
    guard !state.contains(.ownsSnapshot) else { return }
    if state.isDisjoint(with: [.inserted, .isQuiet]) && committed == nil { committed = current }
    snapshot = current.copy()
    state.insert(.ownsSnapshot)
  }

  /// Fills the object if it is a fault; the entry point of Core Data's own accessors.
  public final func willAccessValue(forKey key: String?) { _ = access() }

  /// Does nothing; comes after an access in accessors that one writes oneself.
  public final func didAccessValue(forKey key: String?) {}
}

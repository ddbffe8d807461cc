/// The values of one row or object: a slot of sixteen bytes for each attribute and to-one relationship, typed by the
/// layout.
///
/// Only its creator writes it before it is shared, or the one object that owns it. After that it is immutable, and the
/// row cache and contexts pass it on as it is.
final class Snapshot: ManagedBuffer<Snapshot.Header, SnapshotSlot> {
  struct Header {
    let layout: EntityLayout
    /// `Z_OPT` of the row; 0 for an object that is not saved.
    var version: Int64
  }

  /// A snapshot without values.
  static func make(_ layout: EntityLayout, version: Int64 = 0) -> Snapshot {
    let buffer = Snapshot.create(minimumCapacity: layout.slotCount) { _ in Header(layout: layout, version: version) }
    let snapshot = unsafeDowncast(buffer, to: Snapshot.self)
    // Nil holds no reference in any kind of slot, so its bytes can be copied.
    snapshot.slots.initialize(from: layout.nilSlots, count: layout.slotCount)
    return snapshot
  }

  deinit {
    let layout = header.layout
    let slots = self.slots
    for index in layout.referenceSlots { slots[index].release(layout.slots[index].kind) }
  }

  var layout: EntityLayout { header.layout }

  var version: Int64 {
    get { header.version }
    set { header.version = newValue }
  }

  /// The slots, which stay at their address as long as the snapshot lives.
  @inline(__always)
  var slots: UnsafeMutablePointer<SnapshotSlot> { withUnsafeMutablePointerToElements { $0 } }

  func copy() -> Snapshot {
    let layout = header.layout
    let copy = Snapshot.make(layout, version: header.version)
    let mine = slots
    let theirs = copy.slots
    theirs.update(from: mine, count: layout.slotCount)
    // The bytes are copied; their references have one more owner.
    for index in layout.referenceSlots { theirs[index].retain(layout.slots[index].kind) }
    return copy
  }

  func isNil(_ slot: Int) -> Bool { slots[slot].isNil(header.layout.slots[slot].kind) }

  func setNil(_ slot: Int) { slots[slot].setNil(header.layout.slots[slot].kind) }

  // MARK: Typed access; the caller knows the slot's kind

  /// Writes a slot that is nil.
  @inline(__always)
  func initialize<T: SlotValue>(slot: Int, to value: T) { T.initialize(slots + slot, to: value) }

  /// Writes a slot that may hold a value.
  @inline(__always)
  func assign<T: SlotValue>(slot: Int, to value: T) { T.assign(slots + slot, value) }

  /// The slot's value, or nil.
  @inline(__always)
  func load<T: SlotValue>(_ slot: Int, as type: T.Type) -> T? { T.load(slots + slot) }

  func related(_ slot: Int) -> RelatedKey? { load(slot, as: RelatedKey.self) }
}

/// The content of a to-one slot: a row of the same store, or an unsaved object.
struct RelatedKey: Hashable {
  /// `Z_PK`, or the negative number of a temporary ID. Never 0.
  var key: Int64
  /// `Z_ENT`, or 0 for a temporary one.
  var number: Int64
}

/// A value that is too large or too varied to be in the slot itself.
///
/// `@unchecked Sendable`: the value never changes. Core Data requires that transformable values are treated as
/// immutable.
final class Boxed: @unchecked Sendable {
  let value: Any
  init(_ value: Any) { self.value = value }
}

/// The values of one row or object: a slot of sixteen bytes for each attribute and to-one relationship, typed by the
/// layout.
///
/// It refers to its row, which lies in a slab with others or alone; copies of the structure are the same row. Only its
/// creator writes a row before it is shared, or the one object that owns it. After that it is immutable, and the row
/// cache and contexts pass it on as it is.
///
/// A book in memory, read from a file:
///
/// ```text
/// slab   ┌ Header: layout of Book, bytes used, whether a slot holds a reference
///        ├ RowStart   version 2, byteCount 96
///        │ slot 0     author   key 1         number 1
///        │ slot 1     isRead   1             1 (there is a value)
///        │ slot 2     pages    342           1
///        │ slot 3     title    distance,     mark: the text lies behind the slots
///        │                     length 16
///        │ The Dispossessed    its bytes, in UTF-8
///        ├ RowStart   the next row …
/// ```
///
/// Who may write: the reader while it fills the row; the object that owns a row alone in its slab (`ownsSnapshot`),
/// after it has copied it for its first change. Everybody else only reads, on any thread.
///
/// ```text
/// row cache ──┐
/// context A ──┼── the same row: a fetch of 1,000 objects that are cached copies nothing
/// context B ──┘
///             └── A changes the book: A copies the row, and owns the copy; B and the cache keep theirs
/// ```
@usableFromInline
package struct Snapshot {
  @usableFromInline let slab: RowSlab
  /// The slots, which stay at their address as long as the slab lives.
  @usableFromInline package let slots: UnsafeMutablePointer<SnapshotSlot>

  @inlinable
  @inline(__always)
  init(slab: RowSlab, slots: UnsafeMutablePointer<SnapshotSlot>) {
    self.slab = slab
    self.slots = slots
  }

  /// The row that begins at an address in the slab.
  @inlinable
  @inline(__always)
  init(slab: RowSlab, start: UnsafeMutableRawPointer) {
    self.init(slab: slab, slots: (start + MemoryLayout<RowStart>.size).assumingMemoryBound(to: SnapshotSlot.self))
  }

  /// A snapshot without values.
  package static func make(_ layout: EntityLayout, version: Int64 = 0) -> Snapshot {
    let snapshot = alone(layout, version: version, byteCount: layout.fixedByteCount)
    // Nil holds no reference in any kind of slot, so its bytes can be copied.
    snapshot.slots.initialize(from: layout.nilSlots, count: layout.slotCount)
    return snapshot
  }

  /// A row in memory of its own, whose slots are not set yet.
  ///
  /// For an object's own row: new objects, and rows before their first change.
  private static func alone(_ layout: EntityLayout, version: Int64, byteCount: Int) -> Snapshot {
    let slab = RowSlab.make(layout, byteCount: byteCount, holdsReferences: true)
    let snapshot = Snapshot(slab: slab, start: slab.add(byteCount: byteCount))
    snapshot.start.initialize(to: RowStart(version: version, byteCount: byteCount))
    return snapshot
  }

  package var layout: EntityLayout { slab.head.pointee.layout }

  private var start: UnsafeMutablePointer<RowStart> {
    (UnsafeMutableRawPointer(slots) - MemoryLayout<RowStart>.size).assumingMemoryBound(to: RowStart.self)
  }

  package var version: Int64 {
    get { start.pointee.version }
    nonmutating set { start.pointee.version = newValue }
  }

  /// The row's place in its slab.
  var place: UInt32 { slab.place(of: slots) }

  /// The same values in memory of their own.
  ///
  /// The bytes are copied as they are, packed texts with them: their places are relative to the slot.
  func copy() -> Snapshot {
    let layout = layout
    let byteCount = start.pointee.byteCount
    let copy = Snapshot.alone(layout, version: version, byteCount: byteCount)
    UnsafeMutableRawPointer(copy.slots).copyMemory(from: slots, byteCount: byteCount - MemoryLayout<RowStart>.size)
    // The bytes are copied; their references have one more owner.
    for index in layout.referenceSlots { copy.slots[index].retain(layout.kinds[index]) }
    return copy
  }

  /// Gives all slots the values of another row of the layout, which is alone in its memory.
  ///
  /// A batch insertion fills one row again and again: nothing is allocated for each of a million rows.
  func reset(to other: Snapshot) {
    let layout = slab.header.layout
    for index in layout.referenceSlots { slots[index].release(layout.kinds[index]) }
    slots.update(from: other.slots, count: layout.slotCount)
    for index in layout.referenceSlots { slots[index].retain(layout.kinds[index]) }
  }

  func isNil(_ slot: Int) -> Bool { slots[slot].isNil(layout.kinds[slot]) }

  func setNil(_ slot: Int) { slots[slot].setNil(layout.kinds[slot]) }

  // MARK: Typed access; the caller knows the slot's kind

  /// Writes a slot that may hold a value.
  @inline(__always)
  func assign<T: SlotValue>(slot: Int, to value: T) { T.assign(slots + slot, value) }

  /// The slot's value, or nil.
  @inlinable
  @inline(__always)
  package func load<T: SlotValue>(_ slot: Int, as type: T.Type) -> T? {
    withExtendedLifetime(slab) { T.load(slots + slot) }
  }

  @inlinable
  package func related(_ slot: Int) -> RelatedKey? { load(slot, as: RelatedKey.self) }
}

/// Whether both are the same row in the same memory.
func === (left: Snapshot?, right: Snapshot?) -> Bool { left?.slots == right?.slots }
func !== (left: Snapshot?, right: Snapshot?) -> Bool { left?.slots != right?.slots }

/// The content of a to-one slot: a row of the same store, or an unsaved object.
///
/// ```text
/// key    number   means
///   7       1     the row 7 of the author's table
///  -3       0     an object that is not saved; its temporary ID has this key
///   0       –     no relationship: the slot is nil
/// ```
@usableFromInline
package struct RelatedKey: Hashable {
  /// `Z_PK`, or the negative number of a temporary ID. Never 0.
  @usableFromInline package var key: Int64
  /// `Z_ENT`, or 0 for a temporary one.
  @usableFromInline package var number: Int64

  @inlinable
  package init(key: Int64, number: Int64) {
    self.key = key
    self.number = number
  }
}

/// A value that is too large or too varied to be in the slot itself.
///
/// `@unchecked Sendable`: the value never changes. Core Data requires that transformable values are treated as
/// immutable.
@usableFromInline
package final class Boxed: @unchecked Sendable {
  package let value: Any
  @usableFromInline package init(_ value: Any) { self.value = value }
}

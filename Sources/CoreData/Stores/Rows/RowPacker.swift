/// Puts the rows of one read into slabs.
///
/// A row is written at its place, if the slab has room for the largest one. If not, it is first written into a buffer,
/// the same for all rows. Then its size is known, and it moves to its place. The first few rows lie alone, so
/// that a look-up or a small fetch keeps nothing that it does not use; the size of the slabs follows the number of
/// rows.
///
/// ```text
/// begin(layout)       room for the largest row in the slab?   yes: the slots are there, and become nil
///                                                             no:  in the workplace, the same for all rows
/// add(text, slot)     behind the slots; longer than 1,024 bytes, or past 4,096 in all: a String of its own
/// finish              rounds up to 8 bytes, writes RowStart; from the workplace the row is copied to its slab
/// ```
///
/// The slabs of one read: eight rows alone, then slabs of 4 KiB, 8 KiB, … up to 32 KiB.
///
/// A fetch with subentities brings rows of several layouts in turn. Each has a slab that is being filled; the one of
/// the last row is at hand.
@usableFromInline
package final class RowPacker {
  /// The most bytes of a text that is packed. A longer one becomes a `String` at once.
  @inlinable static var textLimit: Int { 1024 }
  /// The most bytes of all packed texts of a row.
  @inlinable static var textsLimit: Int { 4096 }
  private static let rowsAlone = 8
  private static let largestSlab = 32768

  @usableFromInline
  struct State {
    let keepsRowsApart: Bool
    /// Whether a row is being written.
    @usableFromInline var isBusy = false
    @usableFromInline var workplace: UnsafeMutableRawPointer
    @usableFromInline var workplaceSize: Int
    var rowsApart = 0
    var slabSize = 4096
    /// The slab that rows of the last layout are added to, and the bytes that are left in it.
    @usableFromInline var slab: RowSlab?
    @usableFromInline var room = 0
    @usableFromInline var serial: UInt64 = 0
    /// The slabs for rows of other layouts, by their serial numbers.
    var others: [UInt64: (slab: RowSlab, room: Int)] = [:]
  }

  /// Behind a pointer, so that no access is checked for overlaps: there are several for each row.
  @usableFromInline let state: UnsafeMutablePointer<State>

  /// - Parameter keepsRowsApart: whether all rows lie alone.
  package init(keepsRowsApart: Bool = false) {
    state = .allocate(capacity: 1)
    state.initialize(
      to: State(keepsRowsApart: keepsRowsApart, workplace: .allocate(byteCount: 0, alignment: 16), workplaceSize: 0))
  }

  deinit {
    state.pointee.workplace.deallocate()
    state.deinitialize(count: 1)
    state.deallocate()
  }

  var isBusy: Bool { state.pointee.isBusy }

  /// A row that is being written. Its texts are added one by one.
  @usableFromInline
  package struct Row {
    @usableFromInline package let slots: UnsafeMutablePointer<SnapshotSlot>
    @usableFromInline var end: UnsafeMutableRawPointer
    @usableFromInline let limit: UnsafeMutableRawPointer
    /// Whether the row is written at its place.
    @usableFromInline let isInPlace: Bool
    /// Whether a slot got a reference.
    @usableFromInline package var holdsReferences: Bool

    @inlinable
    init(
      slots: UnsafeMutablePointer<SnapshotSlot>, end: UnsafeMutableRawPointer, limit: UnsafeMutableRawPointer,
      isInPlace: Bool
    ) {
      self.slots = slots
      self.end = end
      self.limit = limit
      self.isInPlace = isInPlace
      holdsReferences = false
    }

    /// Writes a text into a slot that is nil.
    @inlinable
    @inline(__always)
    package mutating func add(_ text: UnsafeBufferPointer<UInt8>, to slot: UnsafeMutablePointer<SnapshotSlot>) {
      guard text.count <= RowPacker.textLimit, limit - end >= text.count else {
        String.initialize(slot, to: String(decoding: text, as: UTF8.self))
        holdsReferences = true
        return
      }
      if let start = text.baseAddress { end.copyMemory(from: start, byteCount: text.count) }
      PackedText.refer(slot, to: end, count: text.count)
      end += text.count
    }
  }

  /// A new row, whose slots are nil. `finish` or `abandon` ends it; no other begins before.
  @inlinable
  @inline(__always)
  package func begin(_ layout: EntityLayout) -> Row {
    state.pointee.isBusy = true
    let size = layout.fixedByteCount + RowPacker.textsLimit
    let isInPlace = state.pointee.serial == layout.serial && size <= state.pointee.room
    if !isInPlace && size > state.pointee.workplaceSize { enlargeWorkplace(size) }
    let start = isInPlace ? state.pointee.slab.unsafelyUnwrapped.end : state.pointee.workplace
    let slots = (start + MemoryLayout<RowStart>.size).assumingMemoryBound(to: SnapshotSlot.self)
    slots.initialize(from: layout.nilSlots, count: layout.slotCount)
    return Row(slots: slots, end: start + layout.fixedByteCount, limit: start + size, isInPlace: isInPlace)
  }

  @usableFromInline
  func enlargeWorkplace(_ size: Int) {
    state.pointee.workplace.deallocate()
    state.pointee.workplaceSize = size
    state.pointee.workplace = .allocate(byteCount: size, alignment: 16)
  }

  /// Ends the row, which is at its place then.
  @inlinable
  @inline(__always)
  package func finish(_ row: Row, _ layout: EntityLayout, version: Int64) -> Snapshot {
    let start = UnsafeMutableRawPointer(row.slots) - MemoryLayout<RowStart>.size
    let byteCount = (row.end - start + 7) & ~7
    start.assumingMemoryBound(to: RowStart.self).initialize(to: RowStart(version: version, byteCount: byteCount))
    let slab = slab(for: layout, byteCount)
    if row.holdsReferences { slab.head.pointee.holdsReferences = true }
    let place = slab.add(byteCount: byteCount)
    if !row.isInPlace { place.copyMemory(from: start, byteCount: byteCount) }
    state.pointee.isBusy = false
    return Snapshot(slab: slab, start: place)
  }

  /// Ends a row that cannot be read to its end, such as one whose external file is missing. Its place is free for the
  /// next row; what its slots hold is released.
  @usableFromInline
  @inline(never)
  func abandon(_ row: Row, _ layout: EntityLayout) {
    for index in layout.referenceSlots { row.slots[index].release(layout.kinds[index]) }
    state.pointee.isBusy = false
  }

  /// A slab with room for the row.
  @inlinable
  @inline(__always)
  func slab(for layout: EntityLayout, _ byteCount: Int) -> RowSlab {
    guard state.pointee.serial == layout.serial, byteCount <= state.pointee.room else {
      return RowPacker.otherSlab(layout, byteCount, &state.pointee)
    }
    state.pointee.room -= byteCount
    return state.pointee.slab.unsafelyUnwrapped
  }

  /// A slab for a row that does not go where the last one went.
  ///
  /// ```text
  /// the first eight rows          a slab each
  /// another layout than before    the slab of the last one is put aside, that of this one is taken up
  /// no room                       a new slab, twice as large as the last new one, up to 32 KiB
  /// ```
  @usableFromInline
  @inline(never)
  static func otherSlab(_ layout: EntityLayout, _ byteCount: Int, _ state: inout State) -> RowSlab {
    if state.keepsRowsApart || state.rowsApart < RowPacker.rowsAlone {
      state.rowsApart += 1
      return RowSlab.make(layout, byteCount: byteCount)
    }
    if state.serial != layout.serial {
      if let slab = state.slab { state.others[state.serial] = (slab, state.room) }
      let keptSlab = state.others.removeValue(forKey: layout.serial)
      (state.slab, state.room, state.serial) = (keptSlab?.slab, keptSlab?.room ?? 0, layout.serial)
    }
    if let slab = state.slab, byteCount <= state.room {
      state.room -= byteCount
      return slab
    }
    let size = max(byteCount, state.slabSize)
    state.slabSize = min(state.slabSize * 2, RowPacker.largestSlab)
    let made = RowSlab.make(layout, byteCount: size)
    (state.slab, state.room) = (made, size - byteCount)
    return made
  }
}

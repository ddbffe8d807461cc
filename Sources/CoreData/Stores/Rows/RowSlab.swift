/// Memory in which rows of one entity lie one after the other. It is freed with its last row.
///
/// A row is a `RowStart`, a slot for each property, and the bytes of its texts. What a slot says of its text is
/// relative to the slot, so a row can be moved and copied as bytes.
///
/// Only the reader that fills it writes it, or the one object that owns its only row.
///
/// Why not an object for each row: each would be an allocation, with 32 bytes more for the object and its header. A
/// slab of 32 KiB has some 300 books.
///
/// The price: one row that is kept retains its whole slab. Therefore slabs are bounded, the first rows of a read
/// lie alone, and so do rows that are looked up one by one.
@usableFromInline
final class RowSlab: ManagedBuffer<RowSlab.Header, UInt64> {
  @usableFromInline
  struct Header {
    @usableFromInline let layout: EntityLayout
    /// The bytes of all rows.
    @usableFromInline var used: UInt32
    /// Whether a slot may hold a reference, which must be released.
    @usableFromInline var holdsReferences: Bool
  }

  /// Memory for rows, still without any.
  static func make(_ layout: EntityLayout, byteCount: Int, holdsReferences: Bool = false) -> RowSlab {
    let buffer = RowSlab.create(minimumCapacity: byteCount / MemoryLayout<UInt64>.size) { _ in
      Header(layout: layout, used: 0, holdsReferences: holdsReferences)
    }
    return unsafeDowncast(buffer, to: RowSlab.self)
  }

  deinit {
    guard head.pointee.holdsReferences else { return }
    let layout = head.pointee.layout
    var row = start
    let end = row + Int(head.pointee.used)
    while row < end {
      let slots = (row + MemoryLayout<RowStart>.size).assumingMemoryBound(to: SnapshotSlot.self)
      for index in layout.referenceSlots { slots[index].release(layout.kinds[index]) }
      row += row.assumingMemoryBound(to: RowStart.self).pointee.byteCount
    }
  }

  /// The header, without a check for overlapping accesses: each is a read or write of one word.
  @inlinable
  @inline(__always)
  var head: UnsafeMutablePointer<Header> { withUnsafeMutablePointerToHeader { $0 } }

  /// The first row. The memory stays at its address as long as the slab lives.
  @inlinable
  @inline(__always)
  var start: UnsafeMutableRawPointer { withUnsafeMutablePointerToElements { UnsafeMutableRawPointer($0) } }

  /// The place of the next row.
  @inlinable
  @inline(__always)
  var end: UnsafeMutableRawPointer { start + Int(head.pointee.used) }

  /// Adds a row, for which there is room, and returns its start. Its bytes are not set yet.
  @inlinable
  @inline(__always)
  func add(byteCount: Int) -> UnsafeMutableRawPointer {
    let place = head.pointee.used
    head.pointee.used = place + UInt32(byteCount)
    return start + Int(place)
  }

  /// The row that begins at this distance from the first, in bytes.
  @inline(__always)
  func snapshot(at place: UInt32) -> Snapshot {
    let slots = start + Int(place) + MemoryLayout<RowStart>.size
    return Snapshot(slab: self, slots: slots.assumingMemoryBound(to: SnapshotSlot.self))
  }

  @inline(__always)
  func place(of slots: UnsafeMutablePointer<SnapshotSlot>) -> UInt32 {
    UInt32(UnsafeMutableRawPointer(slots) - start - MemoryLayout<RowStart>.size)
  }
}

/// The first bytes of a row.
///
/// `byteCount` leads to the next row of the slab: `deinit` walks from row to row to release what their slots hold.
@usableFromInline
struct RowStart {
  /// `Z_OPT` of the row; 0 for an object that is not saved.
  @usableFromInline var version: Int64
  /// The bytes of the whole row, a multiple of eight.
  @usableFromInline var byteCount: Int

  @inlinable
  init(version: Int64, byteCount: Int) {
    self.version = version
    self.byteCount = byteCount
  }
}

/// A text among the bytes of its row.
///
/// ```text
/// slot 3 at address 1048:   first = 16 << 32 | 16, second = 1       the text begins 16 bytes after the slot
/// bytes at 1064:            The Dispossessed
/// ```
///
/// A `String` is made of it when a program reads the property, and not before.
@usableFromInline
package enum PackedText {
  /// The second half of a slot whose text is in the row. No `String?` has it there: it would be a reference to an odd
  /// address.
  @inlinable
  package static var mark: UInt64 { 1 }

  /// Makes the slot refer to bytes after it in the same row.
  @inlinable
  @inline(__always)
  static func refer(_ slot: UnsafeMutablePointer<SnapshotSlot>, to bytes: UnsafeMutableRawPointer, count: Int) {
    let distance = UInt64(UInt(bitPattern: bytes - UnsafeMutableRawPointer(slot)))
    slot.pointee = SnapshotSlot(first: distance << 32 | UInt64(UInt(bitPattern: count)), second: mark)
  }

  /// The bytes of a slot with the mark.
  @inlinable
  @inline(__always)
  package static func bytes(_ slot: UnsafeMutablePointer<SnapshotSlot>) -> UnsafeBufferPointer<UInt8> {
    let place = slot.pointee.first
    let start = (UnsafeRawPointer(slot) + Int(place >> 32)).assumingMemoryBound(to: UInt8.self)
    return UnsafeBufferPointer(start: start, count: Int(place & 0xffff_ffff))
  }
}

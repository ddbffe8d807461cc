/// The values of one row or object: a slot of sixteen bytes for each attribute and to-one relationship, typed by the layout,
/// with a bit for nil.
///
/// Written only by its maker before it is shared, or by the one object that owns it; then immutable, and passed between
/// the row cache and contexts as it is.
final class Snapshot: ManagedBuffer<Snapshot.Header, Snapshot.Slot> {
  struct Header {
    let layout: EntityLayout
    /// `Z_OPT` of the row; 0 for an object that is not saved.
    var version: Int64
  }

  /// Sixteen bytes: what the largest kinds (String, Data, UUID, a related key) need.
  struct Slot {
    var first: UInt64 = 0
    var second: UInt64 = 0
  }

  /// A snapshot of nils.
  static func make(_ layout: EntityLayout, version: Int64 = 0) -> Snapshot {
    let count = layout.slots.count
    let words = bitmapSlots(count)
    let buffer = Snapshot.create(minimumCapacity: count + words) { _ in Header(layout: layout, version: version) }
    buffer.withUnsafeMutablePointerToElements { base in
      for index in count..<(count + words) { base[index] = Slot() }
    }
    return unsafeDowncast(buffer, to: Snapshot.self)
  }

  deinit {
    let layout = header.layout
    let base = self.base
    for index in layout.referenceSlots where !isNil(index) {
      Snapshot.release(base + index, kind: layout.slots[index].kind)
    }
  }

  var layout: EntityLayout { header.layout }

  var version: Int64 {
    get { header.version }
    set { header.version = newValue }
  }

  // MARK: Memory

  /// The bitmap stands after the slots; a set bit means a value.
  private static func bitmapSlots(_ count: Int) -> Int { (count + 127) / 128 }

  @inline(__always)
  private var base: UnsafeMutablePointer<Slot> { withUnsafeMutablePointerToElements { $0 } }

  @inline(__always)
  private var bitmap: UnsafeMutablePointer<UInt64> {
    UnsafeMutableRawPointer(base + header.layout.slotCount).assumingMemoryBound(to: UInt64.self)
  }

  @inline(__always)
  func isNil(_ slot: Int) -> Bool { bitmap[slot >> 6] & (1 << UInt64(slot & 63)) == 0 }

  @inline(__always)
  private func markPresent(_ slot: Int) { bitmap[slot >> 6] |= 1 << UInt64(slot & 63) }

  @inline(__always)
  private func pointer<T>(_ slot: Int, as type: T.Type) -> UnsafeMutablePointer<T> {
    UnsafeMutableRawPointer(base + slot).assumingMemoryBound(to: type)
  }

  private static func release(_ slot: UnsafeMutablePointer<Slot>, kind: SlotKind) {
    let raw = UnsafeMutableRawPointer(slot)
    switch kind {
    case .string: raw.assumingMemoryBound(to: String.self).deinitialize(count: 1)
    case .data: raw.assumingMemoryBound(to: Data.self).deinitialize(count: 1)
    case .boxed: raw.assumingMemoryBound(to: Boxed.self).deinitialize(count: 1)
    case .integer, .boolean, .double, .float, .date, .uuid, .toOne: break
    }
  }

  func setNil(_ slot: Int) {
    guard !isNil(slot) else { return }
    Snapshot.release(base + slot, kind: header.layout.slots[slot].kind)
    bitmap[slot >> 6] &= ~(1 << UInt64(slot & 63))
  }

  func copy() -> Snapshot {
    let layout = header.layout
    let copy = Snapshot.make(layout, version: header.version)
    for index in 0..<layout.slots.count where !isNil(index) {
      switch layout.slots[index].kind {
      case .string: copy.initialize(slot: index, to: pointer(index, as: String.self).pointee)
      case .data: copy.initialize(slot: index, to: pointer(index, as: Data.self).pointee)
      case .boxed: copy.initialize(slot: index, to: pointer(index, as: Boxed.self).pointee)
      case .integer, .boolean, .double, .float, .date, .uuid, .toOne:
        copy.initialize(slot: index, to: base[index])
      }
    }
    return copy
  }

  // MARK: Typed access; the caller knows the slot's kind

  /// Writes a slot that is nil.
  @inline(__always)
  func initialize<T>(slot: Int, to value: T) {
    pointer(slot, as: T.self).initialize(to: value)
    markPresent(slot)
  }

  /// Writes a slot that may hold a value.
  @inline(__always)
  func assign<T>(slot: Int, to value: T) {
    if isNil(slot) { initialize(slot: slot, to: value) } else { pointer(slot, as: T.self).pointee = value }
  }

  /// The slot's value; it must not be nil.
  @inline(__always)
  func read<T>(_ slot: Int, as type: T.Type) -> T { pointer(slot, as: type).pointee }

  func related(_ slot: Int) -> RelatedKey? { isNil(slot) ? nil : read(slot, as: RelatedKey.self) }
}

/// What a to-one slot holds: a row of the same store, or an object that is not saved yet.
struct RelatedKey: Hashable {
  /// `Z_PK`, or the negative number of a temporary ID.
  var key: Int64
  /// `Z_ENT`, or 0 for a temporary one.
  var number: Int64
}

/// A value in a slot that is too large or too varied to lie there itself.
///
/// `@unchecked Sendable`: the value is never changed, and Core Data's rule is that transformable values are treated as
/// immutable.
final class Boxed: @unchecked Sendable {
  let value: Any
  init(_ value: Any) { self.value = value }
}

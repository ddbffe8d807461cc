/// Sixteen bytes, the size of the largest kinds (a String, Data, a related key). The layout tells their kind.
///
/// ```text
/// kind                    first                         second
/// ----------------------  ----------------------------  -------------------------------------
/// integer, boolean        the number                    1; 0 for nil
/// double, float, date     the bits of a Double          1; 0 for nil
/// string, in the row      distance << 32 | length       1 (`PackedText.mark`)
/// string, on its own      the first half of a String?   its second half
/// data                    a Data?
/// boxed                   a reference to a Boxed, or 0  unused
/// toOne                   key; 0 for nil                the entity's number
/// ```
///
/// Only the layout knows the kind. Reading a slot as another kind reads garbage or a false reference: callers ask
/// `layout.kinds`, or have it from a `RowStep`.
@usableFromInline
package struct SnapshotSlot {
  @usableFromInline package var first: UInt64
  @usableFromInline package var second: UInt64

  @inlinable
  init(first: UInt64 = 0, second: UInt64 = 0) {
    self.first = first
    self.second = second
  }

  /// The slot of a kind, holding nil.
  static func nilSlot(_ kind: SlotKind) -> SnapshotSlot {
    var slot = SnapshotSlot()
    withUnsafeMutablePointer(to: &slot) { pointer in
      switch kind {
      case .string: String.memory(pointer).initialize(to: nil)
      case .data: Data.memory(pointer).initialize(to: nil)
      case .boxed: Boxed.memory(pointer).initialize(to: nil)
      case .integer, .boolean, .double, .float, .date, .toOne: break
      }
    }
    return slot
  }

  mutating func isNil(_ kind: SlotKind) -> Bool {
    switch kind {
    case .string: second != PackedText.mark && String.memory(&self).pointee == nil
    case .data: Data.memory(&self).pointee == nil
    case .boxed: Boxed.memory(&self).pointee == nil
    case .integer, .boolean, .double, .float, .date: second == 0
    case .toOne: first == 0
    }
  }

  mutating func setNil(_ kind: SlotKind) {
    release(kind)
    self = SnapshotSlot.nilSlot(kind)
  }

  /// Releases the reference in the slot. Its bytes are invalid afterwards.
  ///
  /// Called by hand, because a slot is plain bytes for Swift: neither copying nor dropping it counts references.
  mutating func release(_ kind: SlotKind) {
    switch kind {
    case .string: if second != PackedText.mark { String.memory(&self).deinitialize(count: 1) }
    case .data: Data.memory(&self).deinitialize(count: 1)
    case .boxed: Boxed.memory(&self).deinitialize(count: 1)
    case .integer, .boolean, .double, .float, .date, .toOne: break
    }
  }

  /// Retains the reference in the slot, after its bytes were copied here.
  mutating func retain(_ kind: SlotKind) {
    // Initialising other memory with the value retains it, and those bytes are the same.
    switch kind {
    case .string: if second != PackedText.mark { String.duplicate(&self) }
    case .data: Data.duplicate(&self)
    case .boxed: Boxed.duplicate(&self)
    case .integer, .boolean, .double, .float, .date, .toOne: break
    }
  }
}

/// A type of value that a slot holds directly.
///
/// `initialize` and `assign` differ for references: assigning releases what was there, initialising must not, since the
/// bytes of a fresh slot are no reference.
@usableFromInline
package protocol SlotValue {
  static func load(_ slot: UnsafeMutablePointer<SnapshotSlot>) -> Self?
  /// Writes a slot that is nil.
  static func initialize(_ slot: UnsafeMutablePointer<SnapshotSlot>, to value: Self)
  /// Writes a slot that may hold a value.
  static func assign(_ slot: UnsafeMutablePointer<SnapshotSlot>, _ value: Self)
}

/// Numbers: the value, and whether there is one.
@usableFromInline
package protocol NumberSlotValue: SlotValue {
  init(slotBits: UInt64)
  var slotBits: UInt64 { get }
}

extension NumberSlotValue {
  @inlinable
  @inline(__always)
  package static func load(_ slot: UnsafeMutablePointer<SnapshotSlot>) -> Self? {
    slot.pointee.second == 0 ? nil : Self(slotBits: slot.pointee.first)
  }

  @inlinable
  @inline(__always)
  package static func initialize(_ slot: UnsafeMutablePointer<SnapshotSlot>, to value: Self) { assign(slot, value) }

  @inlinable
  @inline(__always)
  package static func assign(_ slot: UnsafeMutablePointer<SnapshotSlot>, _ value: Self) {
    slot.pointee = SnapshotSlot(first: value.slotBits, second: 1)
  }
}

extension Int64: NumberSlotValue {
  @inlinable
  package init(slotBits: UInt64) { self = Int64(bitPattern: slotBits) }
  @inlinable
  package var slotBits: UInt64 { UInt64(bitPattern: self) }
}

extension Double: NumberSlotValue {
  @inlinable
  package init(slotBits: UInt64) { self.init(bitPattern: slotBits) }
  @inlinable
  package var slotBits: UInt64 { bitPattern }
}

extension RelatedKey: SlotValue {
  @inlinable
  @inline(__always)
  package static func load(_ slot: UnsafeMutablePointer<SnapshotSlot>) -> RelatedKey? {
    let key = Int64(bitPattern: slot.pointee.first)
    return key == 0 ? nil : RelatedKey(key: key, number: Int64(bitPattern: slot.pointee.second))
  }

  @inlinable
  package static func initialize(_ slot: UnsafeMutablePointer<SnapshotSlot>, to value: RelatedKey) {
    assign(slot, value)
  }

  @inlinable
  package static func assign(_ slot: UnsafeMutablePointer<SnapshotSlot>, _ value: RelatedKey) {
    slot.pointee = SnapshotSlot(first: UInt64(bitPattern: value.key), second: UInt64(bitPattern: value.number))
  }
}

/// Values that are references or hold one. The slot holds the optional itself, which fits.
@usableFromInline
package protocol ReferenceSlotValue: SlotValue {}

extension ReferenceSlotValue {
  @inlinable
  @inline(__always)
  package static func memory(_ slot: UnsafeMutablePointer<SnapshotSlot>) -> UnsafeMutablePointer<Self?> {
    UnsafeMutableRawPointer(slot).assumingMemoryBound(to: Self?.self)
  }

  @inlinable
  @inline(__always)
  package static func load(_ slot: UnsafeMutablePointer<SnapshotSlot>) -> Self? { memory(slot).pointee }

  @inlinable
  @inline(__always)
  package static func initialize(_ slot: UnsafeMutablePointer<SnapshotSlot>, to value: Self) {
    memory(slot).initialize(to: value)
  }

  @inlinable
  @inline(__always)
  package static func assign(_ slot: UnsafeMutablePointer<SnapshotSlot>, _ value: Self) { memory(slot).pointee = value }

  static func duplicate(_ slot: UnsafeMutablePointer<SnapshotSlot>) {
    let value = memory(slot).pointee
    memory(slot).initialize(to: value)
  }
}

/// A text is a `String`, or bytes of a row that was read.
extension String: ReferenceSlotValue {
  @inlinable
  @inline(__always)
  package static func load(_ slot: UnsafeMutablePointer<SnapshotSlot>) -> String? {
    guard slot.pointee.second == PackedText.mark else { return memory(slot).pointee }
    // It repairs bytes that are not UTF-8.
    return String(decoding: PackedText.bytes(slot), as: UTF8.self)
  }

  @usableFromInline
  package static func initialize(_ slot: UnsafeMutablePointer<SnapshotSlot>, to value: String) {
    checkUnlikePacked(value)
    memory(slot).initialize(to: value)
  }

  /// A String whose second word is the mark would be read as the place of a text, wherever that leads.
  @inline(__always)
  private static func checkUnlikePacked(_ value: String) {
    require(
      unsafeBitCast(value, to: SnapshotSlot.self).second != PackedText.mark,
      "A String looks like a packed text: this version of CoreData does not know Swift's layout of it.")
  }

  @usableFromInline
  package static func assign(_ slot: UnsafeMutablePointer<SnapshotSlot>, _ value: String) {
    if slot.pointee.second == PackedText.mark {
      initialize(slot, to: value)
    } else {
      checkUnlikePacked(value)
      memory(slot).pointee = value
    }
  }

  /// Whether two slots hold the same text, byte for byte, as predicates and SQLite compare: see ``StringMatching``.
  ///
  /// Swift's `==` would call "é" of one scalar and "é" of two equal. A program that saves its texts in another form
  /// changes them all the same: it would not find a text that stayed as it was.
  ///
  /// Bytes that are not UTF-8 count as what they are read as: a text that is read and set back is no change.
  package static func areEqual(_ left: UnsafeMutablePointer<SnapshotSlot>, _ right: UnsafeMutablePointer<SnapshotSlot>)
    -> Bool
  {
    let haveSameBits = left.pointee.first == right.pointee.first && left.pointee.second == right.pointee.second
    // The same String, or both nil.
    if haveSameBits, left.pointee.second != PackedText.mark { return true }
    return withBytes(left) { left in withBytes(right) { areEqual(left, $0) } ?? false } ?? right.pointee.isNil(.string)
  }

  private static func areEqual(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Bool {
    if left.count == right.count {
      guard let start = left.baseAddress, let other = right.baseAddress else { return true }
      if memcmp(start, other, left.count) == 0 { return true }
    }
    if left.reduce(0, |) < 0x80 && right.reduce(0, |) < 0x80 { return false }
    return StringMatching.isIdentical(String(decoding: left, as: UTF8.self), String(decoding: right, as: UTF8.self))
  }

  /// Gives the body the bytes of a text; nil for none.
  @inline(__always)
  static func withBytes<T>(
    _ slot: UnsafeMutablePointer<SnapshotSlot>, _ body: (UnsafeBufferPointer<UInt8>) -> T
  ) -> T? {
    if slot.pointee.second == PackedText.mark { return body(PackedText.bytes(slot)) }
    guard var text = memory(slot).pointee else { return nil }
    return text.withUTF8(body)
  }
}

extension Data: ReferenceSlotValue {}
extension Boxed: ReferenceSlotValue {}

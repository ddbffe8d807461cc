/// Sixteen bytes, the size of the largest kinds (a String, Data, a related key). The layout tells their kind.
struct SnapshotSlot {
  var first: UInt64 = 0
  var second: UInt64 = 0

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
    case .string: String.memory(&self).pointee == nil
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
  mutating func release(_ kind: SlotKind) {
    switch kind {
    case .string: String.memory(&self).deinitialize(count: 1)
    case .data: Data.memory(&self).deinitialize(count: 1)
    case .boxed: Boxed.memory(&self).deinitialize(count: 1)
    case .integer, .boolean, .double, .float, .date, .toOne: break
    }
  }

  /// Retains the reference in the slot, after its bytes were copied here.
  mutating func retain(_ kind: SlotKind) {
    // Initialising other memory with the value retains it, and those bytes are the same.
    switch kind {
    case .string: String.duplicate(&self)
    case .data: Data.duplicate(&self)
    case .boxed: Boxed.duplicate(&self)
    case .integer, .boolean, .double, .float, .date, .toOne: break
    }
  }
}

/// A type of value that a slot holds directly.
protocol SlotValue {
  static func load(_ slot: UnsafeMutablePointer<SnapshotSlot>) -> Self?
  /// Writes a slot that is nil.
  static func initialize(_ slot: UnsafeMutablePointer<SnapshotSlot>, to value: Self)
  /// Writes a slot that may hold a value.
  static func assign(_ slot: UnsafeMutablePointer<SnapshotSlot>, _ value: Self)
}

/// Numbers: the value, and whether there is one.
protocol NumberSlotValue: SlotValue {
  init(slotBits: UInt64)
  var slotBits: UInt64 { get }
}

extension NumberSlotValue {
  @inline(__always)
  static func load(_ slot: UnsafeMutablePointer<SnapshotSlot>) -> Self? {
    slot.pointee.second == 0 ? nil : Self(slotBits: slot.pointee.first)
  }

  @inline(__always)
  static func initialize(_ slot: UnsafeMutablePointer<SnapshotSlot>, to value: Self) { assign(slot, value) }

  @inline(__always)
  static func assign(_ slot: UnsafeMutablePointer<SnapshotSlot>, _ value: Self) {
    slot.pointee = SnapshotSlot(first: value.slotBits, second: 1)
  }
}

extension Int64: NumberSlotValue {
  init(slotBits: UInt64) { self = Int64(bitPattern: slotBits) }
  var slotBits: UInt64 { UInt64(bitPattern: self) }
}

extension Double: NumberSlotValue {
  init(slotBits: UInt64) { self.init(bitPattern: slotBits) }
  var slotBits: UInt64 { bitPattern }
}

extension RelatedKey: SlotValue {
  @inline(__always)
  static func load(_ slot: UnsafeMutablePointer<SnapshotSlot>) -> RelatedKey? {
    let key = Int64(bitPattern: slot.pointee.first)
    return key == 0 ? nil : RelatedKey(key: key, number: Int64(bitPattern: slot.pointee.second))
  }

  static func initialize(_ slot: UnsafeMutablePointer<SnapshotSlot>, to value: RelatedKey) { assign(slot, value) }

  static func assign(_ slot: UnsafeMutablePointer<SnapshotSlot>, _ value: RelatedKey) {
    slot.pointee = SnapshotSlot(first: UInt64(bitPattern: value.key), second: UInt64(bitPattern: value.number))
  }
}

/// Values that are references or hold one. The slot holds the optional itself, which fits.
protocol ReferenceSlotValue: SlotValue {}

extension ReferenceSlotValue {
  @inline(__always)
  static func memory(_ slot: UnsafeMutablePointer<SnapshotSlot>) -> UnsafeMutablePointer<Self?> {
    UnsafeMutableRawPointer(slot).assumingMemoryBound(to: Self?.self)
  }

  @inline(__always)
  static func load(_ slot: UnsafeMutablePointer<SnapshotSlot>) -> Self? { memory(slot).pointee }

  @inline(__always)
  static func initialize(_ slot: UnsafeMutablePointer<SnapshotSlot>, to value: Self) {
    memory(slot).initialize(to: value)
  }

  @inline(__always)
  static func assign(_ slot: UnsafeMutablePointer<SnapshotSlot>, _ value: Self) { memory(slot).pointee = value }

  static func duplicate(_ slot: UnsafeMutablePointer<SnapshotSlot>) {
    let value = memory(slot).pointee
    memory(slot).initialize(to: value)
  }
}

extension String: ReferenceSlotValue {}
extension Data: ReferenceSlotValue {}
extension Boxed: ReferenceSlotValue {}

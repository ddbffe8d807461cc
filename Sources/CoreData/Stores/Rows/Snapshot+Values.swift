/// The values of snapshots as key-value coding returns them: NSNumber for numbers, and for the rest the types that
/// Swift code expects.
extension Snapshot {
  /// The attribute's value, or nil. Not for slots of to-one relationships.
  ///
  /// Every read boxes: an NSNumber for `pages`, a `String` for `title`. Generated accessors read the slot without it
  /// (`load`).
  func value(_ slot: Int) -> Any? { withExtendedLifetime(slab) { layout.value(slot, in: slots) } }

  /// Writes an attribute's value. Traps for a value of a type that the attribute cannot hold.
  ///
  /// Key-value coding ends here: `book.setValue("341", forKey: "pages")` traps, as it raises an exception on Apple's
  /// platforms.
  func set(_ value: Any?, slot: Int, of entity: NSEntityDescription) {
    if let value, assignExact(value, slot: slot, layout.slots[slot].kind) { return }
    guard let value, !(value is NSNull) else {
      setNil(slot)
      return
    }
    guard assignConverted(value, slot: slot) else {
      let description = layout.slots[slot]
      fatalError(
        "Unacceptable type of value for attribute \(entity.name ?? "").\(description.name): it holds "
          + "\(description.attributeType.valueDescription), and was given a \(type(of: value)).")
    }
  }

  /// Writes a value if its type is the one that the attribute mostly gets. Returns false without writing if not.
  ///
  /// A cast from `Any` to a type that Foundation bridges takes a hundred times as long as this comparison of types, if
  /// it fails.
  func assignExact(_ value: Any, slot: Int, _ kind: SlotKind) -> Bool {
    let type = type(of: value)
    switch kind {
    case .string where type == String.self:
      guard let string = value as? String else { return false }
      assign(slot: slot, to: string)
    case .integer where type == Int.self:
      guard let integer = value as? Int else { return false }
      assign(slot: slot, to: Int64(integer))
    case .integer where type == Int64.self:
      guard let integer = value as? Int64 else { return false }
      assign(slot: slot, to: integer)
    case .double where type == Double.self:
      guard let double = value as? Double else { return false }
      assign(slot: slot, to: double)
    case .date where type == Date.self:
      guard let date = value as? Date else { return false }
      assign(slot: slot, to: date.timeIntervalSinceReferenceDate)
    default: return false
    }
    return true
  }

  /// Writes a value if the attribute can hold it. Returns false without writing if not.
  ///
  /// ```text
  /// attribute      takes
  /// -------------  ------------------------------------------------------
  /// Integer        Int, Int64, Bool, any NSNumber (its whole part)
  /// Boolean        the same; everything but 0 is true
  /// Float          the nearest Float: 0.1 becomes 0.10000000149011612
  /// Date           Date
  /// String         String
  /// Decimal        NSDecimalNumber, Decimal, NSNumber
  /// composite      a dictionary; an empty one is nil
  /// ```
  func assignConverted(_ value: Any, slot: Int) -> Bool {
    let description = layout.slots[slot]
    switch description.kind {
    case .integer:
      guard let integer = AttributeValue.integer(value) else { return false }
      assign(slot: slot, to: integer)
    case .boolean:
      guard let integer = AttributeValue.integer(value) else { return false }
      assign(slot: slot, to: integer == 0 ? 0 : 1 as Int64)
    case .double:
      guard let double = AttributeValue.double(value) else { return false }
      assign(slot: slot, to: double)
    case .float:
      guard let double = AttributeValue.double(value) else { return false }
      assign(slot: slot, to: Double(Float(double)))
    case .date:
      if let date = value as? Date {
        assign(slot: slot, to: date.timeIntervalSinceReferenceDate)
      } else {
        return false
      }
    case .string:
      guard let string = value as? String else { return false }
      assign(slot: slot, to: string)
    case .data:
      guard let data = value as? Data else { return false }
      assign(slot: slot, to: data)
    case .boxed:
      if let composite = description.composite {
        guard let elements = CompositeValue.converted(value, composite) else { return false }
        if elements.isEmpty { setNil(slot) } else { assign(slot: slot, to: Boxed(elements)) }
        return true
      }
      guard let boxed = AttributeValue.boxed(value, description.attributeType) else { return false }
      assign(slot: slot, to: Boxed(boxed))
    case .toOne: return false
    }
    return true
  }

  /// Whether both have the same value in a slot. Transformable values are compared as objects; other boxed values
  /// without equality are unequal.
  ///
  /// It decides whether an object `hasChanges` after a value was set, and which properties a save writes.
  package func isEqual(_ other: Snapshot, slot: Int) -> Bool {
    switch layout.kinds[slot] {
    case .integer, .boolean: return load(slot, as: Int64.self) == other.load(slot, as: Int64.self)
    case .double, .float, .date: return load(slot, as: Double.self) == other.load(slot, as: Double.self)
    case .string: return withExtendedLifetime((self, other)) { String.areEqual(slots + slot, other.slots + slot) }
    case .data: return load(slot, as: Data.self) == other.load(slot, as: Data.self)
    case .toOne: return load(slot, as: RelatedKey.self) == other.load(slot, as: RelatedKey.self)
    case .boxed:
      let mine = load(slot, as: Boxed.self)
      let others = other.load(slot, as: Boxed.self)
      if mine === others { return true }
      if layout.slots[slot].attributeType == .compositeAttributeType {
        return CompositeValue.isEqual(mine?.value, others?.value)
      }
      if let left = mine?.value as? AnyHashable, let right = others?.value as? AnyHashable { return left == right }
      return false
    }
  }

  /// Copies the value of a slot from another snapshot of the same layout.
  package func assign(slot: Int, from other: Snapshot) { assign(slot: slot, fromAlike: other, at: slot) }

  /// Copies the value of an attribute's slot from a snapshot of another layout. Returns false without writing if the
  /// values of both are not kept alike.
  func assign(slot: Int, from other: Snapshot, at otherSlot: Int) -> Bool {
    let (mine, others) = (layout.slots[slot], other.layout.slots[otherSlot])
    guard mine.attributeType == others.attributeType, mine.kind == others.kind, mine.kind != .boxed else {
      return false
    }
    assign(slot: slot, fromAlike: other, at: otherSlot)
    return true
  }

  private func assign(slot: Int, fromAlike other: Snapshot, at otherSlot: Int) {
    func take<T: SlotValue>(_ type: T.Type) {
      if let value = other.load(otherSlot, as: type) { assign(slot: slot, to: value) } else { setNil(slot) }
    }
    switch layout.kinds[slot] {
    case .integer, .boolean: take(Int64.self)
    case .double, .float, .date: take(Double.self)
    case .string: take(String.self)
    case .data: take(Data.self)
    case .boxed: take(Boxed.self)
    case .toOne: take(RelatedKey.self)
    }
  }
}

extension EntityLayout {
  /// The value of an attribute among a row's slots, which the caller keeps; nil for none.
  func value(_ index: Int, in slots: UnsafeMutablePointer<SnapshotSlot>) -> Any? {
    let slot = slots + index
    switch kinds[index] {
    case .integer: return Int64.load(slot).map { AttributeValue.number($0, self.slots[index].attributeType) }
    case .boolean: return Int64.load(slot).map { NSNumber(value: $0 != 0) }
    case .double: return Double.load(slot).map { NSNumber(value: $0) }
    case .float: return Double.load(slot).map { NSNumber(value: Float($0)) }
    case .date: return Double.load(slot).map { Date(timeIntervalSinceReferenceDate: $0) }
    case .string: return String.load(slot)
    case .data: return Data.load(slot)
    case .boxed: return Boxed.load(slot)?.value
    case .toOne: return nil
    }
  }
}

extension Snapshot {
  /// The attribute's value in the form that predicates compare. Not for slots of to-one relationships.
  ///
  /// The same without boxes, for predicates on rows in memory.
  func predicateValue(_ slot: Int) -> PredicateValue {
    switch layout.kinds[slot] {
    case .integer, .boolean: load(slot, as: Int64.self).map { .integer($0) } ?? .null
    case .double, .float: load(slot, as: Double.self).map { .real($0) } ?? .null
    case .date: load(slot, as: Double.self).map { .date($0) } ?? .null
    case .string: load(slot, as: String.self).map { .string($0) } ?? .null
    case .data: load(slot, as: Data.self).map { .data($0) } ?? .null
    case .boxed, .toOne: PredicateValue(value(slot))
    }
  }
}

extension NSAttributeType {
  /// The Swift type that programs set and get.
  package var valueDescription: String {
    switch self {
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType: "an integer"
    case .decimalAttributeType: "an NSDecimalNumber"
    case .doubleAttributeType, .floatAttributeType: "a number"
    case .stringAttributeType: "a String"
    case .booleanAttributeType: "a Bool"
    case .dateAttributeType: "a Date"
    case .binaryDataAttributeType: "Data"
    case .UUIDAttributeType: "a UUID"
    case .URIAttributeType: "a URL"
    case .compositeAttributeType: "a dictionary with values for its elements"
    default: "a value of its transformer's class"
    }
  }
}

/// Snapshots' values as KVC sees them: NSNumber for numbers, and for the rest what Swift code expects.
extension Snapshot {
  /// The attribute's value, or nil. Not for to-one slots.
  func value(_ slot: Int) -> Any? {
    guard !isNil(slot) else { return nil }
    let description = layout.slots[slot]
    switch description.kind {
    case .integer:
      let integer = read(slot, as: Int64.self)
      return switch description.attributeType {
      case .integer16AttributeType: NSNumber(value: Int16(truncatingIfNeeded: integer))
      case .integer32AttributeType: NSNumber(value: Int32(truncatingIfNeeded: integer))
      default: NSNumber(value: integer)
      }
    case .boolean: return NSNumber(value: read(slot, as: Int64.self) != 0)
    case .double: return NSNumber(value: read(slot, as: Double.self))
    case .float: return NSNumber(value: Float(read(slot, as: Double.self)))
    case .date: return Date(timeIntervalSinceReferenceDate: read(slot, as: Double.self))
    case .string: return read(slot, as: String.self)
    case .data: return read(slot, as: Data.self)
    case .uuid: return read(slot, as: UUID.self)
    case .boxed: return read(slot, as: Boxed.self).value
    case .toOne: return nil
    }
  }

  /// Writes an attribute's value. A value of a type that the attribute cannot hold is a programming error.
  func set(_ value: Any?, slot: Int, of entity: NSEntityDescription) {
    guard let value, !(value is NSNull) else {
      setNil(slot)
      return
    }
    guard assignConverted(value, slot: slot) else {
      let description = layout.slots[slot]
      preconditionFailure(
        "Unacceptable type of value for attribute \(entity.name ?? "").\(description.name): it holds "
          + "\(description.attributeType.valueDescription), and was given a \(type(of: value)).")
    }
  }

  /// Writes a value if the attribute can hold it; false, and nothing written, if not.
  func assignConverted(_ value: Any, slot: Int) -> Bool {
    let description = layout.slots[slot]
    switch description.kind {
    case .integer:
      guard let integer = integerValue(value) else { return false }
      assign(slot: slot, to: integer)
    case .boolean:
      guard let integer = integerValue(value) else { return false }
      assign(slot: slot, to: integer == 0 ? 0 : 1 as Int64)
    case .double:
      guard let double = doubleValue(value) else { return false }
      assign(slot: slot, to: double)
    case .float:
      guard let double = doubleValue(value) else { return false }
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
    case .uuid:
      guard let uuid = value as? UUID else { return false }
      assign(slot: slot, to: uuid)
    case .boxed:
      guard let boxed = boxedValue(value, type: description.attributeType) else { return false }
      assign(slot: slot, to: boxed)
    case .toOne: return false
    }
    return true
  }

  private func integerValue(_ value: Any) -> Int64? {
    switch value {
    case let integer as Int64: integer
    case let integer as Int: Int64(integer)
    case let boolean as Bool: boolean ? 1 : 0
    default: (value as? NSNumber)?.int64Value
    }
  }

  private func doubleValue(_ value: Any) -> Double? {
    switch value {
    case let double as Double: double
    case let float as Float: Double(float)
    case let integer as Int: Double(integer)
    default: (value as? NSNumber)?.doubleValue
    }
  }

  private func boxedValue(_ value: Any, type: NSAttributeType) -> Boxed? {
    switch type {
    case .decimalAttributeType:
      if let decimal = value as? NSDecimalNumber { return Boxed(decimal) }
      if let decimal = value as? Decimal { return Boxed(NSDecimalNumber(decimal: decimal)) }
      return (value as? NSNumber).map { Boxed(NSDecimalNumber(decimal: $0.decimalValue)) }
    case .URIAttributeType: return (value as? URL).map(Boxed.init)
    default: return Boxed(value)
    }
  }

  /// Whether both have the same value in a slot. Transformable values are compared as objects where they are, else unequal.
  func isEqual(_ other: Snapshot, slot: Int) -> Bool {
    if isNil(slot) || other.isNil(slot) { return isNil(slot) == other.isNil(slot) }
    switch layout.slots[slot].kind {
    case .integer, .boolean: return read(slot, as: Int64.self) == other.read(slot, as: Int64.self)
    case .double, .float, .date: return read(slot, as: Double.self) == other.read(slot, as: Double.self)
    case .string: return read(slot, as: String.self) == other.read(slot, as: String.self)
    case .data: return read(slot, as: Data.self) == other.read(slot, as: Data.self)
    case .uuid: return read(slot, as: UUID.self) == other.read(slot, as: UUID.self)
    case .toOne: return read(slot, as: RelatedKey.self) == other.read(slot, as: RelatedKey.self)
    case .boxed:
      let mine = read(slot, as: Boxed.self)
      let others = other.read(slot, as: Boxed.self)
      if mine === others { return true }
      if let left = mine.value as? AnyHashable, let right = others.value as? AnyHashable { return left == right }
      return false
    }
  }

  /// Takes over the value of a slot from another snapshot of the same layout.
  func assign(slot: Int, from other: Snapshot) {
    guard !other.isNil(slot) else {
      setNil(slot)
      return
    }
    switch layout.slots[slot].kind {
    case .integer, .boolean: assign(slot: slot, to: other.read(slot, as: Int64.self))
    case .double, .float, .date: assign(slot: slot, to: other.read(slot, as: Double.self))
    case .string: assign(slot: slot, to: other.read(slot, as: String.self))
    case .data: assign(slot: slot, to: other.read(slot, as: Data.self))
    case .uuid: assign(slot: slot, to: other.read(slot, as: UUID.self))
    case .boxed: assign(slot: slot, to: other.read(slot, as: Boxed.self))
    case .toOne: assign(slot: slot, to: other.read(slot, as: RelatedKey.self))
    }
  }
}

extension NSAttributeType {
  /// The Swift type that code gives and gets.
  var valueDescription: String {
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
    default: "a value of its transformer's class"
    }
  }
}

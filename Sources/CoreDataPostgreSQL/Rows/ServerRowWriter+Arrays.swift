/// The values of one column of many rows: what is the same for all of them is decided once.
extension ServerRowWriter {
  /// The rows' slots, which the caller keeps.
  typealias Rows = [UnsafeMutablePointer<SnapshotSlot>]

  /// - Parameter snapshot: the row at an index, for values that are not in its slots themselves.
  func array(
    _ step: Step, _ column: Column, of rows: Rows, _ snapshot: (Int) -> Snapshot, resolving resolve: Resolver
  ) throws -> ServerArray {
    if case .value = column.source {
      switch step.kind {
      case .integer: return Self.numbers(column, step.slot, of: rows)
      case .double, .float: return Self.numbers(column, step.slot, of: rows)
      case .date:
        if let attribute = step.attribute { return try Self.dates(column, step.slot, attribute, of: rows) }
      case .string:
        if let attribute = step.attribute { return try Self.texts(column, step.slot, attribute, of: rows) }
      default: break
      }
    }
    var array = ServerArray(column.type)
    for index in rows.indices {
      try array.append { try append(step, column, of: snapshot(index), to: &$0, resolving: resolve) }
    }
    return array
  }

  /// Integers and floating-point numbers: their bits as they are in the slot.
  private static func numbers(_ column: Column, _ slot: Int, of rows: Rows) -> ServerArray {
    var elements = GrowingBytes(capacity: rows.count * 12)
    var hasNull = false
    for row in rows {
      let value = row[slot]
      if value.second == 0 {
        elements.append(bigEndian: Int32(-1))
        hasNull = true
      } else {
        elements.append(bigEndian: Int32(8))
        elements.append(bigEndian: value.first)
      }
    }
    return ServerArray(column.type, count: rows.count, hasNull: hasNull, elements: elements.bytes)
  }

  private static func dates(
    _ column: Column, _ slot: Int, _ attribute: NSAttributeDescription, of rows: Rows
  ) throws -> ServerArray {
    var elements = GrowingBytes(capacity: rows.count * 12)
    var hasNull = false
    for row in rows {
      guard let value = Double.load(row + slot) else {
        elements.append(bigEndian: Int32(-1))
        hasNull = true
        continue
      }
      elements.append(bigEndian: Int32(8))
      elements.append(bigEndian: try ServerValue.moment(value, attribute))
    }
    return ServerArray(column.type, count: rows.count, hasNull: hasNull, elements: elements.bytes)
  }

  private static func texts(
    _ column: Column, _ slot: Int, _ attribute: NSAttributeDescription, of rows: Rows
  ) throws -> ServerArray {
    var elements = GrowingBytes(capacity: rows.count * 32)
    var hasNull = false
    for row in rows {
      let slot = row + slot
      if slot.pointee.second == PackedText.mark {
        try append(UnsafeRawBufferPointer(PackedText.bytes(slot)), attribute, to: &elements)
      } else if var text = String.memory(slot).pointee {
        try text.withUTF8 { try append(UnsafeRawBufferPointer($0), attribute, to: &elements) }
      } else {
        elements.append(bigEndian: Int32(-1))
        hasNull = true
      }
    }
    return ServerArray(column.type, count: rows.count, hasNull: hasNull, elements: elements.bytes)
  }

  @inline(__always)
  private static func append(
    _ text: UnsafeRawBufferPointer, _ attribute: NSAttributeDescription, to elements: inout GrowingBytes
  ) throws {
    try ServerValue.check(text, attribute)
    elements.append(bigEndian: Int32(text.count))
    elements.append(text)
  }
}

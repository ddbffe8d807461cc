/// The plan for reading rows of an entity and its subentities: the columns of a SELECT, and for each entity the steps
/// that fill a snapshot. Built once for each entity.
final class ServerRowPlan: Sendable {
  /// The first three are the key, the version and the entity's number. Each is named with the type as which it is
  /// decoded, since a person may have altered the column's; where it is the same, this costs nothing.
  private let columns: [String]
  var columnCount: Int { columns.count }
  /// The statement that reads rows of the plan's entity itself by their keys; its parameter: an array of keys.
  let rowsSQL: String
  /// The same for one key.
  let rowSQL: String
  /// By entity number.
  private let decoders: [ServerRowDecoder?]

  /// - Parameter properties: the names of the properties to read; nil for all.
  init(
    _ mapping: TableMapping, schema: StoreSchema, storedEntities: StoredEntities, includesSubentities: Bool,
    properties: Set<String>? = nil
  ) {
    let numbers = includesSubentities ? mapping.numbersIncludingSubentities : [mapping.number]
    var columns = ["\(mapping.names.key)::int8", "\(mapping.names.version)::int8", "\(mapping.names.entity)::int4"]
    var indexes: [String: Int32] = [:]
    func index(_ column: String, as type: ServerType = .int8) -> Int32 {
      if let known = indexes[column] { return known }
      columns.append("\(column)::\(type.name)")
      let index = Int32(columns.count - 1)
      indexes[column] = index
      return index
    }
    var decoders: [ServerRowDecoder?] = Array(repeating: nil, count: storedEntities.byNumber.count)
    for number in numbers {
      guard let mapping = schema.entitiesByNumber[number], let storedEntity = storedEntities.byNumber[number] else {
        continue
      }
      var steps: [ServerRowDecoder.Step] = []
      var composites: [ServerRowDecoder.Composite] = []
      for (slot, description, stored) in mapping.storedProperties(storedEntity.layout)
      where properties?.contains(description.name) ?? true {
        switch stored {
        case .attribute(let attribute):
          steps.append(
            ServerRowDecoder.Step(
              kind: description.kind, slot: slot, column: index(attribute.column, as: Self.type(description))))
        case .composite(let composite):
          composites.append(
            ServerRowDecoder.Composite(
              slot: slot,
              leaves: composite.leaves.map { ($0, index($0.column.column, as: ServerType($0.attribute) ?? .text)) }))
        case .toOne(let toOne):
          steps.append(
            ServerRowDecoder.Step(
              kind: .toOne, slot: slot, column: index(toOne.column),
              entityColumn: toOne.entityColumn.map { index($0) } ?? -1,
              destination: Int64(schema.entitiesByName[toOne.destinationEntityName]?.number ?? 0)))
        }
      }
      decoders[number] = ServerRowDecoder(storedEntity: storedEntity, steps: steps, composites: composites)
    }
    self.columns = columns
    self.decoders = decoders
    let list = columns.map { "t.\($0)" }.joined(separator: ", ")
    let selection = "SELECT \(list) FROM \(mapping.table) t WHERE t.\(mapping.names.key) ="
    rowSQL = "\(selection) $1 AND t.\(mapping.names.entity) = \(mapping.number)"
    rowsSQL = "\(selection) ANY($1) AND t.\(mapping.names.entity) = \(mapping.number)"
  }

  /// The type as which the values of a slot are decoded.
  private static func type(_ slot: SlotDescription) -> ServerType {
    switch slot.kind {
    case .integer, .toOne: .int8
    case .boolean: .boolean
    case .double, .float: .float8
    case .date: .timestamp
    case .string, .data, .boxed: (slot.property as? NSAttributeDescription).flatMap { ServerType($0) } ?? .text
    }
  }

  /// The columns for a SELECT, qualified by a table's alias.
  func columnList(alias: String) -> String { columns.map { "\(alias).\($0)" }.joined(separator: ", ") }

  /// The decoder for a row; nil for an entity that the model lacks.
  @inline(__always)
  func decoder(_ row: some ServerRow) -> ServerRowDecoder? {
    let number = row.integer(2)
    return decoders.indices.contains(number) ? decoders[number] : nil
  }

  /// Gives the body each row of entities that the model knows: its decoder and its key.
  @inline(__always)
  func forEachRow(of result: any ServerResult, _ body: (ServerRowDecoder, ResultRow, Int64) -> Void) {
    let cells = result.cells
    for index in 0..<Int32(truncatingIfNeeded: result.rowCount) {
      let row = cells.row(index)
      if let decoder = decoder(row) { body(decoder, row, row.bigint(0)) }
    }
    // The cells refer to its memory.
    withExtendedLifetime(result) {}
  }

  /// The same with the rows of a SELECT without parameters, while the server sends them.
  ///
  /// - Returns: the number of rows.
  @inline(__always)
  @discardableResult
  func forEachCopiedRow(
    _ connection: any ServerConnection, _ sql: String, columnCount: Int? = nil,
    _ body: (ServerRowDecoder, CopiedRow, Int64) -> Void
  ) throws -> Int {
    let rows = CopiedRows(columnCount: columnCount ?? columns.count)
    var count = 0
    try connection.copyRows(sql) { message in
      guard let row = try rows.row(in: message) else { return }
      count += 1
      if let decoder = decoder(row) { body(decoder, row, row.bigint(0)) }
    }
    return count
  }
}

/// Copies the columns of one entity's row into a slab.
///
/// `@unchecked Sendable`: everything is set in `init`.
final class ServerRowDecoder: @unchecked Sendable {
  struct Step: Sendable {
    let kind: SlotKind
    let slot: Int
    let column: Int32
    /// The column of the destination's actual entity; -1 if it is always `destination`.
    var entityColumn: Int32 = -1
    var destination: Int64 = 0
  }

  /// A composite attribute, and the column of each of its elements.
  struct Composite: Sendable {
    let slot: Int
    let leaves: [(leaf: CompositeColumns.Leaf, column: Int32)]
  }

  let storedEntity: StoredEntity
  private let layout: EntityLayout
  /// In memory of their own, so that a row costs no reference counting.
  private let steps: UnsafeMutableBufferPointer<Step>
  private let composites: [Composite]
  private let hasComposites: Bool

  init(storedEntity: StoredEntity, steps: [Step], composites: [Composite]) {
    self.storedEntity = storedEntity
    layout = storedEntity.layout
    self.steps = .allocate(capacity: steps.count)
    _ = self.steps.initialize(from: steps)
    self.composites = composites
    hasComposites = !composites.isEmpty
  }

  deinit { steps.deallocate() }

  @inline(__always)
  func decode(_ values: some ServerRow, _ packer: RowPacker) -> Snapshot {
    var row = packer.begin(layout)
    let slots = row.slots
    for step in steps {
      let slot = slots + step.slot
      switch step.kind {
      case .integer:
        if let place = values.number(step.column) { Int64.initialize(slot, to: place.bigEndian()) }
      case .boolean:
        guard let place = values.number(step.column) else { continue }
        Int64.initialize(slot, to: place.load(as: UInt8.self) == 0 ? 0 : 1)
      case .double, .float:
        guard let place = values.number(step.column) else { continue }
        Double.initialize(slot, to: Double(bitPattern: UInt64(bitPattern: place.bigEndian())))
      case .date:
        guard let place = values.number(step.column) else { continue }
        Double.initialize(slot, to: ServerDate.seconds(place.bigEndian()))
      case .string:
        if let bytes = values.bytes(step.column) { row.add(bytes.bindMemory(to: UInt8.self), to: slot) }
      case .toOne:
        guard let place = values.number(step.column) else { continue }
        let stored = step.entityColumn >= 0 ? values.number(step.entityColumn)?.bigEndian() ?? 0 : 0
        RelatedKey.initialize(
          slot, to: RelatedKey(key: place.bigEndian(), number: stored == 0 ? step.destination : stored))
      case .data, .boxed:
        if decodeReference(step, values, into: slot) { row.holdsReferences = true }
      }
    }
    if hasComposites, decodeComposites(values, into: slots) { row.holdsReferences = true }
    return packer.finish(row, layout, version: values.bigint(1))
  }

  /// Whether the column has a value.
  @inline(never)
  private func decodeReference(
    _ step: Step, _ values: some ServerRow, into slot: UnsafeMutablePointer<SnapshotSlot>
  ) -> Bool {
    guard let bytes = values.bytes(step.column) else { return false }
    if step.kind == .data {
      Data.initialize(slot, to: Data(bytes))
      return true
    }
    guard let attribute = layout.slots[step.slot].property as? NSAttributeDescription,
      let value = ServerValue.value(bytes, as: attribute)
    else { return false }
    Boxed.initialize(slot, to: Boxed(value))
    return true
  }

  /// Whether the row has a composite value.
  private func decodeComposites(_ values: some ServerRow, into slots: UnsafeMutablePointer<SnapshotSlot>) -> Bool {
    var hasValue = false
    for composite in composites {
      var elements: [String: Any] = [:]
      for (leaf, column) in composite.leaves {
        guard let bytes = values.bytes(column), let value = ServerValue.value(bytes, as: leaf.attribute)
        else { continue }
        CompositeValue.set(value, at: leaf.path[...], in: &elements)
      }
      if elements.isEmpty { continue }
      Boxed.initialize(slots + composite.slot, to: Boxed(elements))
      hasValue = true
    }
    return hasValue
  }
}

extension UnsafeRawPointer {
  /// The `bigint` at this place.
  @inline(__always)
  fileprivate func bigEndian() -> Int64 { Int64(bigEndian: loadUnaligned(as: Int64.self)) }
}

internal import Synchronization

/// The plan for reading rows of an entity and its subentities: the columns of a SELECT, and for each entity the steps
/// that fill a snapshot. Built once for each entity.
final class RowPlan: Sendable {
  /// The first two are the key and the version. The third is the entity's number, if it varies.
  let columns: [String]
  /// The decoder of all rows, if they are of one entity.
  let onlyDecoder: RowDecoder?
  /// By entity number.
  let decoders: [RowDecoder?]

  /// - Parameter properties: the names of the properties to read; nil for all.
  init(
    _ mapping: TableMapping, schema: StoreSchema, storedEntities: StoredEntities, includesSubentities: Bool,
    properties: Set<String>? = nil
  ) {
    let numbers = includesSubentities ? mapping.numbersIncludingSubentities : [mapping.number]
    var columns = ["Z_PK", "Z_OPT"] + (numbers.count > 1 ? ["Z_ENT"] : [])
    var indexes: [String: Int32] = [:]
    func index(_ column: String) -> Int32 {
      if let known = indexes[column] { return known }
      columns.append(column)
      indexes[column] = Int32(columns.count - 1)
      return Int32(columns.count - 1)
    }

    var decoders: [RowDecoder?] = Array(repeating: nil, count: storedEntities.byNumber.count)
    for number in numbers {
      guard let mapping = schema.entitiesByNumber[number], let storedEntity = storedEntities.byNumber[number] else {
        continue
      }
      var steps: [RowDecoder.Step] = []
      var composites: [RowDecoder.Composite] = []
      for (slot, description) in storedEntity.layout.slots.enumerated() {
        if let properties, !properties.contains(description.name) { continue }
        if let attribute = mapping.attributes[description.name] {
          steps.append(
            RowDecoder.Step(
              kind: description.kind, type: description.attributeType, slot: slot, column: index(attribute.column),
              external: (description.property as? NSAttributeDescription)?.allowsExternalBinaryDataStorage ?? false))
        } else if let composite = mapping.composites[description.name] {
          composites.append(
            RowDecoder.Composite(slot: slot, leaves: composite.leaves.map { ($0, index($0.column.column)) }))
        } else if let toOne = mapping.toOnes[description.name] {
          steps.append(
            RowDecoder.Step(
              kind: .toOne, type: .undefinedAttributeType, slot: slot, column: index(toOne.column),
              entityColumn: toOne.entityColumn.map(index) ?? -1,
              destination: Int64(schema.entitiesByName[toOne.destinationEntityName]?.number ?? 0)))
        }
      }
      decoders[number] = RowDecoder(storedEntity: storedEntity, steps: steps, composites: composites)
    }
    self.columns = columns
    self.decoders = decoders
    onlyDecoder = numbers.count == 1 ? decoders[mapping.number] : nil
  }

  /// The columns for a SELECT, qualified by a table's alias.
  func columnList(alias: String) -> String { columns.map { "\(alias).\($0)" }.joined(separator: ", ") }

  /// Steps through the statement's rows, and gives the body the decoder of each and its entity. Rows of entities that
  /// the model lacks are left out.
  @inline(__always)
  func forEachRow(of statement: SQLiteStatement, _ body: (RowDecoder, StoredEntity) throws -> Void) throws {
    if let onlyDecoder {
      // Both are counted once.
      let storedEntity = onlyDecoder.storedEntity
      while try statement.step() { try body(onlyDecoder, storedEntity) }
    } else {
      while try statement.step() {
        if let decoder = decoder(statement) { try body(decoder, decoder.storedEntity) }
      }
    }
  }

  /// The decoder for the statement's current row; nil for an entity that the model lacks.
  @inline(__always)
  func decoder(_ statement: SQLiteStatement) -> RowDecoder? {
    if let onlyDecoder { return onlyDecoder }
    let number = Int(statement.integer(2))
    return decoders.indices.contains(number) ? decoders[number] : nil
  }
}

/// Copies the columns of one entity's row into a slab.
///
/// `@unchecked Sendable`: everything is set in `init`.
final class RowDecoder: @unchecked Sendable {
  struct Step: Sendable {
    let kind: SlotKind
    let type: NSAttributeType
    let slot: Int
    let column: Int32
    var external = false
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
  /// Kept separately, so that steps are plain numbers.
  let composites: [Composite]
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

  /// The statement's current row.
  func decode(_ statement: SQLiteStatement, _ packer: RowPacker) throws -> Snapshot {
    try decode(SQLiteRow(statement), statement, packer)
  }

  /// - Parameter columns: the statement's current row.
  @inline(__always)
  func decode(_ columns: SQLiteRow, _ statement: SQLiteStatement, _ packer: RowPacker) throws -> Snapshot {
    var row = packer.begin(layout)
    let slots = row.slots
    for step in steps {
      let column = step.column
      let slot = slots + step.slot
      switch step.kind {
      case .integer, .boolean:
        let value = columns.integer(column)
        // NULL reads as 0, so only 0 needs the check.
        if value == 0 && columns.isNull(column) { continue }
        Int64.initialize(slot, to: value)
      case .double, .float, .date:
        let value = columns.real(column)
        if value == 0 && columns.isNull(column) { continue }
        Double.initialize(slot, to: value)
      case .string:
        guard let text = columns.textBytes(column) else { continue }
        row.add(text, to: slot)
      case .toOne:
        let key = columns.integer(column)
        if key == 0 { continue }
        let stored = step.entityColumn >= 0 ? columns.integer(step.entityColumn) : 0
        RelatedKey.initialize(slot, to: RelatedKey(key: key, number: stored == 0 ? step.destination : stored))
      case .data, .boxed:
        if try decodeReference(step, statement, into: slot) { row.holdsReferences = true }
      }
    }
    if hasComposites, try decodeComposites(statement, into: slots) { row.holdsReferences = true }
    return packer.finish(row, layout, version: columns.integer(1))
  }

  /// Whether the column has a value.
  @inline(never)
  private func decodeReference(
    _ step: Step, _ statement: SQLiteStatement, into slot: UnsafeMutablePointer<SnapshotSlot>
  ) throws -> Bool {
    if step.kind == .data {
      guard let stored = statement.blob(step.column) else { return false }
      Data.initialize(slot, to: step.external ? try ExternalData.decode(stored, storedEntity) : stored)
    } else {
      guard let value = StoredValue.boxed(statement, step.column, step, storedEntity.layout) else { return false }
      Boxed.initialize(slot, to: value)
    }
    return true
  }

  /// Whether the row has a composite value.
  private func decodeComposites(
    _ statement: SQLiteStatement, into slots: UnsafeMutablePointer<SnapshotSlot>
  ) throws -> Bool {
    var hasValue = false
    for composite in composites {
      guard let elements = try StoredValue.composite(statement, composite.leaves, storedEntity) else { continue }
      Boxed.initialize(slots + composite.slot, to: Boxed(elements))
      hasValue = true
    }
    return hasValue
  }
}

/// The SELECT of rows of an entity by their keys.
final class RowQuery: Sendable {
  let sql: String
  let decoder: RowDecoder
  /// The number of keys, which are the parameters.
  let keyCount: Int
  /// Unique in the process.
  let serial: Int
  private static let lastSerial = Atomic(0)

  /// Nil if the plan is for rows of several entities, or of none.
  init?(_ plan: RowPlan, _ mapping: TableMapping, keys keyCount: Int = 1) {
    guard let decoder = plan.onlyDecoder else { return nil }
    self.decoder = decoder
    self.keyCount = keyCount
    let keys = keyCount == 1 ? "= ?" : "IN (\(Array(repeating: "?", count: keyCount).joined(separator: ",")))"
    let columns = plan.columnList(alias: "t")
    sql = "SELECT \(columns) FROM \(mapping.table) t WHERE t.Z_PK \(keys) AND t.Z_ENT = \(mapping.number)"
    serial = RowQuery.lastSerial.add(1, ordering: .relaxed).newValue
  }
}

/// The SELECTs of rows of one entity by keys, for a few numbers of them: a text for each number would be as many
/// statements to prepare.
struct RowQueries: Sendable {
  /// The one for a single row.
  let single: RowQuery
  private let groups: [RowQuery]
  private static let sizes = [8, 64, 256]

  /// Nil if the plan is for rows of several entities, or of none.
  init?(_ plan: RowPlan, _ mapping: TableMapping) {
    guard let single = RowQuery(plan, mapping) else { return nil }
    self.single = single
    groups = RowQueries.sizes.compactMap { RowQuery(plan, mapping, keys: $0) }
  }

  /// The smallest with room for this number of keys, or the largest.
  func query(for count: Int) -> RowQuery {
    count == 1 ? single : groups.first { $0.keyCount >= count } ?? groups.last ?? single
  }
}

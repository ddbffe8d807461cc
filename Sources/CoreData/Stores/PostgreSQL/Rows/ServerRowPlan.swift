/// The plan for reading rows of an entity and its subentities: the columns of a SELECT, and for each entity the steps
/// that fill a snapshot. Built once for each entity.
final class ServerRowPlan: Sendable {
  /// The first three are the key, the version and the entity's number.
  let columns: [String]
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
    var columns = [mapping.names.key, mapping.names.version, mapping.names.entity]
    var indexes: [String: Int] = [:]
    func index(_ column: String) -> Int {
      if let known = indexes[column] { return known }
      columns.append(column)
      indexes[column] = columns.count - 1
      return columns.count - 1
    }
    var decoders: [ServerRowDecoder?] = Array(repeating: nil, count: storedEntities.byNumber.count)
    for number in numbers {
      guard let mapping = schema.entitiesByNumber[number], let storedEntity = storedEntities.byNumber[number] else {
        continue
      }
      var steps: [ServerRowDecoder.Step] = []
      var composites: [ServerRowDecoder.Composite] = []
      for (slot, description) in storedEntity.layout.slots.enumerated() {
        if let properties, !properties.contains(description.name) { continue }
        if let attribute = mapping.attributes[description.name] {
          steps.append(
            ServerRowDecoder.Step(kind: description.kind, slot: slot, column: index(attribute.column)))
        } else if let composite = mapping.composites[description.name] {
          composites.append(
            ServerRowDecoder.Composite(slot: slot, leaves: composite.leaves.map { ($0, index($0.column.column)) }))
        } else if let toOne = mapping.toOnes[description.name] {
          steps.append(
            ServerRowDecoder.Step(
              kind: .toOne, slot: slot, column: index(toOne.column), entityColumn: toOne.entityColumn.map(index) ?? -1,
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

  /// The columns for a SELECT, qualified by a table's alias.
  func columnList(alias: String) -> String { columns.map { "\(alias).\($0)" }.joined(separator: ", ") }

  /// The decoder for a row; nil for an entity that the model lacks.
  @inline(__always)
  func decoder(_ result: any ServerResult, _ row: Int) -> ServerRowDecoder? {
    let number = Int(result.integer(row, 2))
    return decoders.indices.contains(number) ? decoders[number] : nil
  }
}

/// Copies the columns of one entity's row into a slab.
final class ServerRowDecoder: Sendable {
  struct Step: Sendable {
    let kind: SlotKind
    let slot: Int
    let column: Int
    /// The column of the destination's actual entity; -1 if it is always `destination`.
    var entityColumn = -1
    var destination: Int64 = 0
  }

  /// A composite attribute, and the column of each of its elements.
  struct Composite: Sendable {
    let slot: Int
    let leaves: [(leaf: CompositeColumns.Leaf, column: Int)]
  }

  let storedEntity: StoredEntity
  private let steps: [Step]
  private let composites: [Composite]

  init(storedEntity: StoredEntity, steps: [Step], composites: [Composite]) {
    self.storedEntity = storedEntity
    self.steps = steps
    self.composites = composites
  }

  func decode(_ result: any ServerResult, _ index: Int, _ packer: RowPacker) -> Snapshot {
    let layout = storedEntity.layout
    var row = packer.begin(layout)
    let slots = row.slots
    for step in steps {
      guard let bytes = result.bytes(index, step.column) else { continue }
      let slot = slots + step.slot
      switch step.kind {
      case .integer: Int64.initialize(slot, to: bytes.bigEndian(Int64.self))
      case .boolean: Int64.initialize(slot, to: bytes[0] == 0 ? 0 : 1)
      case .double, .float: Double.initialize(slot, to: Double(bitPattern: bytes.bigEndian(UInt64.self)))
      case .date: Double.initialize(slot, to: ServerDate.seconds(bytes.bigEndian(Int64.self)))
      case .string: row.add(bytes.bindMemory(to: UInt8.self), to: slot)
      case .toOne:
        let stored = step.entityColumn >= 0 ? result.integer(index, step.entityColumn) : 0
        RelatedKey.initialize(
          slot, to: RelatedKey(key: bytes.bigEndian(Int64.self), number: stored == 0 ? step.destination : stored))
      case .data:
        Data.initialize(slot, to: Data(bytes))
        row.holdsReferences = true
      case .boxed:
        guard let attribute = layout.slots[step.slot].property as? NSAttributeDescription,
          let value = ServerValue.value(bytes, result.type(step.column), as: attribute)
        else { continue }
        Boxed.initialize(slot, to: Boxed(value))
        row.holdsReferences = true
      }
    }
    for composite in composites {
      guard let elements = elements(composite, result, index) else { continue }
      Boxed.initialize(slots + composite.slot, to: Boxed(elements))
      row.holdsReferences = true
    }
    return packer.finish(row, layout, version: result.integer(index, 1))
  }

  private func elements(_ composite: Composite, _ result: any ServerResult, _ row: Int) -> [String: Any]? {
    var elements: [String: Any] = [:]
    for (leaf, column) in composite.leaves {
      guard let bytes = result.bytes(row, column),
        let value = ServerValue.value(bytes, result.type(column), as: leaf.attribute)
      else { continue }
      CompositeValue.set(value, at: leaf.path[...], in: &elements)
    }
    return elements.isEmpty ? nil : elements
  }
}

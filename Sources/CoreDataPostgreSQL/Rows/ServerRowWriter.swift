internal import Synchronization

/// The columns that a save writes for one entity's objects, and how they are filled from snapshots.
///
/// `@unchecked Sendable`: everything is set in `init`.
final class ServerRowWriter: @unchecked Sendable {
  /// A property that is stored.
  struct Step {
    let kind: SlotKind
    let slot: Int
    let attribute: NSAttributeDescription?
    let columns: [Column]
  }

  struct Column {
    let name: String
    let type: ServerType
    let source: Source
  }

  enum Source {
    case value
    /// The key or the entity of a to-one relationship's row.
    case relatedKey
    case relatedEntity
    case element(CompositeColumns.Leaf)
  }

  typealias Resolver = (RelatedKey) -> RelatedKey?

  let mapping: TableMapping
  let steps: [Step]
  let constraints: [UniqueConstraint]
  /// Their positions are those of the steps.
  let properties: WrittenProperties
  /// The INSERT of rows; parameters: keys, then an array for each column.
  private(set) var insertSQL = ""
  /// The INSERT of one row; parameters: its key, then a value for each column.
  private(set) var insertRowSQL = ""
  private let updates = Mutex<[StepSet: UpdateTexts]>([:])

  private struct UpdateTexts {
    let rows: String
    let row: String
  }

  init(_ mapping: TableMapping, layout: EntityLayout, _ constraints: [UniqueConstraint]) {
    self.mapping = mapping
    self.constraints = constraints
    let written = mapping.writtenProperties(layout)
    steps = written.map { slot, description, columns in
      let attribute = description.attribute
      let made: [Column]
      switch columns {
      case .attribute(let column):
        made = [Column(name: column.column, type: attribute.flatMap(ServerType.init) ?? .text, source: .value)]
      case .composite(let composite):
        made = composite.leaves.map { leaf in
          Column(name: leaf.column.column, type: ServerType(leaf.attribute) ?? .text, source: .element(leaf))
        }
      case .toOne(let toOne):
        let key = Column(name: toOne.column, type: .int8, source: .relatedKey)
        made = [key] + (toOne.entityColumn.map { [Column(name: $0, type: .int8, source: .relatedEntity)] } ?? [])
      }
      return Step(kind: description.kind, slot: slot, attribute: attribute, columns: made)
    }
    properties = WrittenProperties(layout, written, constraints)
    insertSQL = makeInsert()
    insertRowSQL = makeRowInsert()
  }

  /// The columns of steps, in their order.
  func columns(_ steps: some Sequence<Step>) -> [(step: Step, column: Column)] {
    steps.flatMap { step in step.columns.map { (step, $0) } }
  }

  /// Appends the column's value of a row; NULL if it returns false.
  func append(
    _ step: Step, _ column: Column, of row: Snapshot, to bytes: inout [UInt8], resolving resolve: Resolver
  ) throws -> Bool {
    let slot = step.slot
    switch column.source {
    case .relatedKey, .relatedEntity:
      guard let related = row.related(slot).flatMap({ $0.key < 0 ? resolve($0) : $0 }) else { return false }
      if case .relatedKey = column.source {
        bytes.append(bigEndian: related.key)
      } else {
        bytes.append(bigEndian: related.number)
      }
      return true
    case .element(let leaf):
      let elements = row.load(slot, as: Boxed.self)?.value as? [String: Any] ?? [:]
      return try ServerValue.append(leaf.value(in: elements), leaf.attribute, to: &bytes)
    case .value: break
    }
    switch step.kind {
    case .integer:
      guard let value = row.load(slot, as: Int64.self) else { return false }
      bytes.append(bigEndian: value)
    case .boolean:
      guard let value = row.load(slot, as: Int64.self) else { return false }
      bytes.append(value == 0 ? 0 : 1)
    case .double, .float:
      guard let value = row.load(slot, as: Double.self) else { return false }
      bytes.append(bigEndian: value.bitPattern)
    default:
      guard let attribute = step.attribute else { return false }
      return try appendOther(step, attribute, of: row, to: &bytes)
    }
    return true
  }

  private func appendOther(
    _ step: Step, _ attribute: NSAttributeDescription, of row: Snapshot, to bytes: inout [UInt8]
  ) throws -> Bool {
    switch step.kind {
    case .date:
      guard let value = row.load(step.slot, as: Double.self) else { return false }
      try ServerValue.append(date: value, attribute, to: &bytes)
    case .string:
      guard let value = row.load(step.slot, as: String.self) else { return false }
      try ServerValue.append(text: value, attribute, to: &bytes)
    case .data:
      guard let value = row.load(step.slot, as: Data.self) else { return false }
      bytes.append(contentsOf: value)
    default:
      guard let value = row.load(step.slot, as: Boxed.self) else { return false }
      return try ServerValue.append(boxed: value.value, attribute, to: &bytes)
    }
    return true
  }
}

// MARK: Statements

extension ServerRowWriter {
  fileprivate func makeInsert() -> String {
    let columns = columns(steps).map(\.column)
    let names = [mapping.names.key, mapping.names.entity] + columns.map(\.name)
    let places = (1...(columns.count + 1)).map { "$\($0)" }.joined(separator: ", ")
    let values = columns.indices.map { ", u.c\($0)" }.joined()
    let aliases = columns.indices.map { ", c\($0)" }.joined()
    return """
      INSERT INTO \(mapping.table) (\(names.joined(separator: ", "))) SELECT u.key, \(mapping.number)\(values) \
      FROM unnest(\(places)) AS u (key\(aliases))
      """
  }

  fileprivate func makeRowInsert() -> String {
    let columns = columns(steps).map(\.column)
    let names = [mapping.names.key, mapping.names.entity] + columns.map(\.name)
    let places = columns.indices.map { ", $\($0 + 2)" }.joined()
    return """
      INSERT INTO \(mapping.table) (\(names.joined(separator: ", "))) VALUES ($1, \(mapping.number)\(places))
      """
  }

  /// The UPDATE of the steps; parameters: keys, the versions before or -1, then an array for each column.
  func updateSQL(_ changed: StepSet) -> String { texts(changed).rows }

  /// The UPDATE of the steps of one row; parameters: its key, the version before or -1, then a value for each column.
  func updateRowSQL(_ changed: StepSet) -> String { texts(changed).row }

  private func texts(_ changed: StepSet) -> UpdateTexts {
    updates.withLock { known in
      if let texts = known[changed] { return texts }
      if known.count > 200 { known.removeAll() }
      let texts = UpdateTexts(rows: makeUpdate(changed), row: makeRowUpdate(changed))
      known[changed] = texts
      return texts
    }
  }

  private func makeRowUpdate(_ changed: StepSet) -> String {
    let columns = columns(changed.positions.map { steps[$0] }).map(\.column)
    let sets = columns.enumerated().map { ", \($1.name) = $\($0 + 3)" }.joined()
    let names = mapping.names
    return """
      UPDATE \(mapping.table) SET \(names.version) = \(names.version.nextVersion)\(sets) \
      WHERE \(names.key) = $1 AND ($2 < 0 OR \(names.version) = $2)
      """
  }

  private func makeUpdate(_ changed: StepSet) -> String {
    let columns = columns(changed.positions.map { steps[$0] }).map(\.column)
    let places = (1...(columns.count + 2)).map { "$\($0)" }.joined(separator: ", ")
    let aliases = columns.indices.map { ", c\($0)" }.joined()
    let sets = columns.enumerated().map { ", \($1.name) = u.c\($0)" }.joined()
    let names = mapping.names
    return """
      UPDATE \(mapping.table) t SET \(names.version) = \("t.\(names.version)".nextVersion)\(sets) \
      FROM unnest(\(places)) AS u (key, version\(aliases)) \
      WHERE t.\(names.key) = u.key AND (u.version < 0 OR t.\(names.version) = u.version) RETURNING t.\(names.key)
      """
  }
}

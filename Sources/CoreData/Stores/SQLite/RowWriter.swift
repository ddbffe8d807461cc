/// The statements that write one entity's objects: its INSERT, and an UPDATE for each set of changed properties.
///
/// `@unchecked Sendable`: used on the writer connection only, under its lock.
final class RowWriter: @unchecked Sendable {
  let mapping: TableMapping
  let steps: [RowStep]
  private let shapes: InsertShapes
  let deleteSQL: String
  let versionSQL: String
  let touchSQL: String
  /// The columns of each step, in the order of binding: one, or key and entity, or one for each element.
  let columns: [[String]]
  private let columnCounts: [Int]
  private var texts: [Statement: String] = [:]
  /// Their positions are those of the steps.
  let properties: WrittenProperties
  /// Whether groups of rows can be updated, once that was asked for: the table has no trigger that an INSERT would run
  /// before it finds its conflict.
  var updatesGroups: Bool?

  /// A statement whose text is kept.
  private enum Statement: Hashable {
    case update(StepSet)
    case updateGroup(StepSet, rows: Int)
    case delete(table: String, KeyShape)
    case versions(KeyShape)
    case versionCount(KeyShape)
  }

  /// Where large values go; nil for a store without a file.
  private let externalFiles: ExternalFiles?

  init(
    _ mapping: TableMapping, layout: EntityLayout, _ constraints: [UniqueConstraint] = [],
    externalFiles: ExternalFiles? = nil
  ) {
    self.mapping = mapping
    self.externalFiles = externalFiles
    let written = mapping.writtenProperties(layout)
    steps = written.map { property in
      var step = RowStep(property)
      if case .toOne(let toOne) = property.columns, toOne.entityColumn != nil { step.entityColumn = 0 }
      return step
    }
    columns = written.map(\.columns.names)
    columnCounts = columns.map(\.count)
    properties = WrittenProperties(layout, written, constraints)
    shapes = InsertShapes(table: mapping.table, steps: steps, columns: columns)
    deleteSQL = "DELETE FROM \(mapping.table) WHERE Z_PK = ? AND (Z_OPT = ? OR ? < 0)"
    versionSQL = "SELECT Z_OPT FROM \(mapping.table) WHERE Z_PK = ?"
    touchSQL = "UPDATE \(mapping.table) SET Z_OPT = \("Z_OPT".nextVersion) WHERE Z_PK = ?"
  }

  func columnCount(of steps: StepSet) -> Int {
    var count = 0
    steps.forEach { count += columnCounts[$0] }
    return count
  }

  // MARK: Statements

  private func text(_ statement: Statement, _ make: () -> String) -> String {
    if let text = texts[statement] { return text }
    if texts.count > 200 { texts.removeAll() }
    let text = make()
    texts[statement] = text
    return text
  }

  /// The INSERT of one row with all columns.
  var wholeInsert: InsertShape { shapes.whole }

  /// The INSERT with the columns in which any of the rows has a value, and perhaps others.
  @inline(__always)
  func insertShape(of rows: some Sequence<Snapshot>) -> InsertShape { shapes.shape(of: rows) }

  /// The UPDATE of the steps; parameters: version, values, key, version before.
  func updateSQL(_ changed: StepSet) -> String {
    text(.update(changed)) {
      let assignments = ["Z_OPT = ?"] + changedColumns(changed).map { "\($0) = ?" }
      return "UPDATE \(mapping.table) SET \(assignments.joined(separator: ", ")) WHERE Z_PK = ? AND Z_OPT = ?"
    }
  }

  /// The update of the steps for a group of rows that exist; parameters row after row: key, values.
  ///
  /// It is an INSERT that always finds a conflict, so that each row's values are at hand: an UPDATE of several rows has
  /// to search them by key, column by column (https://www.sqlite.org/lang_upsert.html).
  func updateSQL(_ changed: StepSet, rows: Int) -> String {
    text(.updateGroup(changed, rows: rows)) {
      let columns = changedColumns(changed)
      let places = "(\(Array(repeating: "?", count: columns.count + 1).joined(separator: ", ")))"
      let values = Array(repeating: places, count: rows).joined(separator: ", ")
      let assignments = columns.map { ", \($0) = excluded.\($0)" }.joined()
      return "INSERT INTO \(mapping.table) (\((["Z_PK"] + columns).joined(separator: ", "))) VALUES \(values) "
        + "ON CONFLICT (Z_PK) DO UPDATE SET Z_OPT = Z_OPT + 1\(assignments)"
    }
  }

  private func changedColumns(_ changed: StepSet) -> [String] { changed.positions.flatMap { columns[$0] } }

  /// The DELETE of a group's rows, or of their join rows.
  func deleteSQL(from table: String, where column: String, _ shape: KeyShape) -> String {
    text(.delete(table: "\(table).\(column)", shape)) { "DELETE FROM \(table) WHERE \(shape.condition(on: column))" }
  }

  /// The keys and versions of a group's rows.
  func versionsSQL(_ shape: KeyShape) -> String {
    text(.versions(shape)) { "SELECT Z_PK, Z_OPT FROM \(mapping.table) WHERE \(shape.condition(on: "Z_PK"))" }
  }

  /// The number of a group's rows that have the version of the last parameter.
  func versionCountSQL(_ shape: KeyShape) -> String {
    text(.versionCount(shape)) {
      let key = shape.condition(on: "Z_PK")
      return "SELECT count(*) FROM \(mapping.table) WHERE \(key) AND Z_OPT = ?\(shape.parameterCount + 1)"
    }
  }

  // MARK: Binding

  /// Binds the values of a row for an INSERT. Returns the next index.
  func bind(
    _ row: Snapshot, _ shape: InsertShape, to statement: SQLiteStatement, at index: Int32,
    resolving resolve: (RelatedKey) -> RelatedKey?
  ) -> Int32 {
    var index = index
    for step in shape.steps { index = bind(step, of: row, to: statement, at: index, resolving: resolve) }
    return index
  }

  /// Binds a step's value from a snapshot. Returns the next index.
  func bind(
    _ step: RowStep, of snapshot: Snapshot, to statement: SQLiteStatement, at index: Int32,
    resolving resolve: (RelatedKey) -> RelatedKey?
  ) -> Int32 {
    let slot = step.slot
    if step.kind == .toOne {
      let related = snapshot.related(slot).flatMap { $0.key < 0 ? resolve($0) : $0 }
      if let related { statement.bind(related.key, at: index) } else { statement.bindNull(at: index) }
      guard step.entityColumn >= 0 else { return index + 1 }
      if let related { statement.bind(related.number, at: index + 1) } else { statement.bindNull(at: index + 1) }
      return index + 2
    }
    if step.type == .compositeAttributeType {
      let next = bindElements(slot, of: snapshot, to: statement, at: index)
      if statement.hasRefusedValue { nameRefusedValue(of: statement, slot, snapshot) }
      return next
    }
    switch step.kind {
    case .integer, .boolean: bind(snapshot.load(slot, as: Int64.self), statement, index) { $0.bind($1, at: index) }
    case .double, .float, .date: bind(snapshot.load(slot, as: Double.self), statement, index) { $0.bind($1, at: index) }
    case .string: bind(snapshot.load(slot, as: String.self), statement, index) { $0.bind($1, at: index) }
    case .data:
      bind(snapshot.load(slot, as: Data.self), statement, index) {
        $0.bind(step.isExternal ? external($1) : $1, at: index)
      }
    case .boxed:
      bind(snapshot.load(slot, as: Boxed.self), statement, index) {
        if let attribute = snapshot.layout.slots[slot].attribute { $0.bind($1.value, of: attribute, at: index) }
      }
    case .toOne: break
    }
    if statement.hasRefusedValue { nameRefusedValue(of: statement, slot, snapshot) }
    return index + 1
  }

  @inline(never)
  private func nameRefusedValue(of statement: SQLiteStatement, _ slot: Int, _ snapshot: Snapshot) {
    statement.nameRefusedValue(snapshot.layout.name, snapshot.layout.slots[slot].name)
  }

  /// What the row stores for a value of an attribute with external storage.
  func external(_ value: Data) -> Data { externalFiles?.stored(value) ?? ExternalData.encode(value) }

  /// The columns of attributes with external storage, elements of composites among them.
  private(set) lazy var externalColumns: [String] =
    zip(steps, columns).filter(\.0.isExternal).flatMap(\.1)
    + mapping.composites.values.flatMap(\.leaves).filter(\.attribute.allowsExternalBinaryDataStorage).map(
      \.column.column)

  private func bindElements(
    _ slot: Int, of snapshot: Snapshot, to statement: SQLiteStatement, at index: Int32
  ) -> Int32 {
    let elements = snapshot.load(slot, as: Boxed.self)?.value as? [String: Any] ?? [:]
    var index = index
    for leaf in mapping.composites[snapshot.layout.slots[slot].name]?.leaves ?? [] {
      let value = leaf.value(in: elements)
      if leaf.attribute.allowsExternalBinaryDataStorage, let data = value as? Data {
        statement.bind(external(data), at: index)
      } else {
        statement.bind(value, of: leaf.attribute, at: index)
      }
      index += 1
    }
    return index
  }

  @inline(__always)
  private func bind<T>(
    _ value: T?, _ statement: SQLiteStatement, _ index: Int32, _ body: (SQLiteStatement, T) -> Void
  ) {
    if let value { body(statement, value) } else { statement.bindNull(at: index) }
  }
}

/// The statements that write one entity's objects: its INSERT, and an UPDATE for each set of changed properties.
///
/// `@unchecked Sendable`: used on the writer connection only, under its lock.
///
/// The texts for `Book`:
///
/// ```text
/// insert        INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZAUTHOR, ZISREAD, ZPAGES, ZTITLE) VALUES (?, ?, ?, ?, ?, ?, ?)
/// update        UPDATE ZBOOK SET Z_OPT = ?, ZPAGES = ? WHERE Z_PK = ? AND Z_OPT = ?      for each set of properties
/// delete        DELETE FROM ZBOOK WHERE Z_PK = ? AND (Z_OPT = ? OR ? < 0)
/// version       SELECT Z_OPT FROM ZBOOK WHERE Z_PK = ?
/// touch         UPDATE ZBOOK SET Z_OPT = Z_OPT % 9223372036854775807 + 1 WHERE Z_PK = ?
/// ```
///
/// Only changed properties are written: an unchanged value touches no index. Texts are made once and kept, up to 200;
/// statements are kept by the connection.
final class RowWriter: EncodedRowWriter, @unchecked Sendable {
  let mapping: TableMapping
  let steps: [RowStep]
  let encoder: RowEncoder
  private let shapes: InsertShapes
  let deleteSQL: String
  let versionSQL: String
  let touchSQL: String
  /// The columns of each step, in the order of binding.
  let columns: [[String]]
  private let columnCounts: [Int]
  private var texts: [Statement: String] = [:]
  /// Their positions are those of the steps.
  var properties: WrittenProperties { encoder.properties }
  /// Whether groups of rows can be updated, once that was asked for: the table has no trigger that an INSERT would run
  /// before it finds its conflict.
  var updatesGroups: Bool?

  /// A statement whose text is kept.
  private enum Statement: Hashable {
    case update(StepSet)
    case updateGroup(StepSet, rows: Int)
    case delete(table: String, KeyShape, ofVersion: Bool)
    case versions(KeyShape)
    case versionCount(KeyShape)
  }

  /// Where large values go; nil for a store without a file.
  private let externalFiles: ExternalFiles?
  /// The columns of attributes with external storage, elements of composites among them.
  let externalColumns: [String]

  init(
    _ mapping: TableMapping, layout: EntityLayout, _ constraints: [UniqueConstraint] = [],
    externalFiles: ExternalFiles? = nil
  ) {
    self.mapping = mapping
    self.externalFiles = externalFiles
    encoder = RowEncoder(mapping, layout: layout, constraints)
    steps = encoder.steps
    columns = encoder.columns.map { $0.map(\.name) }
    columnCounts = columns.map(\.count)
    externalColumns = encoder.columns.joined().filter { $0.attribute?.allowsExternalBinaryDataStorage ?? false }
      .map(\.name)
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
  ///
  /// - Parameter ofVersion: whether only rows are deleted that have the version of the last parameter.
  func deleteSQL(from table: String, where column: String, _ shape: KeyShape, ofVersion: Bool = false) -> String {
    text(.delete(table: "\(table).\(column)", shape, ofVersion: ofVersion)) {
      let version = ofVersion ? " AND Z_OPT = ?\(shape.parameterCount + 1)" : ""
      return "DELETE FROM \(table) WHERE \(shape.condition(on: column))\(version)"
    }
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
    var cells = StatementCells(statement, at: index, externalFiles)
    for step in shape.steps { write(step, of: row, to: &cells, resolving: resolve) }
    return cells.index
  }

  /// Binds the values of a row's changed properties. Returns the next index.
  func bind(
    _ changed: StepSet, of row: Snapshot, to statement: SQLiteStatement, at index: Int32,
    resolving resolve: (RelatedKey) -> RelatedKey?
  ) -> Int32 {
    var cells = StatementCells(statement, at: index, externalFiles)
    changed.forEach { write(steps[$0], of: row, to: &cells, resolving: resolve) }
    return cells.index
  }

  @inline(__always)
  func write(
    _ step: RowStep, of row: Snapshot, to cells: inout StatementCells, resolving resolve: (RelatedKey) -> RelatedKey?
  ) {
    encoder.write(step, of: row, to: &cells, resolving: resolve)
    if cells.statement.hasRefusedValue { nameRefusedValue(of: cells.statement, step.slot, row) }
  }

  @inline(never)
  private func nameRefusedValue(of statement: SQLiteStatement, _ slot: Int, _ snapshot: Snapshot) {
    statement.nameRefusedValue(snapshot.layout.name, snapshot.layout.slots[slot].name)
  }

  /// What the row stores for a value of an attribute with external storage.
  func external(_ value: Data) -> Data { ExternalData.stored(value, externalFiles) }
}

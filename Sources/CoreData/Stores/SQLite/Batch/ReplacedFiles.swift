/// Finds the files of external data that a batch insertion replaces: those of rows that are there already, and get the
/// values of new ones.
///
/// For a photo with the unique name "a" and large data, before its INSERT:
///
/// ```text
/// WITH new (ZNAME) AS (VALUES (?))
/// SELECT t0.Z_PK, CASE WHEN length(t0.ZDATA) = 38 THEN t0.ZDATA END FROM ZPHOTO AS t0, new WHERE t0.ZNAME = new.ZNAME
/// ```
///
/// The unique index finds the row. After the COMMIT each file is looked at again (`ExternalFiles.didCommit`), so a row
/// too many does no harm. A row that comes twice in the batch replaces the file of its first coming, too.
struct ReplacedFiles {
  private let writer: RowWriter
  /// The steps of the constraints' columns, whose values are bound.
  private let steps: [RowStep]
  private let columns: [String]
  /// The slots of properties with external values.
  private let slots: Set<Int>
  private let sql: String

  /// - Parameter constraints: the columns of each constraint that the file keeps.
  /// - Returns: nil for an entity without external data.
  init?(_ writer: RowWriter, _ constraints: [[String]]) {
    guard !writer.externalColumns.isEmpty, !constraints.isEmpty else { return nil }
    let (unique, external) = (Set(constraints.joined()), Set(writer.externalColumns))
    let positions = writer.steps.indices.filter { !unique.isDisjoint(with: writer.columns[$0]) }
    self.writer = writer
    steps = positions.map { writer.steps[$0] }
    columns = writer.externalColumns
    slots = Set(
      writer.steps.indices.filter { !external.isDisjoint(with: writer.columns[$0]) }.map { writer.steps[$0].slot })
    let bound = positions.flatMap { writer.columns[$0] }
    let files = columns.map { "CASE WHEN length(t0.\($0)) = \(ExternalData.storedNameLength) THEN t0.\($0) END" }
    let conditions = constraints.map { columns in
      "(\(columns.map { "t0.\($0) = new.\($0)" }.joined(separator: " AND ")))"
    }
    sql = """
      WITH new (\(bound.joined(separator: ", "))) AS (VALUES (\(bound.map { _ in "?" }.joined(separator: ", ")))) \
      SELECT \((["t0.Z_PK"] + files).joined(separator: ", ")) FROM \(writer.mapping.table) AS t0, new \
      WHERE \(conditions.joined(separator: " OR "))
      """
  }

  /// The files of the rows with unique values of the new one; none if that names no external value.
  ///
  /// - Parameter named: by slot: the properties to which the new row gives values.
  func find(for row: Snapshot, _ named: [Bool], _ connection: SQLiteConnection) throws -> [ExternalFiles.Replaced] {
    guard slots.contains(where: { named[$0] }) else { return [] }
    let statement = try connection.statement(sql)
    defer { statement.reset() }
    // Without a folder: a large value would be written to a file here.
    var cells = StatementCells(statement, at: 1)
    for step in steps { writer.write(step, of: row, to: &cells) { $0 } }
    var files: [ExternalFiles.Replaced] = []
    while try statement.step() {
      for (index, column) in columns.enumerated() {
        guard let stored = statement.blob(Int32(index + 1)), ExternalData.fileName(stored) != nil else { continue }
        files.append(
          ExternalFiles.Replaced(
            table: writer.mapping.table, column: column, key: statement.integer(0), stored: stored))
      }
    }
    return files
  }
}

/// Writes the rows of one save into a store with statements whose parameters are arrays: a value of each row for each
/// column. All statements go to the server together, and their answers tell which rows were written.
final class ServerChangeWriter: ChangeWriter {
  /// A statement and what to do with its answer.
  struct Step {
    let sql: String
    let parameters: ServerParameters
    let finish: (any ServerResult) throws -> Void
  }

  let store: ServerStore
  let changes: RowChanges
  let connection: ServerWriter
  let notes: ServerHistoryNotes?
  var progress = SaveProgress()
  /// The changes of members, by relationship, in the order in which they were found.
  var memberChanges: [(storedEntity: StoredEntity, relationship: NSRelationshipDescription, changes: MemberChanges)] =
    []
  var memberPlaces: [NSRelationshipDescription: Int] = [:]
  private var steps: [Step] = []
  /// The rows to delete that had not the expected version, if they were there at all.
  private var missing: [Int] = []

  /// The most rows of one statement.
  static let mostRows = 4096

  init(_ changes: RowChanges, to store: ServerStore, _ connection: ServerWriter) {
    self.changes = changes
    self.store = store
    self.connection = connection
    notes = store.keepsHistory ? ServerHistoryNotes(store, changes.origin) : nil
  }

  // MARK: Beginning and end

  var history: (any HistoryNotes)? { notes }

  func begin() throws { store.prepare(connection) }

  func finish(_ noteRows: () throws -> Void) throws {
    addMembers()
    // Which rows are deleted only the answers tell.
    let tellsHistory = changes.deleted.isEmpty
    if tellsHistory { try addHistory(noteRows) }
    try run()
    try checkMissing()
    try throwRefusals()
    if !tellsHistory {
      try addHistory(noteRows)
      try run()
    }
  }

  private func addHistory(_ noteRows: () throws -> Void) throws {
    try noteRows()
    if let (sql, parameters) = notes?.statement { add(sql, parameters) }
  }

  // MARK: Statements

  func add(
    _ sql: String, _ parameters: ServerParameters = ServerParameters(),
    _ finish: @escaping (any ServerResult) throws -> Void = { _ in }
  ) {
    steps.append(Step(sql: sql, parameters: parameters, finish: finish))
  }

  /// Runs the statements that were added.
  func run() throws {
    let waiting = steps
    steps = []
    if waiting.isEmpty { return try connection.flush() }
    let results = try connection.pipeline(waiting.map { ($0.sql, $0.parameters) })
    for (step, result) in zip(waiting, results) { try step.finish(result) }
  }

  // MARK: Entities and keys

  func properties(_ storedEntity: StoredEntity) -> WrittenProperties { store.writer(storedEntity.number).properties }

  /// All hierarchies have one sequence.
  func keyGroup(_ storedEntity: StoredEntity) -> Int { 0 }

  func takeKeys(_ count: Int, _ group: Int) throws -> [Range<Int64>] { try store.keys.take(count, connection) }

  func currentRow(_ id: NSManagedObjectID) throws -> Snapshot? { try store.row(id, connection) }

  // MARK: Checks and deletions

  /// Locks the rows, so that they stay as they are until this save is committed.
  func check(_ rows: [Int], of storedEntity: StoredEntity) throws {
    let mapping = store.writer(storedEntity.number).mapping
    let names = mapping.names
    var parameters = ServerParameters()
    parameters.add(ServerArray(rows.map { changes.checked[$0].key }))
    let sql = """
      SELECT \(names.key), \(names.version) FROM \(mapping.table) WHERE \(names.key) = ANY($1) ORDER BY \(names.key) \
      FOR SHARE
      """
    add(sql, parameters) { [self] result in
      var versions: [Int64: Int64] = [:]
      for row in 0..<result.rowCount { versions[result.integer(row, 0)] = result.integer(row, 1) }
      for index in rows {
        let check = changes.checked[index]
        if !check.accepts(versions[check.key]) { try noteConflict(.checked(index), storedEntity, check.key) }
      }
    }
  }

  func delete(_ rows: [Int], of storedEntity: StoredEntity, areRead: Bool) throws {
    let mapping = store.writer(storedEntity.number).mapping
    let names = mapping.names
    var parameters = ServerParameters()
    parameters.add(ServerArray(rows.map { changes.deleted[$0].key }))
    parameters.add(ServerArray(rows.map { changes.deleted[$0].version ?? -1 }))
    let sql = """
      DELETE FROM \(mapping.table) t USING unnest($1, $2) AS d (key, version) \
      WHERE t.\(names.key) = d.key AND (d.version < 0 OR t.\(names.version) = d.version)
      """
    if let notes {
      add(sql, returning: mapping, of: rows, with: parameters, noting: notes)
    } else {
      add(sql, parameters) { [self] result in
        // All are gone in most cases, and the server need not name them.
        if result.affectedRows < rows.count { missing += rows }
      }
    }
  }

  /// Deletes rows and notes in the history which were there.
  private func add(
    _ sql: String, returning mapping: TableMapping, of rows: [Int], with parameters: ServerParameters,
    noting notes: ServerHistoryNotes
  ) {
    let preserved = notes.preserved(mapping)
    let columns = preserved.map { ", t.\($0.column)" }.joined()
    add("\(sql) RETURNING t.\(mapping.names.key)\(columns)", parameters) { [self] result in
      var gone: [Int64: Int] = [:]
      for row in 0..<result.rowCount { gone[result.integer(row, 0)] = row }
      for index in rows {
        guard let row = gone[changes.deleted[index].key] else {
          missing.append(index)
          continue
        }
        notes.noteDelete(
          of: mapping, key: changes.deleted[index].key, in: result, row: row, preserved: preserved)
      }
    }
  }

  /// A row that is not there any more is no conflict for its deletion.
  private func checkMissing() throws {
    for (number, indexes) in Dictionary(grouping: missing, by: { changes.deleted[$0].storedEntity.number }) {
      let mapping = store.writer(number).mapping
      var parameters = ServerParameters()
      parameters.add(ServerArray(indexes.map { changes.deleted[$0].key }))
      let rows = try connection.execute(
        "SELECT \(mapping.names.key) FROM \(mapping.table) WHERE \(mapping.names.key) = ANY($1)", parameters)
      let presentKeys = Set((0..<rows.rowCount).map { rows.integer($0, 0) })
      for index in indexes where presentKeys.contains(changes.deleted[index].key) {
        try noteConflict(.deleted(index), changes.deleted[index].storedEntity, changes.deleted[index].key)
      }
    }
  }
}

/// Writes the rows of one save into a store with statements whose parameters are arrays: a value of each row for each
/// column. All statements go to the server together, and their answers tell which rows were written.
///
/// `ChangeWriter.write` calls its methods, in this order. A method adds statements to `steps`; `run` sends them in one
/// pipeline and hands each answer to the step that waits for it:
///
/// ```text
/// assignKeys        takeKeys                 BEGIN, nextval              a round trip, where no keys are left
/// begin             store.prepare            the number of the transaction, the announcement: wait for the next one
/// writeChecks       check                    SELECT … FOR SHARE
/// writeDeletes      delete                   DELETE … USING unnest(…)
/// writeUpdates      update, updateUnique     UPDATE …                    a unique value: a round trip for its row
/// writeInserts      insert                   INSERT … SELECT … FROM unnest(…)
/// writeMembers      write(_:of:_:)           collected, added by finish
/// finish            addMembers, addHistory   join rows, positions, the history; then the round trip with all of them
///                   checkMissing             a round trip, where a DELETE has found too few rows
///                   throwRefusals            conflicts and rejected rows end the save here, before COMMIT
/// ```
///
/// Two programs save the same author, whom both have read with version 2:
///
/// ```text
/// program 1                                      program 2
/// UPDATE … WHERE _key = 1 AND _version = 2
///     1 row, and its lock
///                                                UPDATE … WHERE _key = 1 AND _version = 2
///                                                    waits for the lock
/// COMMIT
///                                                    looks at the row again: _version = 3
///                                                    0 rows
///                                                SELECT … WHERE t._key = $1: the row of the conflict
///                                                ROLLBACK, 133020 or the merge policy's next attempt
/// ```
///
/// That the second UPDATE evaluates its condition on the new row is READ COMMITTED's rule (page "Transaction
/// Isolation").
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
  /// The changes of members, by relationship, in the order in which they were found. They are written last, since join
  /// rows refer to rows on both sides; foreign keys are checked at the COMMIT, so this order is for positions only.
  var memberChanges: [(storedEntity: StoredEntity, relationship: NSRelationshipDescription, changes: MemberChanges)] =
    []
  var memberPlaces: [NSRelationshipDescription: Int] = [:]
  private var steps: [Step] = []
  /// The rows to delete that had not the expected version, if they were there at all.
  private var missing: [Int] = []

  /// The most rows of one statement. Larger ones are not faster, and the server keeps all parameters of a statement in
  /// memory.
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

  /// Ends the save. Without deletions the history goes with the rows in one round trip; with them it comes afterwards,
  /// since only the answers tell which rows were there to be deleted, and what values they had.
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

  /// Runs the statements that were added. In a save without rows, such as one of metadata, this sends what the
  /// connection has waiting: BEGIN and the announcement.
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

  /// Keys for new rows, by the writer's own connection: it is inside of its transaction, and `nextval` is not taken
  /// back with it (page "Sequence Manipulation Functions").
  func takeKeys(_ count: Int, _ group: Int) throws -> [Range<Int64>] { try store.keys.take(count, connection) }

  /// The row of a conflict, for the merge policy: read in the transaction of the save, which at READ COMMITTED shows
  /// the row as it is committed now.
  func currentRow(_ id: NSManagedObjectID) throws -> Snapshot? { try store.row(id, connection) }

  // MARK: Checks and deletions

  /// Locks the rows, so that they stay as they are until this save is committed.
  ///
  /// ```text
  /// SELECT _key, _version FROM "app"."Book" WHERE _key = ANY($1) ORDER BY _key FOR SHARE     $1 = '{2}'
  /// ```
  ///
  /// FOR SHARE lets other checks of the same rows pass, and makes writers wait. ORDER BY before the lock gives all
  /// sessions the same order; at READ COMMITTED a row that changed while it was waited for may come out of order, which
  /// does no harm here (page "SELECT", "The Locking Clause").
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

  /// Deletes rows of an entity.
  ///
  /// ```text
  /// DELETE FROM "app"."Book" t USING unnest($1, $2) AS d (key, version)
  /// WHERE t._key = d.key AND (d.version < 0 OR t._version = d.version) RETURNING t._key
  /// $1 = '{2,3}', $2 = '{8,2}'
  /// ```
  ///
  /// RETURNING is there for a store with a history only, with the columns of attributes that are preserved
  /// (`preservesValueInHistoryOnDeletion`). The foreign keys of other rows become NULL by the server's ON DELETE SET
  /// NULL, for rows that the program has not read, too.
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

  /// A row that is not there any more is no conflict for its deletion; one that is there has another version.
  ///
  /// ```text
  /// SELECT _key FROM "app"."Book" WHERE _key = ANY($1)
  /// ```
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

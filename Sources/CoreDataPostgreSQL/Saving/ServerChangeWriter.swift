/// Writes the rows of one save into a store, inside a transaction. Used once.
///
/// Rows that are written alike form one statement, whose parameters are arrays: a value of each row for each column.
/// All statements go to the server together, and their answers tell which rows were written.
final class ServerChangeWriter {
  /// A statement and what to do with its answer.
  struct Step {
    let sql: String
    let parameters: ServerParameters
    let finish: (any ServerResult) throws -> Void
  }

  let store: ServerStore
  let changes: RowChanges
  let connection: ServerWriter
  var saved = SavedRows()
  private var steps: [Step] = []
  private var conflicts: [RowConflicts.Conflict] = []
  var rejected: [(place: RowChanges.Place, message: String)] = []
  /// The rows to delete that had not the expected version, if they were there at all.
  var missing: [Int] = []
  var history: ServerHistoryNotes?

  init(_ changes: RowChanges, to store: ServerStore, _ connection: ServerWriter) {
    self.changes = changes
    self.store = store
    self.connection = connection
    history = store.keepsHistory ? ServerHistoryNotes(store, changes.origin) : nil
  }

  /// Writes everything. Throws the conflicts after all were found, those of versions first.
  func write() throws -> SavedRows {
    try assignKeys()
    store.prepare(connection)
    addChecks()
    addDeletes()
    // An update may free the unique value that a new row takes.
    try addUpdates()
    try addInserts()
    try addMembers()
    // Which rows are deleted only the answers tell.
    let tellsHistory = changes.deleted.isEmpty
    if tellsHistory { addHistory() }
    try run()
    try checkMissing()
    try throwRefusals()
    if !tellsHistory {
      addHistory()
      try run()
    }
    return saved
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

  // MARK: Keys

  private func assignKeys() throws {
    var keys = try store.keys.take(changes.inserted.count { $0.key < 0 }, connection)[...]
    var assigned: [AssignedKeys.Pair] = []
    assigned.reserveCapacity(keys.count)
    saved.keys.reserveCapacity(changes.inserted.count)
    var (serial, number): (UInt64?, Int64) = (nil, 0)
    for row in changes.inserted {
      if row.values.layout.serial != serial {
        serial = row.values.layout.serial
        number = Int64(store.mapping(row.values.layout.name).number)
      }
      guard row.key < 0, let key = keys.popFirst() else {
        saved.keys.append(row.key)
        continue
      }
      saved.keys.append(key)
      assigned.append((row.key, RelatedKey(key: key, number: number)))
    }
    saved.assigned.add(assigned)
  }

  /// The row to which a temporary key of this save leads.
  func resolve(_ related: RelatedKey) -> RelatedKey? {
    saved.assigned[related.key] ?? changes.permanentIDs[related.key]?.relatedKey
  }

  // MARK: Checks and deletions

  /// Locks the rows, so that they stay as they are until this save is committed.
  private func addChecks() {
    for (number, indexes) in grouped(changes.checked.indices, by: { changes.checked[$0].storedEntity.number }) {
      let mapping = store.writer(number).mapping
      let names = mapping.names
      var keys = ServerArray(.int8)
      for index in indexes { keys.append(changes.checked[index].key) }
      var parameters = ServerParameters()
      parameters.add(keys)
      let sql = """
        SELECT \(names.key), \(names.version) FROM \(mapping.table) WHERE \(names.key) = ANY($1) ORDER BY \(names.key) \
        FOR SHARE
        """
      add(sql, parameters) { [self] result in
        var versions: [Int64: Int64] = [:]
        for row in 0..<result.rowCount { versions[result.integer(row, 0)] = result.integer(row, 1) }
        for index in indexes where versions[changes.checked[index].key] != changes.checked[index].version {
          try noteConflict(.checked(index), changes.checked[index].storedEntity, changes.checked[index].key)
        }
      }
    }
  }

  private func addDeletes() {
    for (number, indexes) in grouped(changes.deleted.indices, by: { changes.deleted[$0].storedEntity.number }) {
      let mapping = store.writer(number).mapping
      let names = mapping.names
      let sorted = indexes.sorted { changes.deleted[$0].key < changes.deleted[$1].key }
      var keys = ServerArray(.int8)
      var versions = ServerArray(.int8)
      for index in sorted {
        keys.append(changes.deleted[index].key)
        versions.append(changes.deleted[index].version ?? -1)
      }
      var parameters = ServerParameters()
      parameters.add(keys)
      parameters.add(versions)
      let sql = """
        DELETE FROM \(mapping.table) t USING unnest($1, $2) AS d (key, version) \
        WHERE t.\(names.key) = d.key AND (d.version < 0 OR t.\(names.version) = d.version)
        """
      if let history {
        add(sql, returning: mapping, indexes, parameters, history)
      } else {
        add(sql, parameters) { [self] result in
          // All are gone in most cases, and the server need not name them.
          if result.affectedRows < indexes.count { missing += indexes }
        }
      }
    }
  }

  /// Deletes rows and notes in the history which were there.
  private func add(
    _ sql: String, returning mapping: TableMapping, _ indexes: [Int], _ parameters: ServerParameters,
    _ history: ServerHistoryNotes
  ) {
    let preserved = history.preserved(mapping)
    let columns = preserved.map { ", t.\($0.column)" }.joined()
    add("\(sql) RETURNING t.\(mapping.names.key)\(columns)", parameters) { [self] result in
      var gone: [Int64: Int] = [:]
      for row in 0..<result.rowCount { gone[result.integer(row, 0)] = row }
      for index in indexes {
        guard let row = gone[changes.deleted[index].key] else {
          missing.append(index)
          continue
        }
        history.noteDelete(mapping, changes.deleted[index].key, result, row, preserved)
      }
    }
  }

  /// A row that is not there any more is no conflict for its deletion.
  private func checkMissing() throws {
    for (number, indexes) in Dictionary(grouping: missing, by: { changes.deleted[$0].storedEntity.number }) {
      let mapping = store.writer(number).mapping
      var keys = ServerArray(.int8)
      for index in indexes { keys.append(changes.deleted[index].key) }
      var parameters = ServerParameters()
      parameters.add(keys)
      let found = try connection.execute(
        "SELECT \(mapping.names.key) FROM \(mapping.table) WHERE \(mapping.names.key) = ANY($1)", parameters)
      let left = Set((0..<found.rowCount).map { found.integer($0, 0) })
      for index in indexes where left.contains(changes.deleted[index].key) {
        try noteConflict(.deleted(index), changes.deleted[index].storedEntity, changes.deleted[index].key)
      }
    }
  }

  // MARK: Refused rows

  /// - Throws: an error of reading the row, which says nothing of a conflict.
  func noteConflict(_ place: RowChanges.Place, _ storedEntity: StoredEntity, _ key: Int64) throws {
    let stored = try store.row(NSManagedObjectID(storedEntity: storedEntity, key: key), connection)
    conflicts.append(
      RowConflicts.Conflict(place: place, stored: stored, cached: store.rowCache.find(key, storedEntity.table)))
  }

  private func throwRefusals() throws {
    if !conflicts.isEmpty {
      throw RowConflicts(store: store, conflicts: conflicts.sorted { $0.place < $1.place })
    }
    rejected.sort { $0.place < $1.place }
    if let first = rejected.first {
      throw RejectedRows(store: store, places: rejected.map(\.place), message: first.message)
    }
  }

  /// The indexes by a number, in the order of the numbers, so that saves lock rows of several tables in one order.
  private func grouped(_ indexes: Range<Int>, by number: (Int) -> Int) -> [(number: Int, indexes: [Int])] {
    Dictionary(grouping: indexes, by: number).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  // MARK: History

  private func addHistory() {
    guard let history else { return }
    for (index, row) in changes.inserted.enumerated() {
      history.noteInsert(store.mapping(row.values.layout.name), saved.keys[index])
    }
    for row in changes.updated {
      let changed = changedNames(of: row)
      if !changed.isEmpty { history.noteUpdate(store.writer(row.storedEntity.number).mapping, row.key, changed) }
    }
    if let (sql, parameters) = history.statement { add(sql, parameters) }
  }

  /// The properties whose columns or join rows this save writes.
  private func changedNames(of row: RowChanges.Update) -> [String] {
    let names = row.members.map(\.relationship.name)
    guard let values = row.values, let base = row.base else { return names }
    let steps = store.writer(row.storedEntity.number).steps
    return names
      + steps.lazy.filter { !base.isEqual(values, slot: $0.slot) }.map { row.storedEntity.layout.slots[$0.slot].name }
  }
}

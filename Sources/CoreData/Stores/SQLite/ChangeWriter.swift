/// Writes the rows of one save into a store's file, inside a transaction. Used once.
final class ChangeWriter {
  let store: SQLiteStore
  let changes: RowChanges
  let connection: SQLiteConnection
  let groups: WriteGroups
  var saved = SavedRows()
  /// The inserted rows, divided where the entity changes.
  private(set) var insertRuns: [(writer: RowWriter, rows: Range<Int>)] = []
  private var conflicts: [RowConflicts.Conflict] = []
  /// The rows whose unique values another row has, with SQLite's error.
  var rejected: [(place: RowChanges.Place, error: SQLiteError)] = []
  /// The statements of the rows before, the last one first.
  private var recent: [(sql: String, statement: SQLiteStatement)] = []

  init(_ changes: RowChanges, to store: SQLiteStore, _ connection: SQLiteConnection) {
    self.changes = changes
    self.store = store
    self.connection = connection
    groups = store.writeGroups
  }

  /// Writes everything. Throws the conflicts after all were found, those of versions first.
  func write() throws -> SavedRows {
    let replaced = try replacedFiles()
    do {
      let saved = try writeRows()
      try store.externalFiles?.keepWritten()
      store.externalFiles?.replaced += replaced
      return saved
    } catch {
      store.externalFiles?.removeWritten()
      throw error
    }
  }

  private func writeRows() throws -> SavedRows {
    try assignKeys()
    let history = try startHistory()
    for index in changes.checked.indices { try check(index) }
    try writeDeletes()
    // An update may free the unique value that a new row takes.
    try writeUpdates()
    if !rejected.isEmpty { try repeatUpdates() }
    try writeInserts()
    for run in insertRuns {
      for index in run.rows where !changes.inserted[index].members.isEmpty {
        try writeMembers(changes.inserted[index].members, of: saved.keys[index], run.writer)
      }
    }
    for row in changes.updated where !row.members.isEmpty {
      try writeMembers(row.members, of: row.key, store.writer(row.storedEntity.number))
    }
    try throwRefusals()
    if let history { try finishHistory(history) }
    return saved
  }

  // MARK: Keys

  private func assignKeys() throws {
    let inserted = changes.inserted
    var ranges = KeyRanges()
    var start = 0
    while start < inserted.count {
      let layout = inserted[start].values.layout
      let writer = store.writer(store.mapping(layout.name).number)
      var (end, newCount) = (start, 0)
      while end < inserted.count, inserted[end].values.layout === layout {
        if inserted[end].key < 0 { newCount += 1 }
        end += 1
      }
      insertRuns.append((writer, start..<end))
      ranges.need(newCount, writer.mapping.rootNumber)
      start = end
    }
    try ranges.reserve { root, count in try store.takeKeys(count, root: root, connection) }
    var keys: [Int64] = []
    keys.reserveCapacity(inserted.count)
    var assigned: [AssignedKeys.Pair] = []
    assigned.reserveCapacity(inserted.count)
    for run in insertRuns {
      let number = Int64(run.writer.mapping.number)
      var key = ranges.take(inserted[run.rows].count { $0.key < 0 }, run.writer.mapping.rootNumber)
      for index in run.rows {
        let temporary = inserted[index].key
        guard temporary < 0 else {
          keys.append(temporary)
          continue
        }
        keys.append(key)
        assigned.append((temporary, RelatedKey(key: key, number: number)))
        key += 1
      }
    }
    saved.keys = keys
    saved.assigned.add(assigned)
  }

  /// The row to which a temporary key of this save leads.
  func resolve(_ related: RelatedKey) -> RelatedKey? {
    saved.assigned[related.key] ?? changes.permanentIDs[related.key]?.relatedKey
  }

  // MARK: Rows

  private func check(_ index: Int) throws {
    let row = changes.checked[index]
    let version = try connection.integer(
      store.writer(row.storedEntity.number).versionSQL, [.integer(row.key)])
    if version != row.version { try noteConflict(.checked(index), row.storedEntity, row.key) }
  }

  /// Whether the rows are in the file and have the expected versions. That stays true until this save writes them,
  /// because no other connection can write during its transaction.
  ///
  /// - Parameter keys: in ascending order, which is SQLite's order too.
  func versions(of keys: [Int64], _ shape: KeyShape, _ writer: RowWriter, are expected: (Int) -> Int64) throws -> Bool {
    let first = expected(0)
    let isUniform = keys.indices.allSatisfy { expected($0) == first }
    let statement = try statement(isUniform ? writer.versionCountSQL(shape) : writer.versionsSQL(shape))
    defer { statement.reset() }
    shape.bind(keys, to: statement)
    if isUniform {
      statement.bind(first, at: shape.parameterCount + 1)
      return try statement.step() && statement.integer(0) == keys.count
    }
    for (position, key) in keys.enumerated() {
      guard try statement.step(), statement.integer(0) == key, statement.integer(1) == expected(position) else {
        return false
      }
    }
    return true
  }

  /// The rows in the order of their keys, which mostly is theirs.
  func sorted(_ rows: ArraySlice<Int>, by key: (Int) -> Int64) -> [Int] {
    let isSorted = rows.indices.dropFirst().allSatisfy { key(rows[$0 - 1]) <= key(rows[$0]) }
    return isSorted ? Array(rows) : rows.sorted { key($0) < key($1) }
  }

  // MARK: Statements

  /// The statement for the text, which is mostly one of the rows before.
  func statement(_ sql: String) throws -> SQLiteStatement {
    if let known = recent.first(where: { $0.sql == sql }) { return known.statement }
    let statement = try connection.statement(sql)
    statement.texts = connection.boundTexts
    if recent.count == 4 { recent.removeLast() }
    recent.insert((sql, statement), at: 0)
    return statement
  }

  /// Runs a statement for one row. False, after noting the row, if another row has its unique values.
  @discardableResult
  func run(_ statement: SQLiteStatement, for place: RowChanges.Place) throws -> Bool {
    do {
      try statement.run()
      return true
    } catch let error as SQLiteError where error.isViolatedUniqueIndex {
      rejected.append((place, error))
      return false
    }
  }

  /// Runs a statement for several rows. False, with nothing written, if a constraint refuses one of them.
  func runGroup(_ statement: SQLiteStatement) throws -> Bool {
    do {
      try statement.run()
      return true
    } catch let error as SQLiteError where error.isViolatedConstraint && connection.isInTransaction {
      return false
    }
  }

  // MARK: Refused rows

  /// - Throws: an error of reading the row, which says nothing of a conflict.
  func noteConflict(_ place: RowChanges.Place, _ storedEntity: StoredEntity, _ key: Int64) throws {
    let stored = try store.row(NSManagedObjectID(storedEntity: storedEntity, key: key), connection)
    conflicts.append(
      RowConflicts.Conflict(
        place: place, stored: stored, cached: store.rowCache.find(key, storedEntity.table)))
  }

  /// Throws the conflicts, or else the rejected rows, in the save's order: groups may have found them in another one.
  private func throwRefusals() throws {
    if !conflicts.isEmpty {
      throw RowConflicts(store: store, conflicts: conflicts.sorted { $0.place < $1.place })
    }
    rejected.sort { $0.place < $1.place }
    if let first = rejected.first {
      throw RejectedRows(store: store, places: rejected.map(\.place), message: first.error.message)
    }
  }
}

/// The keys for the new rows of a save, by the number of their root entity.
private struct KeyRanges {
  private var ranges: [(root: Int, count: Int, next: Int64)] = []
  private var current = 0

  /// Finds the range of an entity, mostly that of the row before.
  private mutating func find(_ root: Int) {
    if current < ranges.count, ranges[current].root == root { return }
    current = ranges.firstIndex { $0.root == root } ?? ranges.count
    if current == ranges.count { ranges.append((root, 0, 0)) }
  }

  mutating func need(_ count: Int, _ root: Int) {
    guard count > 0 else { return }
    find(root)
    ranges[current].count += count
  }

  /// - Parameter first: reserves as many keys of an entity, and returns the first.
  mutating func reserve(_ first: (_ root: Int, _ count: Int) throws -> Int64) rethrows {
    for index in ranges.indices {
      ranges[index].next = try first(ranges[index].root, ranges[index].count)
    }
  }

  /// The first of as many consecutive keys.
  mutating func take(_ count: Int, _ root: Int) -> Int64 {
    find(root)
    defer { ranges[current].next += Int64(count) }
    return ranges[current].next
  }
}

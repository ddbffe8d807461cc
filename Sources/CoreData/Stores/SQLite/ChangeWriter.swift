/// Writes the rows of one save into a store's file, inside a transaction. Used once.
final class ChangeWriter {
  let store: SQLiteStore
  let changes: RowChanges
  let connection: SQLiteConnection
  private(set) var saved = SavedRows()
  /// The writers by index of the inserted row.
  private(set) var insertedWriters: [RowWriter] = []
  private var conflicts: [RowConflicts.Conflict] = []
  /// The rows whose unique values another row has, with SQLite's sentence about the first.
  private var rejected: (places: [RowChanges.Place], error: SQLiteError)?
  private var lastStatement: (sql: String, statement: SQLiteStatement)?

  init(_ changes: RowChanges, to store: SQLiteStore, _ connection: SQLiteConnection) {
    self.changes = changes
    self.store = store
    self.connection = connection
  }

  /// Writes everything. Throws the conflicts after all were found, those of versions first.
  func write() throws -> SavedRows {
    try assignKeys()
    let history = try startHistory()
    for index in changes.checked.indices { try check(index) }
    for index in changes.deleted.indices { try delete(index) }
    // An update may free the unique value that a new row takes.
    saved.versions.reserveCapacity(changes.updated.count)
    for index in changes.updated.indices { saved.versions.append(try update(index)) }
    if rejected != nil { try repeatUpdates() }
    for index in changes.inserted.indices { try insert(index) }
    for (index, row) in changes.inserted.enumerated() where !row.members.isEmpty {
      try writeMembers(row.members, of: saved.keys[index], insertedWriters[index])
    }
    for row in changes.updated where !row.members.isEmpty {
      try writeMembers(row.members, of: row.key, store.writer(row.storedEntity.number))
    }
    if !conflicts.isEmpty { throw RowConflicts(store: store, conflicts: conflicts) }
    if let rejected { throw RejectedRows(store: store, places: rejected.places, message: rejected.error.message) }
    if let history { try finishHistory(history) }
    return saved
  }

  // MARK: Keys

  private func assignKeys() throws {
    insertedWriters.reserveCapacity(changes.inserted.count)
    saved.keys.reserveCapacity(changes.inserted.count)
    var counts: [Int: Int] = [:]
    var last: (layout: EntityLayout, writer: RowWriter)?
    for row in changes.inserted {
      let layout = row.values.layout
      // Rows of one entity mostly follow each other.
      let writer =
        if let last, last.layout === layout { last.writer } else { store.writer(store.mapping(layout.name).number) }
      last = (layout, writer)
      insertedWriters.append(writer)
      if row.key < 0 { counts[writer.mapping.rootNumber, default: 0] += 1 }
    }
    var next: [Int: Int64] = [:]
    for (root, count) in counts { next[root] = try store.takeKeys(count, root: root, connection) }
    saved.assigned.reserveCapacity(changes.inserted.count)
    for (row, writer) in zip(changes.inserted, insertedWriters) {
      guard row.key < 0, let key = next[writer.mapping.rootNumber] else {
        saved.keys.append(row.key)
        continue
      }
      next[writer.mapping.rootNumber] = key + 1
      saved.keys.append(key)
      saved.assigned[row.key] = RelatedKey(key: key, number: Int64(writer.mapping.number))
    }
  }

  private func resolve(_ related: RelatedKey) -> RelatedKey? {
    saved.assigned[related.key] ?? changes.permanentIDs[related.key]?.relatedKey
  }

  // MARK: Rows

  private func insert(_ index: Int) throws {
    let row = changes.inserted[index]
    let writer = insertedWriters[index]
    let statement = try statement(writer.insertSQL)
    statement.bind(saved.keys[index], at: 1)
    statement.bind(Int64(writer.mapping.number), at: 2)
    statement.bind(1 as Int64, at: 3)
    var column: Int32 = 4
    for step in writer.steps {
      column = writer.bind(step, of: row.values, to: statement, at: column, resolving: resolve)
    }
    try run(statement, for: .inserted(index))
  }

  private func update(_ index: Int) throws -> Int64 {
    let row = changes.updated[index]
    let writer = store.writer(row.storedEntity.number)
    guard let values = row.values, let base = row.base else {
      // The row was never read: it cannot conflict, only members changed.
      guard !row.members.isEmpty else { return 0 }
      try connection.execute(writer.touchSQL, [.integer(row.key)])
      if connection.changes == 0 { noteConflict(.updated(index), row.storedEntity, row.key) }
      return 0
    }
    let changed = writer.steps.indices.filter { !base.isEqual(values, slot: writer.steps[$0].slot) }
    guard !changed.isEmpty || !row.members.isEmpty else { return base.version }
    let statement = try statement(writer.updateSQL(changed))
    // Only another program writes the largest number. After it the count restarts at 1.
    let version = base.version == .max ? 1 : base.version + 1
    statement.bind(version, at: 1)
    var column: Int32 = 2
    for position in changed {
      column = writer.bind(writer.steps[position], of: values, to: statement, at: column, resolving: resolve)
    }
    statement.bind(row.key, at: column)
    statement.bind(base.version, at: column + 1)
    if try run(statement, for: .updated(index)), connection.changes == 0 {
      noteConflict(.updated(index), row.storedEntity, row.key)
    }
    return version
  }

  /// Repeats the updates that wanted a unique value that another row had at that moment, such as two rows that exchange
  /// theirs: through a state in which neither has one.
  private func repeatUpdates() throws {
    let waiting = rejected?.places ?? []
    rejected = nil
    for case .updated(let index) in waiting {
      let row = changes.updated[index]
      guard let values = row.values, let base = row.base else { continue }
      let writer = store.writer(row.storedEntity.number)
      let unique = Set(store.uniqueConstraints(of: writer.mapping).flatMap(\.columns))
      let columns = writer.steps.indices.filter { !base.isEqual(values, slot: writer.steps[$0].slot) }
        .flatMap { writer.columns[$0] }.filter(unique.contains)
      guard !columns.isEmpty else { continue }
      try connection.execute(
        "UPDATE \(writer.mapping.table) SET \(columns.map { "\($0) = NULL" }.joined(separator: ", ")) WHERE Z_PK = ?",
        [.integer(row.key)])
    }
    for case .updated(let index) in waiting { saved.versions[index] = try update(index) }
  }

  private func check(_ index: Int) throws {
    let row = changes.checked[index]
    let version = try connection.integer(store.writer(row.storedEntity.number).versionSQL, [.integer(row.key)])
    if version != row.version { noteConflict(.checked(index), row.storedEntity, row.key) }
  }

  private func delete(_ index: Int) throws {
    let row = changes.deleted[index]
    let writer = store.writer(row.storedEntity.number)
    let version = row.version ?? -1
    try connection.execute(writer.deleteSQL, [.integer(row.key), .integer(version), .integer(version)])
    if connection.changes == 0, try connection.integer(writer.versionSQL, [.integer(row.key)]) != nil {
      noteConflict(.deleted(index), row.storedEntity, row.key)
    }
    for case .join(_, let table, let ownerColumn, _, _) in writer.mapping.toManys.values {
      try connection.execute("DELETE FROM \(table) WHERE \(ownerColumn) = ?", [.integer(row.key)])
    }
  }

  /// The statement for the text, which is mostly that of the previous row.
  private func statement(_ sql: String) throws -> SQLiteStatement {
    if let lastStatement, lastStatement.sql == sql { return lastStatement.statement }
    let statement = try connection.statement(sql)
    lastStatement = (sql, statement)
    return statement
  }

  /// Runs a statement. False, after noting the row, if another row has its unique values.
  @discardableResult
  private func run(_ statement: SQLiteStatement, for place: RowChanges.Place) throws -> Bool {
    do {
      try statement.run()
      return true
    } catch let error as SQLiteError where error.isViolatedUniqueIndex {
      rejected = ((rejected?.places ?? []) + [place], rejected?.error ?? error)
      return false
    }
  }

  private func noteConflict(_ place: RowChanges.Place, _ storedEntity: StoredEntity, _ key: Int64) {
    let stored = (try? store.row(NSManagedObjectID(storedEntity: storedEntity, key: key), connection)) ?? nil
    conflicts.append(
      RowConflicts.Conflict(place: place, stored: stored, cached: store.rowCache.find(key, storedEntity.table)))
  }

  // MARK: To-many relationships

  private func writeMembers(_ members: [MemberChange], of owner: Int64, _ writer: RowWriter) throws {
    for change in members {
      guard let place = writer.mapping.toManys[change.relationship.name] else { continue }
      switch place {
      case .foreignKey(_, let table, let inverse):
        guard let orderColumn = inverse.orderColumn else { continue }
        let last = "SELECT max(\(orderColumn)) FROM \(table) WHERE \(inverse.column) = ?"
        try writeOrder(change, of: owner, after: last) { position, member in
          ("UPDATE \(table) SET \(orderColumn) = ? WHERE Z_PK = ?", [position, member])
        }
      case .join(_, let table, let ownerColumn, let destinationColumn, let orderColumn):
        for member in change.removed where member > 0 {
          try connection.execute(
            "DELETE FROM \(table) WHERE \(ownerColumn) = ? AND \(destinationColumn) = ?",
            [.integer(owner), .integer(member)])
        }
        for member in change.added {
          try connection.execute(
            "INSERT OR IGNORE INTO \(table) (\(ownerColumn), \(destinationColumn)) VALUES (?, ?)",
            [.integer(owner), .integer(try permanentKey(member, of: change))])
        }
        guard let orderColumn else { continue }
        let last = "SELECT max(\(orderColumn)) FROM \(table) WHERE \(ownerColumn) = ?"
        try writeOrder(change, of: owner, after: last) { position, member in
          (
            "UPDATE \(table) SET \(orderColumn) = ? WHERE \(destinationColumn) = ? AND \(ownerColumn) = ?",
            [position, member, .integer(owner)]
          )
        }
      }
    }
  }

  /// Gives every member its position: 2048 for the first and 1024 more for each, as in Apple's files. If the members
  /// were not read, new ones come after the existing ones.
  private func writeOrder(
    _ change: MemberChange, of owner: Int64, after lastSQL: String,
    _ statement: (SQLiteValue, SQLiteValue) -> (String, [SQLiteValue])
  ) throws {
    guard let order = change.order else { return }
    var position: Int64 = 2048
    if !change.isWhole, let last = try connection.integer(lastSQL, [.integer(owner)]), last > 0 {
      position = last + 1024
    }
    for member in order {
      let (sql, values) = statement(.integer(position), .integer(try permanentKey(member, of: change)))
      try connection.execute(sql, values)
      position += 1024
    }
  }

  private func permanentKey(_ member: Int64, of change: MemberChange) throws -> Int64 {
    if member > 0 { return member }
    if let assigned = resolve(RelatedKey(key: member, number: 0)) { return assigned.key }
    let relationship = change.relationship
    throw CoreDataErrors.error(
      .persistentStoreSave,
      "\(relationship.owner?.name ?? "").\(relationship.name) has a new member that is not saved to the same store.")
  }
}

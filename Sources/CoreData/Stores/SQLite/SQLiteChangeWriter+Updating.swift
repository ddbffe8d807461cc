/// Writes a save's changed rows, in groups.
extension SQLiteChangeWriter {
  var updateGroupSize: Int { groups.updates.first ?? 1 }

  /// Updates rows that change the same properties, one by one, or in groups of 4 and 16.
  ///
  /// ```text
  /// 1 row       UPDATE ZBOOK SET Z_OPT = 2, ZPAGES = 99 WHERE Z_PK = 30 AND Z_OPT = 1
  /// 4, 16 rows  SELECT count(*) FROM ZBOOK WHERE Z_PK BETWEEN 18 AND 21 AND Z_OPT = 1
  ///             INSERT INTO ZBOOK (Z_PK, ZPAGES) VALUES (18, 99), (19, 99), (20, 99), (21, 99)
  ///               ON CONFLICT (Z_PK) DO UPDATE SET Z_OPT = Z_OPT + 1, ZPAGES = excluded.ZPAGES
  /// ```
  ///
  /// First the versions of the whole group are looked at; then its rows are written without a condition. Nobody can
  /// write in between: this connection has the write lock. If a version is another one, the group is written row by
  /// row, and each row finds its own conflict.
  func update(_ rows: [Int], _ kind: UpdateKind) throws {
    let writer = store.writer(kind.storedEntity.number)
    try WriteGroups.divide(rows, try groupSizes(kind, writer)) { try updateAtOnce($0, kind, writer) }
  }

  func updateUnique(_ row: Int, _ kind: UpdateKind) throws -> String? {
    try updateRow(row, kind, store.writer(kind.storedEntity.number))
  }

  /// Two books exchange their titles, and `title` is unique:
  ///
  /// ```text
  /// UPDATE ZBOOK SET Z_OPT = 3, ZTITLE = 'Dawn' WHERE Z_PK = 1 AND Z_OPT = 2        refused: the other one has it
  /// UPDATE ZBOOK SET Z_OPT = 2, ZTITLE = 'Kindred' WHERE Z_PK = 2 AND Z_OPT = 1     refused
  /// UPDATE ZBOOK SET ZTITLE = NULL WHERE Z_PK = 1                                   clearUnique
  /// UPDATE ZBOOK SET ZTITLE = NULL WHERE Z_PK = 2
  /// UPDATE ZBOOK SET Z_OPT = 3, ZTITLE = 'Dawn' WHERE Z_PK = 1 AND Z_OPT = 2        both succeed
  /// UPDATE ZBOOK SET Z_OPT = 2, ZTITLE = 'Kindred' WHERE Z_PK = 2 AND Z_OPT = 1
  /// ```
  func clearUnique(_ row: Int, _ kind: UpdateKind) throws {
    let writer = store.writer(kind.storedEntity.number)
    let unique = kind.changed.intersection(writer.properties.unique)
    let assignments = unique.positions.flatMap { writer.columns[$0] }.map { "\($0) = NULL" }.joined(separator: ", ")
    try connection.run(
      """
      UPDATE \(raw: writer.mapping.table) SET \(raw: assignments) \
      WHERE Z_PK = \(bind: .integer(changes.updated[row].key))
      """)
  }

  /// The sizes of groups that one statement can update.
  private func groupSizes(_ kind: UpdateKind, _ writer: RowWriter) throws -> [Int] {
    guard kind.isRead, try updatesGroups(of: writer) else { return [] }
    let isWide = writer.columnCount(of: kind.changed) > WriteGroups.mostColumnsOfSmallUpdates
    return isWide ? Array(groups.updates.prefix(1)) : groups.updates
  }

  /// The INSERT of a group runs BEFORE INSERT triggers for rows that are only updated. An app's own trigger of that
  /// kind is found in the file's schema; the framework's are all AFTER triggers. Asked once for each entity.
  private func updatesGroups(of writer: RowWriter) throws -> Bool {
    if let updatesGroups = writer.updatesGroups { return updatesGroups }
    let triggers = try connection.integer(
      """
      SELECT count(*) FROM sqlite_master WHERE type = 'trigger' \
      AND lower(tbl_name) = lower(\(bind: .text(writer.mapping.table))) AND sql NOT LIKE '%AFTER%'
      """)
    writer.updatesGroups = triggers == 0
    return triggers == 0
  }

  private func updateAtOnce(_ rows: ArraySlice<Int>, _ kind: UpdateKind, _ writer: RowWriter) throws {
    guard try rows.count < 2 || !updateGroup(rows, kind, writer) else { return }
    for index in rows {
      if let message = try updateRow(index, kind, writer) { progress.reject(.updated(index), message) }
    }
  }

  /// Writes rows that have the versions they should have: nobody else can write before this save ends. False, with
  /// nothing written, if one has not, or a constraint refuses.
  private func updateGroup(_ rows: ArraySlice<Int>, _ kind: UpdateKind, _ writer: RowWriter) throws -> Bool {
    let updated = changes.updated
    let rows = Array(rows).inOrder { updated[$0].key }
    let keys = rows.map { updated[$0].key }
    let version = { (position: Int) in updated[rows[position]].base?.version ?? 0 }
    // Only another program writes the largest version, after which the count restarts.
    guard rows.indices.allSatisfy({ version($0) != .max }),
      try versions(of: keys, KeyShape(keys), writer, are: version)
    else { return false }
    let statement = try statement(writer.updateSQL(kind.changed, rows: rows.count))
    connection.boundTexts.clear()
    var column: Int32 = 1
    for (index, key) in zip(rows, keys) {
      guard let values = updated[index].values else { return false }
      statement.bind(key, at: column)
      column += 1
      column = writer.bind(kind.changed, of: values, to: statement, at: column, resolving: resolve)
      if statement.hasRefusedValue { statement.nameRefusedRow(key) }
    }
    return try runGroup(statement)
  }

  /// A row that was never read has no version to compare: a new book was put into the books of an author that is a
  /// fault. Its version is raised, so that others notice the change:
  ///
  /// ```text
  /// UPDATE ZAUTHOR SET Z_OPT = Z_OPT % 9223372036854775807 + 1 WHERE Z_PK = 1
  /// ```
  ///
  /// - Returns: SQLite's sentence if another row has the row's unique values.
  private func updateRow(_ index: Int, _ kind: UpdateKind, _ writer: RowWriter) throws -> String? {
    let row = changes.updated[index]
    guard let values = row.values, let base = row.base else {
      // The row was never read: it cannot conflict, only members changed.
      try run(writer.touchSQL, .integer(row.key))
      if connection.changes == 0 { try noteConflict(.updated(index), row.storedEntity, row.key) }
      return nil
    }
    let statement = try statement(writer.updateSQL(kind.changed))
    connection.boundTexts.clear()
    statement.bind(base.version.nextVersion, at: 1)
    let column = writer.bind(kind.changed, of: values, to: statement, at: 2, resolving: resolve)
    statement.bind(row.key, at: column)
    statement.bind(base.version, at: column + 1)
    if statement.hasRefusedValue { statement.nameRefusedRow(row.key) }
    if let message = try run(statement, for: (values.layout.name, row.key)) { return message }
    if connection.changes == 0 { try noteConflict(.updated(index), row.storedEntity, row.key) }
    return nil
  }
}

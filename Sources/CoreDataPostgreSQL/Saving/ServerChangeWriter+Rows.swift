/// New and changed rows.
///
/// Both have two forms of a statement: one for a single row with plain parameters, whose generic plan the server keeps,
/// and one for several rows with arrays, whose text is the same for any number of rows.
extension ServerChangeWriter {
  // MARK: New rows

  /// Inserts rows of an entity.
  ///
  /// ```text
  /// INSERT INTO "app"."Author" (_key, _entity, "name") VALUES ($1, 1, $2)
  /// INSERT INTO "app"."Book" (_key, _entity, …) SELECT u.key, 2, … FROM unnest($1, …) AS u (key, …)
  ///
  /// with a uniqueness constraint in the model:
  /// INSERT INTO "app"."Book" (…) VALUES (…) ON CONFLICT DO NOTHING RETURNING _key
  /// ```
  ///
  /// ON CONFLICT DO NOTHING leaves a row out whose unique values another one has, and goes on with the rest; an error
  /// would end the transaction at the first one. All rejected rows are known afterwards, as the merge policies need
  /// them. Where the other row is that of an open transaction, the INSERT waits for its end (page "INSERT", "ON
  /// CONFLICT Clause").
  func insert(_ rows: [Int], of storedEntity: StoredEntity) throws {
    let writer = store.writer(storedEntity.number)
    for part in Self.divided(rows) { try addInsert(part, writer) }
  }

  private static func divided(_ rows: [Int]) -> [ArraySlice<Int>] {
    stride(from: 0, to: rows.count, by: mostRows).map { rows[$0..<min($0 + mostRows, rows.count)] }
  }

  /// Adds one INSERT, or two of half as many rows where these would be too many bytes for one message.
  private func addInsert(_ rows: ArraySlice<Int>, _ writer: ServerRowWriter) throws {
    let mapping = writer.mapping
    let keys = rows.map { progress.saved.keys[$0] }
    let values = rows.map { changes.inserted[$0].values }
    var parameters = ServerParameters()
    let isAlone = rows.count == 1
    if isAlone { parameters.add(keys[0]) } else { parameters.add(ServerArray(keys)) }
    guard try add(writer.all, writer, values, of: keys, to: &parameters) else {
      return try rows.halves.forEach { try addInsert($0, writer) }
    }
    let hasConstraints = !writer.constraints.isEmpty
    let sql =
      (isAlone ? writer.insertRowSQL : writer.insertSQL)
      + (hasConstraints ? " ON CONFLICT DO NOTHING RETURNING \(mapping.names.key)" : "")
    add(sql, parameters) { [self] result in
      guard hasConstraints, result.rowCount < rows.count else { return }
      let written = Set((0..<result.rowCount).map { result.integer($0, 0) })
      for index in rows where !written.contains(progress.saved.keys[index]) {
        progress.reject(.inserted(index), "another row of \(mapping.name) has the unique values of a new one")
      }
    }
  }

  /// Adds the columns of the steps at some positions: of one row its values, of several an array for each.
  ///
  /// - Returns: false when the rows are too many bytes for one statement.
  /// - Throws: `RefusedValue` with the row's key.
  private func add(
    _ positions: some Collection<Int>, _ writer: ServerRowWriter, _ rows: [Snapshot], of keys: [Int64],
    to parameters: inout ServerParameters
  ) throws -> Bool {
    do {
      if keys.count > 1 {
        return try writer.addColumns(positions, of: rows, to: &parameters, resolving: resolve)
      } else if let row = rows.first {
        try writer.addValues(positions, of: row, to: &parameters, resolving: resolve)
      }
      return true
    } catch {
      // A column does not know which row is whose. The first refusal ends the save, so it may be looked for again.
      for (row, key) in zip(rows, keys) {
        var unsent = ServerParameters()
        do {
          try writer.addValues(positions, of: row, to: &unsent, resolving: resolve)
        } catch {
          throw error.of(row.layout.name, key)
        }
      }
      throw error
    }
  }

  // MARK: Changed rows

  /// All rows that change the same properties wait for each other.
  var updateGroupSize: Int { .max }

  /// Updates rows that change the same properties, in the order of their keys. The server takes rows in the order of
  /// its plan, which mostly is that of the arrays; so two saves mostly lock rows in one order, and wait for each other
  /// in no circle.
  func update(_ rows: [Int], _ kind: UpdateKind) throws {
    let rows = rows.inOrder { changes.updated[$0].key }
    for part in Self.divided(rows) { try addUpdate(part, kind) }
  }

  /// Adds one UPDATE. A row whose key does not come back was changed or deleted by others: that is a conflict. Of one
  /// row the number of updated rows says so, without RETURNING.
  private func addUpdate(_ rows: ArraySlice<Int>, _ kind: UpdateKind) throws {
    let writer = store.writer(kind.storedEntity.number)
    let keys = rows.map { changes.updated[$0].key }
    let versions = rows.map { kind.isRead ? changes.updated[$0].base?.version ?? -1 : -1 }
    let values = kind.isRead ? rows.compactMap { changes.updated[$0].values } : []
    var parameters = ServerParameters()
    if rows.count == 1 {
      parameters.add(keys[0])
      parameters.add(versions[0])
    } else {
      parameters.add(ServerArray(keys))
      parameters.add(ServerArray(versions))
    }
    guard try add(kind.changed.positions, writer, values, of: keys, to: &parameters) else {
      return try rows.halves.forEach { try addUpdate($0, kind) }
    }
    add(rows.count == 1 ? writer.updateRowSQL(kind.changed) : writer.updateSQL(kind.changed), parameters) {
      [self] result in
      if result.affectedRows == rows.count { return }
      let written = Set((0..<result.rowCount).map { result.integer($0, 0) })
      for index in rows where !written.contains(changes.updated[index].key) {
        try noteConflict(.updated(index), kind.storedEntity, changes.updated[index].key)
      }
    }
  }

  // MARK: Unique values

  /// Updates one row that changes unique values.
  ///
  /// ```text
  /// (what was added before, in a round trip of its own)
  /// SAVEPOINT row
  /// UPDATE "app"."Book" SET _version = …, "isbn" = $3 WHERE _key = $1 AND ($2 < 0 OR _version = $2)
  /// RELEASE SAVEPOINT row
  ///
  /// or, after 23505 (unique_violation)
  /// ROLLBACK TO SAVEPOINT row
  /// ```
  ///
  /// UPDATE has no ON CONFLICT, so the error is caught at a savepoint. The row is tried again later, since another row
  /// of the save may give the value up (`ChangeWriter.exchangeUniqueValues`). A save that changes the unique values of
  /// n rows takes n more round trips, and one before the first.
  func updateUnique(_ row: Int, _ kind: UpdateKind) throws -> String? {
    // What was added must stay when this row is taken back.
    try run()
    do {
      add("SAVEPOINT row")
      try addUpdate([row], kind)
      add("RELEASE SAVEPOINT row")
      try run()
      return nil
    } catch let error as ServerError where error.state == "23505" {
      try connection.run("ROLLBACK TO SAVEPOINT row")
      return error.message
    }
  }

  /// Takes a row's unique values away for a moment, so that two rows can exchange theirs. NULL is equal to no other
  /// NULL in a unique index.
  ///
  /// ```text
  /// UPDATE "app"."Book" SET "isbn" = NULL WHERE _key = $1
  /// ```
  func clearUnique(_ row: Int, _ kind: UpdateKind) throws {
    let writer = store.writer(kind.storedEntity.number)
    let unique = kind.changed.intersection(writer.properties.unique)
    let columns = writer.columns(unique.positions)
    let assignments = columns.map { "\($0.name) = NULL" }.joined(separator: ", ")
    var parameters = ServerParameters()
    parameters.add(changes.updated[row].key)
    try connection.execute(
      "UPDATE \(writer.mapping.table) SET \(assignments) WHERE \(writer.mapping.names.key) = $1", parameters)
  }
}

extension ArraySlice {
  /// The first half of several elements, and the second.
  var halves: [ArraySlice] {
    let middle = startIndex + count / 2
    return [self[..<middle], self[middle...]]
  }
}

/// New and changed rows.
extension ServerChangeWriter {
  /// The most rows of one statement.
  private static let mostRows = 4096

  // MARK: New rows

  /// Rows of one entity that follow each other in their table form one statement. Of two rows with the same unique
  /// values the later one is rejected.
  func addInserts() throws {
    var tables: [(root: Int, runs: [(number: Int, rows: [Int])])] = []
    /// The place of the row before, which mostly is that of the next one, too.
    var last: (serial: UInt64, table: Int, run: Int)?
    for index in changes.inserted.indices {
      let layout = changes.inserted[index].values.layout
      if let last, last.serial == layout.serial, tables[last.table].runs[last.run].rows.count < Self.mostRows {
        tables[last.table].runs[last.run].rows.append(index)
        continue
      }
      let mapping = store.mapping(layout.name)
      let table = tables.firstIndex { $0.root == mapping.rootNumber } ?? tables.count
      if table == tables.count { tables.append((mapping.rootNumber, [])) }
      let run = tables[table].runs.count - 1
      if run >= 0, tables[table].runs[run].number == mapping.number,
        tables[table].runs[run].rows.count < Self.mostRows
      {
        tables[table].runs[run].rows.append(index)
      } else {
        tables[table].runs.append((mapping.number, [index]))
      }
      last = (layout.serial, table, tables[table].runs.count - 1)
    }
    for table in tables {
      for run in table.runs { try addInsert(run.rows, store.writer(run.number)) }
    }
  }

  private func addInsert(_ rows: [Int], _ writer: ServerRowWriter) throws {
    let mapping = writer.mapping
    var parameters = ServerParameters()
    let isAlone = rows.count == 1
    if isAlone {
      parameters.add(saved.keys[rows[0]])
      try addValues(writer.steps, writer, changes.inserted[rows[0]].values, to: &parameters)
    } else {
      var keys = ServerArray(.int8)
      for index in rows { keys.append(saved.keys[index]) }
      parameters.add(keys)
      try addColumns(writer.steps, writer, rows.map { changes.inserted[$0].values }, to: &parameters)
    }
    let hasConstraints = !writer.constraints.isEmpty
    let sql =
      (isAlone ? writer.insertRowSQL : writer.insertSQL)
      + (hasConstraints ? " ON CONFLICT DO NOTHING RETURNING \(mapping.names.key)" : "")
    add(sql, parameters) { [self] result in
      guard hasConstraints, result.rowCount < rows.count else { return }
      let written = Set((0..<result.rowCount).map { result.integer($0, 0) })
      for index in rows where !written.contains(saved.keys[index]) {
        rejected.append((.inserted(index), "another row of \(mapping.name) has the unique values of a new one"))
      }
    }
  }

  /// Adds an array for each column of the steps.
  private func addColumns(
    _ steps: [ServerRowWriter.Step], _ writer: ServerRowWriter, _ rows: [Snapshot],
    to parameters: inout ServerParameters
  ) throws {
    // The save keeps the rows.
    let slots = rows.map(\.slots)
    for step in steps {
      for column in step.columns {
        parameters.add(try writer.array(step, column, of: slots, { rows[$0] }, resolving: resolve))
      }
    }
  }

  /// Adds the value of each column of the steps, for a statement of one row: such a statement is planned once, while
  /// the server plans one of arrays for each array anew as long as that is cheaper to run.
  private func addValues(
    _ steps: [ServerRowWriter.Step], _ writer: ServerRowWriter, _ row: Snapshot, to parameters: inout ServerParameters
  ) throws {
    for step in steps {
      for column in step.columns {
        try parameters.add(column.type) { try writer.append(step, column, of: row, to: &$0, resolving: resolve) }
      }
    }
  }

  // MARK: Changed rows

  /// Rows of one entity that change the same columns.
  private struct Kind: Hashable {
    let number: Int
    let changed: StepSet
  }

  /// Rows that change unique values are written last and by themselves, since they may take those that another row
  /// of the save gives up.
  func addUpdates() throws {
    // In properties of the class each use would be checked for overlaps, and a copied row would be counted.
    let updated = changes.updated
    var versions = [Int64](repeating: 0, count: updated.count)
    var groups: [(kind: Kind, rows: [Int])] = []
    var known: [Kind: Int] = [:]
    /// The group of the row before, which mostly is that of the next one, too.
    var last = -1
    var unique: [Int] = []
    for index in updated.indices {
      let number = updated[index].storedEntity.number
      let writer = store.writer(number)
      var changed = StepSet()
      if let base = updated[index].base {
        if let values = updated[index].values { changed = writer.changedSteps(base, values) }
        versions[index] = base.version
      }
      if changed.isEmpty && updated[index].members.isEmpty { continue }
      if updated[index].base != nil { versions[index] = versions[index].nextVersion }
      if changed.isDisjoint(with: writer.uniqueSteps) {
        let kind = Kind(number: number, changed: changed)
        if last < 0 || groups[last].kind != kind {
          last = known[kind] ?? groups.count
          if last == groups.count {
            known[kind] = last
            groups.append((kind, []))
          }
        }
        groups[last].rows.append(index)
      } else {
        unique.append(index)
      }
    }
    saved.versions = versions
    for (kind, rows) in groups.sorted(by: { ($0.kind.number, $0.rows[0]) < ($1.kind.number, $1.rows[0]) }) {
      for start in stride(from: 0, to: rows.count, by: Self.mostRows) {
        try addUpdate(Array(rows[start..<min(start + Self.mostRows, rows.count)]), kind)
      }
    }
    if !unique.isEmpty {
      try run()
      try updateUnique(unique)
    }
  }

  private func addUpdate(_ rows: [Int], _ kind: Kind) throws {
    let writer = store.writer(kind.number)
    if rows.count == 1 { return try addUpdate(rows[0], kind, writer) }
    let isSorted = rows.indices.dropFirst().allSatisfy {
      changes.updated[rows[$0 - 1]].key < changes.updated[rows[$0]].key
    }
    let rows = isSorted ? rows : rows.sorted { changes.updated[$0].key < changes.updated[$1].key }
    var keys = ServerArray(.int8)
    var versions = ServerArray(.int8)
    for index in rows {
      keys.append(changes.updated[index].key)
      versions.append(changes.updated[index].base?.version ?? -1)
    }
    var parameters = ServerParameters()
    parameters.add(keys)
    parameters.add(versions)
    try addColumns(
      kind.changed.positions.map { writer.steps[$0] }, writer, rows.compactMap { changes.updated[$0].values },
      to: &parameters)
    add(writer.updateSQL(kind.changed), parameters) { [self] result in
      if result.rowCount == rows.count { return }
      let written = Set((0..<result.rowCount).map { result.integer($0, 0) })
      for index in rows where !written.contains(changes.updated[index].key) {
        try noteConflict(.updated(index), changes.updated[index].storedEntity, changes.updated[index].key)
      }
    }
  }

  private func addUpdate(_ index: Int, _ kind: Kind, _ writer: ServerRowWriter) throws {
    let row = changes.updated[index]
    var parameters = ServerParameters()
    parameters.add(row.key)
    parameters.add(row.base?.version ?? -1)
    if let values = row.values {
      try addValues(kind.changed.positions.map { writer.steps[$0] }, writer, values, to: &parameters)
    }
    add(writer.updateRowSQL(kind.changed), parameters) { [self] result in
      if result.affectedRows == 0 { try noteConflict(.updated(index), row.storedEntity, row.key) }
    }
  }

  // MARK: Unique values

  /// Updates one row after the other. Those that wanted a unique value that another row had at that moment, such as two
  /// rows that exchange theirs, are repeated through a state in which neither has one.
  private func updateUnique(_ rows: [Int]) throws {
    var waiting: [Int] = []
    for index in rows where try updateAlone(index) != nil { waiting.append(index) }
    for index in waiting {
      let row = changes.updated[index]
      let writer = store.writer(row.storedEntity.number)
      guard let values = row.values, let base = row.base else { continue }
      let unique = Set(writer.constraints.flatMap(\.columns))
      let columns = writer.changedSteps(base, values).positions.flatMap { writer.steps[$0].columns.map(\.name) }
        .filter(unique.contains)
      if columns.isEmpty { continue }
      let sets = columns.map { "\($0) = NULL" }.joined(separator: ", ")
      var parameters = ServerParameters()
      parameters.add(row.key)
      try connection.execute(
        "UPDATE \(writer.mapping.table) SET \(sets) WHERE \(writer.mapping.names.key) = $1", parameters)
    }
    for index in waiting {
      if let message = try updateAlone(index) { rejected.append((.updated(index), message)) }
    }
  }

  /// The server's sentence if another row has the unique values; then nothing is written.
  private func updateAlone(_ index: Int) throws -> String? {
    let row = changes.updated[index]
    let writer = store.writer(row.storedEntity.number)
    guard let values = row.values, let base = row.base else { return nil }
    do {
      add("SAVEPOINT row")
      try addUpdate([index], Kind(number: row.storedEntity.number, changed: writer.changedSteps(base, values)))
      add("RELEASE SAVEPOINT row")
      try run()
      return nil
    } catch let error as ServerError where error.state == "23505" {
      try connection.run("ROLLBACK TO SAVEPOINT row")
      return error.message
    }
  }
}

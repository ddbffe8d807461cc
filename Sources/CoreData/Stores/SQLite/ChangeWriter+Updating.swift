/// Writes a save's changed rows, in groups.
extension ChangeWriter {
  /// Rows that change the same columns form groups. Rows that change unique values are written one by one, in the
  /// save's order.
  func writeUpdates() throws {
    saved.versions = Array(repeating: 0, count: changes.updated.count)
    var waiting = WaitingUpdates()
    for index in changes.updated.indices {
      if let kind = try groupKind(of: index) {
        if let full = waiting.add(index, to: kind, size: groups.updates[0]) { try write(full) }
      } else {
        saved.versions[index] = try update(index)
      }
    }
    for rest in waiting.rest { try write(rest) }
  }

  private func write(_ waiting: WaitingUpdates.Group) throws {
    let isWide = waiting.kind.writer.columnCount(of: waiting.kind.changed) > WriteGroups.mostColumnsOfSmallUpdates
    let sizes = isWide ? Array(groups.updates.prefix(1)) : groups.updates
    try WriteGroups.divide(waiting.rows, sizes) { try update($0, waiting.kind) }
  }

  /// The group for a row; nil if it is written by itself.
  private func groupKind(of index: Int) throws -> WaitingUpdates.Kind? {
    // Only another program writes the largest version, after which the count restarts.
    guard !groups.updates.isEmpty, let values = changes.updated[index].values, let base = changes.updated[index].base,
      base.version != .max
    else {
      return nil
    }
    let writer = store.writer(changes.updated[index].storedEntity.number)
    let changed = writer.changedSteps(base, values)
    guard !changed.isEmpty || !changes.updated[index].members.isEmpty,
      changed.isDisjoint(with: uniqueSteps(of: writer)), try updatesGroups(of: writer)
    else { return nil }
    return WaitingUpdates.Kind(writer: writer, changed: changed)
  }

  private func update(_ rows: ArraySlice<Int>, _ kind: WaitingUpdates.Kind) throws {
    guard rows.count > 1 else {
      for index in rows { saved.versions[index] = try update(index) }
      return
    }
    let rows = sorted(rows) { changes.updated[$0].key }
    let keys = rows.map { changes.updated[$0].key }
    let shape = KeyShape(keys)
    guard try versions(of: keys, shape, kind.writer, are: { changes.updated[rows[$0]].base?.version ?? 0 }),
      try updateGroup(rows, keys, kind)
    else {
      for index in rows { saved.versions[index] = try update(index) }
      return
    }
    let updated = changes.updated
    for index in rows { saved.versions[index] = (updated[index].base?.version ?? 0) + 1 }
  }

  /// Writes rows that have the versions they should have: nobody else can write before this save ends.
  private func updateGroup(_ rows: [Int], _ keys: [Int64], _ kind: WaitingUpdates.Kind) throws -> Bool {
    let statement = try statement(kind.writer.updateSQL(kind.changed, rows: rows.count))
    connection.boundTexts.clear()
    var column: Int32 = 1
    let (changed, updated) = (kind.changed.positions, changes.updated)
    for (index, key) in zip(rows, keys) {
      guard let values = updated[index].values else { return false }
      statement.bind(key, at: column)
      column += 1
      for position in changed {
        column = kind.writer.bind(
          kind.writer.steps[position], of: values, to: statement, at: column, resolving: resolve)
      }
    }
    return try runGroup(statement)
  }

  /// Updates one row, and returns its new version.
  func update(_ index: Int) throws -> Int64 {
    let row = changes.updated[index]
    let writer = store.writer(row.storedEntity.number)
    guard let values = row.values, let base = row.base else {
      // The row was never read: it cannot conflict, only members changed.
      guard !row.members.isEmpty else { return 0 }
      try connection.execute(writer.touchSQL, [.integer(row.key)])
      if connection.changes == 0 { try noteConflict(.updated(index), row.storedEntity, row.key) }
      return 0
    }
    let changed = writer.changedSteps(base, values)
    guard !changed.isEmpty || !row.members.isEmpty else { return base.version }
    let statement = try statement(writer.updateSQL(changed))
    connection.boundTexts.clear()
    let version = base.version.nextVersion
    statement.bind(version, at: 1)
    var column: Int32 = 2
    for position in changed.positions {
      column = writer.bind(writer.steps[position], of: values, to: statement, at: column, resolving: resolve)
    }
    statement.bind(row.key, at: column)
    statement.bind(base.version, at: column + 1)
    if try run(statement, for: .updated(index)), connection.changes == 0 {
      try noteConflict(.updated(index), row.storedEntity, row.key)
    }
    return version
  }

  /// Repeats the updates that wanted a unique value that another row had at that moment, such as two rows that exchange
  /// theirs: through a state in which neither has one.
  func repeatUpdates() throws {
    let waiting = rejected.map(\.place)
    rejected = []
    for case .updated(let index) in waiting {
      let row = changes.updated[index]
      guard let values = row.values, let base = row.base else { continue }
      let writer = store.writer(row.storedEntity.number)
      let unique = Set(store.schema.uniqueConstraints(of: writer.mapping).flatMap(\.columns))
      let columns = writer.changedSteps(base, values).positions.flatMap { writer.columns[$0] }.filter(unique.contains)
      guard !columns.isEmpty else { continue }
      try connection.execute(
        "UPDATE \(writer.mapping.table) SET \(columns.map { "\($0) = NULL" }.joined(separator: ", ")) WHERE Z_PK = ?",
        [.integer(row.key)])
    }
    for case .updated(let index) in waiting { saved.versions[index] = try update(index) }
  }

  private func updatesGroups(of writer: RowWriter) throws -> Bool {
    if let known = writer.updatesGroups { return known }
    let triggers = try connection.integer(
      "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND lower(tbl_name) = lower(?) AND sql NOT LIKE '%AFTER%'",
      [.text(writer.mapping.table)])
    writer.updatesGroups = triggers == 0
    return triggers == 0
  }

  private func uniqueSteps(of writer: RowWriter) -> StepSet {
    if let known = writer.uniqueSteps { return known }
    let unique = Set(store.schema.uniqueConstraints(of: writer.mapping).flatMap(\.columns))
    var steps = StepSet()
    for (position, columns) in writer.columns.enumerated() where !unique.isDisjoint(with: columns) {
      steps.insert(position)
    }
    writer.uniqueSteps = steps
    return steps
  }
}

/// Updates that wait for more rows of the same kind.
private struct WaitingUpdates {
  /// Rows of one entity that change the same columns.
  struct Kind {
    let writer: RowWriter
    let changed: StepSet

    func isEqual(_ other: Kind) -> Bool { writer === other.writer && changed == other.changed }
  }

  typealias Group = (kind: Kind, rows: [Int])

  private(set) var rest: [Group] = []
  private var current = 0
  /// Each row may have to be compared with all kinds.
  private static let mostKinds = 32

  /// Adds a row. Returns rows that wait no longer: a full group, or those that make place for another kind.
  mutating func add(_ index: Int, to kind: Kind, size: Int) -> Group? {
    if rest.isEmpty || !rest[current].kind.isEqual(kind) {
      if let known = rest.firstIndex(where: { $0.kind.isEqual(kind) }) {
        current = known
      } else if rest.count < WaitingUpdates.mostKinds {
        current = rest.count
        rest.append((kind, []))
      } else {
        current = (current + 1) % rest.count
        defer { rest[current] = (kind, [index]) }
        return rest[current]
      }
    }
    rest[current].rows.append(index)
    guard rest[current].rows.count == size else { return nil }
    defer { rest[current].rows.removeAll(keepingCapacity: true) }
    return rest[current]
  }
}

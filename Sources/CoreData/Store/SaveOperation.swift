/// One save of a context into a store: what to write, and what the transaction decided.
///
/// Nothing of the objects is touched before the transaction is committed; then the context calls `finish`.
final class SaveOperation {
  let store: SQLiteStore
  var inserted: [NSManagedObject] = []
  var updated: [NSManagedObject] = []
  var deleted: [NSManagedObject] = []
  /// Objects without changes whose rows must be as they were read.
  var checked: [NSManagedObject] = []

  /// Permanent IDs by the key of the temporary ones.
  private(set) var assigned: [Int64: NSManagedObjectID] = [:]
  /// IDs that became permanent before this save, by the key of the temporary ones.
  var permanentIDs: [Int64: NSManagedObjectID] = [:]
  /// The keys that `inserted` had before they got permanent ones, in that order.
  private(set) var temporaryKeys: [Int64] = []
  private(set) var conflicts: [NSMergeConflict] = []
  /// Objects whose unique values another row has, and what SQLite said of the first.
  private var violations: (objects: [NSManagedObject], error: SQLiteError)?
  /// Versions of the rows that were written, in the order of `updated`; 0 where nothing was.
  private var versions: [Int64] = []
  private var lastStatement: (sql: String, statement: SQLiteStatement)?

  init(store: SQLiteStore) { self.store = store }

  // MARK: In the transaction

  /// Writes everything; throws the conflicts, if there are any, after all were found: those of versions first.
  func write(_ connection: SQLiteConnection) throws {
    assigned.removeAll(keepingCapacity: true)
    conflicts.removeAll()
    violations = nil
    versions.removeAll(keepingCapacity: true)
    defer { lastStatement = nil }
    try assignKeys(connection)
    let history = try startHistory(connection)
    for object in checked { try check(object, connection) }
    for object in deleted { try delete(object, connection) }
    // An update may free the unique value that a new object takes.
    for object in updated { versions.append(try update(object, connection)) }
    if violations != nil { try repeatUpdates(connection) }
    for object in inserted { try insert(object, connection) }
    for object in inserted { try writeToManys(object, connection) }
    for object in updated { try writeToManys(object, connection) }
    if !conflicts.isEmpty { throw MergeConflicts(conflicts: conflicts) }
    if let violations {
      throw ConstraintViolations(operation: self, objects: violations.objects, error: violations.error)
    }
    if let history { try finishHistory(history) }
  }

  /// Tries once more the updates that took a unique value which another row had at that moment, as where two objects
  /// exchange theirs: through a state in which none of them has one.
  private func repeatUpdates(_ connection: SQLiteConnection) throws {
    let waiting = MemberList(violations?.objects ?? [], keepsOrder: false)
    violations = nil
    for object in waiting.items {
      guard let snapshot = object.snapshot, let base = object.committed else { continue }
      let writer = store.writer(object.objectID.home.number)
      let unique = Set(store.uniqueConstraints(of: writer.mapping).flatMap(\.columns))
      let columns = writer.steps.indices.filter { !base.isEqual(snapshot, slot: writer.steps[$0].slot) }
        .flatMap { writer.columns[$0] }.filter(unique.contains)
      guard !columns.isEmpty else { continue }
      try connection.execute(
        "UPDATE \(writer.mapping.table) SET \(columns.map { "\($0) = NULL" }.joined(separator: ", ")) WHERE Z_PK = ?",
        [.integer(object.objectID.key)])
    }
    for (index, object) in updated.enumerated() where waiting.contains(object) {
      versions[index] = try update(object, connection)
    }
  }

  private func assignKeys(_ connection: SQLiteConnection) throws {
    var waiting: [Int: [NSManagedObject]] = [:]
    for object in inserted where object.objectID.isTemporaryID {
      waiting[store.mapping(object.layout.name).rootNumber, default: []].append(object)
    }
    assigned.reserveCapacity(inserted.count)
    for (root, objects) in waiting {
      var key = try store.takeKeys(objects.count, root: root, connection)
      for object in objects {
        let home = store.family.homesByName[object.layout.name]!
        assigned[object.objectID.key] = NSManagedObjectID(home: home, key: key)
        key += 1
      }
    }
  }

  func permanentID(_ object: NSManagedObject) -> NSManagedObjectID {
    object.objectID.isTemporaryID ? assigned[object.objectID.key]! : object.objectID
  }

  private func resolve(_ related: RelatedKey) -> RelatedKey? {
    (assigned[related.key] ?? permanentIDs[related.key])?.relatedKey
  }

  private func insert(_ object: NSManagedObject, _ connection: SQLiteConnection) throws {
    let id = permanentID(object)
    let writer = store.writer(id.home.number)
    let statement = try statement(writer.insertSQL, connection)
    let snapshot = object.access()
    statement.bind(id.key, at: 1)
    statement.bind(Int64(id.home.number), at: 2)
    statement.bind(1 as Int64, at: 3)
    var index: Int32 = 4
    for step in writer.steps {
      index = writer.bind(step, of: snapshot, to: statement, at: index, resolving: resolve)
    }
    try run(statement, for: object)
  }

  private func update(_ object: NSManagedObject, _ connection: SQLiteConnection) throws -> Int64 {
    let id = object.objectID
    let writer = store.writer(id.home.number)
    let hasMemberChanges = object.toManys.contains { $0?.hasChanges ?? false }
    guard let snapshot = object.snapshot else {
      // A fault whose row was never read: nothing to conflict with, only members changed.
      guard hasMemberChanges else { return 0 }
      try connection.execute(writer.touchSQL, [.integer(id.key)])
      if connection.changes == 0 { conflicts.append(conflict(object, connection)) }
      return 0
    }
    let base = object.committed ?? snapshot
    let changed = writer.steps.indices.filter { !base.isEqual(snapshot, slot: writer.steps[$0].slot) }
    guard !changed.isEmpty || hasMemberChanges else { return base.version }
    let statement = try statement(writer.updateSQL(changed), connection)
    let version = base.version + 1
    statement.bind(version, at: 1)
    var index: Int32 = 2
    for position in changed {
      index = writer.bind(writer.steps[position], of: snapshot, to: statement, at: index, resolving: resolve)
    }
    statement.bind(id.key, at: index)
    statement.bind(base.version, at: index + 1)
    if try run(statement, for: object), connection.changes == 0 { conflicts.append(conflict(object, connection)) }
    return version
  }

  private func check(_ object: NSManagedObject, _ connection: SQLiteConnection) throws {
    let writer = store.writer(object.objectID.home.number)
    let version = try connection.integer(writer.versionSQL, [.integer(object.objectID.key)])
    if version != object.snapshot?.version { conflicts.append(conflict(object, connection)) }
  }

  private func delete(_ object: NSManagedObject, _ connection: SQLiteConnection) throws {
    let id = object.objectID
    guard !id.isTemporaryID, !object.state.contains(.gone) else { return }
    let writer = store.writer(id.home.number)
    let version = (object.committed ?? object.snapshot)?.version ?? -1
    try connection.execute(writer.deleteSQL, [.integer(id.key), .integer(version), .integer(version)])
    if connection.changes == 0, try connection.integer(writer.versionSQL, [.integer(id.key)]) != nil {
      conflicts.append(conflict(object, connection))
    }
    for case .join(_, let table, let ownerColumn, _, _) in writer.mapping.toManys.values {
      try connection.execute("DELETE FROM \(table) WHERE \(ownerColumn) = ?", [.integer(id.key)])
    }
  }

  /// The statement of the text; mostly the one of the object before, whose text is the same string.
  private func statement(_ sql: String, _ connection: SQLiteConnection) throws -> SQLiteStatement {
    if let lastStatement, lastStatement.sql == sql { return lastStatement.statement }
    let statement = try connection.statement(sql)
    lastStatement = (sql, statement)
    return statement
  }

  /// Runs a statement; false, with the object noted, where its unique values are another row's.
  @discardableResult
  private func run(_ statement: SQLiteStatement, for object: NSManagedObject) throws -> Bool {
    do {
      try statement.run()
      return true
    } catch let error as SQLiteError where error.isViolatedUniqueIndex {
      violations = ((violations?.objects ?? []) + [object], violations?.error ?? error)
      return false
    }
  }

  private func conflict(_ object: NSManagedObject, _ connection: SQLiteConnection) -> NSMergeConflict {
    let id = object.objectID
    return NSMergeConflict(
      source: object, stored: (try? store.row(id, connection)) ?? nil,
      cached: store.rowCache.find(id.key, id.home.table))
  }

  // MARK: To-many relationships

  private func writeToManys(_ object: NSManagedObject, _ connection: SQLiteConnection) throws {
    for case let toMany? in object.toManys where toMany.hasChanges {
      let id = permanentID(object)
      guard let place = store.writer(id.home.number).mapping.toManys[toMany.relationship.name] else { continue }
      switch place {
      case .foreignKey(_, let table, let inverse):
        guard let orderColumn = inverse.orderColumn, toMany.orderChanged else { continue }
        let last = "SELECT max(\(orderColumn)) FROM \(table) WHERE \(inverse.column) = ?"
        try writeOrder(toMany, connection, after: (last, id.key)) { position, member in
          ("UPDATE \(table) SET \(orderColumn) = ? WHERE Z_PK = ?", [position, member])
        }
      case .join(_, let table, let ownerColumn, let destinationColumn, let orderColumn):
        for member in toMany.removed.items where !member.objectID.isTemporaryID {
          try connection.execute(
            "DELETE FROM \(table) WHERE \(ownerColumn) = ? AND \(destinationColumn) = ?",
            [.integer(id.key), .integer(member.objectID.key)])
        }
        for member in toMany.added.items where !member.isDeleted {
          try connection.execute(
            "INSERT OR IGNORE INTO \(table) (\(ownerColumn), \(destinationColumn)) VALUES (?, ?)",
            [.integer(id.key), .integer(permanentID(member).key)])
        }
        guard let orderColumn, toMany.orderChanged else { continue }
        let last = "SELECT max(\(orderColumn)) FROM \(table) WHERE \(ownerColumn) = ?"
        try writeOrder(toMany, connection, after: (last, id.key)) { position, member in
          (
            "UPDATE \(table) SET \(orderColumn) = ? WHERE \(destinationColumn) = ? AND \(ownerColumn) = ?",
            [position, member, .integer(id.key)]
          )
        }
      }
    }
  }

  /// Gives every member its position: 2048 for the first and 1024 more for each, as Apple's files have it. Where the
  /// members were not read, new ones come behind those that are there.
  private func writeOrder(
    _ toMany: ToMany, _ connection: SQLiteConnection, after last: (sql: String, owner: Int64),
    _ statement: (SQLiteValue, SQLiteValue) -> (String, [SQLiteValue])
  ) throws {
    var position: Int64 = 2048
    if toMany.members == nil, let last = try connection.integer(last.sql, [.integer(last.owner)]), last > 0 {
      position = last + 1024
    }
    for member in toMany.members?.items ?? toMany.added.items where !member.isDeleted {
      let (sql, values) = statement(.integer(position), .integer(permanentID(member).key))
      try connection.execute(sql, values)
      position += 1024
    }
  }

  // MARK: After the commit

  /// Gives the objects what the transaction made true: IDs, versions, clean state. Rows go into the cache.
  func finish() {
    var saved: [(key: Int64, table: Int32, snapshot: Snapshot)] = []
    saved.reserveCapacity(inserted.count + updated.count)
    temporaryKeys = inserted.map(\.objectID.key)
    for object in inserted {
      object.become(permanentID(object))
      settle(object, version: 1, &saved)
    }
    for (object, version) in zip(updated, versions) { settle(object, version: version, &saved) }
    var removed: [(key: Int64, table: Int32)] = []
    // Of a row that was written without having been read, the cache may have an older version.
    // Neither has it what triggers made of derived attributes.
    for object in inserted where object.layout.hasDerived {
      removed.append((object.objectID.key, object.objectID.home.table))
    }
    for object in updated where object.snapshot == nil || object.layout.hasDerived {
      removed.append((object.objectID.key, object.objectID.home.table))
    }
    for object in deleted where !object.objectID.isTemporaryID {
      removed.append((object.objectID.key, object.objectID.home.table))
    }
    store.rowCache.commit(saved: saved, removed: removed)
  }

  private func settle(
    _ object: NSManagedObject, version: Int64, _ saved: inout [(key: Int64, table: Int32, snapshot: Snapshot)]
  ) {
    let id = object.objectID
    for case let toMany? in object.toManys { toMany.markSaved() }
    object.committed = nil
    guard let current = object.snapshot else { return }
    // Shared where only members changed, or where a child context's save brought the object here.
    let snapshot = object.state.contains(.ownsSnapshot) ? current : current.copy()
    object.snapshot = snapshot
    snapshot.version = version
    for slot in snapshot.layout.toOneSlots {
      if let related = snapshot.related(slot), related.key < 0, let permanent = resolve(related) {
        snapshot.assign(slot: slot, to: permanent)
      }
    }
    object.state.remove(.ownsSnapshot)
    if !object.layout.hasDerived { saved.append((id.key, id.home.table, snapshot.withoutTransients())) }
  }
}

extension Snapshot {
  /// The snapshot as the store knows it.
  func withoutTransients() -> Snapshot {
    guard layout.hasTransients else { return self }
    let stored = copy()
    for (slot, description) in layout.slots.enumerated() where description.isTransient { stored.setNil(slot) }
    return stored
  }
}

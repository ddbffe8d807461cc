/// Rows by key, and the members of to-many relationships. Everything else is a fetch.
extension SQLiteStore {
  /// Called when a fault fires and the row cache does not have the row:
  ///
  /// ```text
  /// SELECT t.Z_PK, t.Z_OPT, t.ZAUTHOR, t.ZISREAD, t.ZPAGES, t.ZTITLE FROM ZBOOK t WHERE t.Z_PK = ? AND t.Z_ENT = 2
  /// ```
  func row(_ id: NSManagedObjectID, in generation: QueryGeneration?) throws -> Snapshot? {
    let cache = cache(generation)
    let epoch = cache.epoch
    let snapshot = try CoreDataErrors.translating("Reading \(id.uriString)") {
      try lookUp(generation) { try row(id, $0) }
    }
    if let snapshot { cache.add(snapshot, id.key, id.storedEntity.table, since: epoch) }
    return snapshot
  }

  /// The row of an ID in the connection's state of the file.
  func row(_ id: NSManagedObjectID, _ connection: SQLiteConnection) throws -> Snapshot? {
    guard let query = rowQueries[id.storedEntity.number]?.single else { return nil }
    let statement = try connection.statement(of: query)
    statement.bind(id.key, at: 1)
    defer { statement.reset() }
    return try statement.step() ? try query.decoder.decode(SQLiteRow(statement), connection.packer) : nil
  }

  /// A to-many fault reads the members' rows with it, so that going through them fires no further fault:
  ///
  /// ```text
  /// SELECT t.Z_PK, t.Z_OPT, t.ZAUTHOR, t.ZISREAD, t.ZPAGES, t.ZTITLE FROM ZBOOK t WHERE t.ZAUTHOR = ?
  ///   ORDER BY t.Z_FOK_AUTHOR                                                       where the books are ordered
  /// ```
  func members(
    of id: NSManagedObjectID, _ relationship: NSRelationshipDescription, in generation: QueryGeneration?,
    _ body: (StoredEntity, Int64, Snapshot) -> Void
  ) throws {
    guard let source = memberSource(id.storedEntity, relationship) else { return }
    let plan = plan(source.entityName, includesSubentities: true)
    let order = source.order.map { " ORDER BY \($0)" } ?? ""
    let sql = "SELECT \(plan.columnList(alias: "t")) FROM \(source.tables) WHERE \(source.owner) = ?\(order)"
    let cache = cache(generation)
    let epoch = cache.epoch
    var rows: [(key: Int64, table: Int32, snapshot: Snapshot)] = []
    let packer = RowPacker()
    try CoreDataErrors.translating("Reading the members of \(id.uriString)") {
      try lookUp(generation) { connection in
        let statement = try connection.statement(sql)
        statement.bind(id.key, at: 1)
        defer { statement.reset() }
        try plan.forEachRow(of: statement) { decoder, storedEntity, cells in
          let snapshot = try decoder.decode(cells, packer)
          body(storedEntity, cells.key(0), snapshot)
          rows.append((cells.key(0), storedEntity.table, snapshot))
        }
      }
    }
    cache.add(rows, since: epoch)
  }

  /// For `relationshipKeyPathsForPrefetching`: one statement for up to 256 owners instead of one for each.
  ///
  /// ```text
  /// SELECT t.Z_PK, t.Z_OPT, t.ZAUTHOR, t.ZISREAD, t.ZPAGES, t.ZTITLE, t.ZAUTHOR FROM ZBOOK t
  ///   WHERE t.ZAUTHOR IN (?,?,?) ORDER BY t.ZAUTHOR
  /// ```
  ///
  /// The last column is the owner. Rows do not go into the cache here: contexts get them at once.
  func members(
    ofEach keys: [Int64], _ storedEntity: StoredEntity, _ relationship: NSRelationshipDescription,
    in generation: QueryGeneration?,
    _ body: (Int64, StoredEntity, Int64, Snapshot) -> Void
  ) throws {
    guard let source = memberSource(storedEntity, relationship) else { return }
    let plan = plan(source.entityName, includesSubentities: true)
    let order = [source.owner, source.order].compactMap(\.self).joined(separator: ", ")
    let select = "SELECT \(plan.columnList(alias: "t")), \(source.owner) FROM \(source.tables)"
    let ownerColumn = Int32(plan.columnCount())
    let packer = RowPacker()
    try CoreDataErrors.translating("Reading \(storedEntity.layout.name).\(relationship.name) of several objects") {
      try eachRow(of: keys, in: generation, "\(select) WHERE \(source.owner) IN (", ") ORDER BY \(order)") {
        statement in
        let cells = SQLiteRow(statement)
        guard let decoder = plan.decoder(cells) else { return }
        body(cells.key(ownerColumn), decoder.storedEntity, cells.key(0), try decoder.decode(cells, packer))
      }
    }
  }

  func memberKeys(
    ofEach keys: [Int64], _ storedEntity: StoredEntity, _ relationship: NSRelationshipDescription,
    in generation: QueryGeneration?, _ body: (Int64, StoredEntity, Int64) -> Void
  ) throws {
    guard let source = memberSource(storedEntity, relationship) else { return }
    let order = [source.owner, source.order].compactMap(\.self).joined(separator: ", ")
    let select = "SELECT t.Z_PK, \(source.owner), t.Z_ENT FROM \(source.tables)"
    try CoreDataErrors.translating("Reading \(storedEntity.layout.name).\(relationship.name) of several objects") {
      try eachRow(of: keys, in: generation, "\(select) WHERE \(source.owner) IN (", ") ORDER BY \(order)") {
        statement in
        guard let member = storedEntities[Int(statement.integer(2))] else { return }
        body(statement.integer(1), member, statement.integer(0))
      }
    }
  }

  /// For the faults of a fetch's batch, those of prefetched to-one relationships, and objects that are asked for by
  /// key. 70 keys are read with a statement of 256 parameters, of which 186 repeat the last key: `RowQueries` has few
  /// sizes, so the statement is prepared already.
  func rows(
    _ keys: [Int64], of storedEntity: StoredEntity, in generation: QueryGeneration?, _ body: (Int64, Snapshot) -> Void
  ) throws {
    guard let queries = rowQueries[storedEntity.number] else { return }
    let packer = RowPacker()
    try CoreDataErrors.translating("Reading rows of \(storedEntity.layout.name)") {
      try read(generation) { connection in
        var remainingKeys = keys[...]
        while let last = remainingKeys.last {
          let query = queries.query(for: remainingKeys.count)
          let statement = try connection.statement(of: query)
          defer { statement.reset() }
          // Parameters that are left over repeat a key, whose row is found once.
          for (place, key) in remainingKeys.prefix(query.keyCount).enumerated() {
            statement.bind(key, at: Int32(place + 1))
          }
          for place in min(remainingKeys.count, query.keyCount)..<query.keyCount {
            statement.bind(last, at: Int32(place + 1))
          }
          remainingKeys = remainingKeys.dropFirst(query.keyCount)
          while try statement.step() {
            body(statement.integer(0), try query.decoder.decode(SQLiteRow(statement), packer))
          }
        }
      }
    }
  }

  /// Steps through the rows of a query for the keys, which are inserted between the two texts, a few hundred at a time.
  private func eachRow(
    of keys: [Int64], in generation: QueryGeneration?, _ before: String, _ after: String,
    _ body: (SQLiteStatement) throws -> Void
  ) throws {
    try read(generation) { connection in
      for start in stride(from: 0, to: keys.count, by: 256) {
        let chunk = keys[start..<Swift.min(start + 256, keys.count)]
        let places = Array(repeating: "?", count: chunk.count).joined(separator: ",")
        let statement = try connection.statement(before + places + after)
        statement.bind(chunk.map { .integer($0) })
        defer { statement.reset() }
        while try statement.step() { try body(statement) }
      }
    }
  }
}

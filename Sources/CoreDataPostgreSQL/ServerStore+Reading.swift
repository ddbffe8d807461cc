/// Rows by key, and the members of to-many relationships. Everything else is a fetch.
///
/// All statements here have one parameter, a key or an array of keys, so each has one text for each entity or
/// relationship and stays prepared.
extension ServerStore {
  /// Runs a statement on a reader, or in a pinned state. The result has all rows. A lost connection costs one
  /// repetition on another one, but not in a pinned state, which is gone with its session.
  func query(
    _ doing: @autoclosure () -> String, in generation: QueryGeneration?, _ sql: String,
    with parameters: ServerParameters, control: FetchControl? = nil
  ) throws -> any ServerResult {
    try checkPlace()
    return try onTables(doing()) {
      if let pinned = generation?.pinned(self) as? PinnedServer {
        return try pinned.connection.use {
          try $0.connection.listening(to: control) { try $0.execute(sql, parameters) }
        }
      }
      return try database.read(control) { connection, _ in try connection.execute(sql, parameters) }
    }
  }

  /// Gives the body a reader, or the connection of a pinned state, for a statement whose rows are used as they arrive.
  /// The body says when it has begun to use them: it may run once more before that, if the connection is lost.
  ///
  /// ```text
  /// Client                                   Server
  /// COPY (SELECT …) TO STDOUT …         ───▶ ✗ before the first row: once more on another connection
  /// COPY (SELECT …) TO STDOUT …         ───▶
  ///                                     ◀─── row, row
  ///                                          ✗ after a row: 134080, since the caller has had two objects already
  /// ```
  func streaming(
    _ doing: @autoclosure () -> String, in generation: QueryGeneration?, control: FetchControl?,
    _ body: (any ServerConnection, _ hasBegun: inout Bool) throws -> Void
  ) throws {
    try checkPlace()
    try onTables(doing()) {
      if let pinned = generation?.pinned(self) as? PinnedServer {
        var hasBegun = false
        return try pinned.connection.use { try $0.connection.listening(to: control) { try body($0, &hasBegun) } }
      }
      try database.read(control, body)
    }
  }

  /// The row of an ID, for a fault; nil if it was deleted.
  ///
  /// ```text
  /// SELECT t._key::bigint, t._version::bigint, t."name"::text FROM "app"."Author" t
  /// WHERE t._key = $1 AND t._entity = 1
  /// ```
  func row(_ id: NSManagedObjectID, in generation: QueryGeneration?) throws -> Snapshot? {
    let cache = cache(generation)
    let epoch = cache.epoch
    guard let sql = rowQueries[id.storedEntity.number]?.row else { return nil }
    let snapshot = try snapshot(query("Reading \(id.uriString)", in: generation, sql, with: parameter(id)), id)
    if let snapshot { cache.add(snapshot, id.key, id.storedEntity.table, since: epoch) }
    return snapshot
  }

  /// The row of an ID in the connection's state of the database: for a save, whose own changes only its transaction
  /// sees.
  func row(_ id: NSManagedObjectID, _ connection: any ServerConnection) throws -> Snapshot? {
    guard let sql = rowQueries[id.storedEntity.number]?.row else { return nil }
    return try snapshot(connection.execute(sql, parameter(id)), id)
  }

  private func parameter(_ id: NSManagedObjectID) -> ServerParameters {
    var parameters = ServerParameters()
    parameters.add(id.key)
    return parameters
  }

  /// The one row of an answer in memory of its own, so that a fault that lives long keeps no other rows alive.
  private func snapshot(_ result: any ServerResult, _ id: NSManagedObjectID) throws -> Snapshot? {
    let plan = plan(id.storedEntity.layout.name, includesSubentities: false)
    var snapshot: Snapshot?
    try plan.forEachRow(of: result) { decoder, _, cells in
      snapshot = try decoder.decode(cells, RowPacker(keepsRowsApart: true))
    }
    return snapshot
  }

  /// The rows of several IDs of one entity, in any order; those that are gone are left out. A batch of faults takes one
  /// round trip.
  func rows(
    _ keys: [Int64], of storedEntity: StoredEntity, in generation: QueryGeneration?, _ body: (Int64, Snapshot) -> Void
  ) throws {
    guard let sql = rowQueries[storedEntity.number]?.rows else { return }
    let plan = plan(storedEntity.layout.name, includesSubentities: false)
    let packer = RowPacker()
    let result = try query("Reading rows of \(storedEntity.layout.name)", in: generation, sql, with: parameters(keys))
    try plan.forEachRow(of: result) { decoder, _, cells in body(cells.key(0), try decoder.decode(cells, packer)) }
  }

  /// The keys as one array, whatever their number: `= ANY($1)` has one plan for one object and for a thousand.
  private func parameters(_ keys: [Int64]) -> ServerParameters {
    var array = ServerArray(.int8)
    for key in keys { array.append(key) }
    var parameters = ServerParameters()
    parameters.add(array)
    return parameters
  }

  // MARK: Members

  func members(
    of id: NSManagedObjectID, _ relationship: NSRelationshipDescription, in generation: QueryGeneration?,
    _ body: (StoredEntity, Int64, Snapshot) -> Void
  ) throws {
    let cache = cache(generation)
    let epoch = cache.epoch
    var rows: [(key: Int64, table: Int32, snapshot: Snapshot)] = []
    try members(ofEach: [id.key], id.storedEntity, relationship, in: generation) { _, storedEntity, key, snapshot in
      body(storedEntity, key, snapshot)
      rows.append((key, storedEntity.table, snapshot))
    }
    cache.add(rows, since: epoch)
  }

  /// The members of a relationship of several objects, with the values of their rows, in one round trip.
  ///
  /// ```text
  /// one to many       SELECT t._key::bigint, t._version::bigint, t."author"::bigint, t."isRead"::boolean,
  ///                   t."pages"::bigint, t."title"::text, t."author" FROM "app"."Book" t WHERE t."author" = ANY($1)
  /// many to many,     SELECT t._key::bigint, t._version::bigint, t."label"::text, j."Book"
  /// ordered           FROM "app"."Book_tags" j JOIN "app"."Tag" t ON t._key = j."tags"
  ///                   WHERE j."Book" = ANY($1) ORDER BY j."Book", j."tags_position" NULLS FIRST
  /// ```
  ///
  /// The last column is the owner's key. Members without a position, which SQL of others has inserted, come first.
  func members(
    ofEach keys: [Int64], _ storedEntity: StoredEntity, _ relationship: NSRelationshipDescription,
    in generation: QueryGeneration?, _ body: (Int64, StoredEntity, Int64, Snapshot) -> Void
  ) throws {
    guard let source = memberSource(storedEntity, relationship) else { return }
    let plan = plan(source.entityName, includesSubentities: true)
    var sql = """
      SELECT \(plan.columnList(alias: "t")), \(source.owner) FROM \(source.tables) \
      WHERE \(source.owner) = ANY($1)
      """
    if let order = source.order { sql += " ORDER BY \(source.owner), \(order) NULLS FIRST" }
    let doing = "Reading \(storedEntity.layout.name).\(relationship.name)"
    let result = try query(doing, in: generation, sql, with: parameters(keys))
    let ownerColumn = Int32(plan.columnCount())
    let packer = RowPacker()
    try plan.forEachRow(of: result) { decoder, storedEntity, cells in
      body(cells.key(ownerColumn), storedEntity, cells.key(0), try decoder.decode(cells, packer))
    }
  }

  /// The keys of the members, without their rows: for the copy of a store, and its comparison with the original.
  func memberKeys(
    ofEach keys: [Int64], _ storedEntity: StoredEntity, _ relationship: NSRelationshipDescription,
    in generation: QueryGeneration?, _ body: (Int64, StoredEntity, Int64) -> Void
  ) throws {
    guard let source = memberSource(storedEntity, relationship) else { return }
    let names = mapping(source.entityName).names
    var sql = """
      SELECT t.\(names.key), \(source.owner), t.\(names.entity) FROM \(source.tables) WHERE \(source.owner) = ANY($1)
      """
    if let order = source.order { sql += " ORDER BY \(source.owner), \(order) NULLS FIRST" }
    let doing = "Reading \(storedEntity.layout.name).\(relationship.name)"
    let result = try query(doing, in: generation, sql, with: parameters(keys))
    for row in 0..<result.rowCount {
      guard let member = storedEntities[Int(result.integer(row, 2))] else { continue }
      body(result.integer(row, 1), member, result.integer(row, 0))
    }
  }

  // MARK: Pinned states

  /// Pins the present state: all reads with the result see this state, no matter what is committed meanwhile. Stores
  /// of one database that are pinned together share the connection, and so the state.
  func pin(beside others: [any PinnedStore]) throws -> (any PinnedStore)? {
    try onTables("Pinning \(address.description)") {
      try PinnedServer(database, beside: others) { try database.pinnedConnection() }
    }
  }
}

extension ServerDatabase {
  /// A new connection in a read-only transaction, which sees the state of the database at its beginning.
  ///
  /// ```text
  /// BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT 1
  /// ```
  ///
  /// The price is the server's: as long as the transaction is open, VACUUM removes no row in the whole database that
  /// was deleted since. A program that pins a context for hours lets its tables grow. A standby may cancel such a
  /// transaction (40001, "canceling statement due to conflict with recovery"). Source: the pages "Transaction
  /// Isolation", "Routine Vacuuming" and "Hot Standby".
  func pinnedConnection() throws -> OwnedConnection<PooledServerConnection> {
    try ownedConnection { connection in
      // The transaction is idle until the program reads, for as long as it keeps the state.
      try connection.run("\(Self.settings); SET idle_in_transaction_session_timeout = 0")
      if connection.version >= 170_000 { try connection.run("SET transaction_timeout = 0") }
      // The first statement takes the snapshot.
      try connection.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT 1")
    }
  }
}

typealias PinnedServer = PinnedDatabase<ServerDatabase, PooledServerConnection>

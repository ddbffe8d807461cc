/// Requests with predicates that the server cannot evaluate as memory does: patterns of MATCHES with options, most
/// functions, and calculations with decimals. Their rows are found in memory, among those that fulfil the rest of the
/// predicate.
///
/// Batch requests and fetches of dictionaries come here, and fetches of objects in a context with changes. Without
/// changes a context does the same with objects.
/// A batch of books whose titles match `(?i)t.` and that have no reader:
///
/// ```text
/// Client                                                      Server
/// BEGIN, the number of the transaction, and
/// COPY (SELECT t0._key::bigint, … FROM "app"."Book" t0
///       WHERE ((t0."reader" IS NULL))) TO STDOUT …       ───▶ the part that it understands
///                                                        ◀─── rows; MATCHES is tested here
/// SELECT t0._key, t0._entity FROM unnest($1) …
/// FOR NO KEY UPDATE OF t0 SKIP LOCKED                    ───▶
///                                                        ◀─── the rows that are locked now
/// SELECT t0._key::bigint, … FROM "app"."Book" t0
/// WHERE ((t0."reader" IS NULL) AND (t0._key IN ($1)))    ───▶ as they are now
///                                                        ◀─── rows; MATCHES is tested again
/// UPDATE "app"."Book" AS t0 SET "reader" = $1, …
/// WHERE t0._key = ANY(ARRAY(SELECT … (t0._key IN ($2)) …)) ───▶
/// ```
extension ServerStore {
  /// A fetch that the server can evaluate, for the rows of this one: by their keys, if need be. The transaction has
  /// locked them.
  ///
  /// Between the first look and the lock another transaction may change a row. An UPDATE of the server evaluates its
  /// condition again when it has waited for a row; the second look does the same here. A limit counts the rows that are
  /// locked and still match, as in a SELECT with LIMIT and SKIP LOCKED (page "SELECT", "The Locking Clause"): so rows
  /// are locked in the order of the fetch, until there are enough.
  ///
  /// ```text
  /// limit 2, rows in order: 1, 2, 3, 4, 5      others
  ///                                            have locked 1 and 2
  /// SKIP LOCKED, LIMIT 2: locks 3, 4           have changed 3 before that
  /// looks again: only 4 matches
  /// SKIP LOCKED, LIMIT 1: locks 5
  /// updates 4, 5
  /// ```
  ///
  /// - Parameter skipsLocked: leaves out rows that another transaction has locked, instead of waiting for it.
  func evaluated(
    _ fetch: RowFetch, _ connection: any ServerConnection, skipsLocked: Bool = false
  ) throws -> RowFetch {
    if try understands(fetch) { return fetch }
    var unlimited = fetch
    unlimited.limit = 0
    var candidates = try MemoryLoader(self, connection).reader(unlimited, nil).find(unlimited).map(\.key)
    var ids: [NSManagedObjectID] = []
    repeat {
      let missingCount = fetch.limit > 0 ? fetch.limit - ids.count : 0
      let locked = try lock(candidates, of: fetch, atMost: missingCount, connection, skipsLocked: skipsLocked)
      guard let last = locked.last else { break }
      // Another transaction may have changed a row since. What it is now counts, as in an UPDATE of the server.
      var current = keyed(fetch, locked)
      current.predicate = NSCompoundPredicate(
        andPredicateWithSubpredicates: [fetch.predicate, current.predicate].compactMap(\.self))
      let matching = Set(try MemoryLoader(self, connection).reader(current, nil).find(current).map(\.key))
      ids += locked.filter { matching.contains($0.key) }
      candidates.removeSubrange(...(candidates.firstIndex(of: last.key) ?? candidates.endIndex - 1))
    } while ids.count < fetch.limit && !candidates.isEmpty
    return keyed(fetch, ids)
  }

  /// Locks rows in the order of the keys given, and gives those that are there.
  ///
  /// ```text
  /// SELECT t0._key, t0._entity FROM unnest($1) WITH ORDINALITY AS c (key, place)
  /// JOIN "app"."Book" t0 ON t0._key = c.key ORDER BY c.place LIMIT $2 FOR NO KEY UPDATE OF t0 SKIP LOCKED
  ///     $1 = '{1,2,3,4,5}', $2 = 2
  /// ```
  ///
  /// Without a limit the order is that of the keys, in which saves lock rows, too.
  ///
  /// - Parameter limit: the number of rows; 0 for all.
  private func lock(
    _ keys: [Int64], of fetch: RowFetch, atMost limit: Int, _ connection: any ServerConnection, skipsLocked: Bool
  ) throws -> [NSManagedObjectID] {
    let mapping = mapping(fetch.entityName)
    let (key, entity) = (mapping.names.key, mapping.names.entity)
    var parameters = ServerParameters()
    parameters.add(ServerArray(limit > 0 ? keys : keys.sorted()))
    if limit > 0 { parameters.add(Int64(limit)) }
    let rows = try connection.execute(
      """
      SELECT t0.\(key), t0.\(entity) FROM unnest($1) WITH ORDINALITY AS c (key, place) \
      JOIN \(mapping.table) t0 ON t0.\(key) = c.key ORDER BY c.place\(limit > 0 ? " LIMIT $2" : "") \
      FOR NO KEY UPDATE OF t0\(skipsLocked ? " SKIP LOCKED" : "")
      """, parameters)
    return (0..<rows.rowCount).compactMap { objectID(number: Int(rows.integer($0, 1)), key: rows.integer($0, 0)) }
  }

  /// A fetch of the same entity for these rows.
  private func keyed(_ fetch: RowFetch, _ ids: [NSManagedObjectID]) -> RowFetch {
    var keyed = fetch
    keyed.predicate = NSComparisonPredicate(
      leftExpression: .expressionForEvaluatedObject(), rightExpression: NSExpression(forConstantValue: ids),
      modifier: .direct, type: .in)
    (keyed.sortDescriptors, keyed.limit, keyed.offset) = ([], 0, 0)
    return keyed
  }

  /// The rows among which a fetch finds its own, all of one state: REPEATABLE READ, since several tables are read one
  /// after the other. A pinned state, and a migration's transaction, have a transaction open already.
  func reader(_ fetch: RowFetch, _ settings: FetchSettings?) throws -> MemoryReader {
    try onTables("Fetching \(fetch.entityName)") {
      if let pinned = fetch.generation?.pinned(self) as? PinnedServer {
        return try pinned.connection.use { try MemoryLoader(self, $0.connection).reader(fetch, settings) }
      }
      return try database.read { connection, _ in
        // All statements read one state.
        guard !connection.isInTransaction else { return try MemoryLoader(self, connection).reader(fetch, settings) }
        try connection.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        // If it fails, the connection is lost, and the transaction, which only reads, with it.
        defer { try? connection.run("COMMIT") }
        return try MemoryLoader(self, connection).reader(fetch, settings)
      }
    }
  }
}

extension ServerStore: FilteringStore {
  /// The rows of a fetch of objects. Their related rows are read as well, in the same state.
  func filter(_ fetch: RowFetch, _ body: (StoredEntity, Int64, __owned Snapshot?) -> Void) throws {
    for match in try reader(fetch, nil).find(fetch) {
      fetch.control?.countRow()
      body(match.storedEntity, match.key, fetch.includesValues ? match.values : nil)
    }
  }
}

/// Reads the rows that a fetch needs into memory, in the form of a store in memory, so that one evaluation of
/// predicates and expressions serves both.
struct MemoryLoader {
  private let store: ServerStore
  private let connection: any ServerConnection

  init(_ store: ServerStore, _ connection: any ServerConnection) {
    self.store = store
    self.connection = connection
  }

  /// The rows of the fetched entity that fulfil the part of the predicate that the server understands, and all rows of
  /// the entities to which relationships lead that the fetch names.
  ///
  /// ```text
  /// books whose author's name matches (?i)j.*, with more than 300 pages
  ///
  /// SELECT … FROM "app"."Book" t0 WHERE (t0."pages" > $1)     the understood part
  /// COPY (SELECT … FROM "app"."Author" t0) TO STDOUT …        all authors: "author" is named
  /// ```
  ///
  /// So a request that names a relationship costs memory and time for whole tables.
  func reader(_ fetch: RowFetch, _ settings: FetchSettings?) throws -> MemoryReader {
    let schema = MemorySchema(store.storedEntities, sharesKeys: true)
    let named = names(fetch, settings)
    let related = relatedEntities(fetch, named)
    let memory = MemoryRows(schema)
    try memory.load { memory in
      let root = store.mapping(fetch.entityName)
      let isRelated = related.contains { store.mapping($0).numbersIncludingSubentities.contains(root.number) }
      if !isRelated { try load(store.understoodPart(of: fetch), memory) }
      for name in related.sorted() where store.schema.entitiesByName[name] != nil {
        try load(RowFetch(entityName: name), memory)
      }
      var lists: Set<Int> = []
      for mapping in store.schema.entities { try loadJoins(of: mapping, named, memory, &lists) }
    }
    return memory.reader
  }

  /// All names that the request mentions, of attributes and relationships alike: predicate, order, properties, groups
  /// and `havingPredicate`.
  private func names(_ fetch: RowFetch, _ settings: FetchSettings?) -> Set<String> {
    var keys = NamedKeys()
    if let predicate = fetch.predicate { keys.add(predicate) }
    for descriptor in fetch.sortDescriptors { if let key = descriptor.key { keys.add(path: key) } }
    for property in (settings?.propertiesToFetch ?? []) + (settings?.propertiesToGroupBy ?? []) {
      if let description = property as? NSExpressionDescription {
        if let expression = description.expression { keys.add(expression) }
      } else if let name = property as? String ?? (property as? NSPropertyDescription)?.name {
        keys.add(path: name)
      }
    }
    if let having = settings?.havingPredicate { keys.add(having) }
    return keys.names
  }

  /// The entities to which named relationships lead, on any way from the fetched one.
  private func relatedEntities(_ fetch: RowFetch, _ named: Set<String>) -> Set<String> {
    var destinations: Set<String> = []
    var unvisitedNames = [fetch.entityName]
    var visited: Set<String> = []
    while let name = unvisitedNames.popLast() {
      guard visited.insert(name).inserted, let mapping = store.schema.entitiesByName[name] else { continue }
      for number in mapping.numbersIncludingSubentities {
        guard let entity = store.schema.entitiesByNumber[number]?.entity else { continue }
        for relationship in entity.relationshipsByName.values where named.contains(relationship.name) {
          guard let destination = relationship.destinationEntity?.name else { continue }
          destinations.insert(destination)
          unvisitedNames.append(destination)
        }
      }
    }
    return destinations
  }

  /// Loads the rows of one fetch, without an order, by the cheaper way: COPY, if the statement has no parameters.
  private func load(_ fetch: RowFetch, _ memory: MemoryRows) throws {
    let plan = store.plan(fetch.entityName, includesSubentities: fetch.includesSubentities)
    let statement = ServerStatement(try store.select(plan.columnList(alias: "t0"), fetch, isOrdered: false))
    let packer = RowPacker()
    func take(_ decoder: RowDecoder, _ storedEntity: StoredEntity, _ cells: some ServerRow) throws {
      memory.set(try decoder.decode(cells, packer), cells.key(0), memory.schema.entity(storedEntity.number))
    }
    if statement.parameters.count == 0 {
      try plan.forEachCopiedRow(connection, statement.sql, columnCount: plan.columnCount()) { try take($0, $1, $2) }
      return
    }
    try connection.stream(statement.sql, statement.parameters, isShort: false) { result in
      try plan.forEachRow(of: result) { try take($0, $1, $2) }
    }
  }

  /// The members of many-to-many relationships that the fetch names.
  ///
  /// ```text
  /// SELECT "Book", "tags" FROM "app"."Book_tags" ORDER BY "Book", "tags_position" NULLS FIRST, "tags"
  /// ```
  private func loadJoins(
    of mapping: TableMapping, _ named: Set<String>, _ memory: MemoryRows, _ loaded: inout Set<Int>
  ) throws {
    for (name, list) in memory.schema.entity(mapping.number).toManys where named.contains(name) {
      guard case .join(_, let table, let owner, let member, let order) = mapping.toManys[name],
        loaded.insert(list.number).inserted
      else { continue }
      let terms = [owner] + (order.map { ["\($0) NULLS FIRST"] } ?? []) + [member]
      let rows = try connection.execute(
        "SELECT \(raw: owner), \(raw: member) FROM \(raw: table) ORDER BY \(raw: terms.joined(separator: ", "))")
      for row in 0..<rows.rowCount {
        memory.contents.add(rows.integer(row, 1), to: list.number, of: rows.integer(row, 0), isOrdered: list.isOrdered)
      }
    }
  }
}

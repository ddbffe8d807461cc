/// Fetching rows by predicate and order.
extension SQLiteStore {
  func fetch(_ fetch: RowFetch, _ body: (StoredEntity, Int64, __owned Snapshot?) -> Void) throws {
    let plan =
      fetch.properties == nil
      ? plan(fetch.entityName, includesSubentities: fetch.includesSubentities) : partialPlan(fetch)
    let columns = fetch.includesValues ? plan.columnList(alias: "t0") : "t0.Z_PK, t0.Z_OPT, t0.Z_ENT"
    let (sql, bindings) = try select(columns, fetch, isOrdered: true)
    let cache = cache(fetch.generation)
    let epoch = cache.epoch
    var rows: [(key: Int64, table: Int32, snapshot: Snapshot)] = []
    let packer = RowPacker()
    try CoreDataErrors.translating("Fetching \(fetch.entityName)") {
      try read(fetch.generation, fetch.control) { connection in
        let statement = try connection.statement(sql)
        statement.bind(bindings)
        defer { statement.reset() }
        try plan.forEachRow(of: statement) { decoder in
          fetch.control?.countRow()
          let key = statement.integer(0)
          guard fetch.includesValues else { return body(decoder.storedEntity, key, nil) }
          let snapshot = decoder.decode(statement, packer)
          // The cache keeps a bounded part of a long fetch, so not more is collected.
          if rows.count < 4096 && fetch.properties == nil { rows.append((key, decoder.storedEntity.table, snapshot)) }
          body(decoder.storedEntity, key, snapshot)
        }
      }
    }
    cache.add(rows, since: epoch)
  }

  /// The plan for the properties that the fetch names.
  func partialPlan(_ fetch: RowFetch) -> RowPlan {
    RowPlan(
      mapping(fetch.entityName), schema: schema, storedEntities: storedEntities,
      includesSubentities: fetch.includesSubentities,
      properties: fetch.properties)
  }

  /// Always true: reading all rows to evaluate in memory would cost too much, so such a fetch throws.
  func understands(_ fetch: RowFetch) throws -> Bool { true }

  func count(_ fetch: RowFetch) throws -> Int {
    let isWindowed = fetch.limit > 0 || fetch.offset > 0
    let (sql, bindings) = try select(isWindowed ? "1" : "count(*)", fetch, isOrdered: false)
    return try CoreDataErrors.translating("Counting \(fetch.entityName)") {
      try read(fetch.generation) { connection in
        Int(try connection.integer(isWindowed ? "SELECT count(*) FROM (\(sql))" : sql, bindings) ?? 0)
      }
    }
  }

  func select(_ columns: String, _ fetch: RowFetch, isOrdered: Bool) throws -> (String, [SQLiteValue]) {
    let generator = generator(for: fetch.entityName)
    let sql = try SQLGenerationError.translated { try select(columns, fetch, generator, isOrdered: isOrdered) }
    return (sql, generator.bindings)
  }

  /// - Parameter groups: the groups and their columns, for a fetch of dictionaries.
  func select(
    _ columns: String, _ fetch: RowFetch, _ generator: SQLGenerator, isOrdered: Bool = true,
    groups: FetchSettings? = nil
  ) throws -> String {
    // In the order of the text, because each clause appends its values.
    var conditions: [String] = []
    if let restriction = generator.entityRestriction(includesSubentities: fetch.includesSubentities) {
      conditions.append(restriction)
    }
    if let predicate = fetch.predicate { conditions.append(try generator.whereClause(predicate)) }
    let grouping = try groups?.propertiesToGroupBy.map(generator.groupClause) ?? ""
    let having = grouping.isEmpty ? "" : try groups?.havingPredicate.map(generator.havingClause) ?? ""
    let order = isOrdered ? try generator.orderClause(fetch.sortDescriptors) : ""
    var sql = groups?.returnsDistinctResults ?? false ? "SELECT DISTINCT \(columns)" : "SELECT \(columns)"
    sql += " FROM \(generator.root.mapping.table) t0\(generator.joins)"
    if !conditions.isEmpty { sql += " WHERE \(conditions.joined(separator: " AND "))" }
    if !grouping.isEmpty { sql += " GROUP BY \(grouping)" }
    if !having.isEmpty { sql += " HAVING \(having)" }
    if !order.isEmpty { sql += " ORDER BY \(order)" }
    // SQLite requires a limit with an offset; -1 means none.
    if fetch.limit > 0 || fetch.offset > 0 {
      sql += " LIMIT \(fetch.limit > 0 ? fetch.limit : -1)"
      if fetch.offset > 0 { sql += " OFFSET \(fetch.offset)" }
    }
    return sql
  }

  /// The generator for a fetch of the entity. Objects of other stores have no row in this one.
  func generator(for entityName: String) -> SQLGenerator {
    SQLGenerator(schema: schema, entity: mapping(entityName)) { [storedEntities] object in
      guard let id = object as? NSManagedObjectID, id.storedEntity.collection === storedEntities else { return nil }
      return id.persistentKey
    }
  }
}

extension SQLGenerationError {
  /// Runs the body and converts SQL generation errors to Core Data's.
  static func translated<T>(_ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch let error as SQLGenerationError {
      throw CoreDataErrors.error(.persistentStoreOperation, error.description)
    }
  }
}

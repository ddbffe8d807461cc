/// Fetching rows by predicate and order.
///
/// One fetch may take one of three ways to its rows. All give the same rows:
///
/// | the statement | the way | why |
/// |---|---|---|
/// | has no parameters, no limit up to 1,000, and did not give few rows lately | COPY | the least time for each row |
/// | has a limit up to 1,000, or its table is below 8 MiB | all rows in one result | prepared; libpq's fastest |
/// | else | chunks, as they arrive | the rows need not be in memory twice |
extension ServerStore {
  /// Gives the body the rows of a fetch, while the server sends them.
  ///
  /// ```text
  /// Client                                             Server
  /// SELECT pg_table_size('"app"."Book"')          ───▶                once in a second and table
  ///                                               ◀─── 8192
  /// SELECT t0._key::bigint, t0._version::bigint,
  /// t0."author"::bigint, t0."isRead"::boolean,
  /// t0."pages"::bigint, t0."title"::text
  /// FROM "app"."Book" t0 LEFT JOIN "app"."Author" t1
  /// ON t1._key = t0."author" WHERE ((t0."pages" > $1)
  /// AND (t1."name" >= $2 AND t1."name" < $3))
  /// ORDER BY t0."title" ASC NULLS FIRST           ───▶
  ///                                               ◀─── rows
  /// ```
  ///
  /// A limit up to 1,000 needs no question for the size. `author.name BEGINSWITH 'J'` has become a range, which an
  /// index on the column can answer: texts are ordered by their bytes. Without `includesPropertyValues` only key and
  /// version are read.
  ///
  /// The rows are added to the cache afterwards, up to 4,096 of them, and only if no row has changed since the
  /// statement began (`epoch`). A connection that is lost before the first row costs one repetition; afterwards it is
  /// an error.
  func fetch(_ fetch: RowFetch, _ body: (StoredEntity, Int64, __owned Snapshot?) -> Void) throws {
    let mapping = mapping(fetch.entityName)
    let plan = plan(fetch)
    let columns = plan.columnList(alias: "t0", areKeys: !fetch.includesValues)
    let statement = ServerStatement(try select(columns, fetch, isOrdered: true))
    let cache = cache(fetch.generation)
    let epoch = cache.epoch
    let rows = CacheAdditions()
    let packer = RowPacker()
    @inline(__always)
    func take(_ decoder: RowDecoder, _ storedEntity: StoredEntity, _ cells: some ServerRow) throws {
      fetch.control?.countRow()
      let key = cells.key(0)
      guard fetch.includesValues else { return body(storedEntity, key, nil) }
      let snapshot = try decoder.decode(cells, packer)
      if fetch.properties == nil { rows.add(snapshot, key, storedEntity.table) }
      body(storedEntity, key, consume snapshot)
    }
    let isCopied = statement.parameters.count == 0 && !hasFewRows(fetch, statement.sql)
    let isShort = try isCopied || isLimited(fetch) || isSmall(mapping, fetch.generation)
    try streaming("Fetching \(fetch.entityName)", in: fetch.generation, control: fetch.control) {
      connection, hasBegun in
      guard isCopied else {
        return try connection.stream(statement.sql, statement.parameters, isShort: isShort) { result in
          hasBegun = true
          try plan.forEachRow(of: result) { try take($0, $1, $2) }
        }
      }
      let count = try plan.forEachCopiedRow(
        connection, statement.sql, columnCount: plan.columnCount(areKeys: !fetch.includesValues)
      ) { decoder, storedEntity, cells in
        hasBegun = true
        try take(decoder, storedEntity, cells)
      }
      note(count, statement.sql)
    }
    cache.add(rows.items, since: epoch)
  }

  /// A limit from which all rows may be in memory at once.
  private func isLimited(_ fetch: RowFetch) -> Bool { fetch.limit > 0 && fetch.limit <= 1000 }

  // MARK: Ways to the rows

  /// Whether a prepared statement is the cheaper way to the rows of a fetch without parameters: for few rows it costs
  /// less than to plan a COPY. The number of rows is that of the last COPY with the same text, for one second; then the
  /// next fetch is a COPY again.
  private func hasFewRows(_ fetch: RowFetch, _ sql: String) -> Bool {
    if isLimited(fetch) { return true }
    guard let lastCount = rowCounts.withLock({ $0[sql] }) else { return false }
    return lastCount.count <= Self.fewRows && ProcessInfo.processInfo.systemUptime - lastCount.time < 1
  }

  /// Remembers how many rows a statement gave, for the next fetch with the same text.
  private func note(_ count: Int, _ sql: String) {
    let now = ProcessInfo.processInfo.systemUptime
    rowCounts.withLock {
      if $0.count >= Self.mostRowCounts { $0.removeAll() }
      $0[sql] = (count, now)
    }
  }

  private static let fewRows = 500
  private static let mostRowCounts = 500

  /// Whether all rows of a table may be in libpq's memory at once. The size is asked for once in a second at most: a
  /// table does not become large within that time.
  ///
  /// ```text
  /// SELECT pg_table_size('"app"."Book"')     in bytes, with TOAST, without indexes
  /// ```
  private func isSmall(_ mapping: TableMapping, _ generation: QueryGeneration?) throws -> Bool {
    let now = ProcessInfo.processInfo.systemUptime
    if let tableSize = tableSizes.withLock({ $0[mapping.rootNumber] }), now - tableSize.time < 1 {
      return tableSize.bytes <= Self.smallTable
    }
    // With the large values that are stored beside the table.
    let sql = "SELECT pg_table_size(\(mapping.table.quotedText))"
    let bytes = try query("Fetching \(mapping.name)", in: generation, sql, with: ServerParameters()).integer(0, 0)
    tableSizes.withLock { $0[mapping.rootNumber] = (bytes, now) }
    return bytes <= Self.smallTable
  }

  private static let smallTable: Int64 = 8 * 1024 * 1024

  /// Whether the server can evaluate the fetch. It does not know all patterns and functions, and calculates otherwise
  /// than Foundation; then the rows are filtered in memory.
  ///
  /// ```text
  /// title MATCHES 'E.*'           t0."title" ~ '^(?:E[^\n-\r\u0085\u2028\u2029]*)$'     understood
  /// title CONTAINS[cd] 'em'       strpos("app"._fold(t0."title"), $1) > 0               understood
  /// title MATCHES '(?i)e.*'       options of ICU's patterns                             not understood
  /// ```
  ///
  /// Nothing is asked of the server: the generator is tried, and its error is the answer. True for what no database
  /// could evaluate, so that the fetch itself says why.
  func understands(_ fetch: RowFetch) throws -> Bool {
    do {
      _ = try generator(for: fetch.entityName).select("1", fetch)
      return true
    } catch is SQLGenerationError {
      let other = SQLGenerator(schema: schema, entity: mapping(fetch.entityName))
      // What SQLite's dialect cannot express either is left to the fetch, which says why.
      return (try? other.select("1", fetch)) == nil
    }
  }

  /// The number of rows of a fetch. A limit or an offset counts, as in Core Data:
  ///
  /// ```text
  /// SELECT count(*) FROM "app"."Book" t0 WHERE (t0."pages" > $1)
  /// SELECT count(*) FROM (SELECT 1 FROM "app"."Book" t0 WHERE (t0."pages" > $1) LIMIT 20) AS found
  /// ```
  func count(_ fetch: RowFetch) throws -> Int {
    let isWindowed = fetch.limit > 0 || fetch.offset > 0
    let statement = ServerStatement(try select(isWindowed ? "1" : "count(*)", fetch, isOrdered: false))
    let sql = isWindowed ? "SELECT count(*) FROM (\(statement.sql)) AS found" : statement.sql
    let result = try query("Counting \(fetch.entityName)", in: fetch.generation, sql, with: statement.parameters)
    return Int(result.integer(0, 0))
  }

  // MARK: Dictionaries

  /// Dictionaries of properties and expressions, also grouped:
  ///
  /// ```text
  /// SELECT t0."author", COUNT(t0."title") FROM "app"."Book" t0 GROUP BY t0."author"
  /// ```
  ///
  /// All rows are read before the first dictionary is made. What the server cannot evaluate is computed in memory from
  /// the rows that fulfil the rest of the predicate.
  func dictionaries(_ settings: FetchSettings, _ fetch: RowFetch) throws -> [NSDictionary] {
    let (sql, columns): (SQL, [SQLResultColumn])
    do {
      (sql, columns) = try select(settings, fetch, generator(for: fetch.entityName))
    } catch let error as SQLGenerationError {
      // What no database could evaluate is an error.
      let other = SQLGenerator(schema: schema, entity: mapping(fetch.entityName))
      guard (try? select(settings, fetch, other)) != nil else { throw SQLGenerationError.translated(error) }
      return try MemoryDictionaries(reader(fetch, settings), settings, fetch).all()
    }
    let statement = ServerStatement(sql)
    let result = try query(
      "Fetching \(fetch.entityName)", in: fetch.generation, statement.sql, with: statement.parameters,
      control: fetch.control)
    return try (0..<result.rowCount).map { try dictionary(columns, of: TypedServerRow(result: result, row: $0)) }
  }
}

/// The rows of a fetch that the cache gets afterwards: a bounded part of a long one.
private final class CacheAdditions {
  /// No access overlaps another one: adding calls nothing that comes back here.
  @exclusivity(unchecked) private(set) var items: [(key: Int64, table: Int32, snapshot: Snapshot)] = []
  private static let most = 4096

  @inline(__always)
  func add(_ snapshot: Snapshot, _ key: Int64, _ table: Int32) {
    if items.count < Self.most { items.append((key, table, snapshot)) }
  }
}

/// Fetching rows by predicate and order.
extension SQLiteStore {
  /// Runs the fetch's statement on a reader, and keeps the rows in the cache unless something was saved meanwhile.
  ///
  /// ```text
  /// Fetch                                       Writer (this process or another)
  /// ------------------------------------------  ------------------------------------------
  /// epoch = cache.epoch
  /// takes a reader, SELECT … begins             commits: the fetch does not see it
  /// rows come, with the state of its beginning  (this process) cache.commit: the epoch grows
  /// cache.add(rows, since: epoch)
  ///   adds none: the epoch has changed
  /// ```
  ///
  /// Without the epoch the fetch would put the old rows into the cache over the committed ones. A commit of another
  /// process does not change the epoch by itself; `validateRowCache` notices it with the next block of a context, drops
  /// all rows and begins a new epoch.
  ///
  /// The order of `body` and cache is free: contexts have the snapshots in any case, and keep them while they use them.
  func fetch(_ fetch: RowFetch, _ body: (StoredEntity, Int64, __owned Snapshot?) -> Void) throws {
    let plan = plan(fetch)
    let sql = try select(plan.columnList(alias: "t0", areKeys: !fetch.includesValues), fetch, isOrdered: true)
    let cache = cache(fetch.generation)
    let epoch = cache.epoch
    var rows: [(key: Int64, table: Int32, snapshot: Snapshot)] = []
    let packer = RowPacker()
    let (includesValues, isWhole) = (fetch.includesValues, fetch.properties == nil)
    try CoreDataErrors.translating("Fetching \(fetch.entityName)") {
      try read(fetch.generation, fetch.control) { connection in
        let statement = try connection.statement(sql)
        defer { statement.reset() }
        try plan.forEachRow(of: statement) { decoder, storedEntity, cells in
          fetch.control?.countRow()
          let key = cells.key(0)
          guard includesValues else { return body(storedEntity, key, nil) }
          let snapshot = try decoder.decode(cells, packer)
          // The cache keeps a bounded part of a long fetch, so not more is collected.
          if rows.count < 4096 && isWhole { rows.append((key, storedEntity.table, snapshot)) }
          body(storedEntity, key, consume snapshot)
        }
      }
    }
    cache.add(rows, since: epoch)
  }

  /// Always true: reading all rows to evaluate in memory would cost too much, so such a fetch throws.
  func understands(_ fetch: RowFetch) throws -> Bool { true }

  /// Counts without reading rows; a window of the fetch counts in a subquery.
  ///
  /// ```text
  /// count                 SELECT count(*) FROM ZBOOK t0
  /// count, limit 10       SELECT count(*) FROM (SELECT 1 FROM ZBOOK t0 LIMIT 10)
  /// ```
  ///
  /// SQLite counts a whole table by walking through its smallest index; it keeps no number of rows.
  func count(_ fetch: RowFetch) throws -> Int {
    let isWindowed = fetch.limit > 0 || fetch.offset > 0
    let sql = try select(isWindowed ? "1" : "count(*)", fetch, isOrdered: false)
    return try CoreDataErrors.translating("Counting \(fetch.entityName)") {
      try read(fetch.generation) { connection in
        Int(try connection.integer(isWindowed ? "SELECT count(*) FROM (\(sql))" : sql) ?? 0)
      }
    }
  }
}

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
  ///
  /// Rows that are sorted in memory (`SlotOrder`) are all read before the first goes to `body`; the reader is free by
  /// then.
  func fetch(_ fetch: RowFetch, _ body: (StoredEntity, Int64, __owned Snapshot?) -> Void) throws {
    let plan = plan(fetch)
    let order = memoryOrder(of: fetch)
    let sql = try select(
      plan.columnList(alias: "t0", areKeys: !fetch.includesValues), fetch, isOrdered: order == nil)
    let cache = cache(fetch.generation)
    let epoch = cache.epoch
    var rows: [(key: Int64, table: Int32, snapshot: Snapshot)] = []
    // The entities are those of the store. Unmanaged, so that a row costs no counting of its entity.
    var unsorted: [(storedEntity: Unmanaged<StoredEntity>, key: Int64, snapshot: Snapshot)] = []
    let packer = RowPacker()
    let (includesValues, isWhole, isSorted) = (fetch.includesValues, fetch.properties == nil, order == nil)
    try CoreDataErrors.translating("Fetching \(fetch.entityName)") {
      try read(fetch.generation, fetch.control) { connection in
        let statement = try connection.statement(sql)
        defer { statement.reset() }
        try plan.forEachRow(of: statement) { decoder, storedEntity, cells in
          fetch.control?.countRow()
          let key = cells.key(0)
          guard includesValues else { return body(storedEntity, key, nil) }
          let snapshot = try decoder.decode(cells, packer)
          guard isSorted else {
            unsorted.append((.passUnretained(storedEntity), key, snapshot))
            return
          }
          // The cache keeps a bounded part of a long fetch, so not more is collected.
          if rows.count < 4096 && isWhole { rows.append((key, storedEntity.table, snapshot)) }
          body(storedEntity, key, consume snapshot)
        }
      }
    }
    for place in order?.places(of: unsorted.count, { (unsorted[$0].key, unsorted[$0].snapshot.slots) }) ?? [] {
      let row = unsorted[place]
      row.storedEntity._withUnsafeGuaranteedRef { storedEntity in
        if rows.count < 4096 { rows.append((row.key, storedEntity.table, row.snapshot)) }
        body(storedEntity, row.key, row.snapshot)
      }
    }
    cache.add(rows, since: epoch)
  }

  /// The order in which the rows of a fetch are put after they were read; nil where the statement has it.
  ///
  /// ```text
  /// order by title                      in memory
  /// order by title, limit 20            SQLite's sorter keeps 20 rows only
  /// order by title, IDs or a batch      SQLite's: the rows are read without their titles
  /// order by pages, which has an index  SQLite's: the index may give the rows in order
  /// order by author.name                SQLite's: the name is in another row
  /// ```
  func memoryOrder(of fetch: RowFetch) -> SlotOrder? {
    guard fetch.includesValues, fetch.properties == nil, fetch.limit == 0, fetch.offset == 0,
      let layout = storedEntities.byName[fetch.entityName]?.layout, let first = fetch.sortDescriptors.first?.key,
      layout.slot(first) != nil, !layout.indexedNames.contains(first)
    else { return nil }
    return SlotOrder(fetch.sortDescriptors, of: layout, ordersByKeys: true)
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

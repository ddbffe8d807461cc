/// Fetching rows by predicate and order.
extension ServerStore {
  func fetch(_ fetch: RowFetch, _ body: (StoredEntity, Int64, __owned Snapshot?) -> Void) throws {
    let mapping = mapping(fetch.entityName)
    let plan =
      fetch.properties == nil
      ? plan(fetch.entityName, includesSubentities: fetch.includesSubentities)
      : ServerRowPlan(
        mapping, schema: schema, storedEntities: storedEntities, includesSubentities: fetch.includesSubentities,
        properties: fetch.properties)
    let names = mapping.names
    let columns =
      fetch.includesValues
      ? plan.columnList(alias: "t0") : "t0.\(names.key), t0.\(names.version), t0.\(names.entity)"
    let statement = ServerStatement(try select(columns, fetch, isOrdered: true))
    let cache = cache(fetch.generation)
    let epoch = cache.epoch
    let rows = RowsToCache()
    let packer = RowPacker()
    @inline(__always)
    func take(_ decoder: ServerRowDecoder, _ row: some ServerRow, _ key: Int64) {
      fetch.control?.countRow()
      guard fetch.includesValues else { return body(decoder.storedEntity, key, nil) }
      let snapshot = decoder.decode(row, packer)
      if fetch.properties == nil { rows.add(snapshot, key, decoder.storedEntity.table) }
      body(decoder.storedEntity, key, snapshot)
    }
    let isCopied = statement.parameters.count == 0 && !hasFewRows(fetch, statement.sql)
    let isShort = try isCopied || isLimited(fetch) || isSmall(mapping, fetch.generation)
    try streaming("Fetching \(fetch.entityName)", fetch.generation, fetch.control) { connection, hasBegun in
      guard isCopied else {
        return try connection.stream(statement.sql, statement.parameters, isShort: isShort) { result in
          hasBegun = true
          plan.forEachRow(of: result) { decoder, row, key in take(decoder, row, key) }
        }
      }
      let count = try plan.forEachCopiedRow(
        connection, statement.sql, columnCount: fetch.includesValues ? plan.columnCount : 3
      ) { decoder, row, key in
        hasBegun = true
        take(decoder, row, key)
      }
      note(count, statement.sql)
    }
    cache.add(rows.items, since: epoch)
  }

  private func isLimited(_ fetch: RowFetch) -> Bool { fetch.limit > 0 && fetch.limit <= 1000 }

  // MARK: Ways to the rows

  /// Whether a prepared statement is the cheaper way to the rows of a fetch without parameters: for few rows it costs
  /// less than to plan a COPY. Nobody knows before the first fetch, and the answer is renewed once in a while.
  private func hasFewRows(_ fetch: RowFetch, _ sql: String) -> Bool {
    if isLimited(fetch) { return true }
    guard let known = rowCounts.withLock({ $0[sql] }) else { return false }
    return known.count <= Self.fewRows && ProcessInfo.processInfo.systemUptime - known.time < 1
  }

  private func note(_ count: Int, _ sql: String) {
    let now = ProcessInfo.processInfo.systemUptime
    rowCounts.withLock {
      if $0.count >= Self.mostRowCounts { $0.removeAll() }
      $0[sql] = (count, now)
    }
  }

  private static let fewRows = 500
  private static let mostRowCounts = 500

  /// Whether all rows of a table may be in libpq's memory at once. The size is asked for once in a while: a table does
  /// not become large within that time.
  private func isSmall(_ mapping: TableMapping, _ generation: QueryGeneration?) throws -> Bool {
    let now = ProcessInfo.processInfo.systemUptime
    if let known = tableSizes.withLock({ $0[mapping.rootNumber] }), now - known.time < 1 {
      return known.bytes <= Self.smallTable
    }
    // With the large values that are stored beside the table.
    let sql = "SELECT pg_table_size(\(mapping.table.quotedText))"
    let bytes = try query("Fetching \(mapping.name)", generation, sql, ServerParameters()).integer(0, 0)
    tableSizes.withLock { $0[mapping.rootNumber] = (bytes, now) }
    return bytes <= Self.smallTable
  }

  private static let smallTable: Int64 = 8 * 1024 * 1024

  /// Whether the server can evaluate the fetch. It does not know all patterns and functions, and calculates otherwise
  /// than Foundation; then the rows are filtered in memory.
  ///
  /// True for what no database could evaluate, so that the fetch itself says why.
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

  func count(_ fetch: RowFetch) throws -> Int {
    let isWindowed = fetch.limit > 0 || fetch.offset > 0
    let statement = ServerStatement(try select(isWindowed ? "1" : "count(*)", fetch, isOrdered: false))
    let sql = isWindowed ? "SELECT count(*) FROM (\(statement.sql)) AS found" : statement.sql
    let result = try query("Counting \(fetch.entityName)", fetch.generation, sql, statement.parameters)
    return Int(result.integer(0, 0))
  }

  // MARK: Dictionaries

  func dictionaries(_ settings: FetchSettings, _ fetch: RowFetch) throws -> [NSDictionary] {
    let generator = generator(for: fetch.entityName)
    func select(_ generator: SQLGenerator) throws -> (String, [SQLResultColumn]) {
      let (list, columns) = try generator.columns(settings.propertiesToFetch, groupedBy: settings.propertiesToGroupBy)
      return (try generator.select(list, fetch, groups: settings), columns)
    }
    let (sql, columns): (String, [SQLResultColumn])
    do {
      (sql, columns) = try select(generator)
    } catch let error as SQLGenerationError {
      // What no database could evaluate is an error.
      let other = SQLGenerator(schema: schema, entity: mapping(fetch.entityName))
      guard (try? select(other)) != nil else { throw SQLGenerationError.translated(error) }
      return try MemoryDictionaries(reader(fetch, settings), settings, fetch).all()
    }
    let statement = ServerStatement(sql, generator.bindings)
    let result = try query(
      "Fetching \(fetch.entityName)", fetch.generation, statement.sql, statement.parameters, fetch.control)
    return (0..<result.rowCount).map { row in
      let dictionary = NSMutableDictionary(capacity: columns.count)
      for column in columns {
        if let value = value(result, row, column.index, column.kind) { dictionary[column.name] = value }
      }
      return dictionary
    }
  }

  private func value(_ result: any ServerResult, _ row: Int, _ index: Int, _ kind: SQLResultColumn.Kind) -> Any? {
    switch kind {
    case .value(let type, let attribute):
      return result.bytes(row, index).flatMap { ServerValue.value($0, result.type(index), type, attribute) }
    case .composite(let leaves):
      var elements: [String: Any] = [:]
      for (offset, leaf) in leaves.enumerated() {
        guard let bytes = result.bytes(row, index + offset),
          let value = ServerValue.value(bytes, result.type(index + offset), as: leaf.attribute)
        else { continue }
        CompositeValue.set(value, at: leaf.path[...], in: &elements)
      }
      return elements.isEmpty ? nil : elements
    case .object(let entityName, let hasEntityColumn):
      let key = result.integer(row, index)
      let number = hasEntityColumn ? Int(result.integer(row, index + 1)) : 0
      // 0 in the entity's column stands for the relationship's own destination, as in a snapshot.
      let actual = storedEntities.byNumber.indices.contains(number) ? storedEntities.byNumber[number] : nil
      guard key != 0, let storedEntity = actual ?? storedEntities.byName[entityName] else { return nil }
      return NSManagedObjectID(storedEntity: storedEntity, key: key)
    }
  }
}

/// The rows of a fetch that the cache gets afterwards: a bounded part of a long one.
private final class RowsToCache {
  /// No access overlaps another one: adding calls nothing that comes back here.
  @exclusivity(unchecked) private(set) var items: [(key: Int64, table: Int32, snapshot: Snapshot)] = []
  private static let most = 4096

  @inline(__always)
  func add(_ snapshot: Snapshot, _ key: Int64, _ table: Int32) {
    if items.count < Self.most { items.append((key, table, snapshot)) }
  }
}

/// Dictionary results: columns, aggregates and groups, straight from the file.
extension SQLiteStore {
  /// The rows of a fetch as dictionaries. A nil value has no key.
  func dictionaries(_ settings: FetchSettings, _ fetch: Fetch) throws -> [NSDictionary] {
    let generator = generator(for: fetch.entityName)
    let (sql, columns) = try SQLGenerationError.translated {
      let (list, columns) = try generator.columns(settings.propertiesToFetch, groupedBy: settings.propertiesToGroupBy)
      return (try select(list, fetch, settings, generator), columns)
    }
    return try CoreDataErrors.translating("Fetching \(fetch.entityName)") {
      try read(fetch.generation, fetch.control) { connection in
        let statement = try connection.statement(sql)
        statement.bind(generator.bindings)
        defer { statement.reset() }
        var results: [NSDictionary] = []
        while try statement.step() { results.append(row(statement, columns)) }
        return results
      }
    }
  }

  private func select(
    _ columns: String, _ fetch: Fetch, _ settings: FetchSettings, _ generator: SQLGenerator
  ) throws -> String {
    var conditions: [String] = []
    if let restriction = generator.entityRestriction(includesSubentities: fetch.includesSubentities) {
      conditions.append(restriction)
    }
    if let predicate = fetch.predicate { conditions.append(try generator.whereClause(predicate)) }
    let groups = try settings.propertiesToGroupBy.map(generator.groupClause) ?? ""
    let having = groups.isEmpty ? "" : try settings.havingPredicate.map(generator.havingClause) ?? ""
    let order = try generator.orderClause(fetch.sortDescriptors)
    var sql = settings.returnsDistinctResults ? "SELECT DISTINCT \(columns)" : "SELECT \(columns)"
    sql += " FROM \(generator.root.mapping.table) t0\(generator.joins)"
    if !conditions.isEmpty { sql += " WHERE \(conditions.joined(separator: " AND "))" }
    if !groups.isEmpty { sql += " GROUP BY \(groups)" }
    if !having.isEmpty { sql += " HAVING \(having)" }
    if !order.isEmpty { sql += " ORDER BY \(order)" }
    // SQLite wants a limit where there is an offset; -1 is none.
    if fetch.limit > 0 || fetch.offset > 0 {
      sql += " LIMIT \(fetch.limit > 0 ? fetch.limit : -1) OFFSET \(fetch.offset)"
    }
    return sql
  }

  private func row(_ statement: SQLiteStatement, _ columns: [SQLResultColumn]) -> NSDictionary {
    let row = NSMutableDictionary(capacity: columns.count)
    for column in columns {
      let index = Int32(column.index)
      guard !statement.isNull(index), let value = value(statement, index, column.kind) else { continue }
      row[column.name] = value
    }
    return row
  }

  private func value(_ statement: SQLiteStatement, _ index: Int32, _ kind: SQLResultColumn.Kind) -> Any? {
    switch kind {
    case .value(let type, let attribute): return value(statement, index, type, attribute)
    case .object(let entityName, let hasEntityColumn):
      let key = statement.integer(index)
      let number = hasEntityColumn ? Int(statement.integer(index + 1)) : 0
      // 0 in the entity's column means the relationship's own destination, as in a snapshot.
      let actual = family.homes.indices.contains(number) ? family.homes[number] : nil
      guard key != 0, let home = actual ?? family.homesByName[entityName] else { return nil }
      return NSManagedObjectID(home: home, key: key)
    }
  }

  func value(
    _ statement: SQLiteStatement, _ index: Int32, _ type: NSAttributeType, _ attribute: NSAttributeDescription?
  ) -> Any? {
    switch type {
    case .integer16AttributeType: return NSNumber(value: Int16(truncatingIfNeeded: statement.integer(index)))
    case .integer32AttributeType: return NSNumber(value: Int32(truncatingIfNeeded: statement.integer(index)))
    case .integer64AttributeType: return NSNumber(value: statement.integer(index))
    case .booleanAttributeType: return NSNumber(value: statement.integer(index) != 0)
    case .doubleAttributeType: return NSNumber(value: statement.real(index))
    case .floatAttributeType: return NSNumber(value: Float(statement.real(index)))
    case .dateAttributeType: return Date(timeIntervalSinceReferenceDate: statement.real(index))
    case .stringAttributeType: return statement.text(index)
    case .UUIDAttributeType:
      return statement.blob(index).flatMap {
        $0.count == 16 ? $0.withUnsafeBytes { $0.loadUnaligned(as: UUID.self) } : nil
      }
    case .URIAttributeType: return statement.text(index).flatMap(URL.init(string:))
    case .decimalAttributeType:
      return statement.text(index).map { NSDecimalNumber(string: $0, locale: Locale(identifier: "en_US_POSIX")) }
    case .binaryDataAttributeType:
      let home = attribute.flatMap { family.homesByName[$0.entity.name ?? ""] }
      let isExternal = attribute?.allowsExternalBinaryDataStorage ?? false
      return statement.blob(index).map { data in
        home.flatMap { isExternal ? ExternalData.decode(data, $0) : nil } ?? data
      }
    case .transformableAttributeType:
      return statement.blob(index).map { StoredValue.decodeTransformable($0, attribute?.valueTransformerName) }
    case .undefinedAttributeType, .objectIDAttributeType, .compositeAttributeType:
      return plainValue(statement.value(index))
    }
  }

  /// A value of no declared type, as SQLite has it.
  private func plainValue(_ value: SQLiteValue) -> Any? {
    switch value {
    case .null: nil
    case .integer(let value): NSNumber(value: value)
    case .real(let value): NSNumber(value: value)
    case .text(let value): value
    case .blob(let value): value
    }
  }
}

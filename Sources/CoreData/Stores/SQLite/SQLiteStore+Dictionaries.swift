/// Dictionary results: columns, aggregates and groups, straight from the file.
extension SQLiteStore {
  func dictionaries(_ settings: FetchSettings, _ fetch: RowFetch) throws -> [NSDictionary] {
    let generator = generator(for: fetch.entityName)
    let (sql, columns) = try SQLGenerationError.translated {
      let (list, columns) = try generator.columns(settings.propertiesToFetch, groupedBy: settings.propertiesToGroupBy)
      return (try generator.select(list, fetch, groups: settings), columns)
    }
    return try CoreDataErrors.translating("Fetching \(fetch.entityName)") {
      try read(fetch.generation, fetch.control) { connection in
        let statement = try connection.statement(sql)
        statement.bind(generator.bindings)
        defer { statement.reset() }
        var results: [NSDictionary] = []
        while try statement.step() { results.append(try row(statement, columns)) }
        return results
      }
    }
  }

  private func row(_ statement: SQLiteStatement, _ columns: [SQLResultColumn]) throws -> NSDictionary {
    let row = NSMutableDictionary(capacity: columns.count)
    for column in columns {
      let index = Int32(column.index)
      if let value = try value(statement, index, column.kind) { row[column.name] = value }
    }
    return row
  }

  private func value(_ statement: SQLiteStatement, _ index: Int32, _ kind: SQLResultColumn.Kind) throws -> Any? {
    switch kind {
    case .value(let type, let attribute):
      if statement.isNull(index) { return nil }
      return try StoredValue.value(
        of: statement, column: index, type: type, attribute: attribute, storedEntity: storedEntity(of: attribute))
    case .composite(let leaves):
      let columns = leaves.enumerated().map { ($1, index + Int32($0)) }
      return try StoredValue.composite(statement, columns, storedEntity(of: leaves.first?.attribute))
    case .object(let entityName, let hasEntityColumn):
      let key = statement.integer(index)
      let number = hasEntityColumn ? Int(statement.integer(index + 1)) : 0
      // 0 in the entity's column stands for the relationship's own destination, as in a snapshot.
      let actual = storedEntities.byNumber.indices.contains(number) ? storedEntities.byNumber[number] : nil
      guard key != 0, let storedEntity = actual ?? storedEntities.byName[entityName] else { return nil }
      return NSManagedObjectID(storedEntity: storedEntity, key: key)
    }
  }

  private func storedEntity(of attribute: NSAttributeDescription?) -> StoredEntity? {
    attribute?.owner.flatMap { storedEntities.byName[$0.name ?? ""] }
  }
}

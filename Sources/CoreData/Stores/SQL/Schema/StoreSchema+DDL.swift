extension StoreSchema {
  /// The table of entities with their numbers and highest keys.
  var primaryKeyTable: String { prefix + "_PRIMARYKEY" }

  /// The table of one row that holds the store's identity and metadata.
  var metadataTable: String { prefix + "_METADATA" }

  /// The table of one row in which the store keeps a copy of its model. Stores of older frameworks have none.
  var modelCacheTable: String { prefix + "_MODELCACHE" }

  /// The statements that create a new file's schema, in the order in which Apple's files have it: the tables of
  /// entities, each followed by the join tables that it names; their indexes; triggers; then the store's own tables
  /// with a row per entity.
  var creationStatements: [String] {
    entityTableStatements + indexStatements + derivedAttributeStatements + [
      "CREATE TABLE \(primaryKeyTable) (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)",
      "CREATE TABLE \(metadataTable) (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)",
      "CREATE TABLE \(modelCacheTable) (Z_CONTENT BLOB)",
    ]
      + entities.map { entity in
        """
        INSERT INTO \(primaryKeyTable) (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) \
        VALUES (\(entity.number), '\(entity.name)', \(entity.superNumber), 0)
        """
      }
  }

  var entityTableStatements: [String] {
    tables.flatMap { table in
      let hierarchy = Set(entitiesByNumber[table.rootNumber]?.numbersIncludingSubentities ?? [])
      return [table.creationStatement]
        + joinTables.filter { hierarchy.contains($0.ownerNumber) }.map(\.creationStatement)
    }
  }

  // MARK: Indexes

  var indexStatements: [String] {
    tables.flatMap { table in
      let hierarchy = entitiesByNumber[table.rootNumber]?.numbersIncludingSubentities ?? []
      let mappings = hierarchy.compactMap { entitiesByNumber[$0] }
      return keyIndexes(of: table, mappings)
        + joinTables.filter { hierarchy.contains($0.ownerNumber) }.map(\.indexStatement)
        + mappings.flatMap { fetchIndexes(of: $0) + uniqueIndexes(of: $0) }
    }
  }

  private func keyIndexes(of table: EntityTable, _ mappings: [TableMapping]) -> [String] {
    let keys = Set(mappings.flatMap { $0.toOnes.values.map(\.column) })
    var statements = table.columns.filter { keys.contains($0.name) }.map { column in
      "CREATE INDEX \(table.name)_\(column.name)_INDEX ON \(table.name) (\(column.name))"
    }
    if mappings.count > 1 {
      statements.append("CREATE INDEX \(table.name)_Z_ENT_INDEX ON \(table.name) (Z_ENT)")
    }
    return statements
  }

  private func fetchIndexes(of mapping: TableMapping) -> [String] {
    var names: Set<String> = []
    return mapping.fetchIndexes.filter { names.insert($0.name.lowercased()).inserted }.map { index in
      let list = index.columns.map { "\($0.column) COLLATE BINARY \($0.isAscending ? "ASC" : "DESC")" }
      let condition = index.conditions.isEmpty ? "" : " WHERE \(index.conditions.joined(separator: " AND "))"
      return """
        CREATE INDEX \(prefix)_\(mapping.name)_\(index.name.asIndexName) \
        ON \(mapping.table) (\(list.joined(separator: ", ")))\(condition)
        """
    }
  }

  private func uniqueIndexes(of mapping: TableMapping) -> [String] {
    mapping.entity.uniquenessConstraints.map(mapping.entity.names(of:)).compactMap { names in
      let columns = mapping.columns(of: names)
      guard columns.count == names.count, !columns.isEmpty else { return nil }
      let list = columns.map { "\($0) COLLATE BINARY ASC" }.joined(separator: ", ")
      let name = "\(prefix)_\(mapping.name)_UNIQUE_\(names.joined(separator: "_").asIndexName)"
      return "CREATE UNIQUE INDEX \(name) ON \(mapping.table) (\(list))\(mapping.uniqueCondition(columns))"
    }
  }
}

extension TableMapping {
  /// The user info with which an entity of the program's own model asks for unique indexes without the rows in which
  /// one of the values is nil. They are as strict, since nil differs from everything, and cost such rows nothing.
  /// Apple's unique indexes hold all rows.
  private static let uniqueKey = "sqlite.uniqueIndexes"
  private static let partialValue = "partial"

  /// The condition of the unique index over these columns, with WHERE; empty without one.
  func uniqueCondition(_ columns: [String]) -> String {
    guard entity.userInfo?[Self.uniqueKey] as? String == Self.partialValue else { return "" }
    return " WHERE " + columns.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
  }
}

extension String {
  /// Without the dots of key paths.
  fileprivate var asIndexName: String { replacingOccurrences(of: ".", with: "_") }
}

extension TableMapping {
  /// The columns of attributes and to-one relationships, in the order of the names. Other names are skipped.
  package func columns(of names: [String]) -> [String] {
    names.compactMap { attributes[$0]?.column ?? toOnes[$0]?.column }
  }
}

extension EntityTable {
  var creationStatement: String {
    let columns = columns.map { "\($0.name) \($0.declaredType)" }.joined(separator: ", ")
    return "CREATE TABLE \(name) ( \(columns) )"
  }
}

extension JoinTable {
  fileprivate var creationStatement: String {
    let columns = ([firstColumn, secondColumn] + orderColumns).map { "\($0) INTEGER" }.joined(separator: ", ")
    return "CREATE TABLE \(name) ( \(columns), PRIMARY KEY (\(firstColumn), \(secondColumn)) )"
  }

  fileprivate var indexStatement: String {
    "CREATE INDEX \(name)_\(secondColumn)_INDEX ON \(name) (\(secondColumn), \(firstColumn))"
  }
}

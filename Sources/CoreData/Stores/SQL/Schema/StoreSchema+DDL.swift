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
    var statements: [String] = []
    func add(_ name: String, _ elements: [(column: String, isAscending: Bool)], where condition: String? = nil) {
      guard !elements.isEmpty, names.insert(name.lowercased()).inserted else { return }
      let list = elements.map { "\($0.column) COLLATE BINARY \($0.isAscending ? "ASC" : "DESC")" }
      statements.append(
        """
        CREATE INDEX \(prefix)_\(mapping.name)_\(name.asIndexName) ON \(mapping.table) (\(list.joined(separator: ", ")))\
        \(condition.map { " WHERE \($0)" } ?? "")
        """)
    }
    let declared = Set(mapping.entity.declaredProperties.map(\.name))
    // What older models say about attributes, and newer ones repeat, is no second index.
    let indexed = Set(
      mapping.entity.indexes.filter { $0.partialIndexPredicate == nil }.map { $0.elements.compactMap(\.propertyName) })
    for attribute in mapping.entity.attributesByName.values.sorted(onBytes: { $0.name })
    where attribute.isIndexed && declared.contains(attribute.name) && !indexed.contains([attribute.name]) {
      add(attribute.name, mapping.columns(of: [attribute.name]).map { ($0, true) })
    }
    for names in mapping.entity.compoundIndexes.map(mapping.entity.names(of:)) where !indexed.contains(names) {
      add(names.joined(separator: "_"), mapping.columns(of: names).map { ($0, true) })
    }
    for index in mapping.entity.indexes {
      let elements = index.elements.filter { $0.collationType == .binary }
      // A single relationship has an index already.
      guard elements.count > 1 || elements.contains(where: { mapping.attributes[$0.propertyName ?? ""] != nil }) else {
        continue
      }
      add(
        index.name,
        elements.flatMap { element in
          mapping.columns(of: [element.propertyName ?? ""]).map { ($0, element.isAscending) }
        }, where: index.partialIndexPredicate.flatMap { partialCondition($0, mapping) })
    }
    return statements
  }

  /// The condition of a partial index: comparisons of attributes with nil, and several of them joined by AND.
  ///
  /// SQLite uses a partial index only if the query's condition implies the index's, and knows nothing of bound values
  /// (https://www.sqlite.org/partialindex.html, "Queries Using Partial Indexes"). A comparison with nil binds none. For
  /// other predicates the result is nil and the index holds all rows, which serves any query.
  private func partialCondition(_ predicate: NSPredicate, _ mapping: TableMapping) -> String? {
    switch predicate.kind {
    case .compound(.and, let parts):
      let conditions = parts.map { partialCondition($0, mapping) }
      return conditions.contains(nil) ? nil : conditions.compactMap(\.self).joined(separator: " AND ")
    case .comparison(let comparison): return comparison.nullCondition(mapping)
    default: return nil
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

extension NSComparisonPredicate {
  /// The condition of a comparison of an attribute with nil; nil for another comparison.
  package func nullCondition(_ mapping: TableMapping) -> String? {
    guard leftExpression.expressionType == .keyPath, let column = mapping.columns(of: [leftExpression.keyPath]).first,
      rightExpression.expressionType == .constantValue, rightExpression.constantValue == nil
    else { return nil }
    switch predicateOperatorType {
    case .equalTo: return "\(column) IS NULL"
    case .notEqualTo: return "\(column) IS NOT NULL"
    default: return nil
    }
  }
}

extension SQLiteStore {
  /// Updates a store of an earlier model version to this one, if this version only adds optional attributes without a
  /// default value, entities without a superentity, and indexes. It is one transaction; rows, keys and the store's
  /// identifier stay.
  ///
  /// Indexes do not count for the model's version, so they are compared with those of the file.
  ///
  /// Unlike lightweight migration it needs no earlier model, and cannot rename or remove anything.
  /// - Throws: 134100 if more than additions are needed. Nothing is changed then.
  static func extend(
    _ prefix: String, _ entities: [NSEntityDescription], _ model: NSManagedObjectModel, _ database: SQLiteDatabase
  ) throws {
    guard try database.withWriter({ try isOutdated(prefix, entities, $0) }) else { return }
    try database.write { connection in
      var (_, metadata) = try readMetadata(prefix, connection)
      guard StoredVersionHashes(metadata)?.fit(entities) != true else {
        return try remakeIndexes(
          StoreSchema(entities: entities, prefix: prefix, file: SchemaFile(connection, prefix: prefix)), connection)
      }
      try addNumbers(entities, prefix, connection)
      let file = try SchemaFile(connection, prefix: prefix)
      let layout = try SchemaLayout(EntityNumbering(entities, rows: file.entities), prefix: prefix)
      do {
        for table in layout.tables { try bring(table, upTo: layout, entities, file, connection) }
      } catch let difference as Difference {
        throw CoreDataErrors.error(
          .persistentStoreIncompatibleVersionHash,
          "The model is not the one that \(connection.path) was made with: \(difference.text).", ["metadata": metadata])
      }
      let extended = try SchemaFile(connection, prefix: prefix)
      try remakeIndexes(StoreSchema(entities: entities, prefix: prefix, file: extended), connection)
      StoreMetadata.setModel(entities: entities, identifiers: model.versionIdentifiers, in: &metadata)
      try writeMetadata(metadata, prefix: prefix, connection)
      try keepModel(model, of: entities, prefix, connection)
    }
  }

  /// Assigns numbers to new entities; existing ones keep theirs.
  private static func addNumbers(
    _ entities: [NSEntityDescription], _ prefix: String, _ connection: SQLiteConnection
  ) throws {
    let rows = try SchemaFile(connection, prefix: prefix).entities
    var last = rows.map(\.number).max() ?? 0
    for name in entities.filter({ $0.superentity == nil }).compactMap(\.name).sorted()
    where !rows.contains(where: { $0.name == name }) {
      last += 1
      try connection.execute(
        "INSERT INTO \(prefix)_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (?, ?, 0, 0)",
        [.integer(Int64(last)), .text(name)])
    }
  }

  /// The error for a change that is more than an addition.
  private struct Difference: Error {
    let text: String
  }

  private static func bring(
    _ table: EntityTable, upTo layout: SchemaLayout, _ entities: [NSEntityDescription], _ file: SchemaFile,
    _ connection: SQLiteConnection
  ) throws {
    guard let found = file.columns[table.name] else {
      let columns = table.columns.map { "\($0.name) \($0.declaredType)" }.joined(separator: ", ")
      return try connection.execute("CREATE TABLE \(table.name) ( \(columns) )")
    }
    if let stranger = found.first(where: { name in !table.columns.contains { $0.name == name } }) {
      throw Difference(text: "it has no place for \(table.name).\(stranger)")
    }
    let attributes = entities.filter { layout.table(of: $0) == table.name }.flatMap { $0.attributesByName.values }
    for column in table.columns where !found.contains(column.name) {
      let attribute = attributes.first { attribute in
        layout.column(of: attribute)?.column == column.name
          || (attribute as? NSCompositeAttributeDescription).flatMap(layout.columns)?.leaves
            .contains { $0.column.column == column.name } ?? false
      }
      guard let attribute, attribute.isOptional, attribute.initialValue == nil else {
        throw Difference(text: "the file has no \(table.name).\(column.name), which needs a value")
      }
      try connection.execute("ALTER TABLE \(table.name) ADD COLUMN \(column.name) \(column.declaredType)")
    }
  }

  /// Whether the file lacks parts of the model, or has other indexes.
  private static func isOutdated(
    _ prefix: String, _ entities: [NSEntityDescription], _ connection: SQLiteConnection
  ) throws -> Bool {
    let (_, metadata) = try readMetadata(prefix, connection)
    guard StoredVersionHashes(metadata)?.fit(entities) == true else { return true }
    let schema = try StoreSchema(entities: entities, prefix: prefix, file: SchemaFile(connection, prefix: prefix))
    return try Set(indexes(schema, connection).values) != Set(schema.indexStatements)
  }

  /// Drops the store's indexes that the model lacks, and creates those that the file lacks.
  private static func remakeIndexes(_ schema: StoreSchema, _ connection: SQLiteConnection) throws {
    let found = try indexes(schema, connection)
    let wanted = schema.indexStatements
    for (name, statement) in found where !wanted.contains(statement) { try connection.execute("DROP INDEX \(name)") }
    for statement in wanted where !found.values.contains(statement) { try connection.execute(statement) }
  }

  /// The statements of the store's own indexes in the file, by name. Indexes that a person added have other names.
  static func indexes(_ schema: StoreSchema, _ connection: SQLiteConnection) throws -> [String: String] {
    var statements: [String: String] = [:]
    for table in schema.tables.map(\.name) + schema.joinTables.map(\.name) {
      let columns = try SQLiteGuests.columns(of: table, connection)
      // Indexes without a text belong to the table's constraints.
      let rows = try connection.rows(
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL", [.text(table)])
      for row in rows {
        guard case .text(let name) = row[0], case .text(let statement) = row[1],
          schema.isOwn(name, of: table, columns)
        else { continue }
        statements[name] = statement
      }
    }
    return statements
  }
}

/// What a file gets in place: see ``SchemaAdditions``.
extension SQLiteStore {
  /// Finds out what a file lacks for the opening's model.
  ///
  /// A new optional attribute `note` of `Book` is one statement, and no row is written:
  ///
  /// ```text
  /// ALTER TABLE ZBOOK ADD COLUMN ZNOTE VARCHAR
  /// ```
  ///
  /// - Parameter old: the entities of the old model; nil if that is unknown.
  /// - Returns: adds it, in the open transaction.
  /// - Throws: `StoreSchemaError` if more than additions are needed.
  static func additions(
    to opening: StoreOpening, from old: [NSEntityDescription]?, _ prefix: String, _ connection: SQLiteConnection
  ) throws -> () throws -> Void {
    let file = try SchemaFile(connection, prefix: prefix)
    let schema = try StoreSchema(
      entities: opening.entities, prefix: prefix, addingTo: file.adding(opening.entities))
    let numbering = EntityNumbering(opening.entities)
    // The numbers are in names of columns and tables. A Mac expects those that a new file would have.
    if opening.migration == .inferred,
      let mapping = schema.entities.first(where: { numbering.number(of: $0.entity) != $0.number })
    {
      throw StoreSchemaError("\(mapping.name) gets another number")
    }
    let additions = try SchemaAdditions(
      to: file, for: schema, from: old.map { try StoreSchema(entities: $0, prefix: prefix, file: file) })
    return {
      connection.growCacheForFile()
      for entity in additions.entities {
        try connection.run(
          """
          INSERT INTO \(raw: schema.primaryKeyTable) (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) \
          VALUES (\(bind: .integer(Int64(entity.number))), \(bind: .text(entity.name)), 0, 0)
          """)
      }
      for table in additions.tables { try connection.execute(table.creationStatement) }
      for (table, column) in additions.columns {
        try connection.execute("ALTER TABLE \(table) ADD COLUMN \(column.name) \(column.declaredType)")
      }
      try renewIndexes(schema, onlyUnique: opening.defersMigration, connection)
      // What an earlier migration has left for later.
      if !opening.defersMigration { try DeferredMigration.dropOldTables(connection) }
    }
  }

  // MARK: Indexes

  /// Drops the store's indexes that the model lacks, and makes those that the file lacks.
  ///
  /// Indexes are compared by their text, which SQLite keeps as it was given. One that means the same in other words is
  /// dropped and made again.
  ///
  /// - Throws: 134111 if a uniqueness constraint does not hold.
  static func renewIndexes(_ schema: StoreSchema, onlyUnique: Bool, _ connection: SQLiteConnection) throws {
    let presentIndexes = try indexes(schema, connection)
    let neededIndexes = schema.indexStatements
    for (name, statement) in presentIndexes where !neededIndexes.contains(statement) {
      try connection.execute("DROP INDEX \(name)")
    }
    for statement in neededIndexes where !presentIndexes.values.contains(statement) {
      guard !onlyUnique || statement.hasPrefix("CREATE UNIQUE INDEX") else { continue }
      do { try connection.execute(statement) } catch let error as SQLiteError where error.primaryCode == 19 {
        throw CoreDataErrors.newConstraintFails(error.message)
      }
    }
  }

  /// The statements of the store's own indexes in the file, by name. Indexes that a person added have other names.
  static func indexes(_ schema: StoreSchema, _ connection: SQLiteConnection) throws -> [String: String] {
    var statements: [String: String] = [:]
    for table in schema.tables.map(\.name) + schema.joinTables.map(\.name) {
      let columns = try SQLiteGuests.columns(of: table, connection)
      // Indexes without a text belong to the table's constraints.
      let rows = try connection.rows(
        """
        SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = \(bind: .text(table)) \
        AND sql IS NOT NULL
        """)
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

/// Additions of a newer model.
extension ServerStore {
  /// Updates a store of an earlier model version to this one, if this version only adds optional attributes without a
  /// default value, entities without relationships and without a superentity, indexes, and announcements. It is one
  /// transaction; rows, keys and the store's identifier stay. An index that the model lacks stays, too.
  ///
  /// - Throws: 134100 if more than additions are needed. Nothing is changed then.
  static func extendIfWanted(
    _ database: ServerDatabase, _ address: ServerAddress, _ opening: StoreOpening
  ) throws {
    guard opening.migration == .additions else { return }
    let found = try database.read { connection, _ in try readMetadata(address, connection).metadata }
    if try !opening.migrates(found, at: address.description) { return }
    var tries = 0
    while true {
      do {
        return try extend(database, address, opening)
      } catch let error as ServerError where ["40P01", "55P03"].contains(error.state) && tries < mostExtensions {
        // Earlier versions save meanwhile. They lock the tables in another order, so the server may end either.
        tries += 1
        Thread.sleep(forTimeInterval: .random(in: 0.01...0.1))
      }
    }
  }

  /// How often an extension is begun again.
  private static let mostExtensions = 20

  private static func extend(
    _ database: ServerDatabase, _ address: ServerAddress, _ opening: StoreOpening
  ) throws {
    try database.rebuild { connection in
      try connection.run("LOCK TABLE \(address.qualified("_store")) IN ACCESS EXCLUSIVE MODE")
      // Another process may have done it first.
      var metadata = try readMetadata(address, connection).metadata
      if try !opening.migrates(metadata, at: address.description) { return }
      do {
        try Extension(address, opening, connection).run()
      } catch let difference as Extension.Difference {
        throw CoreDataErrors.error(
          .persistentStoreIncompatibleVersionHash,
          "The model is not the one that \(address.description) was made with: \(difference.text).",
          ["metadata": metadata])
      }
      StoreMetadata.setModel(
        entities: opening.entities, identifiers: opening.model.versionIdentifiers, in: &metadata)
      try writeMetadata(metadata, address, connection)
      try connection.run("ALTER TABLE \(address.qualified("_store")) ADD COLUMN IF NOT EXISTS model bytea")
      try keepModel(opening, address, connection)
    }
  }

  /// One extension, in an open transaction.
  private struct Extension {
    /// The error for a change that is more than an addition.
    struct Difference: Error {
      let text: String
    }

    private let connection: any ServerConnection
    private let schema: StoreSchema
    private let tables: ServerTables

    init(_ address: ServerAddress, _ opening: StoreOpening, _ connection: any ServerConnection) throws {
      self.connection = connection
      let rows = try ServerStore.entityNumbers(address, connection)
      var last = rows.map(\.number).max() ?? 0
      for name in opening.entities.filter({ $0.superentity == nil }).compactMap(\.name).sorted()
      where !rows.contains(where: { $0.name == name }) {
        last += 1
        try connection.run(
          "INSERT INTO \(address.qualified("_entities")) (number, name) VALUES (\(last), \(name.quotedText))")
      }
      let numbering = try EntityNumbering(
        opening.entities, rows: try ServerStore.entityNumbers(address, connection))
      schema = try StoreSchema(opening.entities, at: address, numbering)
      tables = ServerTables(schema: schema, address: address)
    }

    func run() throws {
      for table in schema.tables { try bringUpToDate(table) }
      for table in schema.joinTables where try columns(of: table.name).isEmpty {
        throw Difference(text: "the server has no table \(table.name)")
      }
      try addIndexes()
      try connection.run(
        (["DROP FUNCTION IF EXISTS \(tables.announcer)() CASCADE"] + tables.announcements)
          .joined(separator: ";\n"))
      try tables.renewFunctions(connection)
    }

    private func columns(of table: String) throws -> [String] {
      var parameters = ServerParameters()
      parameters.add(table)
      let rows = try connection.execute(
        """
        SELECT attname::text FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped
        """, parameters)
      return (0..<rows.rowCount).compactMap { rows.text($0, 0)?.quotedName }
    }

    private func bringUpToDate(_ table: EntityTable) throws {
      let mappings = schema.entities.filter { $0.table == table.name }
      let found = try columns(of: table.name)
      if found.isEmpty {
        guard mappings.allSatisfy({ $0.toOnes.isEmpty && $0.toManys.isEmpty }) else {
          throw Difference(text: "the server has no table \(table.name), whose rows refer to others")
        }
        return try connection.run(tables.creation(of: table))
      }
      let names = table.columns.map(\.name)
      if let stranger = found.first(where: { !names.contains($0) && !names.contains($0.unquoted) }) {
        throw Difference(text: "it has no place for \(table.name).\(stranger)")
      }
      let columns = mappings.flatMap(\.attributes.values)
      let optional = Set(
        mappings.flatMap { mapping in
          mapping.entity.attributesByName.values.filter { $0.isOptional && $0.initialValue == nil }
            .flatMap { mapping.columns(of: [$0.name]) }
        })
      for column in table.columns where !found.contains(column.name) && !found.contains(column.name.quotedName) {
        guard columns.contains(where: { $0.column == column.name }), optional.contains(column.name) else {
          throw Difference(text: "the server has no \(table.name).\(column.name), which needs a value")
        }
        try connection.run("ALTER TABLE \(table.name) ADD COLUMN \(column.name) \(column.declaredType)")
      }
    }

    /// Creates the indexes that the server lacks.
    private func addIndexes() throws {
      let indexes = ServerIndexes(connection)
      var known: [String: Set<String>] = [:]
      for statement in tables.indexes {
        guard let table = schema.tables.first(where: { statement.contains(" ON \($0.name) (") })?.name else { continue }
        let there = try known[table] ?? Set(indexes.statements(of: table).map(ServerIndexes.content))
        known[table] = there
        if !there.contains(ServerIndexes.content(of: statement)) { try connection.run(statement) }
      }
    }
  }
}

extension String {
  /// The name without the quotes that it needs not have.
  fileprivate var unquoted: String { String(dropFirst().dropLast()) }
}

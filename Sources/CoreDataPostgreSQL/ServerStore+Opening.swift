/// What opening finds in a schema. `ServerStore.init` makes its plans and statements of it.
struct OpenedSchema {
  let schema: StoreSchema
  let identifier: String
  let metadata: [String: Any]
  /// Whether saves record a history: any program that has opened the store with `NSPersistentHistoryTrackingKey` has
  /// decided so for all.
  let keepsHistory: Bool
  /// The number of the table `_store`.
  let table: Int64
  /// Whether the schema has this program's functions of texts.
  let hasTextFunctions: Bool
}

/// The steps that open the store of a schema. `OpeningSteps.run` calls them in an order that all kinds of stores share.
///
/// A store that is there and of the same model takes these statements, in autocommit on a reader:
///
/// ```text
/// SELECT to_regclass($1) IS NOT NULL                  exists()      $1 = '"app"."_store"'
/// SELECT identifier, metadata FROM "app"."_store"     metadata()    after to_regclass once more
/// UPDATE "app"."_store" SET keeps_history = true WHERE NOT keeps_history      with the option of a history only;
///                                                                   a transaction of the writer
/// SELECT number, name FROM "app"."_entities"          open(_:)
/// SELECT keeps_history, tableoid::int8 FROM "app"."_store"
/// SELECT obj_description(to_regprocedure($1)::oid, 'pg_proc')      the version of the functions of texts
/// SELECT pg_current_snapshot()::text, …               validateRowCache()
/// ```
///
/// Each takes two round trips on a new connection, since it is prepared first.
struct ServerOpening: OpeningSteps {
  let database: ServerDatabase
  let address: ServerAddress
  let opening: StoreOpening

  var place: String { address.description }

  /// Whether the schema has a store. A schema without the table `_store` has none, even if it has other tables.
  func exists() throws -> Bool {
    try database.read { connection, _ in try ServerStore.hasStore(address, connection) }
  }

  /// Creates the schema and its tables, in one transaction.
  ///
  /// ```text
  /// program 1                                              program 2
  /// BEGIN                                                  BEGIN
  /// SELECT pg_advisory_xact_lock(17220, hashtext('app'))
  ///                                                        SELECT pg_advisory_xact_lock(17220, hashtext('app'))
  /// SELECT to_regclass('"app"."_store"') IS NOT NULL           waits
  /// SELECT to_regnamespace('"app"') IS NOT NULL
  /// CREATE SCHEMA IF NOT EXISTS "app"                      unless it exists
  /// CREATE TABLE …
  /// INSERT INTO "app"."_store" …
  /// COMMIT
  ///                                                        SELECT to_regclass(…) IS NOT NULL: true
  ///                                                        COMMIT
  /// ```
  ///
  /// DDL is part of a transaction in PostgreSQL: a program that dies in between leaves nothing. The lock ends with the
  /// transaction. Two schemas may have the same hash, and then wait for each other without need. Source: the page
  /// "Explicit Locking", "Advisory Locks".
  ///
  /// In a schema that an administrator has made, the user needs the rights USAGE and CREATE of it only. Otherwise the
  /// user needs the right CREATE of the database (42501), which `CREATE SCHEMA IF NOT EXISTS` asks for even where the
  /// schema exists.
  func create() throws {
    try database.write { connection in
      // One creates it, and the others wait and find it.
      try connection.run(
        "SELECT pg_advisory_xact_lock(\(Self.lockOfCreation), hashtext(\(address.schema.quotedText)))")
      if try !ServerStore.hasStore(address, connection) { try create(connection) }
    }
  }

  /// The first number of the advisory lock under which schemas are created.
  static let lockOfCreation = 0x4344

  private func create(_ connection: any ServerConnection) throws {
    let schema = try StoreSchema(opening.entities, at: address, EntityNumbering(opening.entities))
    let name = address.schema.quotedName
    if try connection.execute("SELECT to_regnamespace(\(bind: .text(name))) IS NOT NULL").bytes(0, 0)?[0] != 1 {
      try connection.run("CREATE SCHEMA IF NOT EXISTS \(name)")
    }
    try connection.run(ServerTables(schema: schema, address: address).creation)
    let metadata = StoreMetadata.new(
      entities: opening.entities, identifiers: opening.model.versionIdentifiers, type: opening.type)
    try connection.execute(
      """
      INSERT INTO \(raw: address.qualified("_store")) (identifier, metadata, model) \
      VALUES (\(bind: .text(opening.newIdentifier)), \(bind: .blob(try ServerStore.encoded(metadata))), \
      \(bind: .blob(KeptModel.data(of: opening.model, opening.entities))))
      """)
  }

  func metadata() throws -> [String: Any] {
    try database.read { connection, _ in try ServerStore.readMetadata(address, connection).metadata }
  }

  /// Reads what the store needs to know of its tables. The first opening with a history sets the flag for all programs.
  func open(_ metadata: [String: Any]) throws -> OpenedSchema {
    if opening.recordsHistory && !isReadOnly {
      // From now on all programs continue it: unrecorded changes would be lost to every program that follows it.
      try database.write {
        try $0.run("UPDATE \(address.qualified("_store")) SET keeps_history = true WHERE NOT keeps_history")
      }
    }
    let (tables, row) = try database.read { connection, _ in
      let numbering = try EntityNumbering(
        opening.entities, rows: ServerStore.entityNumbers(address, connection))
      let schema = try StoreSchema(opening.entities, at: address, numbering)
      return (
        ServerTables(schema: schema, address: address),
        try connection.execute("SELECT keeps_history, tableoid::int8 FROM \(raw: address.qualified("_store"))")
      )
    }
    // Without a reader: the functions may need the writer.
    return OpenedSchema(
      schema: tables.schema, identifier: metadata[NSStoreUUIDKey] as? String ?? "", metadata: metadata,
      keepsHistory: row.bytes(0, 0)?[0] == 1, table: row.integer(0, 1),
      hasTextFunctions: isReadOnly
        ? try database.read { connection, _ in try tables.hasTextFunctions(connection) }
        : try ServerStore.renewFunctionsIfNeeded(database, tables))
  }
}

extension ServerStore {
  /// The coordinators find the class by its name.
  static var storeTypes: [String] { [] }

  /// Opens a store, with the connections of a store that is open in the same coordinator and database already.
  static func open(_ opening: StoreOpening) throws -> any ObjectStore {
    let address = try ServerAddress(opening.url, opening.options)
    let siblings = opening.others.compactMap { $0 as? ServerStore }
    if siblings.contains(where: { $0.address == address }) {
      throw CoreDataErrors.error(.persistentStoreOpen, "The store at \(address.description) is open already.")
    }
    return try CoreDataErrors.fromServer("Opening \(address.description)") {
      // Stores of one database share its connections, and so one transaction.
      let shared =
        opening.options?[NSPersistentStoreConnectionsOption] as? ServerDatabase
        ?? siblings.first { $0.address.connectionString == address.connectionString }?.database
      let database = shared ?? newDatabase(address, opening.options)
      do {
        return try ServerStore(database, address, opening)
      } catch {
        if shared == nil { database.close() }
        throw error
      }
    }
  }

  /// New connections to a database; none is opened yet.
  ///
  /// - Parameter options: `NSPersistentStoreConnectionPoolMaxSizeKey`, the number of readers, 4 by default.
  static func newDatabase(_ address: ServerAddress, _ options: [AnyHashable: Any]?) -> ServerDatabase {
    let readers = (options?[NSPersistentStoreConnectionPoolMaxSizeKey] as? NSNumber)?.intValue ?? 4
    return ServerDatabase(address, maximumReaders: readers)
  }

  func close(beside others: [any ObjectStore]) {
    // Connections that were given to the store are closed by their owner.
    guard options?[NSPersistentStoreConnectionsOption] == nil,
      !others.contains(where: { ($0 as? ServerStore)?.database === database })
    else { return }
    database.close()
  }

  /// Whether the schema has a store's tables. `to_regclass` gives NULL for a table that is not there, where
  /// `::regclass` would be an error. It needs the right USAGE of the schema, and none of the table.
  static func hasStore(_ address: ServerAddress, _ connection: any ServerConnection) throws -> Bool {
    let table = address.qualified(ServerLayout.OwnTable.store.rawValue)
    return try connection.execute("SELECT to_regclass(\(bind: .text(table))) IS NOT NULL").bytes(0, 0)?[0] == 1
  }

  /// The numbers of entities, as they stand in the columns `_entity`. A number belongs to a name for good, also when
  /// the model changes.
  static func entityNumbers(
    _ address: ServerAddress, _ connection: any ServerConnection
  ) throws -> [SchemaFile.EntityRow] {
    let rows = try connection.execute("SELECT number, name FROM \(raw: address.qualified("_entities"))")
    return (0..<rows.rowCount).map { row in
      SchemaFile.EntityRow(number: Int(rows.integer(row, 0)), name: rows.text(row, 1) ?? "", superNumber: 0)
    }
  }

  // MARK: Metadata

  /// The identifier and the metadata of a store.
  ///
  /// ```text
  /// SELECT identifier, metadata FROM "app"."_store"     the UUID, and a binary property list
  /// ```
  ///
  /// - Throws: 134080 without a store; 134020 for metadata that cannot be read, or of a later layout.
  static func readMetadata(
    _ address: ServerAddress, _ connection: any ServerConnection
  ) throws -> (identifier: String, metadata: [String: Any]) {
    guard try hasStore(address, connection) else {
      throw CoreDataErrors.noStore("\(address.description) holds no store.")
    }
    let rows = try connection.execute("SELECT identifier, metadata FROM \(raw: address.qualified("_store"))")
    // A store is made in one transaction. One that is restored gets its tables first, and their rows later.
    if rows.rowCount == 0 { throw CoreDataErrors.noStore("\(address.description) holds the tables of a store only.") }
    guard rows.rowCount == 1, let identifier = rows.text(0, 0), let bytes = rows.bytes(0, 1),
      var metadata = try StoredPropertyList.read(Data(bytes)) as? [String: Any]
    else {
      throw CoreDataErrors.error(
        .persistentStoreIncompatibleSchema,
        "\(address.description) is damaged, or was changed by another program: its metadata cannot be read; restore it "
          + "from a backup")
    }
    let layout = (metadata[ServerLayout.versionKey] as? NSNumber)?.intValue ?? ServerLayout.version
    guard layout <= ServerLayout.version else {
      throw CoreDataErrors.error(
        .persistentStoreIncompatibleSchema,
        "\(address.description) is laid out by a newer version of this framework (layout \(layout), this program knows "
          + "\(ServerLayout.version)): update this program")
    }
    metadata[NSStoreUUIDKey] = identifier
    return (identifier, metadata)
  }

  /// Replaces the metadata, even if another program has written some meanwhile: the last one wins, as in a file.
  static func writeMetadata(
    _ metadata: [String: Any], _ address: ServerAddress, _ connection: any ServerConnection
  ) throws {
    try connection.execute(
      "UPDATE \(raw: address.qualified("_store")) SET metadata = \(bind: .blob(try encoded(metadata)))")
  }

  // MARK: The copy of the model

  /// Keeps the opening's model, in place of an earlier one. `workerpool` and later migrations find the old model there,
  /// even if no program has it any more.
  static func keepModel(
    _ opening: StoreOpening, _ address: ServerAddress, _ connection: any ServerConnection
  ) throws {
    let data = KeptModel.data(of: opening.model, opening.entities)
    try connection.execute("UPDATE \(raw: address.qualified("_store")) SET model = \(bind: .blob(data))")
  }

  /// The model that the store keeps; nil for none. Adds the column to a store of a version that kept none.
  ///
  /// - Throws: 134020 if the copy is damaged.
  static func keptModel(
    _ address: ServerAddress, _ connection: any ServerConnection
  ) throws -> NSManagedObjectModel? {
    let table = address.qualified("_store")
    try connection.run("ALTER TABLE \(table) ADD COLUMN IF NOT EXISTS model bytea")
    let rows = try connection.execute("SELECT model FROM \(raw: table)")
    return try rows.bytes(0, 0).map { try KeptModel.model(in: Data($0), of: address.description) }
  }

  /// The metadata without the UUID, which has a column of its own, so that people can read it.
  fileprivate static func encoded(_ metadata: [String: Any]) throws -> Data {
    var list = metadata
    list[NSStoreUUIDKey] = nil
    return try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
  }
}

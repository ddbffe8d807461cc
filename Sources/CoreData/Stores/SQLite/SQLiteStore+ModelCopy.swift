/// The copy of its model that a file keeps, in a table of one row, as Apple's files have it.
extension SQLiteStore {
  /// Keeps a model in a store's file, in place of an earlier one. Stores of old frameworks lack the table.
  ///
  /// Called when a store is created and at the end of each migration, in the same transaction as the tables: the copy
  /// is always that of the rows.
  ///
  /// - Parameter entities: those of the store's configuration; nil for all.
  static func keepModel(
    _ model: NSManagedObjectModel, of entities: [NSEntityDescription]? = nil, _ prefix: String,
    _ connection: SQLiteConnection
  ) throws {
    let table = "\(prefix)_MODELCACHE"
    guard try hasTable(table, connection) else { return }
    try connection.execute("DELETE FROM \(table)")
    try connection.run(
      "INSERT INTO \(raw: table) (Z_CONTENT) VALUES (\(bind: .blob(KeptModel.data(of: model, entities))))")
  }

  /// The model that a store keeps; nil for none.
  ///
  /// - Throws: 134020 if it is damaged.
  static func keptModel(_ prefix: String, _ connection: SQLiteConnection) throws -> NSManagedObjectModel? {
    let table = "\(prefix)_MODELCACHE"
    guard try hasTable(table, connection),
      case .blob(let packed)? = try connection.rows("SELECT Z_CONTENT FROM \(raw: table) LIMIT 1").first?.first
    else { return nil }
    return try KeptModel.model(in: packed, of: connection.path)
  }

  /// The hashes of the metadata say which entities the content has, and whether the copy is theirs: a program that
  /// migrated the file without this framework may have left an older copy.
  static func keptModel(at url: URL, _ options: [AnyHashable: Any]?) throws -> NSManagedObjectModel? {
    try CoreDataErrors.translating("Reading the model of \(url.path)") {
      let prefix = StoreMetadata.prefix(options)
      let connection = try SQLiteConnection(path: url.path, access: SQLiteConnection.readingAccess(to: url.path))
      defer { connection.close() }
      let metadata = try readMetadata(prefix, connection).1
      guard let model = try keptModel(prefix, connection) else { return nil }
      let hashes = StoredVersionHashes(metadata)
      let names = Set((hashes?.byName ?? [:]).keys)
      guard hashes?.fit(model.entities.filter({ names.contains($0.name ?? "") })) ?? true else {
        throw CoreDataErrors.error(
          .persistentStoreIncompatibleSchema,
          "The copy of its model that \(url.path) keeps is not that of its content: open it with the model's file.")
      }
      // Earlier versions kept the entities of other stores in the file as well.
      return model.part(named: names)
    }
  }

  /// For the new store of a migration object by object: the file gets the UUID of the old store, whose objects had
  /// other keys, and the model that goes with it.
  static func setModel(
    _ model: NSManagedObjectModel, identifier: String, at url: URL, _ options: [AnyHashable: Any]?
  ) throws {
    try CoreDataErrors.translating("Writing the UUID of \(url.path)") {
      let prefix = StoreMetadata.prefix(options)
      let connection = try SQLiteConnection(path: url.path, access: .readWrite)
      defer { connection.close() }
      try connection.immediateTransaction {
        try connection.run("UPDATE \(raw: prefix)_METADATA SET Z_UUID = \(bind: .text(identifier))")
        try nameContent(prefix, connection)
        try keepModel(model, prefix, connection)
      }
    }
  }

  private static func hasTable(_ name: String, _ connection: SQLiteConnection) throws -> Bool {
    try connection.integer("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = \(bind: .text(name))") != nil
  }
}

/// The result of opening a file.
///
/// What opening says about files that it cannot use:
///
/// ```text
/// what is at the path               code    sentence
/// --------------------------------  ------  ------------------------------------------------------------------------
/// SQLite file of another program    134020  … is an SQLite file, but not a Core Data store: it has a table tracks
///                                           and no metadata.
/// a text                            134010  Opening …: file is not a database (SQLite 26)
/// nothing, read-only                134080  Opening …: unable to open database file: … (SQLite 14)
/// no directory                      134080  the same
/// a store of another model          134100  The model is not the one that … was made with; they differ in Book.
///   and only mapping models may do  134140  … has to be migrated: no bundle of the program has a mapping model for
///                                           it, and NSInferMappingModelAutomaticallyOption is not set.
/// a column was dropped by hand      134020  … is damaged, or was changed by another program: the file's table ZBOOK
///                                           has no column ZTITLE; restore it from a backup
/// ```
struct OpenedFile {
  let schema: StoreSchema
  let identifier: String
  let metadata: [String: Any]
  let history: StoreHistory?
}

/// The steps that open the store of a prefix in a SQLite database.
///
/// `OpeningSteps.run` calls these in its order. For a new file the statements are:
///
/// ```text
/// exists              SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'Z_METADATA'
/// create              PRAGMA page_size = 4096, PRAGMA auto_vacuum = INCREMENTAL, PRAGMA journal_mode = WAL
///                     BEGIN IMMEDIATE, the question again, CREATE TABLE …, INSERT …, COMMIT
/// metadata            SELECT Z_UUID, Z_PLIST FROM Z_METADATA WHERE Z_VERSION = 1
/// open                SELECT Z_ENT, Z_NAME, Z_SUPER FROM Z_PRIMARYKEY …, and the columns of all tables
///                     with a history: CREATE TABLE ACHANGE … in a transaction of its own
/// ```
///
/// Two processes that create one file at once:
///
/// ```text
/// Process A                                    Process B
/// -------------------------------------------  -------------------------------------------
/// exists: no                                   exists: no
/// BEGIN IMMEDIATE                              BEGIN IMMEDIATE waits
/// there is still no Z_METADATA: creates it
/// COMMIT                                       gets the lock; there is a Z_METADATA: creates nothing
/// metadata, open                               metadata, open: A's store, with A's UUID
/// ```
struct SQLiteOpening: OpeningSteps {
  let database: SQLiteDatabase
  let opening: StoreOpening
  let prefix: String

  init(_ database: SQLiteDatabase, _ opening: StoreOpening) {
    self.database = database
    self.opening = opening
    prefix = StoreMetadata.prefix(opening.options)
  }

  var place: String { database.configuration.path }

  var isReadOnly: Bool { database.configuration.isReadOnly }

  func exists() throws -> Bool { try database.withWriter { try SQLiteStore.hasStore(prefix, $0) } }

  func create() throws {
    try prepareFile()
    try database.write { connection in
      // Another process may have created it first.
      if try !SQLiteStore.hasStore(prefix, connection) { try create(connection) }
    }
  }

  /// Older files, and some migrated or exported ones, have a rollback journal, with which readers block writers.
  ///
  /// `PRAGMA journal_mode = WAL` changes nothing where the file is in WAL mode already. In another mode it needs the
  /// file for itself for a moment.
  func prepareExisting() throws {
    if !setsJournalMode { _ = try database.withWriter { try $0.rows("PRAGMA journal_mode = WAL") } }
  }

  func metadata() throws -> [String: Any] {
    try database.withWriter { try SQLiteStore.readMetadata(prefix, $0).1 }
  }

  func open(_ metadata: [String: Any]) throws -> OpenedFile {
    try tidy()
    return try database.withWriter { connection in
      let file = try SchemaFile(connection, prefix: prefix)
      let schema = try SQLiteStore.naming(connection.path) {
        try StoreSchema(entities: opening.entities, prefix: prefix, file: file)
      }
      let history = try StoreHistory.open(schema, options: opening.options, database)
      return OpenedFile(
        schema: schema, identifier: metadata[NSStoreUUIDKey] as? String ?? "", metadata: metadata, history: history)
    }
  }

  /// Source: https://www.sqlite.org/lang_analyze.html, https://www.sqlite.org/lang_vacuum.html
  ///
  /// ANALYZE gives the planner the sizes of indexes; VACUUM writes the file anew without gaps. Both run at each opening
  /// with the option, so the option is for a program that runs now and then.
  private func tidy() throws {
    if isReadOnly { return }
    for (option, statement) in [(NSSQLiteAnalyzeOption, "ANALYZE"), (NSSQLiteManualVacuumOption, "VACUUM")]
    where opening.isSet(option) {
      try database.withWriter { try $0.execute(statement) }
    }
  }

  /// Whether the program has chosen the journal mode.
  private var setsJournalMode: Bool {
    (opening.options?[NSSQLitePragmasOption] as? [String: Any] ?? [:]).keys.contains {
      $0.lowercased() == "journal_mode"
    }
  }

  /// Settings that only take effect while the file is empty, and the journal mode.
  ///
  /// `page_size` and `auto_vacuum` take effect only before the first table is made, `page_size` not at all once the
  /// file is in WAL mode (https://www.sqlite.org/pragma.html#pragma_page_size,
  /// https://www.sqlite.org/pragma.html#pragma_auto_vacuum). The log is switched on last for that reason.
  private func prepareFile() throws {
    try database.withWriter { connection in
      guard try connection.integer("SELECT count(*) FROM sqlite_master") == 0 else { return }
      try connection.execute("PRAGMA page_size = 4096")
      try connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
      if !setsJournalMode { _ = try connection.rows("PRAGMA journal_mode = WAL") }
    }
  }

  /// A file of a music player or a browser is an SQLite file too. Creating a store in it would work, and the person
  /// would find tables in it later; therefore tables without a `…_METADATA` are refused (134020).
  private func create(_ connection: SQLiteConnection) throws {
    let (entities, model) = (opening.entities, opening.model)
    let foreign = try connection.rows(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    let names = foreign.compactMap { if case .text(let name) = $0[0] { name } else { nil } }
    // Stores under other prefixes may share the file, with tables without a prefix, such as the history's "ACHANGE".
    // Tables without any store's metadata mean that the file is something else.
    if let stranger = names.first, !names.contains(where: { $0.hasSuffix("_METADATA") }) {
      throw CoreDataErrors.error(
        .persistentStoreIncompatibleSchema,
        "\(connection.path) is an SQLite file, but not a Core Data store: it has a table \(stranger) and no metadata.")
    }
    let schema = try StoreSchema(entities: entities, prefix: prefix)
    for statement in schema.creationStatements { try connection.execute(statement) }
    let metadata = StoreMetadata.newFile(entities: entities, identifiers: model.versionIdentifiers, type: opening.type)
    try connection.run(
      """
      INSERT INTO \(raw: schema.metadataTable) (Z_VERSION, Z_UUID, Z_PLIST) \
      VALUES (1, \(bind: .text(opening.newIdentifier)), \(bind: .blob(try StoreMetadata.encode(metadata))))
      """)
    try SQLiteStore.keepModel(model, of: entities, prefix, connection)
  }
}

extension SQLiteStore {
  static var storeTypes: [String] { [NSSQLiteStoreType] }

  /// Opens a store with the database that another store of this coordinator has for the file, or with a new one.
  ///
  /// ```text
  /// store A  at Library.sqlite, prefix Z  ─┐
  ///                                        ├─ one SQLiteDatabase: one writer, one transaction for a save to both
  /// store B  at Library.sqlite, prefix C  ─┘
  /// store C  at Other.sqlite               ── another one: a save to all three commits two transactions
  /// ```
  ///
  /// `Configuration.isSameDatabase` compares places, not texts: a symbolic link to the file is the same database. Two
  /// databases for one file would also be two users of its locks, and would wait for each other.
  static func open(_ opening: StoreOpening) throws -> any ObjectStore {
    let siblings = opening.others.compactMap { $0 as? SQLiteStore }
    return try CoreDataErrors.translating("Opening \(opening.place)") {
      let prefix = StoreMetadata.prefix(opening.options)
      if let url = opening.url, !opening.isInMemory,
        siblings.contains(where: {
          url.isSamePlace(as: $0.url) && $0.schema.prefix == prefix
        })
      {
        throw CoreDataErrors.error(.persistentStoreOpen, "The store at \(url.path) is open already.")
      }
      // Stores of one file share its database, and so one transaction.
      let configuration = try SQLiteDatabase.Configuration(opening)
      let shared = siblings.lazy.map(\.database).first { $0.configuration.isSameDatabase(as: configuration) }
      let mayHaveUnusedFiles = shared == nil && Self.mayHaveUnusedFiles(configuration)
      let database = try shared ?? SharedMemoryDatabases.database(configuration)
      do {
        let store = try SQLiteStore(database, opening)
        if mayHaveUnusedFiles, store.hasExternalData, let url = opening.url {
          // A process that has the files locked now does not keep the store from opening; the next opening tries again.
          _ = try? UnusedFiles(of: url).remove(waiting: 0)
        }
        return store
      } catch {
        if shared == nil { database.giveUp() }
        throw error
      }
    }
  }

  /// Whether a process may have ended without closing the store: it has a log. A pool's processes leave the files to
  /// jobs of the kind `maintain`.
  ///
  /// The last user of a file removes its log. A log that is there when nobody has the file open is what a killed
  /// process left; if others have it open, it is a false alarm that costs a look at the folder.
  private static func mayHaveUnusedFiles(_ configuration: SQLiteDatabase.Configuration) -> Bool {
    var status = stat()
    return !configuration.isInMemory && !configuration.isReadOnly && configuration.writeTurnPath == nil
      && stat(configuration.path + "-wal", &status) == 0 && status.st_size > 0
  }

  /// Stores of one file share the database; it closes with the last of them.
  func close(beside others: [any ObjectStore]) {
    // A database that was closed meanwhile leaves the files.
    if let externalFiles { try? database.withWriter { externalFiles.close($0) } }
    guard !others.contains(where: { ($0 as? SQLiteStore)?.database === database }) else { return }
    database.giveUp()
  }

  func interrupt() { database.interrupt() }

  func releaseMemory() { database.releaseMemory() }

  var files: [URL] {
    guard let url, !url.isInMemoryStore else { return [] }
    return [url, URL(fileURLWithPath: url.path + "-wal")]
  }

  static func hasStore(_ prefix: String, _ connection: SQLiteConnection) throws -> Bool {
    try connection.integer(
      "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = \(bind: .text("\(prefix)_METADATA"))") != nil
  }

  /// The store's UUID and its metadata, in the connection's state of the file.
  ///
  /// ```text
  /// SELECT Z_UUID, Z_PLIST FROM Z_METADATA WHERE Z_VERSION = 1
  /// ```
  ///
  /// The UUID has a column of its own and is not in the list; the dictionary gets it under `NSStoreUUIDKey`.
  static func readMetadata(_ prefix: String, _ connection: SQLiteConnection) throws -> (String, [String: Any]) {
    guard try hasStore(prefix, connection) else {
      throw CoreDataErrors.noStore("\(connection.path) holds no Core Data store (no table \(prefix)_METADATA).")
    }
    let rows = try connection.rows("SELECT Z_UUID, Z_PLIST FROM \(raw: prefix)_METADATA WHERE Z_VERSION = 1")
    guard let row = rows.first, case .text(let identifier) = row[0], case .blob(let list) = row[1] else {
      throw CoreDataErrors.error(.persistentStoreOpen, "\(connection.path) has no metadata in \(prefix)_METADATA.")
    }
    return (identifier, try naming(connection.path) { try StoreMetadata.decode(list, uuid: identifier) })
  }

  /// Runs the body and tells which file its errors are about. What it reads was written together with the store, so the
  /// file is damaged or was changed by hand.
  ///
  /// Reached when the hashes fit the model and the tables do not: a program has dropped a column, or
  /// `NSIgnorePersistentStoreVersioningOption` skipped the comparison.
  static func naming<T>(_ path: String, _ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch {
      let reason = (error as? StoreSchemaError)?.description ?? "its metadata cannot be read"
      throw CoreDataErrors.error(
        .persistentStoreIncompatibleSchema,
        "\(path) is damaged, or was changed by another program: \(reason); restore it from a backup",
        [NSUnderlyingErrorKey: error])
    }
  }

  static func writeMetadata(_ metadata: [String: Any], prefix: String, _ connection: SQLiteConnection) throws {
    try connection.run(
      """
      UPDATE \(raw: prefix)_METADATA SET Z_PLIST = \(bind: .blob(try StoreMetadata.encode(metadata))) \
      WHERE Z_VERSION = 1
      """)
  }
}

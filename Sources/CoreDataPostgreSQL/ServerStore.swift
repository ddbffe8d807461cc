internal import Synchronization

/// A store in a schema of a PostgreSQL database. A coordinator calls it, on any thread, by the protocols that make up
/// `SQLStore`.
///
/// ```text
/// ServerStore                the tables that were opened, the row cache, errors
/// ServerStore+Opening        opening, creating, metadata
/// ServerStore+Migration      lightweight migration
/// ServerStore+Places         stores that are not open: metadata, destruction
/// ServerStore+Fetching       fetches, counts, dictionaries
/// ServerStore+Reading        faults, members of relationships, pinned states
/// ServerStore+MemoryLoader   what the server cannot evaluate
/// ServerStore+Saving         saves, keys
/// Batch, History, Sessions   in folders of their own
/// ```
///
/// What a context does, and what the server gets for it. The model has Author(name, books) and Book(title, pages,
/// isRead, author); the schema is "app":
///
/// ```text
/// context.fetch(pages > 300)       SELECT t0._key::bigint, t0._version::bigint, … FROM "app"."Book" t0
///                                  WHERE (t0."pages" > $1)
/// context.count(for:)              SELECT count(*) FROM "app"."Book" t0 WHERE (t0."pages" > $1)
/// book.title, a fault              nothing, if the row is in the cache; else
///                                  SELECT … FROM "app"."Book" t WHERE t._key = $1 AND t._entity = 2
/// author.books                     SELECT …, t."author" FROM "app"."Book" t WHERE t."author" = ANY($1)
/// context.save()                   BEGIN, INSERT …, UPDATE …, COMMIT: see `ServerChangeWriter`
/// a block of perform               SELECT pg_current_snapshot()::text, … before its first fault: see `OwnCommits`
/// ```
///
/// The tables may change while the store is open: another program may migrate the store. The store notices it by the
/// number of the table `_store` (its OID), which a migration changes unless it only adds, and then refuses everything
/// with 134100: rows and entities may have other numbers.
///
/// `@unchecked Sendable`: everything set while opening is constant afterwards, the plans included; the database, the
/// reserved keys and the row cache do their own locking.
final class ServerStore: NSPersistentStore, SQLStore, @unchecked Sendable {
  let database: ServerDatabase
  let address: ServerAddress
  let schema: StoreSchema
  let dialect: SQLDialect
  let rowCache: RowCache
  private let rows: EntityRows<ServerRowWriter, ServerRowQueries>
  let keys: ReservedKeys
  let keepsHistory: Bool
  /// The number of the table `_store`: another one once a program has migrated the store, or put another in its place.
  private let table: Int64
  /// Never reset: the tables that were opened do not come back.
  private let isReplaced = Atomic<Bool>(false)
  /// Whether triggers keep derived attributes. Then a save changes rows that the program has not sent, and `didCommit`
  /// drops what the cache has.
  let derives: Bool
  /// The sizes of tables, by the number of their root entity, and when they were asked for: see `isSmall`.
  let tableSizes = Mutex<[Int: (bytes: Int64, time: TimeInterval)]>([:])
  /// The numbers of rows that statements without parameters gave, by their texts, and when: see `hasFewRows`.
  let rowCounts = Mutex<[String: (count: Int, time: TimeInterval)]>([:])

  init(_ database: ServerDatabase, _ address: ServerAddress, _ opening: StoreOpening) throws {
    let opened = try ServerOpening(database: database, address: address, opening: opening).run()
    self.database = database
    self.address = address
    rowCache = RowCache(opening.options)
    schema = opened.schema
    keepsHistory = opened.keepsHistory
    table = opened.table
    dialect = opened.hasTextFunctions ? .postgreSQL : .postgreSQLWithoutFunctions
    derives = !schema.derivedColumns.isEmpty
    keys = ReservedKeys(address, database)
    let reference = StoreReference(identifier: opened.identifier)
    rows = EntityRows(schema, reference, form: RowPlan.form, queries: { ServerRowQueries($0, $1) }) {
      ServerRowWriter($0, layout: $0.entity.layout, $1)
    }
    super.init(
      persistentStoreCoordinator: nil, configurationName: opening.configurationName, at: opening.placeURL,
      options: opening.options)
    wasOpened(as: opening.type, at: opening.url, identifier: opened.identifier)
    openMetadata.load(opened.metadata)
    reference.store = self
    // Later reads are compared with this state of the database.
    validateRowCache()
  }

  override func loadMetadata() throws {
    openMetadata.load(
      try CoreDataErrors.fromServer("Reading the metadata of \(address.description)") {
        try database.read { connection, _ in try Self.readMetadata(address, connection).metadata }
      })
  }

  var storedEntities: StoredEntities { rows.storedEntities }
  var plans: RowPlans { rows.plans }
  /// By entity number.
  var rowQueries: [ServerRowQueries?] { rows.queries }
  func writer(_ number: Int) -> ServerRowWriter { rows.writer(number) }

  /// The name of one of the store's own tables in SQL.
  func ownTable(_ table: ServerLayout.OwnTable) -> String { address.qualified(table.rawValue) }

  /// Asks whether another coordinator or program has written, and drops the cached rows if so; also whether the tables
  /// are still those that were opened. One round trip.
  ///
  /// ```text
  /// SELECT pg_current_snapshot()::text, to_regclass('"app"."_store"')::oid::int8
  /// ```
  ///
  /// A context calls it when it begins to read in a block, and the store when a statement has failed.
  func validateRowCache() {
    let name = ownTable(.store).quotedText
    // A server that cannot be asked may have other rows, so the cached rows are dropped. The read that follows throws.
    let state = try? database.read { connection, _ -> (snapshot: String?, table: Int64) in
      let row = try connection.execute("SELECT pg_current_snapshot()::text, to_regclass(\(raw: name))::oid::int8")
      return (row.text(0, 0), row.integer(0, 1))
    }
    if let state, state.table != table { isReplaced.store(true, ordering: .relaxed) }
    let version =
      state?.snapshot.map { database.commits.foreignVersion(at: $0) } ?? database.commits.unknownVersion()
    rowCache.validate(version)
  }

  // MARK: Stores that others replace

  /// Lets the open transaction ask with its first statement for what it needs to know at its end, and whether the
  /// tables are still those that were opened: rows and entities may have other numbers in a migrated store. Each save
  /// and each batch request begins with it: see `ServerDatabase.prepare`.
  func prepare(_ connection: ServerWriter) {
    database.prepare(
      connection, announcingTo: CommitListener.channel(of: identifier), of: ownTable(.store)
    ) { [self] currentTable in
      if currentTable != table { isReplaced.store(true, ordering: .relaxed) }
      try checkPlace()
    }
  }

  /// Throws 134100 once the store has noticed that its tables were replaced. A context notices it when a block begins
  /// to read, and when it saves.
  func checkPlace() throws {
    guard isReplaced.load(ordering: .relaxed) else { return }
    throw CoreDataErrors.error(
      .persistentStoreIncompatibleVersionHash,
      "Another program has migrated the store at \(address.description), or put another one in its place: open it "
        + "again, with its present model.")
  }

  /// Runs statements on the tables. The server's errors become Core Data's: 134100 where the tables were replaced since
  /// the opening, since the statement may name columns that are gone.
  ///
  /// ```text
  /// program 1                                      program 2
  ///                                                migrates: Book.title is now Book.name
  /// SELECT … t0."title" …
  ///     ✗ 42703, undefined_column
  /// SELECT pg_current_snapshot()::text, …
  ///     another number of _store
  /// throws 134100, not 134070 with the server's words
  /// ```
  func onTables<T>(_ doing: @autoclosure () -> String, _ body: () throws -> T) throws -> T {
    try CoreDataErrors.fromServer(doing()) {
      do {
        return try body()
      } catch let error as ServerError where !error.isConnectionLost {
        validateRowCache()
        try checkPlace()
        throw error
      }
    }
  }

  func interrupt() { database.interrupt() }

  /// Connections to a server cache no pages here.
  func releaseMemory() {}

  var files: [URL] { [] }
}

/// A store in a SQLite file in Apple's schema.
///
/// `@unchecked Sendable`: everything set while opening is constant afterwards, the plans included; the database and the
/// row cache do their own locking; writers are used under the database's write lock.
///
/// The parts, and the files that have them:
///
/// ```text
/// open, create         SQLiteStore+Opening, StoreSchema+Existing, SQLiteStore+ModelCopy
/// read by key          SQLiteStore+Reading, RowQuery
/// fetch                SQLiteStore+Fetching, SQLiteStore+Dictionaries, with SQL/SQLGenerator
/// save                 SQLiteStore+Saving, SQLiteChangeWriter, RowWriter, InsertShapes, with Saving/ChangeWriter
/// batch requests       Batch/
/// history              History/
/// connections          Connection/SQLiteDatabase: one writer, up to eight readers
/// pinned contexts      SQLiteStore+Pinning
/// other models         Migration/, with SQLiteStore+Replacing for mapping models
/// large values         ExternalData/
/// others' commits      RemoteChange/, Connection/ForeignCommits
/// ```
///
/// A row on its way from the file to an object:
///
/// ```text
/// ZBOOK in the file → SQLiteStatement, SQLiteRow → RowDecoder → Snapshot in a RowSlab → RowCache → object
/// ```
final class SQLiteStore: NSPersistentStore, SQLStore, @unchecked Sendable {
  let database: SQLiteDatabase
  let schema: StoreSchema
  let dialect = SQLDialect.sqlite
  let rowCache: RowCache
  /// Nil if changes are not recorded.
  let history: StoreHistory?
  private let rows: EntityRows<RowWriter, RowQueries>
  /// The numbers of rows in a statement of a save. Set before the store is used.
  ///
  /// Tests set other sizes, to compare rows written in groups with rows written one by one.
  var writeGroups = WriteGroups()
  /// The files of external data; nil for a store without a file.
  let externalFiles: ExternalFiles?
  /// The content that was opened, and up to where `checkContent` has found it still there. Used under the database's
  /// write lock.
  let content: String?
  var checked: (commit: Int64?, schemaVersion: Int64?) = (nil, nil)
  /// Whether the model has attributes that allow external storage.
  let hasExternalData: Bool

  /// Opens the store in a database, or creates it there.
  ///
  /// `followCommits` comes before the first row is read: a commit in between would go unnoticed otherwise.
  init(_ database: SQLiteDatabase, _ opening: StoreOpening) throws {
    let opened = try SQLiteOpening(database, opening).run()
    // Later reads are compared with this state of the file.
    try database.followCommits()
    self.database = database
    rowCache = RowCache(opening.options)
    schema = opened.schema
    content = Self.content(of: opened.metadata)
    history = opened.history
    let reference = StoreReference(identifier: opened.identifier)
    let externalFiles = opening.isInMemory ? nil : ExternalFiles(of: database.configuration)
    self.externalFiles = externalFiles
    rows = EntityRows(schema, reference, form: { name, _ in name }, queries: { RowQueries($0, $1) }) {
      RowWriter($0, layout: $0.entity.layout, $1, externalFiles: externalFiles)
    }
    hasExternalData = rows.writers.contains { !($0?.externalColumns.isEmpty ?? true) }
    super.init(
      persistentStoreCoordinator: nil, configurationName: opening.configurationName, at: opening.placeURL,
      options: opening.options)
    wasOpened(as: opening.type, at: opening.url, identifier: opened.identifier)
    openMetadata.load(opened.metadata)
    reference.store = self
    validateRowCache()
    // It may have been replaced between the reading of its metadata and `followCommits`.
    try database.withWriter { try checkContent($0) }
  }

  override func loadMetadata() throws {
    guard let url = files.first else { return }
    openMetadata.load(try SQLiteStore.metadata(at: url, options))
  }

  var storedEntities: StoredEntities { rows.storedEntities }
  var plans: RowPlans { rows.plans }
  /// By entity number.
  var rowQueries: [RowQueries?] { rows.queries }
  func writer(_ number: Int) -> RowWriter { rows.writer(number) }

  /// Writes changed metadata in a save's transaction; `didCommit` tells that it was committed.
  func writeMetadata(_ connection: SQLiteConnection) throws {
    guard let unsaved = openMetadata.takeUnsaved() else { return }
    try SQLiteStore.writeMetadata(unsaved, prefix: schema.prefix, connection)
  }

  func didCommit() {
    openMetadata.didCommit()
    removeReplacedFiles()
  }

  func validateRowCache() { rowCache.validate(database.foreignVersion()) }

  /// Reserves keys in the table of a root entity and returns the first. Called in a transaction.
  ///
  /// ```text
  /// UPDATE Z_PRIMARYKEY SET Z_MAX = Z_MAX + 30 WHERE Z_ENT = 2
  /// SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = 2             32: the keys 3 to 32
  /// ```
  ///
  /// Both run under the file's write lock, which BEGIN IMMEDIATE took: no other process can come between them. Two
  /// statements for a save, not for each row.
  func takeKeys(_ count: Int, root: Int, _ connection: SQLiteConnection) throws -> Int64 {
    let table = schema.primaryKeyTable
    try connection.run(
      """
      UPDATE \(raw: table) SET Z_MAX = Z_MAX + \(bind: .integer(Int64(count))) \
      WHERE Z_ENT = \(bind: .integer(Int64(root)))
      """)
    let last = try connection.integer("SELECT Z_MAX FROM \(raw: table) WHERE Z_ENT = \(bind: .integer(Int64(root)))")
    guard let last else {
      throw CoreDataErrors.error(
        .persistentStoreIncompatibleSchema, "\(table) has no row for the entity number \(root).")
    }
    return last - Int64(count) + 1
  }
}

/// What a lightweight migration leaves for later if NSPersistentStoreDeferredLightweightMigrationOptionKey asks for it:
/// dropping the tables of the old model, and making the indexes that only speed up reading.
///
/// The file tells what is left to do, so another process may go on, or begin anew after a crash. The store's metadata
/// have the option's key until nothing is left.
///
/// ```text
/// migration (at once)          later, one piece in each transaction
/// ---------------------------  -----------------------------------------------
/// new tables are filled        DROP TABLE "cd_old_ZBOOK"
/// unique indexes               CREATE INDEX ZBOOK_ZAUTHOR_INDEX ON ZBOOK (ZAUTHOR)
/// the metadata has the key     the key is removed with the last piece
/// ```
///
/// Meanwhile fetches are right and perhaps slow: a missing index changes no result.
struct DeferredMigration {
  static let metadataKey = NSPersistentStoreDeferredLightweightMigrationOptionKey

  let schema: StoreSchema
  let connection: SQLiteConnection

  /// The name that a migration gives an old table.
  static func aside(_ table: String) -> String { "cd_old_\(table)" }

  /// The tables of old models that are still there.
  static func oldTables(_ connection: SQLiteConnection) throws -> [String] {
    try connection.rows(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'cd\\_old\\_%' ESCAPE '\\' ORDER BY name"
    ).compactMap { if case .text(let name) = $0[0] { name } else { nil } }
  }

  static func dropOldTables(_ connection: SQLiteConnection) throws {
    for table in try oldTables(connection) { try connection.execute("DROP TABLE \"\(table)\"") }
  }

  /// Does one piece of work. In a transaction.
  ///
  /// - Returns: false if nothing was left.
  func performTask() throws -> Bool {
    guard let task = try nextTask() else { return false }
    connection.growCacheForFile()
    try connection.execute(task)
    return true
  }

  func isFinished() throws -> Bool { try nextTask() == nil }

  /// Found in the file and not remembered: another process, or the next start of this one, goes on where the last one
  /// ended.
  private func nextTask() throws -> String? {
    if let table = try Self.oldTables(connection).first { return "DROP TABLE \"\(table)\"" }
    let presentIndexes = try SQLiteStore.indexes(schema, connection).values
    return schema.indexStatements.first { !presentIndexes.contains($0) }
  }
}

extension SQLiteStore: DeferringStore {
  /// Each piece is a transaction of its own, so that other processes wait for one piece only.
  ///
  /// Three calls for the library, in whose migration `ZBOOK` got a mandatory column:
  ///
  /// ```text
  /// BEGIN IMMEDIATE   DROP TABLE "cd_old_ZAUTHOR"                                                   COMMIT
  /// BEGIN IMMEDIATE   DROP TABLE "cd_old_ZBOOK"                                                     COMMIT
  /// BEGIN IMMEDIATE   CREATE INDEX ZBOOK_ZAUTHOR_INDEX ON ZBOOK (ZAUTHOR); UPDATE Z_METADATA …      COMMIT
  /// ```
  func finishDeferredMigrationTask() throws -> Bool {
    guard openMetadata.current?[DeferredMigration.metadataKey] != nil, !database.configuration.isReadOnly else {
      return false
    }
    return try CoreDataErrors.translating("Finishing the migration of \(database.configuration.path)") {
      let (didWork, isFinished) = try database.write { connection in
        var metadata = try SQLiteStore.readMetadata(schema.prefix, connection).1
        // Another process may have finished it, or migrated the store again.
        guard metadata[DeferredMigration.metadataKey] != nil,
          StoreMetadata.isCurrent(metadata, schema.entities.map(\.entity))
        else { return (false, true) }
        let migration = DeferredMigration(schema: schema, connection: connection)
        let didWork = try migration.performTask()
        guard try migration.isFinished() else { return (didWork, false) }
        metadata[DeferredMigration.metadataKey] = nil
        try SQLiteStore.writeMetadata(metadata, prefix: schema.prefix, connection)
        return (didWork, true)
      }
      if isFinished { openMetadata.forget(DeferredMigration.metadataKey) }
      return didWork
    }
  }
}

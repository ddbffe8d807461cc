/// Replaces a store by what a migration has made of it, while other programs may have it open.
///
/// ```text
/// This process                                    Another process, with the old model
/// ----------------------------------------------  ----------------------------------------------
///                                                 a save before: its rows are migrated
/// BEGIN IMMEDIATE
/// makes the new file of the rows                  a save waits for the lock, 134090 after its timeout
/// COMMIT, of nothing: the backup takes the lock
///   by itself
///                                                 a save just here is committed
/// the backup locks the file
///   a commit in between: once more from the top
/// copies all pages, and unlocks                   waits
///                                                 has the lock; the content is another one: 134100
/// ```
///
/// Source: https://www.sqlite.org/c3ref/backup_finish.html. `sqlite3_backup_init` fails while the destination's
/// connection is in a transaction; `sqlite3_backup_step` with 0 pages takes the lock, and keeps it until
/// `sqlite3_backup_finish`. Tried with SQLite 3.40, with a log and with a rollback journal.
extension SQLiteStore {
  /// The entry of the metadata that names a content whose keys were given anew. Each migration object by object sets
  /// another value, also where the program itself replaces the store by the new one; without one there is none. A
  /// migration in the file keeps the keys, and the value.
  private static let contentKey = "_NSContentIdentifier"

  /// Names the content of a store that has other keys than the store whose UUID it has. In the caller's transaction.
  static func nameContent(_ prefix: String, _ connection: SQLiteConnection) throws {
    let metadata = try readMetadata(prefix, connection).1.merging([contentKey: UUID().uuidString]) { $1 }
    try writeMetadata(metadata, prefix: prefix, connection)
  }

  /// Another program has written to the store between its lock's two parts.
  private struct WrittenMeanwhile: Error {}

  /// - Throws: 134090 if another program keeps the store locked, 134110 if others commit again and again at the moment
  ///   between the two locks.
  static func replace(_ store: StoreFile, byMaking make: () throws -> StoreFile?) throws {
    try CoreDataErrors.translating("Migrating \(store.url.path)") {
      let lock = try SQLiteConnection(
        path: store.url.path, access: .readWrite,
        busyTimeout: try SQLiteDatabase.Configuration.busyTimeout(store.options))
      defer { lock.close() }
      for _ in 0..<10 {
        let commits = ForeignCommits()
        // After an error the connection is closed, which ends the transaction.
        try lock.execute("BEGIN IMMEDIATE")
        try commits.follow(lock)
        guard let new = try make() else { return }
        let version = try commits.version(of: lock)
        do {
          return try replace(store, with: new) { lockForCopy in
            try lock.execute("COMMIT")
            try lockForCopy()
            if try commits.version(of: lock) != version { throw WrittenMeanwhile() }
          }
        } catch is WrittenMeanwhile {}
      }
      throw CoreDataErrors.error(
        .migration, "\(store.url.path) was changed by other programs each time when it was migrated; open it again.")
    }
  }

  /// The content that metadata name.
  static func content(of metadata: [String: Any]) -> String? { metadata[contentKey] as? String }

  /// Runs the body in a transaction, for changes of this store's rows.
  ///
  /// - Throws: 134100 if a mapped migration has given the rows other keys since the store was opened: the changes would
  ///   be those of other objects.
  func writeRows<T>(_ body: (SQLiteConnection) throws -> T) throws -> T {
    try database.write { connection in
      try checkContent(connection)
      return try body(connection)
    }
  }

  /// After another connection's commit it looks at the number of the schema's version, which a replacement changes, and
  /// after a change of that at the metadata. Without such a commit it costs nothing.
  ///
  /// A store that was destroyed has no metadata; the statements that follow say so.
  func checkContent(_ connection: SQLiteConnection) throws {
    let commit = database.latestVersion
    guard checked.commit != commit, !database.configuration.isInMemory else { return }
    let schemaVersion = try connection.integer("PRAGMA schema_version")
    if schemaVersion != checked.schemaVersion, try Self.hasStore(schema.prefix, connection),
      try Self.content(of: Self.readMetadata(schema.prefix, connection).1) != content
    {
      throw CoreDataErrors.error(
        .persistentStoreIncompatibleVersionHash,
        "Another program has migrated \(connection.path) by a mapping model, and its objects have other keys now: "
          + "open it again, with its present model.")
    }
    checked = (commit, schemaVersion)
  }
}

extension ForeignCommits {
  /// The version of a connection's file, whether it has a log or not.
  fileprivate func version(of connection: SQLiteConnection) throws -> Int64 {
    if let version = version() { return version }
    return version(at: try connection.fileMark())
  }
}

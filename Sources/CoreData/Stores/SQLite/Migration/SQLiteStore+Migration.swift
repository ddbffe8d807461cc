extension SQLiteOpening {
  /// Throws 134130 if the old model is unknown, 134140 if a mapping model would be needed, 134190 if no mapping can be
  /// inferred, 134111 if a new constraint does not hold, 134100 if more than the allowed additions would be needed, and
  /// 134110 for other failures.
  ///
  /// ```text
  /// Process A                                        Process B
  /// -----------------------------------------------  -----------------------------------------------
  /// needsMigration: yes                              needsMigration: yes
  /// BEGIN IMMEDIATE; the metadata again: old         waits for the lock
  /// migrates, writes the metadata, COMMIT            has the lock; the metadata again: new, returns
  /// opens the new schema                             opens the new schema
  /// ```
  ///
  /// A program of the old model that has the file open meanwhile sees the new tables with its next statement, and fails
  /// with "no such column" (134180); a changed model needs a restart of all of them, except for additions.
  func migrate() throws {
    do {
      try database.write { connection in
        // Another process may have migrated it first.
        let metadata = try SQLiteStore.readMetadata(prefix, connection).1
        guard try needsMigration(metadata, connection) else { return }
        let isDeferred = opening.defersMigration
        try opening.migrate(
          metadata, at: place, kept: { try SQLiteStore.keptModel(prefix, connection) },
          adding: { try SQLiteStore.additions(to: opening, from: $0, prefix, connection) },
          remaking: { source in
            try StoreMigration(from: source.entities, to: opening.entities, prefix: prefix, connection).run(
              isDeferred: isDeferred)
          })
        try SQLiteStore.finishMigration(
          of: metadata, to: opening.model, opening.entities, prefix, isDeferred: isDeferred, connection)
      }
    } catch let error as SQLiteError where error.primaryCode != 5 && error.primaryCode != 6 {
      throw CoreDataErrors.error(
        .migration, "\(place) could not be migrated: \(error.message).",
        [NSUnderlyingErrorKey: NSError(domain: NSSQLiteErrorDomain, code: Int(error.code))])
    }
  }

  /// Indexes do not count for the model's version; where additions are allowed, they are compared with those of the
  /// file.
  func needsMigration(_ metadata: [String: Any]) throws -> Bool {
    try database.withWriter { try needsMigration(metadata, $0) }
  }

  /// Adding an index to a model changes no version hash, so nobody would migrate for it; where additions are allowed
  /// the file's indexes are compared as well.
  private func needsMigration(_ metadata: [String: Any], _ connection: SQLiteConnection) throws -> Bool {
    if try opening.migrates(metadata, at: place) { return true }
    guard opening.migration == .additions else { return false }
    let file = try SchemaFile(connection, prefix: prefix)
    let schema = try StoreSchema(entities: opening.entities, prefix: prefix, file: file)
    return try Set(SQLiteStore.indexes(schema, connection).values) != Set(schema.indexStatements)
  }
}

extension SQLiteStore {

  /// Notes in a migrated store of what model it is now, and in its history of what model it was.
  ///
  /// In the migration's own transaction: a killed process leaves the old store with the old metadata, or the new one
  /// with the new.
  fileprivate static func finishMigration(
    of old: [String: Any], to model: NSManagedObjectModel, _ entities: [NSEntityDescription], _ prefix: String,
    isDeferred: Bool = false, _ connection: SQLiteConnection
  ) throws {
    var metadata = old
    StoreMetadata.setModel(entities: entities, identifiers: model.versionIdentifiers, in: &metadata)
    metadata[DeferredMigration.metadataKey] = isDeferred ? true : nil
    try writeMetadata(metadata, prefix: prefix, connection)
    try keepModel(model, of: entities, prefix, connection)
    guard let history = try HistoryTables(prefix: prefix, connection), !StoreMetadata.isCurrent(old, entities) else {
      return
    }
    // The bits of the changed properties have other meanings now.
    try connection.execute("UPDATE \(history.changes) SET ZCOLUMNS = NULL")
    let hashes = old[NSStoreModelVersionHashesKey] as? [String: Data] ?? [:]
    // A transaction without changes, whose author names the old model, as Apple's framework writes it.
    let author =
      "com.apple.coredata.schemamigrator: lightweight migration from model with digest "
      + "{ \(NSManagedObjectModel.digest(of: hashes)) }"
    _ = try HistoryTransactions(history, "\(prefix)_PRIMARYKEY", connection).begin(
      ChangeOrigin(author: author, contextName: nil))
  }

  static func migrate(
    _ source: StoreFile, _ old: NSManagedObjectModel, to destination: StoreFile, _ new: NSManagedObjectModel
  ) throws -> Bool {
    let prefix = StoreMetadata.prefix(source.options)
    let from = try source.reporting(.migrationManagerSourceStore) {
      let connection = try SQLiteConnection(path: source.url.path, access: .readWrite)
      _ = try readMetadata(prefix, connection)
      return connection
    }
    defer { from.close() }
    let to = try destination.reporting(.migrationManagerDestinationStore) {
      try SQLiteConnection(path: destination.url.path, access: .create)
    }
    do {
      defer { to.close() }
      try destination.reporting(.migrationManagerDestinationStore) {
        try copyFiles(of: source.url, from, to: destination.url) { try to.copy(from: from) }
      }
      try CoreDataErrors.translating("Migrating \(source.url.path) to \(destination.url.path)") {
        try to.immediateTransaction {
          try StoreMigration(from: old.entities, to: new.entities, prefix: prefix, to).run()
          try finishMigration(of: try readMetadata(prefix, to).1, to: new, new.entities, prefix, to)
        }
      }
    } catch {
      destination.discard(self)
      throw error
    }
    return true
  }
}

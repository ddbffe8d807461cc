extension SQLiteStore {
  /// Migrates the store if it was made with another model and the options ask for it.
  ///
  /// Throws 134130 if the old model is unknown, 134140 if a mapping model would be needed, 134190 if no mapping can be
  /// inferred, 134111 if a new constraint does not hold, and 134110 for other failures.
  static func migrateIfWanted(_ database: SQLiteDatabase, _ opening: StoreOpening) throws {
    guard opening.migration != .none, !database.configuration.isReadOnly else { return }
    let (path, prefix) = (database.configuration.path, StoreMetadata.prefix(opening.options))
    let (entities, model) = (opening.entities, opening.model)
    guard try opening.migrates(try database.withWriter { try readMetadata(prefix, $0).1 }, at: path) else { return }
    do {
      try database.write { connection in
        // Another process may have migrated it first.
        var metadata = try readMetadata(prefix, connection).1
        if StoreMetadata.isCurrent(metadata, entities) { return }
        let isDeferred = opening.defersMigration
        try SourceModels.withModel(for: metadata, path: path, kept: { try keptModel(prefix, connection) }) { source in
          try StoreMigration(from: source.entities, to: entities, prefix: prefix, connection).run(
            isDeferred: isDeferred)
        }
        StoreMetadata.setModel(entities: entities, identifiers: model.versionIdentifiers, in: &metadata)
        metadata[DeferredMigration.metadataKey] = isDeferred ? true : nil
        try writeMetadata(metadata, prefix: prefix, connection)
        try keepModel(model, of: entities, prefix, connection)
      }
    } catch let error as SQLiteError where error.primaryCode != 5 && error.primaryCode != 6 {
      throw CoreDataErrors.error(
        .migration, "\(path) could not be migrated: \(error.message).",
        [NSUnderlyingErrorKey: NSError(domain: NSSQLiteErrorDomain, code: Int(error.code))])
    }
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
    defer { to.close() }
    try destination.reporting(.migrationManagerDestinationStore) {
      try copyFiles(of: source.url, from, to: destination.url) { try to.copy(from: from) }
    }
    try CoreDataErrors.translating("Migrating \(source.url.path) to \(destination.url.path)") {
      try to.immediateTransaction {
        var metadata = try readMetadata(prefix, to).1
        try StoreMigration(from: old.entities, to: new.entities, prefix: prefix, to).run()
        StoreMetadata.setModel(entities: new.entities, identifiers: new.versionIdentifiers, in: &metadata)
        metadata[DeferredMigration.metadataKey] = nil
        try writeMetadata(metadata, prefix: prefix, to)
        try keepModel(new, prefix, to)
      }
    }
    return true
  }
}

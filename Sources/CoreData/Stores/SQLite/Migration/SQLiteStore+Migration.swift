extension SQLiteStore {
  /// Migrates the store if it was made with another model and the options ask for it.
  ///
  /// Throws 134130 if the old model is unknown, 134140 if a mapping model would be needed, 134190 if no mapping can be
  /// inferred, 134111 if a new constraint does not hold, and 134110 for other failures.
  static func migrateIfWanted(
    _ database: SQLiteDatabase, prefix: String, entities: [NSEntityDescription], model: NSManagedObjectModel,
    options: [AnyHashable: Any]?
  ) throws {
    func isSet(_ option: String) -> Bool { (options?[option] as? NSNumber)?.boolValue ?? false }
    guard isSet(NSMigratePersistentStoresAutomaticallyOption), !isSet(NSIgnorePersistentStoreVersioningOption),
      !database.configuration.isReadOnly
    else { return }
    let path = database.configuration.path
    func isCurrent(_ metadata: [String: Any]) -> Bool {
      guard let hashes = metadata[NSStoreModelVersionHashesKey] as? [String: Data] else { return true }
      return NSManagedObjectModel.incompatibleEntityNames(entities, hashes: hashes).isEmpty
    }
    if isCurrent(try database.withWriter { try readMetadata(prefix, $0).1 }) { return }
    guard isSet(NSInferMappingModelAutomaticallyOption) else {
      throw CoreDataErrors.error(
        .migrationMissingMappingModel,
        "\(path) has to be migrated: mapping models are not supported, and \(NSInferMappingModelAutomaticallyOption) is not set."
      )
    }
    do {
      try database.write { connection in
        // Another process may have migrated it first.
        var metadata = try readMetadata(prefix, connection).1
        if isCurrent(metadata) { return }
        let sources = try SourceModels.model(for: metadata, path: path)
        try StoreMigration(from: sources, to: entities, prefix: prefix, connection).run()
        StoreMetadata.setModel(entities: entities, identifiers: model.versionIdentifiers, in: &metadata)
        try writeMetadata(metadata, prefix: prefix, connection)
      }
    } catch let error as SQLiteError where error.primaryCode != 5 && error.primaryCode != 6 {
      throw CoreDataErrors.error(
        .migration, "\(path) could not be migrated: \(error.message).",
        [NSUnderlyingErrorKey: NSError(domain: NSSQLiteErrorDomain, code: Int(error.code))])
    }
  }

  static func migrate(
    _ source: StoreFile, _ old: NSManagedObjectModel, to destination: StoreFile, _ new: NSManagedObjectModel
  ) throws {
    let prefix = StoreMetadata.prefix(source.options)
    let from = try reporting(.migrationManagerSourceStore, source.url) {
      let connection = try SQLiteConnection(path: source.url.path, access: .readWrite)
      _ = try readMetadata(prefix, connection)
      return connection
    }
    defer { from.close() }
    let to = try reporting(.migrationManagerDestinationStore, destination.url) {
      let connection = try SQLiteConnection(path: destination.url.path, access: .create)
      try connection.copy(from: from)
      return connection
    }
    defer { to.close() }
    try CoreDataErrors.translating("Migrating \(source.url.path) to \(destination.url.path)") {
      try to.immediateTransaction {
        var metadata = try readMetadata(prefix, to).1
        try StoreMigration(from: old.entities, to: new.entities, prefix: prefix, to).run()
        StoreMetadata.setModel(entities: new.entities, identifiers: new.versionIdentifiers, in: &metadata)
        try writeMetadata(metadata, prefix: prefix, to)
      }
    }
  }

  private static func reporting<T>(_ code: CocoaError.Code, _ url: URL, _ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch {
      throw CoreDataErrors.error(
        code, "\(url.path) cannot be opened for a migration: \(error).", [NSUnderlyingErrorKey: error])
    }
  }
}

internal import LinuxSystem

/// Migrations that need more than the store's file: by stages, or by a mapping model.
///
/// `addPersistentStore` calls `migrateBeforeOpening` before a store class sees the file. What it does not handle,
/// lightweight migration by an inferred mapping, the store does itself when it opens, in one transaction.
///
/// ```text
/// options                                     version of the store     here
/// none of the migration options               any                      nothing; opening throws 134100 if it differs
/// staged manager                              another                  the stages, each a migration of its own
/// migrate automatically, a mapping model fits another                  into a new file, which replaces the old one
/// migrate automatically, none fits            another                  nothing; the store infers a mapping or throws
/// those                                       current                  what killed migrations have left is removed
/// ```
extension NSPersistentStoreCoordinator {
  /// Migrates a store before it is opened, if the options ask for it and a mapping model or stages lead to the
  /// entities. Lightweight migration is left to the store.
  ///
  /// It does nothing for a store in memory, one that does not exist yet, and one that cannot be read: opening it throws
  /// the right error.
  ///
  /// - Throws: the errors of `NSMigrationManager.migrateStore` and of `NSStagedMigrationManager`.
  func migrateBeforeOpening(
    _ type: String, configuration: String?, at url: URL?, options: [AnyHashable: Any]?,
    allowing migration: AllowedMigration
  ) throws {
    let staged = options?[NSPersistentStoreStagedMigrationManagerOptionKey] as? NSStagedMigrationManager
    guard let url, let options, staged != nil || migration == .mapped || migration == .inferred,
      !url.isInMemoryStore, type != NSInMemoryStoreType, FileManager.default.fileExists(atPath: url.path),
      let metadata = try? Self.metadataForPersistentStore(ofType: type, at: url, options: options)
    else { return }
    let entities = try opening(type, configuration: configuration, at: url, options: options).entities
    if StoreMetadata.isCurrent(metadata, entities) { return Self.removeAbandonedMigrations(of: url) }
    if let staged {
      let plain = options.filter { $0.key.base as? String != NSPersistentStoreStagedMigrationManagerOptionKey }
      return try staged.migrate(type, at: url, plain, to: managedObjectModel)
    }
    let kept = { try Self.storeClass(type, at: url).keptModel(at: url, options) }
    guard MappingModelFiles.exist, let source = try SourceModels.find(for: metadata, kept: kept)?.model,
      let mapping = NSMappingModel(from: nil, forSourceModel: source, destinationModel: managedObjectModel)
    else { return }
    try migrate(at: url, ofType: type, options, metadata, from: source, by: mapping)
  }

  /// Migrates into a new file beside the old one, then replaces the old one's content.
  ///
  /// The new file is in a directory of its own, `.NAME.migration.UUID.tmp`, in the folder of the old one, with all that
  /// belongs to it: `-wal`, `-shm`, the folder of external data. So nothing is copied across file systems, and one
  /// removal takes away all of it. The directory is locked while this process migrates. What a killed process has left
  /// is removed by the next migration of the store, or by the next opening that may migrate it, if the process had
  /// replaced the content already:
  ///
  /// ```text
  /// process A                                     process B
  /// locks the store, makes and locks directory 1
  /// is killed
  ///                                               locks the store; nobody has directory 1 locked: removes it
  ///                                               makes and locks directory 2, replaces the store's content
  ///                                               removes directory 2
  /// ```
  ///
  /// Other programs may have the store open. From the reading to the replacement they cannot write to a SQLite file:
  /// see `SQLiteStore+Replacing.swift`. A binary or XML file that was changed meanwhile is an error, 134110.
  ///
  /// - Parameter metadata: the store's, as they were read. If it has other version hashes by now, it is left as it is.
  func migrate(
    at url: URL, ofType type: String, _ options: [AnyHashable: Any], _ metadata: [String: Any],
    from source: NSManagedObjectModel, by mapping: NSMappingModel
  ) throws {
    // A directory for each round, with its content removed when it is freed.
    var directories: [LockedDirectory] = []
    defer { directories = [] }
    try Self.storeClass(type, at: url).replace(StoreFile(url: url, options: options)) {
      let directory = try Self.makeMigrationDirectory(for: url)
      directories.append(directory)
      // Another process may have migrated it first.
      let latest = try Self.metadataForPersistentStore(ofType: type, at: url, options: options)
      let hashes = [latest, metadata].map { $0[NSStoreModelVersionHashesKey] as? [String: Data] }
      guard hashes[0] == hashes[1] else { return nil }
      let new = URL(fileURLWithPath: directory.path).appendingPathComponent("store")
      let manager = NSMigrationManager(sourceModel: source, destinationModel: managedObjectModel)
      try manager.migrateStore(
        from: url, sourceType: type, options: options, with: mapping, toDestinationURL: new, destinationType: type,
        destinationOptions: options)
      return StoreFile(url: new, options: options)
    }
  }

  /// Makes the directory for a migration of a store, and removes those that killed migrations of it have left.
  ///
  /// Only this user may look into it, whatever the rights of the store's file.
  private static func makeMigrationDirectory(for url: URL) throws -> LockedDirectory {
    removeAbandonedMigrations(of: url)
    let place = migrationPlace(of: url)
    FormerMigrationFiles.removeAbandoned(in: place.folder)
    return try CoreDataErrors.translatingFiles(.migration) {
      try LockedDirectory(mode: 0o700) { "\(place.folder)/\(place.prefix)\(UUID().uuidString).tmp" }
    }
  }

  /// Where the directories for migrations of a store are made, and how their names begin.
  ///
  /// Named after the file to which links lead, so that all who migrate the file look in one place. Of a long name only
  /// the beginning counts, since the name of a file has 255 bytes at most: directories of another store that have the
  /// same one are removed, too, if no process has them locked.
  private static func migrationPlace(of url: URL) -> (folder: String, prefix: String) {
    let file = URL(fileURLWithPath: url.realPath)
    let name = String(file.lastPathComponent.unicodeScalars.prefix(40))
    return (file.deletingLastPathComponent().path, ".\(name).migration.")
  }

  private static func removeAbandonedMigrations(of url: URL) {
    let place = migrationPlace(of: url)
    LockedDirectory.removeAbandoned(in: place.folder) { name in
      guard name.hasPrefix(place.prefix), name.hasSuffix(".tmp") else { return false }
      return UUID(uuidString: String(name.dropFirst(place.prefix.count).dropLast(".tmp".count))) != nil
    }
  }
}

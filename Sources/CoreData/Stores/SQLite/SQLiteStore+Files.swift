/// Store files as a whole: metadata, destruction, copies.
extension SQLiteStore {
  // MARK: Metadata

  static func metadata(at url: URL, _ options: [AnyHashable: Any]?) throws -> [String: Any] {
    try CoreDataErrors.translating("Reading the metadata of \(url.path)") {
      let connection = try SQLiteConnection(path: url.path, access: SQLiteConnection.readingAccess(to: url.path))
      defer { connection.close() }
      return try readMetadata(StoreMetadata.prefix(options), connection).1
    }
  }

  /// Reads and writes in one transaction, so that two programs that set different keys both find theirs afterwards.
  static func setMetadata(_ metadata: [String: Any], at url: URL, _ options: [AnyHashable: Any]?) throws {
    try CoreDataErrors.translating("Writing the metadata of \(url.path)") {
      let connection = try SQLiteConnection(path: url.path, access: .readWrite)
      defer { connection.close() }
      let prefix = StoreMetadata.prefix(options)
      try connection.immediateTransaction {
        let current = try readMetadata(prefix, connection).1
        try writeMetadata(merging(metadata, into: current), prefix: prefix, connection)
      }
    }
  }

  // MARK: Destroying and replacing

  /// The file is emptied and not removed: a process that has it open goes on using its inode, and another one would
  /// make a new file under the name. With an empty file both see the same. `erase` copies an empty database over it, in
  /// a transaction, so readers see all or nothing of the store.
  static func destroy(at url: URL, _ options: [AnyHashable: Any]?, closing: () throws -> Void) throws {
    if url.isInMemoryStore {
      SharedMemoryDatabases.forget(url)
      return try closing()
    }
    guard FileManager.default.fileExists(atPath: url.path) else {
      // Connections that have the removed file open write to its log, which would be taken for the new file's.
      try closing()
      for end in ["-wal", "-shm", "-journal"] { unlink(url.realPath + end) }
      // A file of no bytes is an empty database. Programs remove it next, and an error would stop them.
      _ = FileManager.default.createFile(atPath: url.path, contents: nil)
      return UnusedFiles(of: url).removeIfPossible()
    }
    try CoreDataErrors.translating("Destroying \(url.path)") {
      let connection = try SQLiteConnection(
        path: url.path, access: .readWrite, busyTimeout: try SQLiteDatabase.Configuration.busyTimeout(options))
      defer { connection.close() }
      try connection.erase()
      try closing()
      // Removes the log unless another connection has the file open.
      _ = try? connection.rows("PRAGMA journal_mode = DELETE")
    }
    UnusedFiles(of: url).removeIfPossible()
  }

  /// SQLite's backup copies pages, under locks, from a file that others may use meanwhile
  /// (https://www.sqlite.org/backup.html). Copying the file with the means of the file system would miss what is in its
  /// log, and would break the locks that this process has on it.
  static func replace(_ destination: StoreFile, with source: StoreFile) throws {
    try replace(destination, with: source, locking: nil)
  }

  /// - Parameter locking: see `SQLiteConnection.copy(from:locking:)`.
  static func replace(
    _ destination: StoreFile, with source: StoreFile, locking: SQLiteConnection.Locking?
  ) throws {
    try CoreDataErrors.translating("Replacing \(destination.url.path) with \(source.url.path)") {
      let from = try SQLiteConnection(path: source.url.path, access: .readWrite)
      defer { from.close() }
      // A file that is not a store must not replace one.
      _ = try readMetadata(StoreMetadata.prefix(source.options), from)
      try copyFiles(of: source.url, from, to: destination.url) {
        let to = try SQLiteConnection(
          path: destination.url.path, access: .create,
          busyTimeout: try SQLiteDatabase.Configuration.busyTimeout(destination.options))
        defer { to.close() }
        try to.copy(from: from, locking: locking)
      }
    }
  }

  /// Copies the files of external data that the rows of a store name to the place of its copy. Then the body copies
  /// the rows, in the same state of the store, and the files of what was there before go.
  ///
  /// ```text
  /// source                                destination
  /// ------------------------------------  -----------------------------------------------
  /// BEGIN, first read: one state
  /// names of all files that rows name
  ///                                       files are copied, fsync
  ///                                       body: the pages of the same state are copied
  /// COMMIT
  ///                                       files of the store that was here before go, if nobody uses them
  /// ```
  ///
  /// The read transaction keeps the source's files: `ExternalFiles` removes none while a reader may need it.
  static func copyFiles<T>(
    of source: URL, _ connection: SQLiteConnection, to destination: URL, then body: () throws -> T
  ) throws -> T {
    defer { UnusedFiles(of: destination).removeIfPossible() }
    return try connection.reading {
      try ExternalFolder(of: destination).bring(
        connection.externalFileNames(), from: ExternalFolder(of: source), then: body)
    }
  }

  // MARK: Copying to another place

  /// For `migratePersistentStore` from SQLite to SQLite: pages are copied, no row is decoded. The keys stay; the UUID
  /// is new.
  func copy(to opening: StoreOpening) throws -> (any ObjectStore)? {
    var configuration = try SQLiteDatabase.Configuration(opening)
    // A copy is a separate store, even if others share a store in memory under that name.
    configuration.sharedName = nil
    let new = try CoreDataErrors.translating("Migrating \(url?.path ?? "") to \(opening.place)") {
      let copy = try SQLiteDatabase(configuration)
      do {
        // On the writer, so that all saved rows are included.
        try database.withWriter { source in
          guard let url, let destination = opening.url, !opening.isInMemory, !url.isInMemoryStore else {
            return try copy.withWriter { try fill($0, from: source, opening) }
          }
          try Self.copyFiles(of: url, source, to: destination) {
            try copy.withWriter { try fill($0, from: source, opening) }
          }
        }
        return try SQLiteStore(copy, opening)
      } catch {
        copy.giveUp()
        throw error
      }
    }
    return new
  }

  /// The copy gets a UUID of its own, since IDs of objects contain it: two stores with one UUID cannot be told apart by
  /// a URI. Its history is emptied, for it would name the original's transactions.
  private func fill(
    _ destination: SQLiteConnection, from source: SQLiteConnection, _ opening: StoreOpening
  ) throws {
    try destination.copy(from: source)
    try destination.immediateTransaction {
      var metadata = try SQLiteStore.readMetadata(schema.prefix, destination).1
      try destination.run("UPDATE \(raw: schema.metadataTable) SET Z_UUID = \(bind: .text(UUID().uuidString))")
      metadata[NSStoreTypeKey] = opening.type
      try SQLiteStore.writeMetadata(metadata, prefix: schema.prefix, destination)
      if let history = history?.tables {
        try destination.execute("DELETE FROM \(history.changes); DELETE FROM \(history.transactions)")
      }
    }
    if !opening.isInMemory { _ = try destination.rows("PRAGMA journal_mode = WAL") }
  }
}

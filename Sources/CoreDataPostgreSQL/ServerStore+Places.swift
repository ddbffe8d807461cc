/// The connections that a store shares with others: what `inOneTransaction(at:_:)` gives its body.
let NSPersistentStoreConnectionsOption = "NSPersistentStoreConnections"

/// Stores as a whole: metadata, destruction, copies.
extension ServerStore {
  /// Runs the body with a connection of its own to the place, in one transaction. For places that no coordinator has
  /// open here: each call opens a connection and closes it.
  private static func connected<T>(
    _ doing: String, to url: URL, options: [AnyHashable: Any]?,
    _ body: (ServerAddress, any ServerConnection) throws -> T
  ) throws -> T {
    let address = try ServerAddress(url, options)
    return try CoreDataErrors.fromServer("\(doing) \(address.description)") {
      let database = newDatabase(address, options)
      defer { database.close() }
      return try database.write { try body(address, $0) }
    }
  }

  static func metadata(at url: URL, _ options: [AnyHashable: Any]?) throws -> [String: Any] {
    try connected("Reading the metadata of", to: url, options: options) { try readMetadata($0, $1).metadata }
  }

  /// Replaces the metadata, except the parts that the store itself needs; read and written in one transaction, without
  /// a lock between.
  static func setMetadata(_ metadata: [String: Any], at url: URL, _ options: [AnyHashable: Any]?) throws {
    try connected("Writing the metadata of", to: url, options: options) { address, connection in
      let current = try readMetadata(address, connection).metadata
      try writeMetadata(merging(metadata, into: current), address, connection)
    }
  }

  /// The first number of the advisory lock under which one program at a time fills a schema. Another number than that
  /// of the creation, which the body takes itself.
  private static let lockOfContents = 0x4345

  /// Runs the body. What it does with stores that it opens with the options is one transaction on one connection.
  ///
  /// ```text
  /// BEGIN
  /// SET LOCAL idle_in_transaction_session_timeout = 0            the body may take long between two statements
  /// SELECT pg_try_advisory_xact_lock(17221, hashtext('app'))     false: `StoreLockTaken`, at once
  /// CREATE SCHEMA …, INSERT …, …                                 by stores that the body opens
  /// SELECT 1                                                     25P02, if a statement before it has failed
  /// COMMIT
  /// ```
  ///
  /// The server answers COMMIT after a failed statement with ROLLBACK and no error. `SELECT 1` finds that out.
  static func inOneTransaction(at url: URL, _ body: (_ options: [AnyHashable: Any]) throws -> Void) throws {
    let address = try ServerAddress(url, nil)
    try CoreDataErrors.fromServer("Writing to \(address.description)") {
      let database = newDatabase(address, nil)
      defer { database.close() }
      try database.rebuild { connection in
        try connection.run("SET LOCAL idle_in_transaction_session_timeout = 0")
        let lock: SQL =
          "SELECT pg_try_advisory_xact_lock(\(raw: lockOfContents), hashtext(\(raw: address.schema.quotedText)))"
        guard try connection.execute(lock).bytes(0, 0)?[0] == 1 else { throw StoreLockTaken() }
        try body([NSPersistentStoreConnectionsOption: database])
        // The server answers COMMIT after a statement that failed without an error, and undoes all.
        try connection.execute("SELECT 1")
      }
    }
  }

  /// Drops the schema with everything in it, also what others have made there. A place without a store is left alone.
  ///
  /// ```text
  /// DROP SCHEMA "app" CASCADE     waits for all transactions that use its tables
  /// ```
  static func destroy(at url: URL, _ options: [AnyHashable: Any]?, closing: () throws -> Void) throws {
    try connected("Destroying", to: url, options: options) { address, connection in
      if try hasStore(address, connection) {
        try connection.run("DROP SCHEMA \(address.schema.quotedName) CASCADE")
      }
    }
    try closing()
  }

  /// Rows are copied one by one.
  func copy(to opening: StoreOpening) throws -> (any ObjectStore)? { nil }

  static func replace(_ destination: StoreFile, with source: StoreFile) throws {
    throw CoreDataErrors.error(
      .persistentStoreOperation,
      "A PostgreSQL store is not replaced by another one here: copy it at the server, with pg_dump and pg_restore.")
  }

  static func migrate(
    _ source: StoreFile, _ old: NSManagedObjectModel, to destination: StoreFile, _ new: NSManagedObjectModel
  ) throws -> Bool { false }
}

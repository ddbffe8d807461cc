extension SQLiteStore {
  private typealias Pinned = PinnedDatabase<SQLiteDatabase, SQLiteConnection>

  func pin(beside others: [any PinnedStore]) throws -> (any PinnedStore)? {
    try CoreDataErrors.translating("Pinning \(database.configuration.path)") {
      try Pinned(database, beside: others) { try database.pinnedConnection() }
    }
  }

  /// Runs the body on the current file, or on its state in the generation.
  @inline(__always)
  func read<T>(
    _ generation: QueryGeneration?, _ control: FetchControl? = nil, _ body: (SQLiteConnection) throws -> T
  ) throws -> T {
    guard let pinned = generation?.pinned(self) as? Pinned else { return try database.read(control, body) }
    return try pinned.connection.use { try $0.listening(to: control, body) }
  }

  /// Runs a body that looks up rows by key on the current file, or on its state in the generation.
  @inline(__always)
  func lookUp<T>(_ generation: QueryGeneration?, _ body: (SQLiteConnection) throws -> T) throws -> T {
    if generation != nil { return try read(generation, nil, body) }
    return try database.lookUp(body)
  }
}

extension SQLiteDatabase {
  /// A new connection in a read transaction that has begun; nil if such a transaction would block writers, or is not
  /// possible.
  ///
  /// In WAL mode it sees the file's state from its beginning and blocks no writer. But the log cannot start over while
  /// it is open: SQLite does not overwrite frames that a reader needs (https://www.sqlite.org/wal.html, "Avoiding
  /// Excessively Large WAL Files").
  ///
  /// ```text
  /// Pinned context                                Writer
  /// --------------------------------------------  ------------------------------------------------
  /// PRAGMA journal_mode                           (WAL: 40 frames in the log)
  /// BEGIN
  /// SELECT count(*) FROM sqlite_master
  ///   takes a read mark at frame 40
  ///                                               commits: frames 41 to 60
  /// SELECT … FROM ZBOOK: frames up to 40          fetches of others see frame 60
  ///                                               checkpoint: copies frames up to 40 into the file, not more
  ///                                               the log grows; it cannot start over
  /// the generation is freed: COMMIT, close
  ///                                               checkpoint: copies all; the next writer starts the log over
  /// ```
  ///
  /// BEGIN alone takes no mark (https://www.sqlite.org/lang_transaction.html, "DEFERRED"): a commit between BEGIN and
  /// the first read would be seen. Therefore the empty question follows at once.
  func pinnedConnection() throws -> OwnedConnection<SQLiteConnection>? {
    if configuration.isInMemory { return nil }
    let owned = try ownedReader()
    return try owned.use { connection in
      guard try connection.rows("PRAGMA journal_mode").first == [.text("wal")] else { return nil }
      try connection.execute("BEGIN")
      // The first read fixes the state that the transaction sees.
      _ = try connection.integer("SELECT count(*) FROM sqlite_master")
      return owned
    }
  }
}

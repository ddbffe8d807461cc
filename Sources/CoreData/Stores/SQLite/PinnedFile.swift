/// The state of a database file at one moment: a connection with an open read transaction.
///
/// In WAL mode such a transaction sees the file's state from its beginning and blocks no writer. But the log cannot
/// start over while it is open: SQLite does not overwrite frames that a reader needs (https://www.sqlite.org/wal.html,
/// "Avoiding Excessively Large WAL Files").
///
/// `@unchecked Sendable`: the connection is used under `lock`.
final class PinnedFile: @unchecked Sendable {
  let database: SQLiteDatabase
  private let connection: SQLiteConnection
  private let lock = NSRecursiveLock()

  /// Nil if a read transaction would block writers, or is not possible.
  init?(_ database: SQLiteDatabase) throws {
    guard let connection = try database.pinnedConnection() else { return nil }
    self.database = database
    self.connection = connection
  }

  deinit { database.release(connection) }

  func read<T>(_ control: FetchControl?, _ body: (SQLiteConnection) throws -> T) throws -> T {
    try lock.withLock {
      try database.checkOpen()
      return try connection.listening(to: control, body)
    }
  }
}

extension SQLiteStore {
  /// The store's rows in a pinned file, which the stores of one file share.
  private final class Pinned: PinnedStore {
    let file: PinnedFile
    let rowCache = RowCache()

    init(_ file: PinnedFile) { self.file = file }
  }

  func pin(beside others: [any PinnedStore]) throws -> (any PinnedStore)? {
    try CoreDataErrors.translating("Pinning \(database.configuration.path)") {
      let known = others.lazy.compactMap { ($0 as? Pinned)?.file }.first { $0.database === database }
      return try (known ?? PinnedFile(database)).map(Pinned.init)
    }
  }

  /// Runs the body on the current file, or on its state in the generation.
  @inline(__always)
  func read<T>(
    _ generation: QueryGeneration?, _ control: FetchControl? = nil, _ body: (SQLiteConnection) throws -> T
  ) throws -> T {
    guard let pinned = generation?.pinned(self) as? Pinned else { return try database.read(control, body) }
    return try pinned.file.read(control, body)
  }

  /// Runs a body that looks up rows by key on the current file, or on its state in the generation.
  @inline(__always)
  func lookUp<T>(_ generation: QueryGeneration?, _ body: (SQLiteConnection) throws -> T) throws -> T {
    if generation != nil { return try read(generation, nil, body) }
    return try database.lookUp(body)
  }
}

extension SQLiteDatabase {
  /// A new connection in a read transaction that has begun.
  fileprivate func pinnedConnection() throws -> SQLiteConnection? {
    if configuration.isInMemory { return nil }
    let connection = try adoptReader()
    do {
      if try connection.rows("PRAGMA journal_mode").first == [.text("wal")] {
        try connection.execute("BEGIN")
        // The first read fixes the state that the transaction sees.
        _ = try connection.integer("SELECT count(*) FROM sqlite_master")
        return connection
      }
    } catch {
      release(connection)
      throw error
    }
    release(connection)
    return nil
  }
}

/// The stores as they were at one moment: a connection of its own for each file, with a read transaction that stays open.
///
/// In WAL mode such a transaction sees the file as it was when it began, and holds nobody up. But the log cannot begin anew
/// while it is open: SQLite copies no frame over that a reader still needs (https://www.sqlite.org/wal.html, "Avoiding
/// Excessively Large WAL Files"). Files of one coordinator are pinned one after the other, not at the same instant.
///
/// `@unchecked Sendable`: everything is set in `init`; connections are used under `lock`.
final class QueryGeneration: @unchecked Sendable {
  private(set) weak var coordinator: NSPersistentStoreCoordinator?
  private let lock = NSRecursiveLock()
  private var connections: [ObjectIdentifier: (database: SQLiteDatabase, connection: SQLiteConnection)] = [:]
  private var caches: [ObjectIdentifier: RowCache] = [:]

  /// Pins what the coordinator's stores have now. Stores that have no WAL stay as they are.
  init(_ coordinator: NSPersistentStoreCoordinator) throws {
    self.coordinator = coordinator
    for case let store as SQLiteStore in coordinator.persistentStores {
      let key = ObjectIdentifier(store.database)
      if connections[key] == nil {
        guard let connection = try store.database.pinnedConnection() else { continue }
        connections[key] = (store.database, connection)
      }
      caches[ObjectIdentifier(store)] = RowCache()
    }
  }

  deinit {
    for pinned in connections.values { pinned.connection.close() }
  }

  /// The rows that were read in this generation; nil for a store that is not pinned. They never change.
  func cache(of store: SQLiteStore) -> RowCache? { caches[ObjectIdentifier(store)] }

  /// Runs the body on the file as it was.
  func read<T>(
    _ database: SQLiteDatabase, _ control: FetchControl?, _ body: (SQLiteConnection) throws -> T
  ) throws -> T {
    guard let pinned = connections[ObjectIdentifier(database)] else { return try database.read(control, body) }
    return try lock.withLock { try pinned.connection.listening(to: control, body) }
  }
}

extension SQLiteDatabase {
  /// A new connection in a read transaction that has begun; nil where that would keep writers out, or is not possible.
  func pinnedConnection() throws -> SQLiteConnection? {
    if configuration.isInMemory { return nil }
    let connection = try makeReader()
    guard try connection.rows("PRAGMA journal_mode").first == [.text("wal")] else { return nil }
    try connection.execute("BEGIN")
    // The first read is what the transaction holds on to.
    _ = try connection.integer("SELECT count(*) FROM sqlite_master")
    return connection
  }
}

extension SQLiteStore {
  /// Runs the body on the file as it is now, or as it was in the generation.
  @inline(__always)
  func read<T>(
    _ generation: QueryGeneration?, _ control: FetchControl? = nil, _ body: (SQLiteConnection) throws -> T
  ) throws -> T {
    guard let generation else { return try database.read(control, body) }
    return try generation.read(database, control, body)
  }

  /// The cache for rows of the generation.
  @inline(__always)
  func cache(_ generation: QueryGeneration?) -> RowCache {
    guard let generation else { return rowCache }
    return generation.cache(of: self) ?? rowCache
  }
}

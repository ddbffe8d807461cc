/// Brings what is committed from a store's write-ahead log into its file, on a connection of its own.
///
/// Not one of Apple's classes. A process that checkpoints for all others lets them open their stores with `wal_autocheckpoint` 0
/// in `NSSQLitePragmasOption`, so that none of their saves pays for it. Use it from one thread at a time.
public final class WALCheckpointer {
  private let connection: SQLiteConnection
  private let writeTurn: WriteTurn?
  private let longLog: Int

  /// - Parameters:
  ///   - url: the store's file, which must exist.
  ///   - writeTurn: the file of `NSPersistentStoreWriteTurnOption`, by which a log that has become long is ended.
  ///   - longLog: how many bytes are long. Default 16 MiB.
  public init(url: URL, writeTurn: String? = nil, longLog: Int = 16 << 20) throws {
    self.longLog = longLog
    (connection, self.writeTurn) = try CoreDataErrors.translating("Opening \(url.path)") {
      (try SQLiteConnection(path: url.path, access: .readWrite), try writeTurn.map { try WriteTurn(path: $0) })
    }
  }

  /// Copies as much as can be copied without waiting for anybody, and returns how many pages of the log are left.
  ///
  /// SQLite begins the log anew only when a writer finds all of it copied. Under constant writing there is always a little left; so when
  /// the log is long, that little is copied while no other process of the pool writes.
  @discardableResult
  public func checkpoint() throws -> Int {
    try CoreDataErrors.translating("Checkpointing \(connection.path)") {
      let left = try copy()
      guard left > 0, let writeTurn, logBytes > longLog else { return left }
      return try writeTurn.take(copy)
    }
  }

  /// Source: https://www.sqlite.org/pragma.html#pragma_wal_checkpoint, PASSIVE.
  private func copy() throws -> Int {
    // One row: whether it was kept from completing, pages in the log, pages copied; -1 outside WAL mode.
    guard let row = try connection.rows("PRAGMA wal_checkpoint(PASSIVE)").first, row.count == 3,
      case .integer(let pages) = row[1], case .integer(let copied) = row[2]
    else { return 0 }
    return Int(pages - copied)
  }

  private var logBytes: Int {
    var status = stat()
    return stat(connection.path + "-wal", &status) == 0 ? Int(status.st_size) : 0
  }
}

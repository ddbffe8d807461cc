/// Brings what is committed from a store's write-ahead log into its file, on a connection of its own.
///
/// Not one of Apple's classes. A process that checkpoints for all others lets them open their stores with `wal_autocheckpoint` 0
/// in `NSSQLitePragmasOption`, so that none of their saves pays for it. Use it from one thread at a time.
public final class WALCheckpointer {
  private let connection: SQLiteConnection

  /// - Parameter url: the store's file, which must exist.
  public init(url: URL) throws {
    connection = try CoreDataErrors.translating("Opening \(url.path)") {
      try SQLiteConnection(path: url.path, access: .readWrite)
    }
  }

  /// Copies as much as can be copied without waiting for anybody, and returns how many pages of the log are left.
  ///
  /// Source: https://www.sqlite.org/pragma.html#pragma_wal_checkpoint, PASSIVE.
  @discardableResult
  public func checkpoint() throws -> Int {
    try CoreDataErrors.translating("Checkpointing \(connection.path)") {
      // One row: whether it was kept from completing, pages in the log, pages copied; -1 outside WAL mode.
      guard let row = try connection.rows("PRAGMA wal_checkpoint(PASSIVE)").first, row.count == 3,
        case .integer(let pages) = row[1], case .integer(let copied) = row[2]
      else { return 0 }
      return Int(pages - copied)
    }
  }
}

internal import CSQLite

/// What keeps a store's file in good condition, on a connection of its own beside whoever uses the store.
///
/// Not one of Apple's classes (DEVIATIONS.md). Use it from one thread at a time.
public final class StoreMaintenance {
  private let connection: SQLiteConnection
  private let writeTurn: WriteTurn?

  /// - Parameters:
  ///   - url: the store's file, which must exist.
  ///   - writeTurn: the file of `NSPersistentStoreWriteTurnOption`, by whose lock processes take turns at writing.
  public init(url: URL, writeTurn: String? = nil) throws {
    (connection, self.writeTurn) = try CoreDataErrors.translating("Opening \(url.path)") {
      let connection = try SQLiteConnection(path: url.path, access: .readWrite)
      // Whoever is the checkpointer of this store stays the only one.
      try connection.execute("PRAGMA wal_autocheckpoint = 0")
      return (connection, try writeTurn.map { try WriteTurn(path: $0) })
    }
  }

  /// Lets SQLite look at tables whose statistics are missing or old, so that it chooses better indexes.
  ///
  /// Source: https://www.sqlite.org/pragma.html#pragma_optimize
  public func optimize() throws {
    try writing("Optimising") { _ = try connection.rows("PRAGMA optimize = 0x10002") }
  }

  /// Gives free pages at the end of the file back to the file system, a few at a time so that nobody waits long; returns how many.
  ///
  /// Does nothing for a file that was not made with incremental vacuum; those made here are.
  /// - Parameters:
  ///   - pages: pages of one transaction.
  ///   - shouldStop: asked between two transactions.
  /// Source: https://www.sqlite.org/pragma.html#pragma_incremental_vacuum
  public func vacuum(pages: Int = 1000, shouldStop: () throws -> Bool = { false }) throws -> Int {
    let before = try freePages()
    var left = before
    while left > 0, try !shouldStop() {
      try writing("Vacuuming") { _ = try connection.rows("PRAGMA incremental_vacuum(\(pages))") }
      let now = try freePages()
      if now >= left { break }
      left = now
    }
    return before - left
  }

  private func freePages() throws -> Int {
    try CoreDataErrors.translating("Reading \(connection.path)") {
      Int(try connection.integer("PRAGMA freelist_count") ?? 0)
    }
  }

  /// Reads the whole file and all its indexes, and returns what is wrong with them: nothing for a good one.
  ///
  /// Source: https://www.sqlite.org/pragma.html#pragma_integrity_check
  public func problems() throws -> [String] {
    try CoreDataErrors.translating("Checking \(connection.path)") {
      let rows = try connection.rows("PRAGMA integrity_check(100)")
      let lines = rows.compactMap { if case .text(let line)? = $0.first { line } else { nil } }
      return lines == ["ok"] ? [] : lines
    }
  }

  /// Copies the store as it is at this moment into a new file, which appears under its name when it is complete and on disk. Nobody
  /// who reads or writes waits for it.
  ///
  /// - Parameters:
  ///   - url: replaced if it is there.
  ///   - progress: called now and then with the pages done and all; when it throws the copy is given up.
  /// Source: https://www.sqlite.org/backup.html
  public func backUp(to url: URL, progress: (Int, Int) throws -> Void = { _, _ in }) throws {
    let temporary = url.path + ".\(UUID().uuidString).tmp"
    defer { for suffix in ["", "-journal", "-wal", "-shm"] { unlink(temporary + suffix) } }
    try CoreDataErrors.translating("Backing up \(connection.path)") {
      // One snapshot for all steps: a writer would otherwise make the copy begin anew each time.
      try connection.execute("BEGIN")
      defer { try? connection.execute("COMMIT") }
      _ = try connection.integer("SELECT count(*) FROM sqlite_master")
      let copy = try SQLiteConnection(path: temporary, access: .create)
      defer { copy.close() }
      guard let backup = sqlite3_backup_init(copy.handle, "main", connection.handle, "main") else {
        throw copy.lastError(sql: nil)
      }
      var code = SQLITE_OK
      var stop: (any Error)?
      while code == SQLITE_OK, stop == nil {
        code = sqlite3_backup_step(backup, 1000)
        let (left, all) = (Int(sqlite3_backup_remaining(backup)), Int(sqlite3_backup_pagecount(backup)))
        do { try progress(all - left, all) } catch { stop = error }
      }
      sqlite3_backup_finish(backup)
      if let stop { throw stop }
      guard code == SQLITE_DONE else { throw copy.lastError(sql: nil) }
    }
    try Self.synchronize(temporary)
    guard rename(temporary, url.path) == 0 else {
      throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: url.path])
    }
    try Self.synchronize(url.deletingLastPathComponent().path)
  }

  private static func synchronize(_ path: String) throws {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw CocoaError(.fileReadUnknown, userInfo: [NSFilePathErrorKey: path]) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: path]) }
  }

  private func writing(_ what: String, _ body: () throws -> Void) throws {
    try CoreDataErrors.translating("\(what) \(connection.path)") {
      if let writeTurn { try writeTurn.take(body) } else { try body() }
    }
  }
}

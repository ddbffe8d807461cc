internal import CSQLite
internal import LinuxSystem

/// Maintains a store's file, on a connection of its own, while others use the store.
///
/// An addition to Apple's API. Use it on one thread at a time.
public final class StoreMaintenance {
  private let connection: SQLiteConnection
  private let writeTurn: WriteTurn?

  /// - Parameters:
  ///   - url: the store's file, which must exist.
  ///   - writeTurn: the file of `NSPersistentStoreWriteTurnOption`, whose lock lets processes take turns at writing.
  public init(url: URL, writeTurn: String? = nil) throws {
    (connection, self.writeTurn) = try CoreDataErrors.translating("Opening \(url.path)") {
      let connection = try SQLiteConnection(path: url.path, access: .readWrite)
      // This connection must not checkpoint: the store has a checkpointer of its own.
      try connection.execute("PRAGMA wal_autocheckpoint = 0")
      return (connection, try writeTurn.map { try WriteTurn(path: $0) })
    }
  }

  /// Updates missing and old statistics of tables, so that SQLite chooses better indexes.
  ///
  /// Source: https://www.sqlite.org/pragma.html#pragma_optimize
  public func optimize() throws {
    try writing("Optimising") { _ = try connection.rows("PRAGMA optimize = 0x10002") }
  }

  /// Returns free pages at the end of the file to the file system, a few at a time so that writers do not wait long.
  /// Returns their number.
  ///
  /// Does nothing for a file that was created without incremental vacuum; those created here have it.
  /// - Parameters:
  ///   - pages: the number of pages in one transaction.
  ///   - shouldStop: called between two transactions; true ends the work.
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

  /// Reads the whole file and its indexes, and returns their faults; empty for a good file.
  ///
  /// Source: https://www.sqlite.org/pragma.html#pragma_integrity_check
  public func problems() throws -> [String] {
    try CoreDataErrors.translating("Checking \(connection.path)") {
      let rows = try connection.rows("PRAGMA integrity_check(100)")
      let lines = rows.compactMap { if case .text(let line)? = $0.first { line } else { nil } }
      return lines == ["ok"] ? [] : lines
    }
  }

  /// Copies the current state of the store into a new file, which gets its name when it is complete and on disk.
  /// Readers and writers do not wait for it.
  ///
  /// - Parameters:
  ///   - url: the place of the copy; a regular file there is replaced, nothing else.
  ///   - progress: called now and then with the number of copied pages and of all pages. If it throws, the copy is
  ///     given up.
  /// Source: https://www.sqlite.org/backup.html
  public func backUp(to url: URL, progress: (Int, Int) throws -> Void = { _, _ in }) throws {
    try CoreDataErrors.translatingFiles(.sqlite) { try checkReplaceable(url.path) }
    let temporary = url.path + ".\(UUID().uuidString).tmp"
    defer { for suffix in ["", "-journal", "-wal", "-shm"] { unlink(temporary + suffix) } }
    try CoreDataErrors.translating("Backing up \(connection.path)") {
      // All steps read one snapshot: a writer would otherwise restart the copy each time.
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
    try CoreDataErrors.translatingFiles(.sqlite) {
      try synchronizeFile(temporary)
      try checkReplaceable(url.path)
      guard rename(temporary, url.path) == 0 else {
        throw FileError(path: url.path, action: "be replaced", errno: errno)
      }
      try synchronizeDirectory(url.deletingLastPathComponent().path)
    }
  }

  private func writing(_ what: String, _ body: () throws -> Void) throws {
    try CoreDataErrors.translating("\(what) \(connection.path)") {
      if let writeTurn { try writeTurn.take(body) } else { try body() }
    }
  }
}

internal import CSQLite

extension SQLiteConnection {
  /// Replaces this database by a copy of another one, in place: others that have it open see the new content with their
  /// next statement.
  ///
  /// Waits for locks as statements do. Source: https://www.sqlite.org/c3ref/backup_finish.html
  func copy(from source: SQLiteConnection) throws {
    guard let backup = sqlite3_backup_init(handle, "main", source.handle, "main") else { throw lastError(sql: nil) }
    let code = sqlite3_backup_step(backup, -1)
    let finished = sqlite3_backup_finish(backup)
    guard code == SQLITE_DONE, finished == SQLITE_OK else {
      let failure = finished == SQLITE_OK ? code : finished
      throw SQLiteError(
        code: failure, message: "\(String(cString: sqlite3_errstr(failure))): copying \(source.path) to \(path)",
        sql: nil)
    }
  }

  /// Empties this database, as if its file was new.
  func erase() throws {
    let empty = try SQLiteConnection(path: ":memory:", access: .create)
    // A write-ahead log cannot take pages of another size.
    if let size = try integer("PRAGMA page_size") { try empty.execute("PRAGMA page_size = \(size)") }
    try copy(from: empty)
  }
}

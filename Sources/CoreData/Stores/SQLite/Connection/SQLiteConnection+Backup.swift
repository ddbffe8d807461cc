internal import CSQLite

extension SQLiteConnection {
  /// Replaces this database by a copy of another one, in place: others that have it open see the new content with their
  /// next statement.
  ///
  /// Waits for locks as statements do.
  ///
  /// - Parameter locking: called before a page is copied, with a function that locks this database: from then on no one
  ///   else can write to it. What it throws ends the copy and leaves the database as it was. The source must not be
  ///   empty.
  func copy(from source: SQLiteConnection, locking: Locking? = nil) throws {
    _ = try copy(from: source, pages: -1, locking: locking) { _, _ in }
  }

  /// What happens around the moment in which a destination is locked.
  package typealias Locking = (_ lock: () throws -> Void) throws -> Void

  /// The same in steps. Source: https://www.sqlite.org/c3ref/backup_finish.html
  ///
  /// With several pages at once a writer of this process or another may come between two steps. The copy then begins
  /// anew, except if the writer uses the same connection as the source
  /// (https://www.sqlite.org/c3ref/backup_finish.html). With -1 the source is locked against writers for one step, and
  /// the copy is one state.
  ///
  /// - Parameters:
  ///   - pages: the number of pages that are copied at once; -1 for all.
  ///   - locking: see `copy(from:locking:)`.
  ///   - progress: called after each of these steps with the number of copied pages and of all. What it throws ends the
  ///     copy.
  /// - Returns: the number of all pages.
  package func copy(
    from source: SQLiteConnection, pages: Int32, locking: Locking? = nil, progress: (Int, Int) throws -> Void
  ) throws -> Int {
    guard let backup = sqlite3_backup_init(handle, "main", source.handle, "main") else { throw lastError(sql: nil) }
    var code = SQLITE_OK
    var stop: (any Error)?
    var count = 0
    do {
      try locking?({
        // No page: it takes the destination's lock, which `sqlite3_backup_finish` releases.
        code = sqlite3_backup_step(backup, 0)
        guard code == SQLITE_OK else { throw CannotLock() }
      })
    } catch is CannotLock {
    } catch { stop = error }
    while code == SQLITE_OK, stop == nil {
      code = sqlite3_backup_step(backup, pages)
      count = Int(sqlite3_backup_pagecount(backup))
      do { try progress(count - Int(sqlite3_backup_remaining(backup)), count) } catch { stop = error }
    }
    let finished = sqlite3_backup_finish(backup)
    if let stop { throw stop }
    guard code == SQLITE_DONE, finished == SQLITE_OK else {
      let failure = finished == SQLITE_OK ? code : finished
      throw SQLiteError(
        code: failure, message: "\(String(cString: sqlite3_errstr(failure))): copying \(source.path) to \(path)",
        sql: nil)
    }
    return count
  }

  /// The step's code says why.
  private struct CannotLock: Error {}

  /// Empties this database, as if its file was new.
  ///
  /// For `destroyPersistentStore`: the file stays, so that others who have it open see an empty database instead of a
  /// file without a name.
  func erase() throws {
    let empty = try SQLiteConnection(path: ":memory:", access: .create)
    // A write-ahead log cannot take pages of another size.
    if let size = try integer("PRAGMA page_size") { try empty.execute("PRAGMA page_size = \(size)") }
    try copy(from: empty)
  }
}

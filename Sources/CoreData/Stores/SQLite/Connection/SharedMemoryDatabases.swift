internal import Synchronization

/// The databases in memory that several coordinators of a process share: those at `/dev/null/NAME`. A database lives as
/// long as a coordinator has it open.
///
/// ```text
/// coordinator 1: /dev/null/cache      a database "cache", users = 1
/// coordinator 2: /dev/null/cache      the same one, users = 2
/// coordinator 3: /dev/null            a database of its own
/// 1 removes its store                 users = 1; the rows stay
/// 2 removes its store                 users = 0: the database closes, the rows are gone
/// ```
enum SharedMemoryDatabases {
  private struct Entry: Sendable {
    let database: SQLiteDatabase
    var users = 0
  }

  private static let entries = Mutex<[String: Entry]>([:])

  /// Returns the shared database that the configuration names, or a new one. The caller must call `giveUp` once.
  static func database(_ configuration: SQLiteDatabase.Configuration) throws -> SQLiteDatabase {
    guard let name = configuration.sharedName else { return try SQLiteDatabase(configuration) }
    return try entries.withLock { entries in
      var entry = try entries[name] ?? Entry(database: SQLiteDatabase(configuration))
      entry.users += 1
      entries[name] = entry
      return entry.database
    }
  }

  static func giveUp(_ database: SQLiteDatabase, named name: String) {
    let isLast = entries.withLock { entries in
      guard let entry = entries[name], entry.database === database else { return false }
      entries[name]?.users -= 1
      guard entry.users == 1 else { return false }
      entries[name] = nil
      return true
    }
    if isLast { database.close() }
  }

  /// Later openings of the name get a new database; current users keep the old one.
  static func forget(_ url: URL) {
    guard let name = url.inMemoryStoreName else { return }
    entries.withLock { $0[name] = nil }
  }
}

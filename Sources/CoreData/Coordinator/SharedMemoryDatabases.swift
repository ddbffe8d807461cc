internal import Synchronization

/// Databases in memory that several coordinators of a process have in common: those at `/dev/null/NAME`. A database lives as long as
/// one of them has it open.
enum SharedMemoryDatabases {
  private struct Entry: Sendable {
    let database: SQLiteDatabase
    var users = 0
  }

  private static let entries = Mutex<[String: Entry]>([:])

  /// `/dev/null` itself is a database of one coordinator alone.
  static func isInMemory(_ url: URL) -> Bool { url.path == "/dev/null" || name(of: url) != nil }

  static func name(of url: URL) -> String? {
    let start = "/dev/null/"
    return url.path.hasPrefix(start) && url.path.count > start.count ? String(url.path.dropFirst(start.count)) : nil
  }

  /// The database of the name, made by the body where there is none. Whoever calls this calls `giveUp` once.
  static func database(named name: String, _ make: () throws -> SQLiteDatabase) throws -> SQLiteDatabase {
    try entries.withLock { entries in
      var entry = try entries[name] ?? Entry(database: make())
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

  /// Whoever opens the name from now on gets a new database; those who have the old one keep it.
  static func forget(_ url: URL) {
    guard let name = name(of: url) else { return }
    entries.withLock { $0[name] = nil }
  }
}

internal import CSQLite
internal import CSystem
internal import LinuxSystem

/// The memory for the pages of a connection, which grows with a large transaction and is given back after it.
///
/// SQLite keeps 2 MB of pages. A transaction that writes to more of them in no order, as the index of a random UUID
/// makes it do, moves pages into the log and reads them again, over and over. A million such rows took 20.1 s with 2 MB
/// and 9.8 s with 64 MB; 300,000 read 145,000 pages again, and 1,100 with a cache that grows.
///
/// How many pages are needed depends on rows, indexes and the order of values. Therefore it is observed: as long as the
/// statements read pages again that the transaction had to move, the limit is doubled. SQLite takes memory for a page
/// when it needs one, so a limit that is not reached costs nothing.
///
/// Source: https://www.sqlite.org/pragma.html#pragma_cache_size, https://www.sqlite.org/c3ref/c_dbstatus_options.html
struct PageCache {
  /// Whether the program has chosen the size, which stays then.
  var hasChosenSize = false
  /// The size in bytes while a transaction has more than the usual one; 0 for the usual one.
  private(set) var grownSize = 0
  private var usual = Usual(pragma: 0, bytes: 0)
  /// The statements since the last look.
  private var statements = 0
  /// The pages that were read and moved at the last look.
  private var seen = (reads: Int32(0), moves: Int32(0))

  private struct Usual {
    let pragma: Int64
    let bytes: Int
  }

  /// The number of statements between two looks. A small save has fewer.
  private static let statementsOfLook = 64
  /// The bytes from which memory that was given back is returned to the kernel at once.
  private static let leastToTrim = 16 << 20

  /// The most bytes: a share of the memory that this process may have. Of the processes that write to one file, only
  /// the one whose transaction is open has grown.
  static let largest = max(8 << 20, MemoryLimit.bytes / 32)

  /// Called after each statement that writes.
  @inline(__always)
  mutating func didWrite(_ connection: SQLiteConnection) {
    statements += 1
    if statements >= Self.statementsOfLook { look(connection) }
  }

  /// Asks SQLite's counters whether the transaction reads pages again that it had to move.
  ///
  /// ```text
  /// 64 statements of one transaction        what it means                      what happens
  /// --------------------------------------  ---------------------------------  -----------------------------
  /// 0 pages moved into the log              everything fits                    nothing
  /// pages moved, few read again             rows in the order of their keys    nothing: they are not needed
  /// pages moved, 64 or more read again      an index in random order           the limit is doubled
  /// ```
  @inline(never)
  private mutating func look(_ connection: SQLiteConnection) {
    let before = seen
    let count = Int32(statements)
    statements = 0
    seen = (connection.status(SQLITE_DBSTATUS_CACHE_MISS), connection.status(SQLITE_DBSTATUS_CACHE_SPILL))
    // Moves alone are of pages that are not needed again: those of rows in the order of their keys.
    guard !hasChosenSize, connection.isInTransaction, seen.moves &- before.moves > 0,
      seen.reads &- before.reads >= count
    else { return }
    let present = grownSize
    grow(connection) { max($0.bytes, present) * 2 }
  }

  /// Gives the cache a size, unless the present one is larger.
  private mutating func grow(_ connection: SQLiteConnection, to size: (Usual) throws -> Int) {
    // Whatever fails here, the transaction is as correct with the present size.
    guard let usual = grownSize > 0 ? usual : try? Self.usual(connection), let requestedSize = try? size(usual) else {
      return
    }
    let size = min(requestedSize, Self.largest)
    guard size > max(usual.bytes, grownSize), (try? connection.execute("PRAGMA cache_size = -\(size / 1024)")) != nil
    else { return }
    self.usual = usual
    grownSize = size
  }

  /// The size without growth, from the pragma's two forms.
  ///
  /// ```text
  /// PRAGMA cache_size    -2000      2,000 KiB, SQLite's default
  /// PRAGMA cache_size      500      500 pages of 4,096 bytes, if the program has set it so
  /// ```
  private static func usual(_ connection: SQLiteConnection) throws -> Usual {
    let pragma = try connection.integer("PRAGMA cache_size") ?? -2000
    // A negative number is in KiB, another one in pages.
    let unit = try pragma < 0 ? 1024 : connection.integer("PRAGMA page_size") ?? 4096
    return Usual(pragma: pragma, bytes: Int(clamping: pragma.magnitude) * Int(unit))
  }

  /// Lets the pages of the whole file stay in memory, for a single statement that writes many rows, which no look
  /// interrupts. The sorter of CREATE INDEX has the same limit.
  fileprivate mutating func growForFile(_ connection: SQLiteConnection) {
    guard !hasChosenSize else { return }
    grow(connection) { _ in
      let pages = try connection.integer("PRAGMA page_count") ?? 0
      // Copies of its tables may come to the file.
      return Int(pages * 2) * Int(try connection.integer("PRAGMA page_size") ?? 4096)
    }
  }

  /// Gives the memory beyond the usual size back, after the transaction.
  ///
  /// SQLite frees the pages beyond the limit when it is lowered. The heap may keep their memory for later use;
  /// `csystem_trim_heap` gives it to the kernel if it is much.
  fileprivate mutating func shrink(_ connection: SQLiteConnection) {
    guard grownSize > 0 else { return }
    let used = Int(connection.status(SQLITE_DBSTATUS_CACHE_USED))
    // If it fails, the next transaction's end tries again.
    guard (try? connection.execute("PRAGMA cache_size = \(usual.pragma)")) != nil else { return }
    grownSize = 0
    if used - usual.bytes >= Self.leastToTrim { csystem_trim_heap() }
  }
}

extension SQLiteConnection {
  /// Prepares the transaction for a statement that may write many of the file's pages.
  func growCacheForFile() { pageCache.growForFile(self) }

  func shrinkCache() { pageCache.shrink(self) }

  /// One of SQLite's counters of this connection.
  func status(_ counter: Int32) -> Int32 {
    var (current, highest) = (Int32(0), Int32(0))
    sqlite3_db_status(handle, counter, &current, &highest, 0)
    return current
  }
}

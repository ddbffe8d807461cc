internal import LinuxSystem

/// The files of a store's external data that its saves write and replace.
///
/// A file is on disk before the row that names it. The file of an old value stays until nobody can need it: no reader
/// sees a state in which a row names it, and the state without it is on disk. SQLite's log tells both at once. It
/// starts over only when all of it is in the main file, synchronised, and no reader needs an earlier state
/// (https://www.sqlite.org/wal.html, "Checkpointing"). Files that a killed process leaves are for ``UnusedFiles``.
///
/// `@unchecked Sendable`: the folder is constant; all else is used on the writer connection only, under its lock.
///
/// A save that replaces a large cover:
///
/// ```text
/// this save                                        others
/// -----------------------------------------------  -------------------------------------------------
/// writes the file NEW, fsync
/// UPDATE ZBOOK SET ZCOVER = 02 NEW 00              a reader's state has 02 OLD 00: it reads OLD
/// fsync of the folder: the name NEW is on disk
/// COMMIT
/// asks whether the row still names OLD: no
/// OLD waits, with the log's generation 7           the reader goes on
/// …
/// a later commit sees the generation 8:            the log has started over: no reader of generation 7 is
///   removes OLD                                      left, and the file has the new row on disk
/// ```
///
/// A crash before COMMIT leaves NEW unnamed, a crash after it leaves OLD: `UnusedFiles` finds both.
final class ExternalFiles: @unchecked Sendable {
  /// A value that the transaction replaces or deletes, if it is committed.
  struct Replaced {
    let table: String
    let column: String
    let key: Int64
    let stored: Data
  }

  let folder: ExternalFolder
  private let store: URL
  private let busyTimeout: TimeInterval
  /// The files written since the last part of the transaction that is known to succeed.
  private var written: [String] = []
  /// What the saves since the last commit replaced.
  var replaced: [Replaced] = []
  /// Files that no row names any more, with the log's generation at that time.
  private var waiting: [(file: ExternalFile, generation: UInt32?)] = []
  /// The bytes of waiting files at which the log is started over for their sake.
  private var limit = standardLimit
  private static let standardLimit = 16 << 20

  init(of database: SQLiteDatabase.Configuration) {
    store = URL(fileURLWithPath: database.path)
    busyTimeout = database.busyTimeout
    folder = ExternalFolder(of: store)
  }

  // MARK: Writing

  /// The number of files that were written and may have to be removed again.
  var writtenCount: Int { written.count }

  /// What the row stores for a value: the value itself if it is small, or if its file cannot be written.
  func stored(_ value: Data) -> Data {
    // The value is as safe in the row. If the disk is full, the row cannot be written either, and the save says so.
    guard value.count > ExternalData.largestInside, let name = try? folder.write(value) else {
      return ExternalData.encode(value)
    }
    written.append(name)
    return ExternalData.stored(fileName: name)
  }

  /// Brings the names of the written files to the disk. Called in the transaction whose rows name them.
  func keepWritten() throws {
    guard !written.isEmpty else { return }
    try CoreDataErrors.translatingFiles(.persistentStoreSave) { try folder.synchronize() }
    written = []
  }

  /// Removes the written files except the first ones: their part of the transaction is taken back.
  func removeWritten(after first: Int = 0) {
    for name in written.dropFirst(first) { unlink(folder.path(of: name)) }
    written.removeSubrange(min(first, written.count)...)
  }

  // MARK: Removing

  var isIdle: Bool { replaced.isEmpty && waiting.isEmpty }

  /// Notes the files whose rows are gone since the transaction was committed, and removes those that nobody can need.
  func didCommit(_ connection: SQLiteConnection) {
    // Inside of another transaction its end decides.
    guard !connection.isInTransaction, !isIdle else { return }
    let generation = Self.generation(connection)
    for value in replaced where isGone(value, connection) {
      guard let name = ExternalData.fileName(value.stored), let file = folder.file(name) else { continue }
      waiting.append((file, generation))
    }
    replaced = []
    removeUnneeded(connection, generation)
  }

  /// Removes the waiting files if readers allow it now.
  func close(_ connection: SQLiteConnection) {
    guard !waiting.isEmpty, !connection.isInTransaction else { return }
    limit = 0
    removeUnneeded(connection, Self.generation(connection))
  }

  /// A part of the transaction may have been taken back, so that the row still has the value. A row that cannot be
  /// read keeps its file.
  private func isGone(_ value: Replaced, _ connection: SQLiteConnection) -> Bool {
    let query: SQL = """
      SELECT 1 FROM \(raw: value.table) WHERE Z_PK = \(bind: .integer(value.key)) \
      AND \(raw: value.column) = \(bind: .blob(value.stored))
      """
    return (try? connection.rows(query))?.isEmpty ?? false
  }

  /// The log's generation; nil without a log. Then a commit waits for all readers, and is on disk.
  private static func generation(_ connection: SQLiteConnection) -> UInt32? {
    // If the log's index cannot be read, the files wait: it is one and the same generation.
    do { return try connection.walIndex()?.generation } catch { return 0 }
  }

  /// A store that is written rarely would keep old covers for long, as its log never starts over by itself. From 16 MB
  /// on a checkpoint is asked for:
  ///
  /// ```text
  /// PRAGMA wal_checkpoint(PASSIVE)        copies what can be copied without waiting
  /// PRAGMA wal_checkpoint(RESTART)        waits for nobody; its first column is 0 if the log can start over
  /// ```
  ///
  /// If a reader is in the way, the limit is doubled: asking again for each save would cost without an end.
  private func removeUnneeded(_ connection: SQLiteConnection, _ generation: UInt32?) {
    var ready = waiting.filter { generation == nil || $0.generation != generation }
    let bytes = waiting.reduce(0) { $0 + $1.file.size }
    if ready.count < waiting.count, bytes >= limit {
      // An error means that the files have to wait, as a reader does.
      if (try? connection.endsEarlierStates(waiting: 0, then: busyTimeout)) ?? false {
        ready = waiting
        limit = Self.standardLimit
      } else {
        limit = max(bytes * 2, Self.standardLimit)
      }
    }
    guard !ready.isEmpty else { return }
    // Rows of another store may name files of a folder that both have: those are for `UnusedFiles`.
    // The same goes for a folder that cannot be read.
    guard (try? ExternalFolder.neighbours(of: store))?.isEmpty ?? false else { return waiting = [] }
    guard folder.remove(ready.map(\.file)) != nil else { return }
    let removed = Set(ready.map(\.file))
    waiting.removeAll { removed.contains($0.file) }
  }
}

extension SQLiteConnection {
  /// Brings the log into the main file and waits until no reader needs an earlier state. False if one stays longer.
  ///
  /// Source: https://www.sqlite.org/c3ref/wal_checkpoint_v2.html, SQLITE_CHECKPOINT_RESTART.
  ///
  /// - Parameters:
  ///   - seconds: the time to wait for each lock.
  ///   - busyTimeout: the time that the connection's other statements wait.
  func endsEarlierStates(waiting seconds: TimeInterval, then busyTimeout: TimeInterval = standardBusyTimeout) throws
    -> Bool
  {
    // Most of it is copied before writers have to wait.
    _ = try rows("PRAGMA wal_checkpoint(PASSIVE)")
    setBusyTimeout(seconds)
    defer { setBusyTimeout(busyTimeout) }
    // The first column tells whether a reader or writer was in the way.
    return try rows("PRAGMA wal_checkpoint(RESTART)").first?.first == .integer(0)
  }
}

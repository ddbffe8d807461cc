import CoreData
internal import LinuxSystem

/// Maintains a store's file, on a connection of its own, while others use the store.
///
/// ```swift
/// import StoreTools
///
/// let maintenance = try StoreMaintenance(url: url)
/// try maintenance.optimize()
/// print(try maintenance.vacuum(), "pages given back")
/// print(try maintenance.problems())
/// try maintenance.backUp(to: URL(fileURLWithPath: "/backups/app.sqlite"))
/// ```
///
/// For SQLite files. A pool does the same by jobs of the kind `maintain`. An addition to Apple's API. Use it on one
/// thread at a time; the calls block.
public final class StoreMaintenance {
  private let url: URL
  private let connection: SQLiteConnection
  private let writeTurn: FairFileLock?

  /// Opens a store's file.
  ///
  /// - Parameters:
  ///   - url: the store's file, which must exist.
  ///   - writeTurn: the file of `NSPersistentStoreWriteTurnOption`, whose lock lets processes take turns at writing.
  ///     Give it where a pool runs on the store; nil, the default, waits for writers as SQLite does.
  /// - Throws: 134080 if the file cannot be opened, and other errors of SQLite.
  public init(url: URL, writeTurn: String? = nil) throws {
    self.url = url
    (connection, self.writeTurn) = try CoreDataErrors.translating("Opening \(url.path)") {
      let connection = try SQLiteConnection(path: url.path, access: .readWrite)
      // This connection must not checkpoint: the store has a checkpointer of its own.
      try connection.execute("PRAGMA wal_autocheckpoint = 0")
      return (connection, try writeTurn.map { try FairFileLock.writeTurn($0) })
    }
  }

  /// Updates missing and old statistics of tables, so that SQLite chooses better indexes.
  ///
  /// It looks at each table and analyses those that have changed much, reading their indexes. Call it once
  /// after many rows were imported, and now and then in a program that runs long. Throws 134090 if the store stays
  /// locked.
  ///
  /// Source: https://www.sqlite.org/pragma.html#pragma_optimize
  public func optimize() throws {
    try writing("Optimising") { _ = try connection.rows("PRAGMA optimize = 0x10002") }
  }

  /// Returns free pages at the end of the file to the file system, a few at a time so that writers do not wait long.
  ///
  /// Does nothing for a file that was created without incremental vacuum; those created here have it. Deleted rows
  /// leave free pages, which later rows use: call it only where the file has to become smaller.
  ///
  /// - Parameters:
  ///   - pages: the number of pages in one transaction. Default: 1000, four megabytes; fewer let writers in more often.
  ///   - shouldStop: called between two transactions; true ends the work.
  /// - Returns: the number of pages that were returned.
  /// - Throws: 134090 if the store stays locked, and what `shouldStop` throws.
  ///
  /// Source: https://www.sqlite.org/pragma.html#pragma_incremental_vacuum
  public func vacuum(pages: Int = 1000, shouldStop: () throws -> Bool = { false }) throws -> Int {
    let before = try freePages()
    var freePageCount = before
    while freePageCount > 0, try !shouldStop() {
      try writing("Vacuuming") { _ = try connection.rows("PRAGMA incremental_vacuum(\(raw: pages))") }
      let now = try freePages()
      if now >= freePageCount { break }
      freePageCount = now
    }
    return before - freePageCount
  }

  /// Removes the files of external data that no row names: killed processes leave them, and so do readers of old
  /// values.
  ///
  /// A program that opens the store after a crash does it by itself; this is for stores that are never closed.
  ///
  /// - Returns: their number; nil if files are left because a reader or writer stayed in the way for
  ///   ``WALCheckpointer/longLockTimeout``, or a store is being copied to this place.
  public func removeUnusedFiles() throws -> Int? {
    try CoreDataErrors.translating("Removing unused files of \(connection.path)") {
      try UnusedFiles(of: url, writeTurn: writeTurn).remove(waiting: WALCheckpointer.longLockTimeout)
    }
  }

  private func freePages() throws -> Int {
    try CoreDataErrors.translating("Reading \(connection.path)") {
      Int(try connection.integer("PRAGMA freelist_count") ?? 0)
    }
  }

  /// Reads the whole file and its indexes, and returns their faults, and the missing files of external data; empty for
  /// a good store.
  ///
  /// It takes as long as reading the file, and others may read and write meanwhile. At most a hundred faults are
  /// returned, each as one line. A store with faults should be replaced by a backup.
  ///
  /// - Throws: errors of SQLite, where the file cannot be read at all.
  ///
  /// Source: https://www.sqlite.org/pragma.html#pragma_integrity_check
  public func problems() throws -> [String] {
    try CoreDataErrors.translating("Checking \(connection.path)") {
      let rows = try connection.rows("PRAGMA integrity_check(100)")
      let lines = rows.compactMap { if case .text(let line)? = $0.first { line } else { nil } }
      return lines == ["ok"] ? try missingFiles() : lines
    }
  }

  /// The first hundred.
  private func missingFiles() throws -> [String] {
    let folder = ExternalFolder(of: url)
    var missing: [String] = []
    try connection.reading {
      try connection.forEachExternalFile { name, table in
        guard missing.count < 100, folder.file(name) == nil else { return }
        missing.append("a row of \(table) names the file \(folder.path(of: name)), which is missing")
      }
    }
    return missing
  }

  /// Copies the current state of the store into a new file, which gets its name when it is complete and on disk; the
  /// files of its external data are copied before, into the folder ``folderOfLargeValues(of:)``. Readers and writers do
  /// not wait for it.
  ///
  /// All of it is one state of the store, however long the copying takes; the write-ahead log grows meanwhile. After an
  /// error, or if the process is killed, what was at the place before is unchanged. A half-made copy of a killed
  /// process goes with the next backup into the directory.
  ///
  /// - Parameters:
  ///   - url: the place of the copy; a regular file there is replaced, nothing else.
  ///   - progress: called now and then, and before each file, with the number of copied pages and of all pages. If it
  ///     throws, the copy is given up.
  /// - Throws: 134070 for a place that is one of the store's own files, whose directory is missing, or where the copy
  ///   would share the store's folder for large values; 134180 if the copy cannot be written.
  ///
  /// Source: https://www.sqlite.org/backup.html
  public func backUp(to url: URL, progress: (Int, Int) throws -> Void = { _, _ in }) throws {
    try CoreDataErrors.translatingFiles(.sqlite) { try checkReplaceable(url.path) }
    for suffix in ["", "-wal", "-shm"] where url.isSamePlace(as: URL(fileURLWithPath: self.url.realPath + suffix)) {
      throw CoreDataErrors.error(
        .persistentStoreOperation, "\(url.path) is a file of the store itself: choose another path for the backup.")
    }
    // SQLite takes "/a/b/../c" for "/a/c" though there is no b; the system does not.
    let directory = url.deletingLastPathComponent().path
    guard access(directory, F_OK) == 0 else {
      throw CoreDataErrors.error(
        .persistentStoreOperation, "\(directory) cannot be reached: \(String(cString: strerror(errno))); make it first."
      )
    }
    let unfinished = try CoreDataErrors.translatingFiles(.sqlite) {
      try UnfinishedStore(of: self.url.lastPathComponent, for: "backup", in: directory)
    }
    try CoreDataErrors.translating("Backing up \(connection.path)") {
      // All steps read one snapshot: a writer would otherwise restart the copy each time.
      try connection.reading {
        let names = try connection.externalFileNames()
        try requireOwnFolder(for: url, names)
        let pages = try copyPages(to: unfinished.url.path, progress)
        // The files of this state stay until they are copied.
        try ExternalFolder(of: unfinished.url).bring(names, from: ExternalFolder(of: self.url)) {
          try progress(pages, pages)
        } then: {
        }
      }
    }
    try CoreDataErrors.translatingFiles(.sqlite) { try unfinished.putInPlace(at: url, replaces: true) }
    // Those of a backup that was there before.
    UnusedFiles(of: url).removeIfPossible()
  }

  /// The folder with the large values of the store at a place; nil if there is none. It belongs to the store's file,
  /// and has to go along when the file is moved: without it the rows name files that are missing.
  public static func folderOfLargeValues(of url: URL) -> URL? {
    let folder = ExternalData.supportFolder(of: url)
    return FileManager.default.fileExists(atPath: folder.path) ? folder : nil
  }

  /// Throws if the copy would share the store's folder for external data. The folder's name leaves out the extension of
  /// the file's, so `a.backup` and `a.sqlite` have the same folder. A person who moved the backup with its folder would
  /// take the store's files away.
  private func requireOwnFolder(for copy: URL, _ names: Set<String>) throws {
    let ownFolder = ExternalFolder(of: self.url)
    let directory = copy.deletingLastPathComponent()
    guard names.isEmpty || ExternalFolder(of: copy).path != ownFolder.path,
      !directory.isSamePlace(as: URL(fileURLWithPath: ownFolder.path))
    else {
      throw CoreDataErrors.error(
        .persistentStoreOperation,
        "\(copy.path) and the store would share the folder \(ownFolder.path), where the store keeps large values: "
          + "choose a name that differs before its extension, or another directory.")
    }
  }

  /// Returns the number of pages.
  private func copyPages(to path: String, _ progress: (Int, Int) throws -> Void) throws -> Int {
    let copy = try SQLiteConnection(path: path, access: .create)
    defer { copy.close() }
    return try copy.copy(from: connection, pages: 1000, progress: progress)
  }

  private func writing(_ what: String, _ body: () throws -> Void) throws {
    try CoreDataErrors.translating("\(what) \(connection.path)") {
      if let writeTurn { try writeTurn.hold(body) } else { try body() }
    }
  }
}

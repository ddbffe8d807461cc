package import LinuxSystem

/// Removes the files of external data that no row names: those of killed processes, of replaced values and stores.
///
/// It works without a model. A file leaves only after these steps, so that it is no matter what others do meanwhile:
/// 1. The files are listed while nobody writes to the store, and nobody copies a store to its place. So no row of a
///    transaction that is not committed names one of them.
/// 2. The names in all rows are read. Of what is left no later state names a file, for names are not used again.
/// 3. The log is brought into the main file, and nobody reads an earlier state. So neither a reader nor a power cut
///    leads back to a row that named one.
/// 4. Only then they are removed, unless a copy of a store has brought another file of that name.
package struct UnusedFiles {
  private let store: URL
  private let folder: ExternalFolder
  private let writeTurn: FairFileLock?

  /// - Parameter writeTurn: that of `NSPersistentStoreWriteTurnOption`.
  package init(of store: URL, writeTurn: FairFileLock? = nil) {
    self.store = store
    self.writeTurn = writeTurn
    folder = ExternalFolder(of: store)
  }

  /// - Parameter seconds: the time to wait for writers, and for readers of earlier states.
  /// - Returns: the number of removed files; nil if some are left because others are using the store, or are copying to
  ///   its place.
  package func remove(waiting seconds: TimeInterval) throws -> Int? {
    if folder.files().isEmpty { return 0 }
    do {
      return try removeUnused(waiting: seconds)
    } catch let error as SQLiteError where [5, 6].contains(error.primaryCode) {
      return nil
    }
  }

  /// Why step 3 is needed, though no row of the newest state names the file:
  ///
  /// ```text
  /// Reader                                   Writer                          Removing
  /// ---------------------------------------  ------------------------------  --------------------------------
  /// SELECT … of a state with 02 OLD 00
  ///                                          ZCOVER = 02 NEW 00, COMMIT
  ///                                                                          no row names OLD (newest state)
  /// decodes ZCOVER: opens OLD                                                must not remove it yet
  /// ends                                                                     RESTART succeeds: removes OLD
  /// ```
  private func removeUnused(waiting seconds: TimeInterval) throws -> Int? {
    let places = try [store] + ExternalFolder.neighbours(of: store)
    let databases = try places.map {
      try SQLiteConnection(path: $0.path, access: .readWrite, busyTimeout: seconds)
    }
    defer { for database in databases { database.close() } }
    guard var unused = try folder.whileNothingComes({ try list(databases) }) else { return nil }
    for database in databases where !unused.isEmpty {
      let names = try database.externalFileNames()
      unused = unused.filter { !names.contains($0.name) }
    }
    if unused.isEmpty { return 0 }
    for database in databases {
      guard try writing({ try database.endsEarlierStates(waiting: seconds) }) else { return nil }
    }
    return folder.remove(unused)
  }

  /// The same for a store that was destroyed or replaced, as far as nobody is in the way: files that stay do no harm,
  /// and the next call for the store removes them.
  package func removeIfPossible() {
    _ = try? remove(waiting: Self.shortTime)
    folder.removeIfEmpty()
  }

  /// Seconds: longer than look-ups by key keep a transaction.
  private static let shortTime = 0.1

  /// The files that are there while nobody writes to any of the databases.
  ///
  /// Inside of a transaction that writes nothing: while it is open no other process is between writing a file and
  /// committing the row that names it. With two databases for one folder a file has to be there both times.
  private func list(_ databases: [SQLiteConnection]) throws -> Set<ExternalFile> {
    var files: Set<ExternalFile>?
    for database in databases {
      let now = try writing { try database.immediateTransaction { Set(folder.files()) } }
      files = files?.intersection(now) ?? now
    }
    return files ?? []
  }

  private func writing<T>(_ body: () throws -> T) throws -> T {
    if let writeTurn { try writeTurn.hold(body) } else { try body() }
  }
}

extension ExternalFolder {
  /// The other databases that have the same folder, since their names differ in the extension only.
  ///
  /// `Library.sqlite` and `Library.backup` both have `.Library_SUPPORT`: the folder is named after the file without its
  /// extension, as in Apple's stores. A file of one of them is not unused because the other does not name it.
  static func neighbours(of store: URL) throws -> [URL] {
    let file = URL(fileURLWithPath: store.realPath)
    let folder = file.deletingLastPathComponent()
    let stem = file.deletingPathExtension().lastPathComponent
    return try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { name in
      name.hasPrefix(stem) && name != file.lastPathComponent
    }.map(folder.appendingPathComponent).filter { other in
      try other.deletingPathExtension().lastPathComponent == stem
        && !["-wal", "-shm", "-journal"].contains { other.lastPathComponent.hasSuffix($0) }
        && !other.isSamePlace(as: file) && isDatabase(other)
    }
  }

  /// Asks SQLite: opening and closing the file here would drop the locks that this process has on it.
  private static func isDatabase(_ file: URL) throws -> Bool {
    var status = stat()
    guard stat(file.path, &status) == 0, FileKind(status) == .regular, status.st_size > 0 else { return false }
    let connection = try SQLiteConnection(path: file.path, access: .readWrite)
    defer { connection.close() }
    do {
      _ = try connection.rows("PRAGMA schema_version")
      return true
    } catch let error as SQLiteError where error.primaryCode == 26 {
      return false
    }
  }
}

extension SQLiteConnection {
  /// The names of the files that rows name, in the connection's state of the file. Of any table: several stores may
  /// share the file, and the history keeps values of deleted rows.
  package func externalFileNames() throws -> Set<String> {
    var names: Set<String> = []
    try forEachExternalFile { name, _ in names.insert(name) }
    return names
  }

  /// Gives the body each file's name with the table whose row names it.
  ///
  /// For the library with covers, two statements:
  ///
  /// ```text
  /// SELECT tables.name, group_concat('"' || replace(columns.name, '"', '""') || '"', char(10))
  ///   FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns
  ///   WHERE … columns.type = 'BLOB' COLLATE NOCASE GROUP BY tables.name
  /// SELECT "ZCOVER" FROM "ZBOOK" WHERE length("ZCOVER") = 38
  /// ```
  ///
  /// It also finds the history's ZTOMBSTONE columns, which keep values of deleted rows.
  package func forEachExternalFile(_ body: (_ name: String, _ table: String) throws -> Void) throws {
    let tables = try rows(
      """
      SELECT tables.name, group_concat('"' || replace(columns.name, '"', '""') || '"', char(10)) \
      FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns \
      WHERE tables.type = 'table' AND tables.rootpage > 0 AND columns.type = 'BLOB' COLLATE NOCASE GROUP BY tables.name
      """)
    for table in tables {
      guard case .text(let name) = table[0], case .text(let list) = table[1] else { continue }
      let columns = list.split(separator: "\n").map(String.init)
      // SQLite knows a value's length without reading it.
      let isNamed = columns.map { "length(\($0)) = \(ExternalData.storedNameLength)" }.joined(separator: " OR ")
      let statement = try SQLiteStatement(
        sql: "SELECT \(columns.joined(separator: ", ")) FROM \(name.quotedName) WHERE \(isNamed)", connection: self)
      while try statement.step() {
        for column in 0..<statement.columnCount {
          guard case .blob(let stored) = statement.value(column), let file = ExternalData.fileName(stored) else {
            continue
          }
          try body(file, name)
        }
      }
    }
  }

  /// Runs the body in a read transaction: all its reads see one state, and what that state needs stays.
  package func reading<T>(_ body: () throws -> T) throws -> T {
    try execute("BEGIN")
    // A transaction that has only read ends without an error that matters.
    defer { try? execute("COMMIT") }
    // The first read fixes the state.
    _ = try integer("SELECT count(*) FROM sqlite_master")
    return try body()
  }
}

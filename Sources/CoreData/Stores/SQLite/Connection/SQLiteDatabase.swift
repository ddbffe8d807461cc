internal import CSQLite
internal import LinuxSystem
internal import Synchronization

/// A database file with a writer and several readers, each used by one user at a time.
///
/// In WAL mode readers never wait for the writer nor the writer for them (https://www.sqlite.org/wal.html). All stores
/// of one coordinator on the same file share one `SQLiteDatabase`, so that a save to several of them is one
/// transaction.
///
/// `@unchecked Sendable`: the writer, its uses and the observers are used under `writeLock`; the pool of connections
/// and the commits do their own locking.
///
/// ```text
/// connections of one coordinator to one file            who has it
/// -----------------------------------------------------  ---------------------------------------------
/// writer        1; opens the file, reads the newest      the thread that has `writeLock`
/// readers       0 to 8, opened when needed               a fetch, from `pool.take()` to `giveBack`
/// owned ones    1 for each pinned generation             its generation
/// watcher's     1 for the process and file               `CommitWatcher`, if commits are observed
/// ```
///
/// What a commit and a fetch do to each other in WAL mode:
///
/// ```text
/// Reader                                         Writer
/// ---------------------------------------------  --------------------------------------------
///                                                BEGIN IMMEDIATE: the write lock
/// SELECT: reads the file and the log up to the   INSERT: appends pages to the log
///   last commit; waits for nobody
///                                                COMMIT: the new end of the log in shared memory
/// still sees the state of its beginning
/// next SELECT: sees the commit
/// ```
///
/// And two writers, of this process or another:
///
/// ```text
/// Writer A                                       Writer B
/// ---------------------------------------------  --------------------------------------------
/// BEGIN IMMEDIATE
///                                                BEGIN IMMEDIATE: SQLITE_BUSY; the busy handler
/// COMMIT                                         sleeps 50 µs, 100 µs, … and tries again
///                                                has the lock; reads versions: A's save is seen
/// ```
///
/// IMMEDIATE matters: a transaction that begins as a reader and then writes can fail with SQLITE_BUSY_SNAPSHOT, and no
/// waiting helps, since its state is old (https://www.sqlite.org/isolation.html).
final class SQLiteDatabase: @unchecked Sendable {
  /// What two stores have to agree on to share a database is the place alone: the first one's options count for both.
  struct Configuration: Sendable {
    var path: String
    /// Whether the database is in this process's memory: `path` is not used, and the writer reads too.
    var isInMemory = false
    /// The name of a database in memory that several coordinators share.
    var sharedName: String?
    var isReadOnly = false
    /// Whether a missing file is an error.
    var mustExist = false
    /// Seconds.
    var busyTimeout: TimeInterval = SQLiteConnection.standardBusyTimeout
    var maximumReaders = 8
    /// Statements run on each new connection, such as `PRAGMA cache_size = -4000`.
    var connectionPragmas: [String] = []
    /// The file whose lock lets the pool's writers take turns; nil for none.
    var writeTurnPath: String?
  }

  let configuration: Configuration
  private var writer: SQLiteConnection
  private let writeTurn: FairFileLock?
  /// Recursive: a save may obtain keys, and a merge policy may read, inside the transaction.
  private let writeLock = NSRecursiveLock()
  private let pool: ConnectionPool<SQLiteConnection>
  /// How many uses of the writer are under way, one inside the other, and whether it is used no more after them.
  private var writerUses = 0
  /// Set with `writeLock`. A use that is under way goes on; the next one throws.
  private var isClosed = false
  private let commits = ForeignCommits()
  /// Whether `endSharedReads` will be called.
  private let watchesSharedReads = Atomic(false)
  /// The observers of commits to a database in memory, which no other process can make. Used under `writeLock`.
  private var commitObservers: [UUID: @Sendable (SQLiteConnection) -> Void] = [:]

  /// The writer opens the file at once, so that a missing or damaged file is an error of `addPersistentStore`; readers
  /// come later.
  init(_ configuration: Configuration) throws {
    self.configuration = configuration
    self.writeTurn = try configuration.writeTurnPath.map { try FairFileLock.writeTurn($0) }
    self.writer = try SQLiteConnection(
      path: configuration.isInMemory ? ":memory:" : configuration.path,
      access: configuration.isReadOnly ? .readOnly : configuration.mustExist ? .readWrite : .create,
      busyTimeout: configuration.busyTimeout)
    pool = ConnectionPool(place: configuration.path, maximumReaders: configuration.maximumReaders) {
      try Self.makeReader(configuration)
    }
    try prepareWriter()
    try pool.adopt(writer)
  }

  private func prepareWriter() throws {
    for pragma in configuration.connectionPragmas { try writer.execute(pragma) }
    writer.pageCache.hasChosenSize = configuration.hasCacheSize
  }

  /// Makes the running statements fail with SQLITE_INTERRUPT, from any thread. Later statements are not affected.
  ///
  /// Source: https://www.sqlite.org/c3ref/interrupt.html
  func interrupt() { pool.interrupt() }

  // MARK: Writing

  /// Runs the body with the writer, for set-up and for reading the latest state. Waits for its current user.
  ///
  /// The lock is recursive and counts its uses: closing the database from inside of a use ends it when the outermost
  /// use ends.
  ///
  /// - Throws: 134070 once the database is closed.
  func withWriter<T>(_ body: (SQLiteConnection) throws -> T) throws -> T {
    writeLock.lock()
    defer { writeLock.unlock() }
    if isClosed && writerUses == 0 { try pool.checkOpen() }
    writerUses += 1
    defer {
      writerUses -= 1
      if isClosed { closeWriter() }
    }
    return try body(writer)
  }

  /// Runs the body in one `IMMEDIATE` transaction, or in the open one of the same thread.
  ///
  /// The order of the locks, which is the same for every writer:
  ///
  /// ```text
  /// 1. writeLock              threads of this process, this coordinator
  /// 2. writeTurn              processes, if the option names a file; in the order in which they ask
  /// 3. BEGIN IMMEDIATE        all writers of the file, with or without the option; the first to try
  /// ```
  ///
  /// A body inside of another one's transaction joins it: a save obtains keys, or a merge policy reads, without a lock
  /// of its own.
  @_semantics("optimize.sil.specialize.generic.never")  // a copy for each caller takes long to compile
  func write<T>(_ body: (SQLiteConnection) throws -> T) throws -> T {
    try withWriter { connection in
      if connection.isReadOnly, !configuration.isReadOnly { return try writeAnew(body) }
      if connection.isInTransaction { return try body(connection) }
      guard let writeTurn else { return try transaction(connection, body) }
      try writeTurn.take(within: configuration.busyTimeout)
      defer { writeTurn.release() }
      return try transaction(connection, body)
    }
  }

  /// Runs the body in a transaction, whose commit is noted as one of this coordinator.
  ///
  /// `totalChanges` tells whether anything was written. A transaction without changes does not move the log's end
  /// (SQLite writes no frame for it), so the next commit that is seen is another connection's.
  private func transaction<T>(_ connection: SQLiteConnection, _ body: (SQLiteConnection) throws -> T) throws -> T {
    if configuration.isInMemory {
      let result = try connection.immediateTransaction { try body(connection) }
      noteCommit(connection)
      return result
    }
    do {
      let result = try connection.immediateTransaction {
        commits.begin(connection)
        let changes = connection.totalChanges
        let result = try body(connection)
        if connection.totalChanges != changes { commits.willCommit() }
        return result
      }
      commits.didCommit(connection)
      return result
    } catch {
      commits.didFail()
      throw error
    }
  }

  /// Opens the file for writing again: while this process had no right to write, SQLite opened it for reading only.
  ///
  /// All connections of a process share its index of the log, which may have been opened for reading only too. So the
  /// others are closed before the new one opens the file.
  ///
  /// How it comes to that: a disk was mounted read-only, or a file had no right to be written, when the store was
  /// opened; the person has mended it since. SQLite does not look again by itself.
  private func writeAnew<T>(_ body: (SQLiteConnection) throws -> T) throws -> T {
    let new = try SQLiteConnection(
      path: configuration.path, access: .readWrite, busyTimeout: configuration.busyTimeout)
    guard !new.isReadOnly, pool.closeAll(except: writer) else {
      throw SQLiteError(code: SQLITE_READONLY, message: "attempt to write a readonly database", sql: nil)
    }
    commits.stop()
    pool.release(writer)
    writer = new
    try pool.adopt(new)
    try prepareWriter()
    try commits.follow(writer)
    return try write(body)
  }

  private func noteCommit(_ connection: SQLiteConnection) {
    // Coordinators that share a database in memory cannot tell their own commits from others'.
    if configuration.sharedName != nil { commits.noteForeign() }
    for observer in commitObservers.values { observer(connection) }
  }

  /// Calls the body after commits of any process: on the watcher's thread, or for a database in memory on the one that
  /// commits.
  ///
  /// In memory the body runs on the thread that saves, after the commit and still under the write lock.
  ///
  /// - Returns: what ends the calls.
  func observeCommits(_ body: @escaping @Sendable (SQLiteConnection) -> Void) throws -> @Sendable () -> Void {
    guard configuration.isInMemory else {
      let registration = try CommitWatcher.shared.watch(configuration.path, body)
      return { registration.cancel() }
    }
    let number = UUID()
    writeLock.withLock { commitObservers[number] = body }
    return { [weak self] in self?.writeLock.withLock { self?.commitObservers[number] = nil } }
  }

  // MARK: Reading

  /// Runs the body with a reader of its own, and waits if all are busy. In memory the writer is the only connection. A
  /// cancelled `control` ends the body's statements.
  ///
  /// The reader may have a shared transaction of look-ups open, whose state is older than the last commit; it ends
  /// first.
  func read<T>(_ control: FetchControl? = nil, _ body: (SQLiteConnection) throws -> T) throws -> T {
    if configuration.isInMemory { return try withWriter { try $0.listening(to: control, body) } }
    let reader = try pool.take()
    defer { pool.giveBack(reader) }
    reader.endSharedRead()
    return try reader.listening(to: control, body)
  }

  /// Runs a body that looks up rows by key. Look-ups that follow each other share a read transaction as long as nobody
  /// commits.
  ///
  /// ```text
  /// for author in authors { print(author.name) }       a fault for each: a look-up for each
  ///
  /// look-ups 1 to 16    each begins and ends a read transaction by itself (SQLite's autocommit)
  /// look-up 17          BEGIN; the following share it
  /// a commit            the header of the log's index differs: the transaction ends before the next look-up
  /// no look-up          after 5 to 10 ms `endSharedReads` ends it, so that the log can start over
  /// ```
  func lookUp<T>(_ body: (SQLiteConnection) throws -> T) throws -> T {
    if configuration.isInMemory { return try withWriter(body) }
    let reader = try pool.take()
    defer { pool.giveBack(reader) }
    if try reader.shareRead() { watchSharedReads() }
    return try body(reader)
  }

  private func watchSharedReads() {
    guard !watchesSharedReads.exchange(true, ordering: .relaxed) else { return }
    DispatchTimers.after(SharedRead.timeout) { [weak self] in self?.endSharedReads() }
  }

  /// Ends the shared transactions that nobody has used since the last call.
  ///
  /// A timer calls it, and it sets the next one as long as a transaction is open. A process that reads nothing has no
  /// timer.
  private func endSharedReads() {
    watchesSharedReads.store(false, ordering: .relaxed)
    var isOpen = false
    let areInUse = pool.forEachIdleReader { reader in
      reader.endSharedReadUnlessUsed()
      if reader.sharedRead.isOpen { isOpen = true }
    }
    // A reader in use may have one.
    if isOpen || areInUse { watchSharedReads() }
  }

  // MARK: Connections of one owner

  /// A new connection for reading that has one owner.
  func ownedReader() throws -> OwnedConnection<SQLiteConnection> {
    try OwnedConnection(try Self.makeReader(configuration), of: pool)
  }

  /// Opens a reader, which no statement can make write.
  ///
  /// ```text
  /// PRAGMA synchronous = NORMAL      as the options say
  /// PRAGMA query_only = 1            from now on any write is an error
  /// ```
  private static func makeReader(_ configuration: Configuration) throws -> SQLiteConnection {
    // Opened read-write, because a reader may have to create or recover the WAL's index; query_only keeps it from
    // writing.
    let reader = try SQLiteConnection(
      path: configuration.path, access: configuration.isReadOnly ? .readOnly : .readWrite,
      busyTimeout: configuration.busyTimeout)
    for pragma in configuration.connectionPragmas { try reader.execute(pragma) }
    try reader.execute("PRAGMA query_only = 1")
    return reader
  }

  // MARK: Others' commits

  /// Notes the file's state, with which later ones are compared.
  func followCommits() throws {
    if configuration.isInMemory { return }
    try withWriter { try commits.follow($0) }
  }

  /// Changes when a connection of another process or coordinator has committed. Does not wait for the writer.
  ///
  /// Called once for each block of a context, and outside of blocks for each fault that fires. In WAL mode 48 bytes of
  /// memory are compared; it needs neither a lock of SQLite nor a system call.
  func foreignVersion() -> Int64 {
    if configuration.isInMemory { return commits.latestVersion }
    if let version = commits.version() { return version }
    do {
      return try read { commits.version(at: try $0.fileMark()) }
    } catch {
      // A file that cannot be read now may have changed.
      return commits.noteForeign()
    }
  }

  /// The same without a look at the file; in a transaction it is the version at its start.
  var latestVersion: Int64 { commits.latestVersion }

  /// Frees the pages that connections keep which nobody uses now.
  func releaseMemory() {
    if writeLock.try() {
      if !isClosed { writer.releaseMemory() }
      writeLock.unlock()
    }
    pool.forEachIdleReader { $0.releaseMemory() }
  }

  // MARK: Closing

  /// Ends a coordinator's use. A shared database closes with its last user.
  func giveUp() {
    if let name = configuration.sharedName { SharedMemoryDatabases.giveUp(self, named: name) } else { close() }
  }

  /// Closes the connections: those in use when their use ends. Later uses are errors.
  ///
  /// The writer is closed last. The last connection to a file brings its log into it and removes the log
  /// (https://www.sqlite.org/wal.html, "The WAL File"), unless another process has the file open.
  func close() {
    writeLock.withLock {
      isClosed = true
      pool.close()
      closeWriter()
    }
  }

  /// Closes the writer unless it is in use, by the thread that closes the database.
  private func closeWriter() {
    guard writerUses == 0 else { return }
    commits.stop()
    pool.release(writer)
  }
}

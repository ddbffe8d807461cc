internal import CSQLite
internal import Synchronization

/// A database file with a writer and several readers, each used by one user at a time.
///
/// In WAL mode readers never wait for the writer nor the writer for them (https://www.sqlite.org/wal.html). All stores
/// of one coordinator on the same file share one `SQLiteDatabase`, so that a save to several of them is one
/// transaction.
///
/// `@unchecked Sendable`: the writer, the observers and the number of commits are used under `writeLock`, the readers
/// and the list of connections under `condition`; the handy reader and the number of waiting users are atomic.
final class SQLiteDatabase: @unchecked Sendable {
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
  private let writeTurn: WriteTurn?
  /// Recursive: a save may obtain keys, and a merge policy may read, inside the transaction.
  private let writeLock = NSRecursiveLock()
  private let condition = NSCondition()
  private var idleReaders: [SQLiteConnection] = []
  private var readerCount = 0
  /// The reader that was given back last, to be taken without the lock: an owned reference, or 0.
  private let handyReader = Atomic<UInt>(0)
  /// The users who look for a reader under the lock, and may wait for one.
  private let seekers = Atomic<Int>(0)
  /// Whether `endSharedReads` will be called.
  private let watchesSharedReads = Atomic(false)
  /// The observers of commits to a database in memory, which no other process can make. Used under `writeLock`.
  private var commitObservers: [ObjectIdentifier: @Sendable (SQLiteConnection) -> Void] = [:]
  private var commitCount: Int64 = 0
  /// All open connections, to be interrupted. Used under `condition`.
  private var connections: [SQLiteConnection] = []

  init(_ configuration: Configuration) throws {
    self.configuration = configuration
    self.writeTurn = try configuration.writeTurnPath.map { try WriteTurn(path: $0) }
    self.writer = try SQLiteConnection(
      path: configuration.isInMemory ? ":memory:" : configuration.path,
      access: configuration.isReadOnly ? .readOnly : configuration.mustExist ? .readWrite : .create,
      busyTimeout: configuration.busyTimeout)
    for pragma in configuration.connectionPragmas { try writer.execute(pragma) }
    connections = [writer]
  }

  deinit { _ = takeHandyReader() }

  /// Makes the running statements fail with SQLITE_INTERRUPT, from any thread. Later statements are not affected.
  ///
  /// Source: https://www.sqlite.org/c3ref/interrupt.html
  func interrupt() {
    condition.withLock { for connection in connections { connection.interrupt() } }
  }

  // MARK: Writing

  /// Runs the body with the writer, for set-up and for reading the latest state. Waits for its current user.
  func withWriter<T>(_ body: (SQLiteConnection) throws -> T) rethrows -> T {
    writeLock.lock()
    defer { writeLock.unlock() }
    return try body(writer)
  }

  /// Runs the body in one `IMMEDIATE` transaction, or in the open one of the same thread.
  func write<T>(_ body: (SQLiteConnection) throws -> T) throws -> T {
    try withWriter { connection in
      if connection.isReadOnly, !configuration.isReadOnly { return try writeAnew(body) }
      if connection.isInTransaction { return try body(connection) }
      guard let writeTurn else {
        let result = try connection.immediateTransaction { try body(connection) }
        if configuration.isInMemory { noteCommit(connection) }
        return result
      }
      return try writeTurn.take { try connection.immediateTransaction { try body(connection) } }
    }
  }

  /// Opens the file for writing again: while this process had no right to write, SQLite opened it for reading only.
  ///
  /// All connections of a process share its index of the log, which may have been opened for reading only too. So the
  /// others are closed before the new one opens the file.
  private func writeAnew<T>(_ body: (SQLiteConnection) throws -> T) throws -> T {
    let new = try SQLiteConnection(
      path: configuration.path, access: .readWrite, busyTimeout: configuration.busyTimeout)
    let old: [SQLiteConnection]? = condition.withLock {
      if let reader = takeHandyReader() { idleReaders.append(reader) }
      guard !new.isReadOnly, idleReaders.count == readerCount else { return nil }
      defer {
        connections = [new]
        idleReaders = []
        readerCount = 0
      }
      return connections
    }
    guard let old else {
      throw SQLiteError(code: SQLITE_READONLY, message: "attempt to write a readonly database", sql: nil)
    }
    writer = new
    for connection in old { connection.close() }
    for pragma in configuration.connectionPragmas { try writer.execute(pragma) }
    return try write(body)
  }

  private func noteCommit(_ connection: SQLiteConnection) {
    commitCount += 1
    for observer in commitObservers.values { observer(connection) }
  }

  /// Registers a body that is called after each commit to a database in memory, on the thread that commits.
  func observeCommits(_ observer: AnyObject, _ body: @escaping @Sendable (SQLiteConnection) -> Void) {
    withWriter { _ in commitObservers[ObjectIdentifier(observer)] = body }
  }

  func stopObservingCommits(_ observer: AnyObject) {
    withWriter { _ in commitObservers[ObjectIdentifier(observer)] = nil }
  }

  // MARK: Reading

  /// Runs the body with a reader of its own, and waits if all are busy. In memory the writer is the only connection. A
  /// cancelled `control` ends the body's statements.
  func read<T>(_ control: FetchControl? = nil, _ body: (SQLiteConnection) throws -> T) throws -> T {
    if configuration.isInMemory { return try withWriter { try $0.listening(to: control, body) } }
    let reader = try takeReader()
    defer { giveBack(reader) }
    reader.endSharedRead()
    return try reader.listening(to: control, body)
  }

  /// Runs a body that looks up rows by key. Look-ups that follow each other share a read transaction as long as nobody
  /// commits.
  func lookUp<T>(_ body: (SQLiteConnection) throws -> T) throws -> T {
    if configuration.isInMemory { return try withWriter(body) }
    let reader = try takeReader()
    defer { giveBack(reader) }
    if try reader.shareRead() { watchSharedReads() }
    return try body(reader)
  }

  private func watchSharedReads() {
    guard !watchesSharedReads.exchange(true, ordering: .relaxed) else { return }
    // Not with the quality of service `utility`: such a thread is nicer, threads that it starts inherit that, and
    // Dispatch then complains on standard error that a user may not take it back (setpriority(2)).
    DispatchQueue.global().asyncAfter(deadline: .now() + SharedRead.timeout) { [weak self] in
      self?.endSharedReads()
    }
  }

  /// Ends the shared transactions that nobody has used since the last call.
  private func endSharedReads() {
    watchesSharedReads.store(false, ordering: .relaxed)
    let mayBeLeft = condition.withLock {
      if let reader = takeHandyReader() { idleReaders.append(reader) }
      for reader in idleReaders { reader.endSharedReadUnlessUsed() }
      // A reader in use may have one. A closed database has no connections.
      return !connections.isEmpty
        && (idleReaders.count < readerCount || idleReaders.contains { $0.sharedRead.isOpen })
    }
    if mayBeLeft { watchSharedReads() }
  }

  private func takeReader() throws -> SQLiteConnection {
    if let reader = takeHandyReader() ?? takeIdleReader() { return reader }
    do {
      let reader = try makeReader()
      condition.withLock { connections.append(reader) }
      return reader
    } catch {
      condition.withLock { readerCount -= 1 }
      condition.signal()
      throw error
    }
  }

  /// Waits until a reader is idle or may be made; nil in the second case.
  private func takeIdleReader() -> SQLiteConnection? {
    condition.lock()
    defer { condition.unlock() }
    // A thread that returns a reader now sees this count, or stores the reader where the search below finds it.
    seekers.add(1, ordering: .sequentiallyConsistent)
    defer { seekers.subtract(1, ordering: .sequentiallyConsistent) }
    while true {
      if let reader = idleReaders.popLast() ?? takeHandyReader() { return reader }
      if readerCount < configuration.maximumReaders { break }
      condition.wait()
    }
    readerCount += 1
    return nil
  }

  @inline(__always)
  private func takeHandyReader() -> SQLiteConnection? {
    let bits = handyReader.exchange(0, ordering: .sequentiallyConsistent)
    return UnsafeRawPointer(bitPattern: bits).map { Unmanaged<SQLiteConnection>.fromOpaque($0).takeRetainedValue() }
  }

  /// A new connection for reading, outside of the pool of readers.
  func makeReader() throws -> SQLiteConnection {
    // Opened read-write, because a reader may have to create or recover the WAL's index; query_only keeps it from
    // writing.
    let reader = try SQLiteConnection(
      path: configuration.path, access: configuration.isReadOnly ? .readOnly : .readWrite,
      busyTimeout: configuration.busyTimeout)
    for pragma in configuration.connectionPragmas { try reader.execute(pragma) }
    try reader.execute("PRAGMA query_only = 1")
    return reader
  }

  private func giveBack(_ reader: SQLiteConnection) {
    var reader = reader
    let bits = UInt(bitPattern: Unmanaged.passRetained(reader).toOpaque())
    if handyReader.compareExchange(expected: 0, desired: bits, ordering: .sequentiallyConsistent).exchanged {
      guard seekers.load(ordering: .sequentiallyConsistent) > 0, let taken = takeHandyReader() else { return }
      reader = taken
    } else {
      Unmanaged.passUnretained(reader).release()
    }
    condition.withLock { idleReaders.append(reader) }
    condition.signal()
  }

  /// Changes when a connection of another process or coordinator has committed.
  ///
  /// Asked on the writer, whose own commits do not count (https://www.sqlite.org/pragma.html#pragma_data_version).
  func foreignVersion() -> Int64 {
    // Coordinators that share a database in memory cannot tell their own commits from others'.
    if configuration.sharedName != nil { return withWriter { _ in commitCount } }
    return withWriter { (try? $0.integer("PRAGMA data_version")) ?? 0 }
  }

  /// Frees the pages that connections keep which nobody uses now.
  func releaseMemory() {
    if writeLock.try() {
      writer.releaseMemory()
      writeLock.unlock()
    }
    condition.withLock {
      if let reader = takeHandyReader() { idleReaders.append(reader) }
      for reader in idleReaders { reader.releaseMemory() }
    }
  }

  /// Ends a coordinator's use. A shared database closes with its last user.
  func giveUp() {
    if let name = configuration.sharedName { SharedMemoryDatabases.giveUp(self, named: name) } else { close() }
  }

  func close() {
    condition.withLock {
      connections.removeAll()
      takeHandyReader()?.close()
      for reader in idleReaders { reader.close() }
      idleReaders.removeAll()
    }
    withWriter { $0.close() }
  }
}

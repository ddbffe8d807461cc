internal import Synchronization

/// The connections of a coordinator to one database: a writer and several readers, each used by one user at a time.
///
/// All stores of one coordinator in the same database share one `ServerDatabase`, so that a save to several of them is
/// one transaction. Connections are opened when they are needed, and again when they were lost.
///
/// `@unchecked Sendable`: the writer and everything about its transaction are used under `writeLock`; the pool of
/// connections, the clock and the commits do their own locking.
final class ServerDatabase: @unchecked Sendable {
  let address: ServerAddress
  /// Recursive: a save may obtain keys, and a merge policy may read, inside the transaction.
  private let writeLock = NSRecursiveLock()
  private var writer: ServerWriter?
  /// The writer's connection in the pool.
  private var pooledWriter: PooledServerConnection?
  /// What is the same as long as the writer's server continues the same transactions.
  private var lineage: String?
  private var isWriting = false
  /// The number of the open transaction at the server, once something has asked for it.
  private var transaction: String?
  private let pool: ConnectionPool<PooledServerConnection>
  /// How often a connection was found lost.
  private let losses = Atomic<Int>(0)
  var lossCount: Int { losses.load(ordering: .acquiring) }
  let commits = OwnCommits()
  private let clock: ServerClock
  /// The thread whose reads go to the writer, inside its transaction; 0 for none.
  private let threadInside = Atomic<UInt>(0)
  /// A test's own way to open connections.
  let connect: (String) throws -> any ServerConnection

  init(
    _ address: ServerAddress, maximumReaders: Int,
    connect: @escaping (String) throws -> any ServerConnection = ServerDriver.open
  ) {
    self.address = address
    self.connect = connect
    let clock = ServerClock()
    self.clock = clock
    // `nonisolated(unsafe)`: opens a connection of its own with each call.
    nonisolated(unsafe) let connect = connect
    pool = ConnectionPool(place: address.description, maximumReaders: maximumReaders) {
      PooledServerConnection(try Self.open(address, clock, connect))
    }
  }

  /// Makes the running statements fail, from any thread. Later statements are not affected.
  func interrupt() { pool.interrupt() }

  /// Closes the connections: those in use when their use ends. Later uses are errors.
  func close() {
    writeLock.withLock {
      pool.close()
      if !isWriting { dropConnections() }
    }
  }

  /// Closes the connections that nobody uses now.
  private func dropConnections() {
    pool.closeIdleReaders()
    dropWriter()
  }

  /// Ends the session of the writer, unless the caller is inside of its transaction.
  func closeWriter() { withWriter { if !isWriting { dropWriter() } } }

  private func dropWriter() {
    if let pooledWriter { pool.release(pooledWriter) }
    (writer, pooledWriter) = (nil, nil)
  }

  private static func open(
    _ address: ServerAddress, _ clock: ServerClock, _ connect: (String) throws -> any ServerConnection
  ) throws -> any ServerConnection {
    let connection = try connect(address.connectionString)
    try connection.run(settings)
    try clock.read(connection)
    return connection
  }

  private func open() throws -> any ServerConnection { try Self.open(address, clock, connect) }

  /// Rounded as seldom as possible; and no statement of ours depends on the user's settings. Versions of rows and
  /// constraints detect conflicts, so a stricter isolation would only add failures.
  /// A transaction of a host that is gone must not keep its locks for the two hours that are the kernel's default.
  static let settings = """
    SET extra_float_digits = 3; SET search_path = pg_catalog; SET timezone = 'UTC'; \
    SET standard_conforming_strings = on; SET default_transaction_isolation = 'read committed'; \
    SET default_transaction_deferrable = off; \
    SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3; \
    SET tcp_user_timeout = 10000
    """

  /// The time by the server's clock; nil if it was never reached.
  var serverDate: Date? { clock.date { try read { connection, _ in try clock.read(connection) } } }

  // MARK: Reading

  /// Runs the body with a reader of its own, and waits if all are busy. If the connection is lost, the body runs once
  /// more with another one, unless it has set `hasBegun`. A cancelled `control` ends the body's statements.
  func read<T>(
    _ control: FetchControl? = nil, _ body: (any ServerConnection, _ hasBegun: inout Bool) throws -> T
  ) throws -> T {
    var hasBegun = false
    if threadInside.load(ordering: .relaxed) == UInt(pthread_self()) {
      return try write { try body($0, &hasBegun) }
    }
    do {
      return try readOnce(control) { try body($0, &hasBegun) }
    } catch let error as ServerError where error.isConnectionLost && !hasBegun {
      noteLoss()
      // The others were lost with it.
      pool.closeIdleReaders()
      return try readOnce(control) { try body($0, &hasBegun) }
    }
  }

  private func readOnce<T>(_ control: FetchControl?, _ body: (any ServerConnection) throws -> T) throws -> T {
    let reader = try pool.take()
    defer { pool.giveBack(reader) }
    return try reader.connection.listening(to: control, body)
  }

  // MARK: Connections of one owner

  /// A new connection that has one owner. The body prepares it.
  func ownedConnection(
    _ prepare: (any ServerConnection) throws -> Void
  ) throws -> OwnedConnection<PooledServerConnection> {
    let connection = PooledServerConnection(try connect(address.connectionString))
    return try OwnedConnection(connection, of: pool) { try prepare($0.connection) }
  }

  // MARK: Writing

  func withWriter<T>(_ body: () throws -> T) rethrows -> T {
    writeLock.lock()
    defer { writeLock.unlock() }
    return try body()
  }

  /// Runs the body in one transaction, or in the open one of the same thread.
  func write<T>(_ body: (ServerWriter) throws -> T) throws -> T {
    try withWriter {
      if isWriting, let writer { return try body(writer) }
      try pool.checkOpen()
      let connection = try begin()
      isWriting = true
      transaction = nil
      defer {
        isWriting = false
        connection.end()
        // The transaction's own thread has closed the database meanwhile.
        if pool.isClosed { dropConnections() }
      }
      do {
        let result = try body(connection)
        try commit(connection)
        return result
      } catch {
        // If it fails, the connection is lost, and the server takes the transaction back.
        if connection.isInTransaction { try? connection.run("ROLLBACK") }
        dropLostWriter()
        throw error
      }
    }
  }

  /// Runs the body in one transaction, in which it reads, too. Later ones have new connections: tables may have changed
  /// for which the present ones have statements prepared.
  func rebuild(_ body: (any ServerConnection) throws -> Void) throws {
    try withWriter {
      defer {
        threadInside.store(0, ordering: .relaxed)
        dropConnections()
      }
      try write { connection in
        threadInside.store(UInt(pthread_self()), ordering: .relaxed)
        try body(connection)
      }
    }
  }

  private func begin() throws -> ServerWriter {
    if let writer {
      do {
        try writer.begin()
        return writer
      } catch let error as ServerError where error.isConnectionLost {
        // Nothing was asked of it yet, so another connection does as well.
        dropLostWriter()
      }
    }
    let pooled = PooledServerConnection(try open())
    try pool.adopt(pooled)
    let made = ServerWriter(pooled.connection)
    (writer, pooledWriter) = (made, pooled)
    lineage = Self.lineage(of: made)
    try made.begin()
    return made
  }

  /// The number of the server's timeline, which is another one after a standby was promoted; the time of the server's
  /// start where it does not say that. Nil where it says neither.
  ///
  /// Source: https://www.postgresql.org/docs/15/continuous-archiving.html#BACKUP-TIMELINES: the first eight digits of a
  /// WAL file's name.
  private static func lineage(of connection: any ServerConnection) -> String? {
    let timeline: SQL =
      "SELECT CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END"
    // An error of either question means that the server does not say it. A lost connection is noticed at its next use.
    return (try? connection.execute(timeline).text(0, 0))
      ?? (try? connection.execute("SELECT pg_postmaster_start_time()::text").text(0, 0))
  }

  private func noteLoss() {
    losses.add(1, ordering: .acquiringAndReleasing)
    commits.forget()
  }

  private func dropLostWriter() {
    guard let writer, writer.isLost else { return }
    noteLoss()
    dropWriter()
  }

  /// Lets the open transaction ask for the number by which its end can be found out, and announce itself on a channel,
  /// both together with its next statement.
  ///
  /// - Parameters:
  ///   - store: the table of the store, which says whether a program wants to hear of it.
  ///   - check: gets the number of that table, nil if it has no row; an error ends the transaction.
  func prepare(
    _ connection: ServerWriter, announcingTo channel: String, of store: String,
    _ check: @escaping (_ table: Int64?) throws -> Void = { _ in }
  ) {
    var parameters = ServerParameters()
    parameters.add(channel)
    connection.wait(
      """
      SELECT pg_current_xact_id()::text, (SELECT tableoid::int8 FROM \(store) LIMIT 1), \
      (SELECT pg_notify($1, '') FROM \(store) WHERE announces)
      """, parameters
    ) { [self] in
      transaction = $0.text(0, 0)
      try check($0.bytes(0, 1) == nil ? nil : $0.integer(0, 1))
    }
  }

  private func commit(_ connection: ServerWriter) throws {
    if transaction == nil {
      transaction = try connection.execute("SELECT pg_current_xact_id_if_assigned()::text").text(0, 0)
    }
    if let transaction { commits.add(transaction) }
    do {
      try connection.run("COMMIT")
    } catch let error as ServerError where error.isConnectionLost {
      guard let transaction else { return }
      if try hasCommitted(transaction, lost: error) { return dropLostWriter() }
      throw error
    }
  }

  /// Whether a transaction was committed whose connection was lost before the server's answer came. The server knows
  /// (https://www.postgresql.org/docs/15/functions-info.html, pg_xact_status).
  ///
  /// Unless a standby has taken its place. Then the number may be that of another transaction, and only the rows tell.
  private func hasCommitted(_ number: String, lost: ServerError) throws -> Bool {
    let deadline = ProcessInfo.processInfo.systemUptime + Self.mostSecondsInDoubt
    while true {
      do {
        let connection = try open()
        defer { connection.close() }
        guard let lineage, lineage == Self.lineage(of: connection) else { throw StandbyPromoted() }
        let status = try connection.execute("SELECT pg_xact_status(\(bind: .text(number))::xid8)").text(0, 0)
        if status != "in progress" { return status == "committed" }
        // The session does not know yet that it has lost its client.
        try connection.run("SELECT pg_sleep(0.02)")
      } catch let error as ServerError where error.isConnectionLost {
        // The server may be starting again.
        Thread.sleep(forTimeInterval: 0.05)
      } catch is StandbyPromoted {
        throw ServerError(
          message:
            "the connection was lost during COMMIT, and a standby has taken the server's place, which cannot say "
            + "how the transaction ended; read its rows before you save again: \(lost.message)", isConnectionLost: true)
      }
      if ProcessInfo.processInfo.systemUptime > deadline {
        throw ServerError(
          message:
            "the connection was lost during COMMIT, and the server does not say how transaction \(number) ended; "
            + "ask it for pg_xact_status('\(number)') before you save again: \(lost.message)", isConnectionLost: true)
      }
    }
  }

  private struct StandbyPromoted: Error {}

  private static let mostSecondsInDoubt: TimeInterval = 60
}

extension ServerDatabase: WriteScope {
  var name: String { address.serverDescription }

  var locksOutWriters: Bool { false }

  func exclusively(_ body: () throws -> Void) throws { try withWriter { try body() } }

  /// Runs the body again if the server has ended its transaction because it and another one waited for each other. The
  /// other one goes on meanwhile.
  func repeating(_ body: () throws -> Void) throws {
    var tries = 0
    while true {
      do {
        return try body()
      } catch let error as NSError where CoreDataErrors.isDeadlock(error) && tries < Self.mostRepetitions {
        tries += 1
        Thread.sleep(forTimeInterval: .random(in: 0...0.02) * Double(tries))
      }
    }
  }

  /// How often a transaction is begun again. Before each the server has waited for a second (`deadlock_timeout`).
  private static let mostRepetitions = 10

  func transaction(_ doing: String, _ body: () throws -> Void) throws {
    try CoreDataErrors.fromServer("\(doing) to \(address.serverDescription)") { try write { _ in try body() } }
  }

  /// References between rows are checked now and not at the COMMIT, which fails no more for their sake.
  func prepareToCommit() throws {
    try CoreDataErrors.fromServer("Saving to \(address.serverDescription)") {
      try write { try $0.run("SET CONSTRAINTS ALL IMMEDIATE") }
    }
  }
}

extension ServerConnection {
  /// Runs the body. Its statements fail soon after the fetch is cancelled.
  func listening<T>(to control: FetchControl?, _ body: (any ServerConnection) throws -> T) rethrows -> T {
    guard let control else { return try body(self) }
    // `nonisolated(unsafe)`: only `cancel()` is called, which any thread may.
    nonisolated(unsafe) let connection: any ServerConnection = self
    control.whenCancelled { connection.cancel() }
    defer { control.whenCancelled(nil) }
    return try body(self)
  }
}

/// A server's connection as the pool keeps it.
final class PooledServerConnection: PooledConnection {
  let connection: any ServerConnection

  init(_ connection: any ServerConnection) { self.connection = connection }

  func interrupt() { connection.cancel() }
  func close() { connection.close() }
  var isReusable: Bool { !connection.isLost && !connection.isInTransaction }
}

internal import Synchronization

/// The connections of a coordinator to one database: a writer and several readers, each used by one user at a time.
///
/// All stores of one coordinator in the same database share one `ServerDatabase`, so that a save to several of them is
/// one transaction. Connections are opened when they are needed, and again when they were lost.
///
/// Its duties, and who asks for them:
///
/// ```text
/// read(_:_:)             fetches, faults, history       a reader, or the writer inside of rebuild(_:)
/// write(_:)              saves, batch requests          the writer, in one transaction; calls may be nested
/// rebuild(_:)            migrations, copies             the same, and reads go to the writer, too
/// ownedConnection(_:)    pinned contexts                a connection outside of the pool's readers
/// exclusively, transaction, repeating, prepareToCommit  the coordinator's order of a save: `WriteScope`
/// ```
///
/// A save takes two round trips where its keys are reserved and it deletes nothing. For two new authors of a store with
/// a history:
///
/// ```text
/// Client                                               Server
/// BEGIN                                             ─┐
/// SELECT pg_current_xact_id()::text, (SELECT …)      │
/// INSERT INTO "app"."Author" …                       ├─▶ runs them one after the other
/// WITH counted AS (UPDATE "app"."_store" …) …       ─┘
///                                                   ◀─── 4 results: the transaction's number, the rows
/// COMMIT                                            ───▶ writes the WAL to the disk
///                                                   ◀─── done
/// ```
///
/// - One round trip more, before the others, reserves keys: see `ReservedKeys`.
/// - One more, after the rows, writes the history of a save that deletes: only the answer tells which rows were there.
/// - One more for each row that changes a unique value, and one before the first: see
///   `ServerChangeWriter.updateUnique`.
/// - One more asks which rows with another version are still there, if a DELETE has found fewer rows than expected.
/// - One more before COMMIT, for a transaction that never called `prepare`: it asks for its own number.
///
/// The order of locks inside the process: `writeLock` first, then a reader of the pool, as a batch insertion takes
/// them. A thread that has a reader must not call `write`.
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
  /// Whether the thread that has `writeLock` is inside of a transaction: `write` joins it then.
  private var isWriting = false
  /// The number of the open transaction at the server, once something has asked for it.
  private var transaction: String?
  private let pool: ConnectionPool<PooledServerConnection>
  /// How often a connection was found lost. `ReservedKeys` compares it: keys that were reserved before a loss are void.
  private let losses = Atomic<Int>(0)
  var lossCount: Int { losses.load(ordering: .acquiring) }
  let commits = OwnCommits()
  private let clock: ServerClock
  /// The thread whose reads go to the writer, inside its transaction; 0 for none.
  ///
  /// A migration has the tables locked: a reader's statement would wait for the migration, and the migration for the
  /// reader. It also has to read the rows and tables that it has made itself, which no other session sees yet.
  private let threadInside = Atomic<UInt>(0)
  /// Whether this thread reads with the writer.
  var isRebuilding: Bool { threadInside.load(ordering: .relaxed) == UInt(pthread_self()) }
  /// A test's own way to open connections.
  let connect: (String) throws -> any ServerConnection

  init(
    _ address: ServerAddress, maximumReaders: Int,
    connect: @escaping (String) throws -> any ServerConnection = MeasuredConnection.open
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
  ///
  /// Each session gets a cancel request on a connection of its own, and its statement ends with 57014
  /// (`query_canceled`), if there still is one. Source: the page "Canceling Queries in Progress".
  func interrupt() { pool.interrupt() }

  /// Closes the connections: those in use when their use ends. Later uses are errors.
  func close() {
    writeLock.withLock {
      pool.close()
      if !isWriting { dropConnections() }
    }
  }

  /// Closes the idle readers, and the writer.
  private func dropConnections() {
    pool.closeIdleReaders()
    dropWriter()
  }

  /// Ends the session of the writer, unless the caller is inside of its transaction. The next transaction opens another
  /// one, which costs some milliseconds and the prepared statements.
  func closeWriter() { withWriter { if !isWriting { dropWriter() } } }

  private func dropWriter() {
    if let pooledWriter { pool.release(pooledWriter) }
    (writer, pooledWriter) = (nil, nil)
  }

  /// Opens a connection, makes its settings those that statements here rely on, and asks for the time.
  private static func open(
    _ address: ServerAddress, _ clock: ServerClock, _ connect: (String) throws -> any ServerConnection
  ) throws -> any ServerConnection {
    let connection = try connect(address.connectionString)
    try connection.run(settings)
    try clock.read(connection)
    return connection
  }

  private func open() throws -> any ServerConnection { try Self.open(address, clock, connect) }

  /// What each session is set to, in one round trip. No statement of ours may depend on the settings of a user, a
  /// database or a role.
  ///
  /// ```text
  /// extra_float_digits = 3                           floating-point numbers in text form lose no bit
  /// search_path = pg_catalog                         no functions and operators of other schemas are found
  /// timezone = 'UTC'                                 a date without a zone is no other moment on another machine
  /// standard_conforming_strings = on                 a backslash in a constant is one: only quotes are doubled
  /// default_transaction_isolation = read committed   as BEGIN means it
  /// default_transaction_deferrable = off             a transaction begins at once
  /// tcp_keepalives_*, tcp_user_timeout               the server notices a client that is gone after some ten seconds
  /// ```
  ///
  /// Versions of rows and constraints detect conflicts, so a stricter isolation would only add failures.
  ///
  /// The TCP settings are the server's side. Without them a transaction of a host that is gone would keep its locks for
  /// the two hours that are the kernel's default. `PostgreSQLConnection` sets the same for the client's side. Over a
  /// Unix socket they have no effect. Source: the page "Connections and Authentication", "TCP Settings".
  static let settings = """
    SET extra_float_digits = 3; SET search_path = pg_catalog; SET timezone = 'UTC'; \
    SET standard_conforming_strings = on; SET default_transaction_isolation = 'read committed'; \
    SET default_transaction_deferrable = off; \
    SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3; \
    SET tcp_user_timeout = 10000
    """

  /// The time by the server's clock; nil if it was never reached.
  var serverDate: Date? { clock.date { _ = try readClock() } }

  /// What the server's clock shows between the call and the return.
  func readClock() throws -> Date? { try read { connection, _ in try clock.read(connection) } }

  // MARK: Reading

  /// Runs the body with a reader of its own, and waits if all are busy. If the connection is lost, the body runs once
  /// more with another one, unless it has set `hasBegun`. A cancelled `control` ends the body's statements.
  ///
  /// ```text
  /// Client                                   Server
  /// SELECT … (a reader idle for hours)  ───▶ ✗ the session was ended by a restart
  ///                                     ◀─── connection reset
  /// close all idle readers                   lost with it, most likely
  /// SELECT … (a new connection)         ───▶
  ///                                     ◀─── rows
  /// ```
  ///
  /// There is one repetition: a server that is starting refuses the second connection, and its error is thrown. The
  /// body must not have told its caller anything before it sets `hasBegun`, since all of it would be told twice.
  ///
  /// Statements of a reader have no transaction around them. Each commits by itself and sees its own snapshot.
  func read<T>(
    _ control: FetchControl? = nil, _ body: (any ServerConnection, _ hasBegun: inout Bool) throws -> T
  ) throws -> T {
    var hasBegun = false
    if isRebuilding {
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

  /// Runs the body in one transaction, or in the open one of the same thread. Threads wait for each other: a
  /// coordinator has one transaction at a time in each database.
  ///
  /// An error of the body or of COMMIT rolls back. In a nested call the error goes on to the outer call, which rolls
  /// back. Until then the server answers every statement of the transaction with 25P02, so code that catches the error
  /// of a nested call may use readers only.
  ///
  /// The connection is kept for the next transaction, unless it was lost or the coordinator has closed the store
  /// meanwhile.
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
  /// for which the present ones have statements prepared (the server would refuse them with 0A000, "cached plan must
  /// not change result type").
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

  /// The writer with a transaction begun, on a new connection if there is none or the present one was lost while it was
  /// idle.
  ///
  /// A new one costs libpq's own messages and six round trips before its first statement: `SELECT pg_backend_pid()`,
  /// the settings, and the questions for the time and the lineage, each prepared first and then run.
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

  /// What tells this server from a standby that takes its place: the number of the server's timeline, which is another
  /// one after a standby was promoted; the time of the server's start where it does not say that. Nil where it says
  /// neither.
  ///
  /// ```text
  /// SELECT CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END
  /// ```
  ///
  /// A user may lack the right to call these functions, and a standby has no current WAL location; hence the second
  /// question, `SELECT pg_postmaster_start_time()::text`.
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

  /// Notes that a session has ended that was not closed here. What was known of the server holds no longer: see
  /// `ReservedKeys` and `OwnCommits.forget`.
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
  /// both together with its next statement. Called once for each store that the transaction writes.
  ///
  /// ```text
  /// SELECT pg_current_xact_id()::text,                                  assigns the number
  ///        (SELECT tableoid::int8 FROM "app"."_store" LIMIT 1),         another one since the opening: a migration
  ///        (SELECT pg_notify($1, '') FROM "app"."_store" WHERE announces)
  /// ```
  ///
  /// `tableoid` changes when a migration makes the tables anew, and a `_store` of the same name without a row is that
  /// of a store being restored. `pg_notify` sends nothing before COMMIT, and equal messages of one transaction once
  /// (page "NOTIFY"). Where no program listens, `announces` is false, and the transaction does without the lock that
  /// NOTIFY takes at COMMIT, for which all announcing transactions of the server take turns.
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

  /// Commits, and finds out how it went where the answer is lost.
  ///
  /// COMMIT is the one statement that must not simply be repeated: the rows may be there. So the number is known before
  /// it is sent, and `commits` has it before another session can see the rows. A transaction without a number has
  /// written nothing, so nothing is lost with it.
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
  /// ```text
  /// Client                                             Server
  /// COMMIT                                        ───▶ ✗ the session ends, before or after the commit
  /// (a new connection, tried for a minute)        ───▶
  /// SELECT CASE WHEN NOT pg_is_in_recovery() …    ───▶
  ///                                               ◀─── 00000001: the same timeline, so the numbers are the same
  /// SELECT pg_xact_status('745'::xid8)            ───▶
  ///                                               ◀─── in progress: the old session has not noticed its end
  /// SELECT pg_sleep(0.02)                         ───▶
  /// SELECT pg_xact_status('745'::xid8)            ───▶
  ///                                               ◀─── committed: the save has succeeded
  /// ```
  ///
  /// "aborted" makes the save fail with the loss as its error. NULL, for a number so old that the server has forgotten
  /// it, counts as aborted; within a minute that does not happen. So does a number that it has not given yet: it has
  /// crashed before anything of the transaction was on its disk.
  ///
  /// Where a standby has taken the server's place, the number may be that of another transaction, and only the rows
  /// tell. The error says so.
  private func hasCommitted(_ number: String, lost: ServerError) throws -> Bool {
    let deadline = ProcessInfo.processInfo.systemUptime + Self.mostSecondsInDoubt
    while true {
      do {
        let connection = try open()
        defer { connection.close() }
        guard let lineage, lineage == Self.lineage(of: connection) else { throw StandbyPromoted() }
        let status = try connection.execute("SELECT pg_xact_status(\(bind: .text(number))::xid8)").text(0, 0)
        if status != "in progress" { return status == "committed" }
        // The old session has not noticed yet that its client is gone.
        try connection.run("SELECT pg_sleep(0.02)")
      } catch let error as ServerError where error.state == Self.numberOfFuture {
        // The server has crashed, and gives this number to another transaction later.
        return false
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

  /// `invalid_parameter_value`: "transaction ID is in the future". A crash has undone the transaction, and the server
  /// does not know that it has given the number.
  private static let numberOfFuture = "22023"

  /// How long the server is asked. A server that restarts after a crash replays its WAL first, and takes connections
  /// afterwards.
  private static let mostSecondsInDoubt: TimeInterval = 60
}

extension ServerDatabase: WriteScope {
  var name: String { address.serverDescription }

  var locksOutWriters: Bool { false }

  func exclusively(_ body: () throws -> Void) throws { try withWriter { try body() } }

  /// Runs the body again if the server has ended its transaction because it and another one waited for each other
  /// (40P01, `deadlock_detected`). The other one goes on meanwhile.
  ///
  /// ```text
  /// save 1                                    save 2
  /// UPDATE "app"."Author" … _key = 1
  ///                                           UPDATE "app"."Author" … _key = 2
  /// UPDATE "app"."Author" … _key = 2  waits
  ///                                           UPDATE "app"."Author" … _key = 1  waits
  ///                                           ✗ 40P01 after deadlock_timeout, ROLLBACK
  /// goes on, COMMIT                           begins again, finds conflicts by their versions
  /// ```
  ///
  /// Saves write their rows in the order of their keys, which avoids this for one table. Triggers, unique values and
  /// members are written in another order, and other programs in any. The pause is random and grows, so that
  /// the same two transactions do not meet again.
  ///
  /// Source: the pages "Explicit Locking", "Deadlocks", and "Lock Management".
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

  /// Checks the references between rows now, so that COMMIT does not fail because of them.
  ///
  /// ```text
  /// SET CONSTRAINTS ALL IMMEDIATE     checks all deferred foreign keys: 23503 here instead of at the COMMIT
  /// ```
  ///
  /// Called where a save has parts in several databases, or in stores that cannot take back what they wrote.
  func prepareToCommit() throws {
    try CoreDataErrors.fromServer("Saving to \(address.serverDescription)") {
      try write { try $0.run("SET CONSTRAINTS ALL IMMEDIATE") }
    }
  }
}

extension ServerConnection {
  /// Runs the body. Its statements fail soon after the fetch is cancelled, with 57014 (`query_canceled`). The handler
  /// is taken away when the body ends, so that a later cancellation does not end a statement of the connection's next
  /// user.
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

internal import Synchronization

/// A session with the server of a store, for programs that share the store and have to know of each other, on a
/// connection and a thread of its own.
///
/// While the session lasts it holds a lock. The server releases the lock when the session ends, no matter how, and
/// programs that wait for the lock learn within 200 ms that this one is gone. The session hears of the rows that the
/// store announces: see `NSPersistentStoreAnnouncedKey`.
///
/// ```text
/// pool 4711                                     server                     pool 4712
/// SELECT pg_try_advisory_lock(4711)        ──▶  held by its session
/// LISTEN "coredata_rows_D7C2EB21-…"        ──▶
///                                                                     ◀──  SELECT pg_try_advisory_lock(4711): false
///                                                                     ◀──  INSERT INTO "app"."PoolJob" …, COMMIT
///                                          ◀──  NotificationResponse, payload "PoolJob"
/// event .announced(["PoolJob"])
/// ✗ kill -9                                     end of the stream: the lock is free
///                                                                     ◀──  SELECT pg_try_advisory_lock(4711): true
///                                                                          event .held(afterWaiting: true)
/// ```
///
/// A process that is killed closes its socket, so the server notices at once. A host that loses its power says nothing:
/// the server notices by keepalives, after eleven seconds.
///
/// `pg_advisory_lock` with one argument and with two are different spaces of numbers, so a pool's lock is never the one
/// under which schemas are created. Advisory locks are the database's: a lock in another database of the server is
/// another one.
///
/// `@unchecked Sendable`: everything is set in `init`. The connection is used by the thread alone, after `init`.
///
/// Source: the pages "Explicit Locking", "Advisory Locks", and "System Administration Functions", "Advisory Lock
/// Functions".
package final class ServerSession: @unchecked Sendable {
  /// What a session reports.
  package enum Event: Sendable {
    /// Rows of these entities were announced by any program, this one included.
    case announced(Set<String>)
    /// The session has ended: the lock is released. The last event.
    case lost(String)
  }

  private let address: ServerAddress
  private let connection: any ServerConnection
  private let body: @Sendable (Event) -> Void
  private let isClosed = Atomic<Bool>(false)

  /// Connects, takes the lock without waiting for it, and listens. The lock comes first: a program that hears of this
  /// one's rows can ask for its lock.
  ///
  /// - Throws: `StoreLockTaken`, or `ServerError`.
  init(
    _ address: ServerAddress, _ identifier: String, holding lock: Int64,
    _ body: @escaping @Sendable (Event) -> Void
  ) throws {
    self.address = address
    self.body = body
    connection = try Self.connect(address)
    guard try connection.execute("SELECT pg_try_advisory_lock(\(raw: lock))").bytes(0, 0)?[0] == 1 else {
      connection.close()
      throw StoreLockTaken()
    }
    try connection.run("LISTEN \(ServerTables.channel(of: identifier).quotedName)")
    let thread = Thread { [self] in run() }
    thread.name = "ServerSession"
    thread.start()
  }

  /// Waits for a lock, on a connection of its own, and holds it until the result is released. Equal numbers are one
  /// lock in the whole database.
  ///
  /// - Parameter body: called on another thread, once when the lock is held and once more when it was lost by a
  ///   failure. A call that is under way when the result is released may end after `release()` has returned.
  package func wait(
    for lock: Int64, _ body: @escaping @Sendable (ServerLockHold.Event) -> Void
  ) -> ServerLockHold {
    ServerLockHold(address, lock, body)
  }

  /// What tells the store from others of the same database, also from copies of it.
  package var place: String { address.schema }

  /// Ends the session within 200 ms. Only a report that is under way may still arrive.
  package func close() { isClosed.store(true, ordering: .relaxed) }

  /// A connection whose end both sides notice soon: after eleven seconds without an answer at most. Settings of the
  /// user or the database do not end it earlier.
  ///
  /// ```text
  /// tcp_keepalives_*, tcp_user_timeout           the server notices the end of the client
  /// keepalives_*, tcp_user_timeout in the URL    the client notices the end of the server
  /// statement_timeout = 0                        no limit of a role ends a statement here
  /// idle_in_transaction_session_timeout = 0      a precaution: no transaction stays open here
  /// idle_session_timeout = 0 (14 and later)      the session is idle for days
  /// transaction_timeout = 0 (17 and later)
  /// ```
  ///
  /// Source: https://www.postgresql.org/docs/15/runtime-config-connection.html, "TCP Settings". Connections over a Unix
  /// socket need none of them.
  static func connect(_ address: ServerAddress) throws -> any ServerConnection {
    let connection = try ServerDriver.open(address.connectionString(with: clientKeepalives))
    try connection.run(
      """
      SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3; \
      SET tcp_user_timeout = 10000; SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0; \
      SET search_path = pg_catalog
      """)
    if connection.version >= 140_000 { try connection.run("SET idle_session_timeout = 0") }
    if connection.version >= 170_000 { try connection.run("SET transaction_timeout = 0") }
    return connection
  }

  private static let clientKeepalives = [
    ("keepalives_idle", "5"), ("keepalives_interval", "2"), ("keepalives_count", "3"), ("tcp_user_timeout", "10000"),
  ]

  // MARK: The thread

  private func run() {
    while !isClosed.load(ordering: .relaxed) {
      do {
        // A session that is closed ends within this time.
        let entities = Set(try connection.notifications(within: 200).map(\.payload))
        if !entities.isEmpty, !isClosed.load(ordering: .relaxed) { body(.announced(entities)) }
      } catch {
        if !isClosed.load(ordering: .relaxed) { body(.lost("\(error)")) }
        break
      }
    }
    connection.close()
  }
}

/// A lock that a thread waits for or holds, on a connection of its own.
///
/// It asks for the lock again and again. A statement that waits for a lock holds a snapshot, and an old snapshot keeps
/// VACUUM from removing rows and CREATE INDEX CONCURRENTLY from ending, in the whole database. Between two of these
/// statements, each of which takes a fraction of a millisecond, the session has none.
///
/// ```text
/// Client                                        Server
/// SELECT pg_try_advisory_lock(4711)        ───▶
///                                          ◀─── false
/// (200 ms in poll(2), which the session's end would interrupt)
/// SELECT pg_try_advisory_lock(4711)        ───▶
///                                          ◀─── true          event .held(afterWaiting: true)
/// (200 ms …)                                                  event .failed, if the session ends
/// ```
///
/// The lock belongs to the session, not to a transaction, and ends with the connection: nothing has to be undone,
/// no matter how this process ends.
///
/// `@unchecked Sendable`: the variable is used under `lock`.
///
/// Source: the page "Routine Vacuuming"; "CREATE INDEX", "Building Indexes Concurrently".
package final class ServerLockHold: @unchecked Sendable {
  /// What happened to the wait.
  package enum Event: Sendable {
    /// The lock is held.
    ///
    /// - Parameter afterWaiting: whether another session was seen to hold it: that one has ended now. False if the lock
    ///   was free at the first look.
    case held(afterWaiting: Bool)
    /// The connection failed; the lock is not held any more.
    case failed(String)
  }

  private let address: ServerAddress
  private let number: Int64
  private let interval: Int32
  private let body: @Sendable (Event) -> Void
  private let lock = NSLock()
  private var isReleased = false

  /// - Parameter interval: milliseconds between two looks at the lock, and so the longest time until its release is
  ///   noticed.
  init(
    _ address: ServerAddress, _ number: Int64, interval: Int32 = 200,
    _ body: @escaping @Sendable (Event) -> Void
  ) {
    self.address = address
    self.number = number
    self.interval = interval
    self.body = body
    let thread = Thread { [self] in run() }
    thread.name = "StoreLockHold"
    thread.start()
  }

  /// Ends the wait, or releases the lock. Any thread. The thread of the hold ends within the interval, and the session
  /// with it.
  package func release() { lock.withLock { isReleased = true } }

  /// The thread of the hold, from its connection to the release of the lock.
  private func run() {
    do {
      let connection = try ServerSession.connect(address)
      defer { connection.close() }
      var isHeld = try tryToLock(connection)
      let hasWaited = !isHeld
      while !isHeld, isWanted {
        _ = try connection.notifications(within: interval)
        isHeld = try tryToLock(connection)
      }
      report(.held(afterWaiting: hasWaited))
      while isWanted { _ = try connection.notifications(within: interval) }
    } catch {
      report(.failed("\(error)"))
    }
  }

  private var isWanted: Bool { lock.withLock { !isReleased } }

  private func tryToLock(_ connection: any ServerConnection) throws -> Bool {
    try connection.execute("SELECT pg_try_advisory_lock(\(raw: number))").bytes(0, 0)?[0] == 1
  }

  private func report(_ event: Event) {
    if lock.withLock({ !isReleased }) { body(event) }
  }
}

extension ServerStore {
  var serverDate: Date? { database.serverDate }

  func readServerClock() throws -> Date? {
    try CoreDataErrors.fromServer("Reading the clock of \(address.serverDescription)") { try database.readClock() }
  }

  /// Which of the locks are held by any session, and so which pools live. A shared lock that is granted, and ends with
  /// its statement, shows that no session holds the lock.
  ///
  /// ```text
  /// SELECT number FROM unnest($1) AS locks (number)     $1 = '{4711,4712}'
  /// WHERE NOT pg_try_advisory_xact_lock_shared(number)
  ///     4711                                            pool 4711 lives
  /// ```
  ///
  /// Shared, so that two programs that look at the same time do not take each other for the pool.
  func heldLocks(among numbers: [Int64]) throws -> Set<Int64> {
    if numbers.isEmpty { return [] }
    return try CoreDataErrors.fromServer("Looking at locks of \(address.serverDescription)") {
      try database.read { connection, _ in
        var parameters = ServerParameters()
        parameters.add(ServerArray(numbers))
        let rows = try connection.execute(
          """
          SELECT number FROM unnest($1) AS locks (number) \
          WHERE NOT pg_try_advisory_xact_lock_shared(number)
          """, parameters)
        return Set((0..<rows.rowCount).map { rows.integer($0, 0) })
      }
    }
  }

  /// Returns when all earlier commits of this program are on the disk. The server, a role or a database may
  /// have `synchronous_commit = off`; then COMMIT answers before its record is in the log on the disk, and a crash of
  /// the server may lose the last commits.
  ///
  /// ```text
  /// SELECT current_setting('synchronous_commit')                                              off
  /// BEGIN
  /// SET LOCAL synchronous_commit = on; SELECT pg_logical_emit_message(true, 'coredata', '')
  /// COMMIT                                                                                    waits for the disk
  /// ```
  ///
  /// The log reaches the disk in its order, so one commit that waits for that brings all before it there. It has to
  /// write something: the server does not wait for a transaction that wrote nothing. The message is a record that
  /// nothing but logical decoding reads.
  ///
  /// Source: https://www.postgresql.org/docs/15/wal-async-commit.html
  func synchronizeCommits() throws {
    try CoreDataErrors.fromServer("Saving to \(address.serverDescription)") {
      let setting = try database.read { connection, _ in
        try connection.execute("SELECT current_setting('synchronous_commit')").text(0, 0)
      }
      guard setting == "off" else { return }
      try database.write { connection in
        try connection.run(
          "SET LOCAL synchronous_commit = on; SELECT pg_logical_emit_message(true, 'coredata', '')")
      }
    }
  }
}

extension NSPersistentStore {
  /// Opens a session with the store's server; nil for a store in a file or in memory.
  ///
  /// - Parameters:
  ///   - lock: the number of the lock that the session holds.
  ///   - body: called on a thread of the session.
  /// - Throws: `StoreLockTaken`, and an `NSError` if the server cannot be reached.
  package final func openSession(
    holding lock: Int64, _ body: @escaping @Sendable (ServerSession.Event) -> Void
  ) throws -> ServerSession? {
    guard let store = self as? ServerStore else { return nil }
    return try CoreDataErrors.fromServer("Opening a session with \(store.address.serverDescription)") {
      try ServerSession(store.address, store.identifier, holding: lock, body)
    }
  }
}

internal import Synchronization

/// A session that holds an advisory lock and listens to announcements, on a connection and a thread of its own.
///
/// `@unchecked Sendable`: everything is set in `init`. The connection is used by the thread alone, after `init`.
final class ServerSession: StoreSession, @unchecked Sendable {
  private let address: ServerAddress
  private let connection: any ServerConnection
  private let body: @Sendable (StoreSessionEvent) -> Void
  private let isClosed = Atomic<Bool>(false)

  /// - Throws: `StoreLockTaken`, or `ServerError`.
  init(
    _ address: ServerAddress, _ identifier: String, holding lock: Int64,
    _ body: @escaping @Sendable (StoreSessionEvent) -> Void
  ) throws {
    self.address = address
    self.body = body
    connection = try Self.connect(address)
    guard try connection.execute("SELECT pg_try_advisory_lock(\(lock))").bytes(0, 0)?[0] == 1 else {
      connection.close()
      throw StoreLockTaken()
    }
    try connection.run("LISTEN \(ServerTables.channel(of: identifier).quotedName)")
    let thread = Thread { [self] in run() }
    thread.name = "StoreSession"
    thread.start()
  }

  func wait(for lock: Int64, _ body: @escaping @Sendable (StoreLockEvent) -> Void) -> any StoreLockHold {
    ServerLockHold(address, lock, body)
  }

  var place: String { address.schema }

  func close() { isClosed.store(true, ordering: .relaxed) }

  /// A connection whose end both sides notice soon: after eleven seconds without an answer at most. Settings of the
  /// user or the database do not end it earlier.
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
        let entities = try wait()
        if !entities.isEmpty, !isClosed.load(ordering: .relaxed) { body(.announced(entities)) }
      } catch {
        if !isClosed.load(ordering: .relaxed) { body(.lost("\(error)")) }
        break
      }
    }
    connection.close()
  }

  /// Waits until the server has sent something. A session that is closed ends within this time.
  private func wait() throws -> Set<String> {
    var descriptors = [pollfd(fd: connection.descriptor, events: Int16(POLLIN), revents: 0)]
    guard poll(&descriptors, 1, 200) > 0 else { return [] }
    let notifications = try connection.notifications()
    if connection.isLost { throw ServerError(message: "the server has ended the session", isConnectionLost: true) }
    return Set(notifications.map(\.payload))
  }
}

/// A lock that a thread waits for, on a connection of its own.
///
/// It asks for the lock again and again. A statement that waits for a lock holds a snapshot, and an old snapshot keeps
/// VACUUM from removing rows and CREATE INDEX CONCURRENTLY from ending, in the whole database. Between two of these
/// statements, each of which takes a fraction of a millisecond, the session has none.
///
/// `@unchecked Sendable`: the variable is used under `lock`.
final class ServerLockHold: StoreLockHold, @unchecked Sendable {
  private let address: ServerAddress
  private let number: Int64
  private let interval: Int
  private let body: @Sendable (StoreLockEvent) -> Void
  private let lock = NSLock()
  private var isReleased = false

  /// - Parameter interval: milliseconds between two looks at the lock, and so the longest time until its release is
  ///   noticed.
  init(
    _ address: ServerAddress, _ number: Int64, interval: Int = 200,
    _ body: @escaping @Sendable (StoreLockEvent) -> Void
  ) {
    self.address = address
    self.number = number
    self.interval = interval
    self.body = body
    let thread = Thread { [self] in run() }
    thread.name = "StoreLockHold"
    thread.start()
  }

  /// The thread ends within the interval, and with it the session.
  func release() { lock.withLock { isReleased = true } }

  private func run() {
    do {
      let connection = try ServerSession.connect(address)
      defer { connection.close() }
      var isHeld = try tryToLock(connection)
      let hasWaited = !isHeld
      while !isHeld, isWanted {
        try pause(connection)
        isHeld = try tryToLock(connection)
      }
      report(.held(afterWaiting: hasWaited))
      while isWanted { try pause(connection) }
    } catch {
      report(.failed("\(error)"))
    }
  }

  private var isWanted: Bool { lock.withLock { !isReleased } }

  private func tryToLock(_ connection: any ServerConnection) throws -> Bool {
    try connection.execute("SELECT pg_try_advisory_lock(\(number))").bytes(0, 0)?[0] == 1
  }

  /// Throws when the connection is lost.
  private func pause(_ connection: any ServerConnection) throws {
    var descriptors = [pollfd(fd: connection.descriptor, events: Int16(POLLIN), revents: 0)]
    guard poll(&descriptors, 1, Int32(interval)) > 0 else { return }
    _ = try connection.notifications()
    if connection.isLost { throw ServerError(message: "the server has ended the session", isConnectionLost: true) }
  }

  private func report(_ event: StoreLockEvent) {
    if lock.withLock({ !isReleased }) { body(event) }
  }
}

extension ServerStore: SessionStore {
  var serverDate: Date? { database.serverDate }

  /// The log reaches the disk in its order, so one commit that waits for that brings all before it there. It has to
  /// write something: the server does not wait for a transaction that wrote nothing.
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

  func openSession(
    holding lock: Int64, _ body: @escaping @Sendable (StoreSessionEvent) -> Void
  ) throws -> any StoreSession {
    try CoreDataErrors.fromServer("Opening a session with \(address.serverDescription)") {
      try ServerSession(address, identifier, holding: lock, body)
    }
  }
}

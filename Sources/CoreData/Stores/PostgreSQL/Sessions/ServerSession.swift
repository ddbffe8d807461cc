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
/// `@unchecked Sendable`: the variables are used under `lock`.
final class ServerLockHold: StoreLockHold, @unchecked Sendable {
  private let address: ServerAddress
  private let number: Int64
  private let body: @Sendable (StoreLockEvent) -> Void
  private let lock = NSLock()
  private var connection: (any ServerConnection)?
  private var isReleased = false

  init(_ address: ServerAddress, _ number: Int64, _ body: @escaping @Sendable (StoreLockEvent) -> Void) {
    self.address = address
    self.number = number
    self.body = body
    let thread = Thread { [self] in run() }
    thread.name = "StoreLockHold"
    thread.start()
  }

  func release() {
    // `nonisolated(unsafe)`: only `cancel()` is called, which any thread may.
    nonisolated(unsafe) let waiting: (any ServerConnection)? = lock.withLock {
      isReleased = true
      return connection
    }
    // The thread waits in a statement, which ends now. A server that cannot be reached must not stop the caller.
    DispatchQueue.global().async { waiting?.cancel() }
  }

  private func run() {
    do {
      let made = try ServerSession.connect(address)
      defer { made.close() }
      lock.withLock { connection = made }
      defer { lock.withLock { connection = nil } }
      // A cancellation may come just before the statement begins. The wait ends now and then, to notice that.
      try made.run("SET lock_timeout = '2s'")
      while try !isHeld(made) { if lock.withLock({ isReleased }) { return } }
      report(.held)
      try keep(made)
    } catch {
      report(.failed("\(error)"))
    }
  }

  private func isHeld(_ connection: any ServerConnection) throws -> Bool {
    do {
      try connection.execute("SELECT pg_advisory_lock(\(number))")
      return true
    } catch let error as ServerError where ["55P03", "57014"].contains(error.state) {
      return false
    }
  }

  /// Holds the lock until it is released. Throws when the connection is lost.
  private func keep(_ connection: any ServerConnection) throws {
    while lock.withLock({ !isReleased }) {
      var descriptors = [pollfd(fd: connection.descriptor, events: Int16(POLLIN), revents: 0)]
      guard poll(&descriptors, 1, 100) > 0 else { continue }
      _ = try connection.notifications()
      if connection.isLost { throw ServerError(message: "the server has ended the session", isConnectionLost: true) }
    }
  }

  private func report(_ event: StoreLockEvent) {
    if lock.withLock({ !isReleased }) { body(event) }
  }
}

extension ServerStore {
  func openSession(
    holding lock: Int64, _ body: @escaping @Sendable (StoreSessionEvent) -> Void
  ) throws -> (any StoreSession)? {
    try CoreDataErrors.fromServer("Opening a session with \(address.serverDescription)") {
      try ServerSession(address, identifier, holding: lock, body)
    }
  }
}

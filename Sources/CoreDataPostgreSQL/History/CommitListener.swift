internal import LinuxSystem

/// Waits for the announcements of commits to a store, on a connection and a thread of its own. A store that was opened
/// with `NSPersistentStoreRemoteChangeNotificationPostOptionKey` has one.
///
/// ```text
/// this program (listener)                 server                  another program
/// LISTEN "coredata_D7C2EB21-…"       ──▶
///                                                            ◀──  BEGIN, SELECT …, (SELECT pg_notify($1, '')
///                                                                 FROM "app"."_store" WHERE announces), INSERT …
///                                                            ◀──  COMMIT
///                                    ◀──  NotificationResponse
/// poll(2) returns, body()
/// SELECT last_transaction …          ──▶  (a reader)
/// ```
///
/// The notice has no payload: the store's history says what was changed. Several commits may become one call. The
/// program's own commits are announced, too. A session that is idle with LISTEN and in no transaction holds nothing up
/// at the server.
///
/// A transaction reads the flag `announces` when it begins. One that has read it before it was set commits without a
/// notice:
///
/// ```text
/// this program                            another program
///                                         BEGIN, (SELECT pg_notify … WHERE announces): nothing, INSERT …
/// UPDATE "app"."_store" SET announces
/// LISTEN, pg_locks: 3/17 uses _store
///                                         COMMIT, without a notice
/// pg_locks: 3/17 is gone, body()
/// ```
///
/// It has a lock of the table `_store` until it ends (ACCESS SHARE), which the server gives it before it reads. So the
/// listener looks for such locks when it begins, and reports a commit when they are gone. It waits for no lock itself.
///
/// `@unchecked Sendable`: everything is set in `init`, except the connection and `isCancelled`, which are used under
/// `lock`, and `silent`, which the thread alone uses after `init`.
///
/// Source: the pages "NOTIFY", "LISTEN" and "pg_locks"; libpq's "Asynchronous Notification".
final class CommitListener: @unchecked Sendable {
  private let database: ServerDatabase
  private let identifier: String
  /// The name of the table `_store` in SQL.
  private let table: String
  private let body: @Sendable () -> Void
  private let lock = NSLock()
  private var connection: (any ServerConnection)?
  private var isCancelled = false
  /// The transactions that may commit without a notice, by their virtual numbers.
  private var silent: Set<String> = []

  /// The channel of a store. The store's UUID is part of it, since channels belong to the database, and several stores
  /// may be in one: 45 bytes, of at most 63.
  static func channel(of identifier: String) -> String { "coredata_\(identifier)" }

  /// - Parameter body: called on the listener's thread after one or more commits of any program, this one included;
  ///   also after a lost connection was opened again, since commits may have been missed. No call begins after
  ///   `cancel()`.
  init(
    _ database: ServerDatabase, _ identifier: String, table: String, _ body: @escaping @Sendable () -> Void
  ) throws {
    self.database = database
    self.identifier = identifier
    self.table = table
    self.body = body
    let connection = try listen()
    self.connection = connection
    do {
      silent = Set(try usersOfTable(connection).map(\.transaction))
    } catch {
      connection.close()
      throw error
    }
    try BackgroundThread.start("remote changes") { [self] in run() }
  }

  /// Ends the listener: its thread notices within 200 ms, or when an attempt to connect is over, and closes the
  /// connection. A call of the body that is under way may end after this has returned.
  func cancel() {
    lock.withLock {
      isCancelled = true
      // For a statement that the thread may be running. Most of the time it sleeps in poll(2), which this does not end.
      connection?.cancel()
    }
  }

  private func listen() throws -> any ServerConnection {
    let connection = try database.connect(database.address.connectionString)
    try connection.run("LISTEN \(Self.channel(of: identifier).quotedName)")
    return connection
  }

  private var current: (any ServerConnection)? { lock.withLock { isCancelled ? nil : connection } }

  /// The thread. It sleeps in poll(2) until something arrives, and looks five times a second whether it was cancelled.
  private func run() {
    while let connection = current {
      do {
        // A cancelled listener ends within this time.
        let isTold = try !connection.notifications(within: 200).isEmpty
        if try hasSilentEnd(connection) || isTold { report() }
      } catch {
        reconnect()
      }
    }
    connection?.close()
  }

  private func report() { if lock.withLock({ !isCancelled }) { body() } }

  /// Whether a transaction has ended that may have committed without a notice. From the first look on only one that has
  /// a number counts: a save gets its number in the statement that reads the flag, and a dump of the database, which
  /// gets none, may read for hours.
  private func hasSilentEnd(_ connection: any ServerConnection) throws -> Bool {
    if silent.isEmpty { return false }
    let count = silent.count
    silent.formIntersection(try usersOfTable(connection).filter(\.hasWritten).map(\.transaction))
    return silent.count < count
  }

  /// The transactions of others that have read or written the table `_store`.
  private func usersOfTable(
    _ connection: any ServerConnection
  ) throws -> [(transaction: String, hasWritten: Bool)] {
    let rows = try connection.execute(
      """
      SELECT l.virtualtransaction, EXISTS (SELECT 1 FROM pg_locks w WHERE w.locktype = 'transactionid' \
      AND w.granted AND w.virtualtransaction = l.virtualtransaction) FROM pg_locks l \
      WHERE l.locktype = 'relation' AND l.relation = to_regclass(\(bind: .text(table)))::oid \
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
      AND l.pid IS DISTINCT FROM pg_backend_pid()
      """)
    return (0..<rows.rowCount).map { (rows.text($0, 0) ?? "", rows.bytes($0, 1)?[0] == 1) }
  }

  /// Connects again, as often as it takes. Then it reports a commit whether there was one or not: what was announced
  /// meanwhile is lost, and the observer finds it in the history. A listener that is cancelled while it connects, which
  /// may take as long as the server is away, reports nothing any more: its store is closed.
  private func reconnect() {
    connection?.close()
    while lock.withLock({ !isCancelled }) {
      // A server that is away is tried again in a moment.
      if let made = try? listen() {
        lock.withLock { connection = made }
        return report()
      }
      Thread.sleep(forTimeInterval: 0.2)
    }
  }
}

extension ServerStore {
  /// Makes all programs announce their commits to the store, and listens to the announcements.
  ///
  /// ```text
  /// UPDATE "app"."_store" SET announces = true WHERE NOT announces
  /// ```
  ///
  /// The flag stays set for good: no program knows whether another one still listens. A store that is opened read-only
  /// does not set it, and hears of commits only if another program has.
  func observeCommits(_ body: @escaping @Sendable (Int64?) -> Void) throws -> @Sendable () -> Void {
    try CoreDataErrors.fromServer("Listening to \(address.description)") {
      // Transactions that begin from now on announce their commits.
      if !isReadOnly {
        try database.write { try $0.run("UPDATE \(ownTable(.store)) SET announces = true WHERE NOT announces") }
      }
      let listener = try CommitListener(database, identifier, table: ownTable(.store)) { [weak self] in
        // The notice has no number. If it cannot be read, the observer meets the error when it reads the history.
        if let self { body((try? lastTransactionNumber()) ?? nil) }
      }
      return { listener.cancel() }
    }
  }
}

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
/// `@unchecked Sendable`: everything is set in `init`, except the connection and `isCancelled`, which are used under
/// `lock`.
///
/// Source: the pages "NOTIFY" and "LISTEN"; libpq's "Asynchronous Notification".
final class CommitListener: @unchecked Sendable {
  private let database: ServerDatabase
  private let identifier: String
  private let body: @Sendable () -> Void
  private let lock = NSLock()
  private var connection: (any ServerConnection)?
  private var isCancelled = false

  /// The channel of a store. The store's UUID is part of it, since channels belong to the database, and several stores
  /// may be in one: 45 bytes, of at most 63.
  static func channel(of identifier: String) -> String { "coredata_\(identifier)" }

  /// - Parameter body: called after one or more commits of anybody, on the listener's thread; also after the connection
  ///   was lost and found again, since commits may have been missed.
  init(_ database: ServerDatabase, _ identifier: String, _ body: @escaping @Sendable () -> Void) throws {
    self.database = database
    self.identifier = identifier
    self.body = body
    connection = try listen()
    try BackgroundThread.start("remote changes") { [self] in run() }
  }

  /// Ends the listener, and calls the body no more within a fraction of a second. The connection is closed by its
  /// thread.
  func cancel() {
    lock.withLock {
      isCancelled = true
      // The thread waits in a statement, which ends now.
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
        if try !connection.notifications(within: 200).isEmpty { body() }
      } catch {
        reconnect()
      }
    }
    connection?.close()
  }

  /// Connects again, as often as it takes. Then it reports a commit whether there was one or not: what was announced
  /// meanwhile is lost, and the observer finds it in the history.
  private func reconnect() {
    connection?.close()
    while lock.withLock({ !isCancelled }) {
      // A server that is away is tried again in a moment.
      if let made = try? listen() {
        lock.withLock { connection = made }
        return body()
      }
      Thread.sleep(forTimeInterval: 0.2)
    }
  }
}

extension ServerStore {
  /// Lets those who write announce their commits, and listens to them.
  ///
  /// ```text
  /// UPDATE "app"."_store" SET announces = true WHERE NOT announces
  /// ```
  ///
  /// The flag stays set for good: no program knows whether another one still listens. A store that is opened read-only
  /// does not set it, and hears of commits only if another program has.
  func observeCommits(_ body: @escaping @Sendable (Int64?) -> Void) throws -> @Sendable () -> Void {
    try CoreDataErrors.fromServer("Listening to \(address.description)") {
      // From now on those who write announce their commits.
      if !isReadOnly {
        try database.write { try $0.run("UPDATE \(ownTable(.store)) SET announces = true WHERE NOT announces") }
      }
      let listener = try CommitListener(database, identifier) { [weak self] in
        // The notice comes without a number: who wants the history reads it then, and gets the error.
        if let self { body((try? lastTransactionNumber()) ?? nil) }
      }
      return { listener.cancel() }
    }
  }
}

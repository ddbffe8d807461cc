internal import LinuxSystem

/// Waits for the announcements of commits to a store, on a connection and a thread of its own.
///
/// `@unchecked Sendable`: everything is set in `init`, except the connection, which is used under `lock`.
final class CommitListener: @unchecked Sendable {
  private let database: ServerDatabase
  private let identifier: String
  private let body: @Sendable () -> Void
  private let lock = NSLock()
  private var connection: (any ServerConnection)?
  private var isCancelled = false

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

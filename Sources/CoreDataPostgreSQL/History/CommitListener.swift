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
        if try wait(connection) { body() }
      } catch {
        reconnect()
      }
    }
    connection?.close()
  }

  /// Waits until the server has sent something. Returns whether that were announcements.
  private func wait(_ connection: any ServerConnection) throws -> Bool {
    var descriptors = [pollfd(fd: connection.descriptor, events: Int16(POLLIN), revents: 0)]
    // A cancelled listener ends within this time.
    guard poll(&descriptors, 1, 200) > 0 else { return false }
    return try !connection.notifications().isEmpty
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

/// Posts notifications about commits to the store.
extension ServerStore {
  func startPostingRemoteChanges() throws {
    let isWanted = options?[NSPersistentStoreRemoteChangeNotificationPostOptionKey] as? NSNumber
    guard isWanted?.boolValue ?? false else { return }
    try CoreDataErrors.fromServer("Listening to \(address.description)") {
      // From now on those who write announce their commits.
      if !isReadOnly {
        try database.write { try $0.run("UPDATE \(own(.store)) SET announces = true WHERE NOT announces") }
      }
      commits = try CommitListener(database, identifier) { [weak self] in
        guard let self else { return }
        // The notice comes without a number: who wants the history reads it then, and gets the error.
        postRemoteChange((try? lastTransactionNumber()) ?? nil)
      }
    }
  }

  func stopPostingRemoteChanges() {
    commits?.cancel()
    commits = nil
  }
}

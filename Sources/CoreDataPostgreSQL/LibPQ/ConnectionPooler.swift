internal import CPostgreSQL
internal import CoreData
internal import Foundation
internal import Synchronization

/// Programs such as PgBouncer, which stand before the server and lend its sessions. All connections are opened here.
///
/// A store needs a session of its own: locks, LISTEN and prepared statements outlive a transaction. A pooler that gives
/// each transaction any session that is free would lose them without an error.
///
/// ```text
/// needs the same session                             what a pooler in transaction mode does to it
/// SET search_path = pg_catalog, …                    the settings are those of another client
/// PREPARE, by libpq's PQprepare                      26000, or another client's statement of the same name
/// pg_advisory_lock, LISTEN                           the lock is another client's, and the messages are lost
/// ```
///
/// In session mode a client has one session from its beginning to its end, and all works. Source: the page "Features"
/// of PgBouncer's documentation, "SQL feature map for pooling modes".
enum ConnectionPooler {
  /// Opens a connection.
  ///
  /// ```text
  /// Client                           Server
  /// (startup, PQconnectdbParams) ──▶
  ///                              ◀── BackendKeyData: process 4711
  /// SELECT pg_backend_pid()      ──▶
  ///                              ◀── 4711: no pooler, or one that told the truth; done
  /// ```
  ///
  /// Another number means a pooler, since it has answered the startup itself. `check` finds out whether it keeps
  /// sessions, once for each URL in a process.
  ///
  /// - Throws: `ServerError`, also for a pooler that does not keep sessions (0A000, so the store's error is 134070).
  static func open(_ connectionString: String) throws -> PostgreSQLConnection {
    let connection = try PostgreSQLConnection(connectionString)
    do {
      let process = try process(connection)
      // A pooler does not know the session when it greets the client, and so invents a number.
      if process == connection.announcedProcess || keepsSessions.withLock({ $0.contains(connectionString) }) {
        return connection
      }
      try check(connection, process, connectionString)
      keepsSessions.withLock { _ = $0.insert(connectionString) }
      return connection
    } catch {
      connection.close()
      throw error
    }
  }

  /// The URLs whose pooler was found to keep sessions.
  private static let keepsSessions = Mutex<Set<String>>([])

  private static func process(_ connection: PostgreSQLConnection) throws -> Int {
    Int(try connection.value("SELECT pg_backend_pid()")) ?? 0
  }

  /// A second client begins a transaction while the first one has none, again and again. A pooler that lends sessions
  /// gives it the first one's, which is free, or gives the first one another afterwards.
  ///
  /// ```text
  /// first client                 second client                          a pooler in
  /// SELECT pg_backend_pid(): 10
  ///                              BEGIN; SELECT pg_backend_pid(): 10     transaction mode: the session was lent on
  ///                              error                                  statement mode: it has no transactions
  ///                              no answer within 2 s                   session mode: all sessions are taken
  ///                              BEGIN; SELECT pg_backend_pid(): 11
  /// SELECT pg_backend_pid(): 10                                         session mode, after four rounds
  /// SELECT pg_backend_pid(): 12                                         transaction mode
  /// ```
  ///
  /// A pooler takes the free session that was used last, or first, or any; hence several rounds. On a pooler
  /// without other clients "session mode" may still be wrong in theory; such a store would fail later with 26000.
  private static func check(_ connection: PostgreSQLConnection, _ process: Int, _ connectionString: String) throws {
    let other = try PostgreSQLConnection(connectionString)
    defer { other.close() }
    for _ in 0..<rounds {
      let borrowed: String?
      do {
        borrowed = try other.value("BEGIN; SELECT pg_backend_pid()", within: mostMilliseconds)
      } catch {
        // Unless the server is gone, the pooler lends sessions for one statement, and so refuses the transaction.
        _ = try Self.process(connection)
        throw refusal
      }
      guard let borrowed else {
        // All sessions are in use. So is the first client's, although it has no transaction: the pooler keeps it for
        // it.
        return
      }
      if Int(borrowed) == process { throw refusal }
      guard try Self.process(connection) == process else { throw refusal }
      _ = try other.value("ROLLBACK; SELECT 0")
    }
  }

  private static let rounds = 4
  private static let mostMilliseconds: Int32 = 2000

  private static let refusal = ServerError(
    message: "a connection pooler gives each transaction another session of the server, but a store needs one of its "
      + "own: set pool_mode = session for this database in pgbouncer.ini, or name the server itself in the URL",
    state: "0A000")
}

extension PostgreSQLConnection {
  /// The process number of the session. The server told it at the beginning, or a pooler in front of the server, which
  /// invents one.
  fileprivate var announcedProcess: Int { Int(pq.PQbackendPID(handle)) }

  /// The text in the first row and column of a script's last result. By libpq's asynchronous functions, since the
  /// blocking ones have no timeout (page "Asynchronous Command Processing").
  fileprivate func value(_ script: String, within milliseconds: Int32) throws -> String? {
    guard pq.PQsendQuery(handle, script) == 1 else { throw connectionError() }
    let deadline = ContinuousClock.now + .milliseconds(Int(milliseconds))
    while pq.PQisBusy(handle) == 1 {
      let remainingTime = ContinuousClock.now.duration(to: deadline) / .milliseconds(1)
      var descriptors = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
      guard remainingTime > 0, poll(&descriptors, 1, Int32(remainingTime) + 1) > 0 else { return nil }
      guard pq.PQconsumeInput(handle) == 1 else { throw connectionError() }
    }
    var last: PostgreSQLResult?
    var failure: (any Error)?
    while let result = pq.PQgetResult(handle) {
      do { last = try checked(result) } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
    return last?.bytes(0, 0).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }

  fileprivate func value(_ script: String) throws -> String {
    let result = try checked(pq.PQexec(handle, script))
    return result.bytes(0, 0).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }
}

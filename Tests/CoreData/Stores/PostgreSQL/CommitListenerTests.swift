import TestFiles
import Testing

@testable import CoreData
@testable import CoreDataPostgreSQL

/// A listener whose session with the server ends.
@Suite(.enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"))
struct CommitListenerTests {
  /// Holds up each connection but the first one, and knows their sessions.
  ///
  /// `@unchecked Sendable`: `process` is written before `isOver` is signalled, and read after that.
  private final class Connecting: @unchecked Sendable {
    let hasBegun = DispatchSemaphore(value: 0)
    let mayGoOn = DispatchSemaphore(value: 0)
    let isOver = DispatchSemaphore(value: 0)
    /// The process of the last session at the server.
    private(set) var process: Int64 = 0

    init() {
      // The first connection. A semaphore that ends below the value that it was made with traps.
      mayGoOn.signal()
    }

    func connect(_ address: String) throws -> any ServerConnection {
      hasBegun.signal()
      mayGoOn.wait()
      let connection = try ServerDriver.open(address)
      process = try connection.execute("SELECT pg_backend_pid()").integer(0, 0)
      isOver.signal()
      return connection
    }
  }

  /// The listener reports a commit when it is connected again, unless it was cancelled meanwhile:
  ///
  ///     the listener's thread       | this test
  ///     ----------------------------+----------------------
  ///                                 | ends the session
  ///     begins to connect           |
  ///                                 | cancels, or does not
  ///     is connected again          |
  @Test(arguments: [false, true])
  func aListenerReportsOnceItIsConnectedAgainUnlessItIsCancelled(isCancelled: Bool) throws {
    let stack = try StoreStack(.server)
    let place = try ServerAddress(stack.url, nil)
    let (connecting, reports) = (Connecting(), DispatchSemaphore(value: 0))
    let database = ServerDatabase(place, maximumReaders: 1) { try connecting.connect($0) }
    defer { database.close() }
    let identifier = try #require(stack.store.identifier)
    let listener = try CommitListener(database, identifier, table: place.qualified("_store")) { reports.signal() }
    connecting.hasBegun.wait()
    connecting.isOver.wait()
    _ = try PostgreSQLServer.shared.psql("SELECT pg_terminate_backend(\(connecting.process))")
    connecting.hasBegun.wait()
    if isCancelled { listener.cancel() }
    connecting.mayGoOn.signal()
    connecting.isOver.wait()
    if !isCancelled {
      reports.wait()
      listener.cancel()
    }
    // The thread closes the session when it ends.
    let count = "SELECT count(*) FROM pg_stat_activity WHERE pid = \(connecting.process)"
    let end = Date(timeIntervalSinceNow: Double(TestLimit.seconds))
    while try PostgreSQLServer.shared.psql(count) != "0", Date() < end {}
    try #expect(PostgreSQLServer.shared.psql(count) == "0")
    #expect(reports.wait(timeout: .now()) == .timedOut, "a report came after the listener was cancelled")
  }
}

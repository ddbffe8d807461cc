import TestFiles
import Testing

@testable import CoreData
@testable import CoreDataPostgreSQL

/// Sessions that hold locks and wait for them, beside the other users of the database.
@Suite(.enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"))
struct ServerSessionTests {
  /// A session that holds a lock, and a connection that waits for it, in a database of their own.
  private final class Waiting: Sendable {
    let server = PostgreSQLServer.shared
    let name = "waits_\(UInt32.random(in: 0 ... .max))"
    let number = Int64(UInt32.random(in: 1_000_000_000 ... .max))
    let isHeld = DispatchSemaphore(value: 0)
    let session: ServerSession
    let hold: ServerLockHold

    /// - Parameter settings: those of the role that waits.
    init(slice: Int, _ settings: [String] = []) throws {
      try server.psql("CREATE DATABASE \(name)")
      try server.psql("CREATE ROLE \(name) LOGIN")
      for setting in settings { try server.psql("ALTER ROLE \(name) SET \(setting)") }
      let address = try ServerAddress(server.url(schema: "x", user: name, database: name), nil)
      session = try ServerSession(address, "x", holding: number) { _ in }
      hold = ServerLockHold(address, number, slice: slice) { [isHeld] event in
        if case .held = event { isHeld.signal() }
      }
      try waitForSlice(after: "")
    }

    deinit {
      hold.release()
      session.close()
      _ = try? server.psql("DROP DATABASE \(name) WITH (FORCE)")
      _ = try? server.psql("DROP ROLE \(name)")
    }

    func psql(_ script: String) throws -> String {
      try PostgreSQLServer.psql(script, at: server.address(database: name))
    }

    /// Waits until a slice has begun that is not the named one, and names it.
    @discardableResult
    func waitForSlice(after last: String) throws -> String {
      let end = Date(timeIntervalSinceNow: 60)
      while Date() < end {
        let slice = try psql(
          """
          SELECT a.query_start FROM pg_locks l JOIN pg_stat_activity a USING (pid) \
          WHERE l.locktype = 'advisory' AND l.objid = \(number) AND NOT l.granted
          """)
        if !slice.isEmpty, slice != last { return slice }
      }
      throw ServerError(message: "no other slice of waiting has begun")
    }

    /// Ends the session that holds the lock.
    func endSession() throws {
      _ = try psql("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE objid = \(number) AND granted")
    }
  }

  /// The index waits for every older snapshot of the database, and rows that such a snapshot sees stay.
  @Test func othersVacuumAndMakeIndexesWhileALockIsWaitedFor() throws {
    let waiting = try Waiting(slice: 100)
    _ = try waiting.psql("CREATE TABLE others AS SELECT generate_series(1, 20000) AS n")
    _ = try waiting.psql("DELETE FROM others")
    _ = try waiting.psql("ALTER DATABASE \(waiting.name) SET statement_timeout = '5s'")
    _ = try waiting.psql("CREATE INDEX CONCURRENTLY ON others (n)")
    _ = try waiting.psql("VACUUM others")
    #expect(try waiting.psql("SELECT pg_relation_size('others')") == "0", "dead rows have stayed")
  }

  @Test func aLockIsHeldSoonAfterItsSessionHasEnded() throws {
    var seconds: [Double] = []
    for _ in 0..<3 {
      let waiting = try Waiting(slice: 20)
      try waiting.endSession()
      let start = ProcessInfo.processInfo.systemUptime
      waiting.isHeld.wait()
      seconds.append(ProcessInfo.processInfo.systemUptime - start)
    }
    // The median: the machine may be busy.
    #expect(seconds.sorted()[1] < 0.3, "\(seconds)")
  }

  /// A server that logs every statement that fails, and every lock that is waited for, would fill its disk.
  @Test func waitingLeavesNoLineInTheServersLog() throws {
    let waiting = try Waiting(slice: 5000, ["log_lock_waits = on", "deadlock_timeout = '60ms'"])
    var slice = ""
    for _ in 0..<4 { slice = try waiting.waitForSlice(after: slice) }
    let log = try String(contentsOfFile: waiting.server.directory + "/log", encoding: .utf8)
    let lines = log.split(separator: "\n").filter { $0.contains("\(waiting.number)") }
    #expect(lines.isEmpty, "\(lines)")
  }

  @Test func aLockThatIsNotWantedAnyMoreIsNotWaitedFor() throws {
    let waiting = try Waiting(slice: 60_000)
    waiting.hold.release()
    let end = Date(timeIntervalSinceNow: 30)
    let count = "SELECT count(*) FROM pg_locks WHERE objid = \(waiting.number)"
    while try waiting.psql(count) != "1", Date() < end {}
    #expect(try waiting.psql(count) == "1")
  }
}

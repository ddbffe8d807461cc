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
    init(interval: Int32 = 20, _ settings: [String] = []) throws {
      try server.psql("CREATE DATABASE \(name)")
      try server.psql("CREATE ROLE \(name) LOGIN")
      for setting in settings { try server.psql("ALTER ROLE \(name) SET \(setting)") }
      let address = try ServerAddress(server.url(schema: "x", user: name, database: name), nil)
      session = try ServerSession(address, "x", holding: number) { _ in }
      hold = ServerLockHold(address, number, interval: interval) { [isHeld] event in
        if case .held = event { isHeld.signal() }
      }
      try waitForLook(after: "")
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

    /// Waits for a look at the lock that is not the named one, and names it.
    @discardableResult
    func waitForLook(after last: String) throws -> String {
      let end = Date(timeIntervalSinceNow: Double(TestLimit.seconds))
      while Date() < end {
        let look = try psql("SELECT query_start FROM pg_stat_activity WHERE \(looksAtLock)")
        if !look.isEmpty, look != last { return look }
      }
      throw ServerError(message: "there was no other look at the lock")
    }

    /// Matches the session of the hold, not that of the lock's holder, which listens since.
    var looksAtLock: String { "query = 'SELECT pg_try_advisory_lock(\(number))'" }

    /// Ends the session that holds the lock.
    func endSession() throws {
      _ = try psql("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE objid = \(number) AND granted")
    }
  }

  /// The index waits for every older snapshot of the database, and rows that such a snapshot sees stay.
  @Test func othersVacuumAndMakeIndexesWhileALockIsWaitedFor() throws {
    let waiting = try Waiting()
    _ = try waiting.psql("CREATE TABLE others AS SELECT generate_series(1, 20000) AS n")
    _ = try waiting.psql("DELETE FROM others")
    _ = try waiting.psql("ALTER DATABASE \(waiting.name) SET statement_timeout = '5s'")
    _ = try waiting.psql("CREATE INDEX CONCURRENTLY ON others (n)")
    _ = try waiting.psql("VACUUM others")
    #expect(try waiting.psql("SELECT pg_relation_size('others')") == "0", "dead rows have stayed")
  }

  /// A session that is between two looks has no snapshot; one that waits in a statement always has one.
  @Test func whoWaitsForALockHoldsNoSnapshot() throws {
    let waiting = try Waiting(interval: 200)
    _ = try waiting.psql("CREATE TABLE samples (has_snapshot bool)")
    _ = try waiting.psql(
      """
      DO $$ BEGIN
        FOR sample IN 1..200 LOOP
          PERFORM pg_stat_clear_snapshot();
          INSERT INTO samples SELECT backend_xmin IS NOT NULL FROM pg_stat_activity WHERE \(waiting.looksAtLock);
          COMMIT;
          PERFORM pg_sleep(0.005);
        END LOOP;
      END $$
      """)
    let shares = try waiting.psql("SELECT count(*), count(*) FILTER (WHERE has_snapshot) FROM samples")
    let counts = shares.split(separator: "|").compactMap { Int($0) }
    #expect(counts.count == 2 && counts[0] == 200 && counts[1] <= 20, "\(shares)")
  }

  @Test func aLockIsHeldSoonAfterItsSessionHasEnded() throws {
    var seconds: [Double] = []
    for _ in 0..<5 {
      let waiting = try Waiting(interval: 200)
      try waiting.endSession()
      let start = ProcessInfo.processInfo.systemUptime
      waiting.isHeld.wait()
      seconds.append(ProcessInfo.processInfo.systemUptime - start)
    }
    // The median: the machine may be busy.
    #expect(seconds.sorted()[2] < 0.3, "\(seconds)")
  }

  /// A server that logs every statement that fails, and every lock that is waited for, would fill its disk.
  @Test func waitingLeavesNoLineInTheServersLog() throws {
    let waiting = try Waiting(["log_lock_waits = on", "deadlock_timeout = '60ms'"])
    var look = ""
    for _ in 0..<4 { look = try waiting.waitForLook(after: look) }
    let log = try String(contentsOfFile: waiting.server.directory + "/log", encoding: .utf8)
    let lines = log.split(separator: "\n").filter { $0.contains("\(waiting.number)") }
    #expect(lines.isEmpty, "\(lines)")
  }

  @Test func oneStatementTellsWhichLocksAreHeld() throws {
    let stack = try StoreStack(.server)
    let store = try #require(stack.store as? ServerStore)
    let numbers = (0..<3).map { _ in Int64(UInt32.random(in: 1_000_000_000 ... .max)) }
    let sessions = try numbers.prefix(2).map { try ServerSession(store.address, "x", holding: $0) { _ in } }
    for _ in 0..<2 { #expect(try store.heldLocks(among: numbers) == Set(numbers.prefix(2))) }
    #expect(try store.heldLocks(among: []).isEmpty && store.heldLocks(among: [numbers[2]]).isEmpty)
    // The text of the question has not the name that it asks for.
    let prepared: SQL = "SELECT count(*) FROM pg_prepared_statements WHERE strpos(statement, 'lock_' || 'shared') > 0"
    let count = try store.database.read { connection, _ in try connection.execute(prepared).integer(0, 0) }
    #expect(count == 1)
    for session in sessions { session.close() }
  }

  @Test func aLockThatIsNotWantedAnyMoreIsNotWaitedFor() throws {
    let waiting = try Waiting()
    waiting.hold.release()
    let end = Date(timeIntervalSinceNow: Double(TestLimit.seconds))
    let count = "SELECT count(*) FROM pg_stat_activity WHERE \(waiting.looksAtLock)"
    while try waiting.psql(count) != "0", Date() < end {}
    #expect(try waiting.psql(count) == "0")
  }
}

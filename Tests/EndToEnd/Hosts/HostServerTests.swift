import Foundation
import TestFiles
import Testing

/// What a server is set to, what else is in its databases, and what it runs out of.
@Suite(.enabled(if: PostgreSQLServer.isInstalled), .timeLimit(.minutes(20)))
struct HostServerTests {
  private let server = PostgreSQLServer.shared

  /// Runs the body with a new role or database, and drops it at the end.
  private func withNew(_ what: String, _ options: String = "", _ body: (String) throws -> Void) throws {
    let name = "t\(UInt32.random(in: 0 ... .max))"
    try server.psql("CREATE \(what) \(name) \(options)")
    defer {
      if what == "ROLE" { _ = try? server.psql("DROP OWNED BY \(name) CASCADE") }
      _ = try? server.psql("DROP \(what) \(name)")
    }
    try body(name)
  }

  @Test func settingsOfADatabaseChangeNothing() throws {
    try withNew("DATABASE") { database in
      let settings = [
        "default_transaction_isolation = 'serializable'", "default_transaction_deferrable = on",
        "standard_conforming_strings = off", "DateStyle = 'German'", "IntervalStyle = 'sql_standard'",
        "TimeZone = 'Asia/Kathmandu'", "search_path = 'nowhere'", "bytea_output = 'escape'", "array_nulls = off",
        "quote_all_identifiers = on", "transform_null_equals = on", "extra_float_digits = -5",
        "client_encoding = 'LATIN1'", "idle_in_transaction_session_timeout = '1s'", "lock_timeout = '300ms'",
        "statement_timeout = '5s'", "idle_session_timeout = '1s'", "synchronous_commit = off",
      ]
      for setting in settings { try server.psql("ALTER DATABASE \(database) SET \(setting)") }
      let hosts = try HostPools(at: server.address(database: database))
      let options = ["--limit", "counted=3", "--rate", "counted=200/1"]
      let pools = try ["a", "b"].map { try hosts.start($0, workers: 2, options: options) }
      let more = #", "unique": "k\\NUMBER ' ü", "limitKey": "back\\slash NUMBER""#
      try hosts.submit(0..<80, to: "a", milliseconds: 2, more: more)
      try hosts.submit(80..<160, to: "b", milliseconds: 2, more: more)
      try hosts.waitForEffects(160)
      try hosts.checkEffects(0..<160)
      for pool in pools {
        #expect(!pool.lastLines.contains("serialize access"), "\(pool.lastLines)")
        try pool.stop()
      }
    }
  }

  /// The index waits for every older snapshot of the database, and rows that such a snapshot sees stay.
  @Test func othersVacuumAndMakeIndexesBesidePools() throws {
    try withNew("DATABASE") { database in
      let hosts = try HostPools(at: server.address(database: database))
      let pools = try ["a", "b", "c"].map { try hosts.start($0) }
      try waitUntil("each pool waits for the next, and for the lead or has it") {
        try hosts.psql(
          """
          SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
          AND query LIKE 'SELECT pg_try_advisory_lock(%'
          """) == "6"
      }
      try hosts.psql("CREATE TABLE others AS SELECT generate_series(1, 20000) AS n")
      try hosts.submit(0..<100, to: "a", milliseconds: 5)
      try hosts.psql("DELETE FROM others")
      try server.psql("ALTER DATABASE \(database) SET statement_timeout = '20s'")
      try hosts.psql("CREATE INDEX CONCURRENTLY ON others (n)")
      try hosts.psql("VACUUM others")
      #expect(try hosts.psql("SELECT pg_relation_size('others')") == "0", "dead rows have stayed")
      try hosts.waitForEffects(100)
      try hosts.checkEffects(0..<100)
      for pool in pools { try pool.stop() }
    }
  }

  /// The server refuses a write as one whose disk is full does.
  @Test func aFullDiskOfTheServerIsAdvice() throws {
    let hosts = try HostPools()
    let pool = try hosts.start("a")
    let (schema, jobs) = (hosts.schema + "_wp", hosts.table("PoolJob"))
    try hosts.psql(
      """
      CREATE FUNCTION \(schema).refuse() RETURNS trigger LANGUAGE plpgsql AS \
      $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$; \
      CREATE TRIGGER refuse BEFORE INSERT ON \(jobs) FOR EACH ROW EXECUTE FUNCTION \(schema).refuse()
      """)
    try hosts.submit(0..<1, to: "a")
    try pool.wait { $0.fullDisks?.isEmpty == false }
    let status = try pool.command("status").output
    #expect(status.contains("is full: job files cannot be taken"), "\(status)")
    #expect(status.contains("make some at the database's server"), "\(status)")
    try hosts.psql("DROP TRIGGER refuse ON \(jobs)")
    try hosts.waitForEffects(1)
    try pool.wait { $0.fullDisks == nil }
    try pool.stop()
  }

  /// A server without a connection left lets no worker begin. That is not the plugin's fault: when there are
  /// connections again, there are workers.
  @Test func aServerThatHasNoConnectionLeftCostsNoPlugin() throws {
    try withNew("ROLE", "LOGIN") { role in
      try server.psql("GRANT CREATE ON DATABASE postgres TO \(role)")
      let hosts = try HostPools(at: server.address(), pools: server.address(user: role))
      let pool = try hosts.start("a", workers: 0)
      let used = try server.psql("SELECT count(*) FROM pg_stat_activity WHERE usename = '\(role)'")
      try server.psql("ALTER ROLE \(role) CONNECTION LIMIT \(used)")
      #expect(try pool.command("scale", "1").code == 0)
      try waitUntil("more workers have failed to begin than a broken plugin may") {
        (7..<30).contains { pool.lastLines.contains("is started as worker \($0)") } || !pool.isRunning
      }
      #expect(pool.isRunning && pool.lastLines.contains("exited with code 75"), "\(pool.lastLines)")
      try server.psql("ALTER ROLE \(role) CONNECTION LIMIT -1")
      try hosts.submit(0..<3, to: "a")
      try hosts.waitForEffects(3)
      try hosts.checkEffects(0..<3)
      try pool.stop()
      // The schemas are the role's: they go first.
      try hosts.drop()
    }
  }

  /// The pool's tables are the role's, but not the app's.
  @Test func aJobWithoutTheRightToItsTableSaysSo() throws {
    try withNew("ROLE", "LOGIN") { role in
      let hosts = try HostPools()
      try hosts.start("a").stop()
      let (app, pool) = (hosts.schema, "\(hosts.schema)_wp")
      try hosts.psql(
        """
        GRANT USAGE ON SCHEMA "\(app)", "\(pool)" TO \(role); \
        GRANT ALL ON ALL TABLES IN SCHEMA "\(pool)" TO \(role); \
        GRANT ALL ON ALL SEQUENCES IN SCHEMA "\(app)", "\(pool)" TO \(role); \
        GRANT SELECT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "\(app)" TO \(role)
        """)
      let running = try hosts.start("b", at: server.address(user: role))
      try hosts.submit(0..<1, to: "b", more: #", "maxAttempts": 1"#)
      try waitUntil("the job is dead") {
        try hosts.psql("SELECT count(*) FROM \(hosts.table("PoolJob")) WHERE \"finishedAt\" IS NOT NULL") == "1"
      }
      let errors = try hosts.psql("SELECT errors FROM \(hosts.table("PoolJob"))")
      #expect(errors.contains("42501") && errors.contains("GRANT"), "\(errors)")
      #expect(try hosts.effects() == [])
      try running.stop()
    }
  }

  /// A server may take connections whose sessions do not answer, as on a disk that hangs.
  @Test func aStatusHasTheLastNumbersWhileSessionsHang() throws {
    try withNew("ROLE", "LOGIN") { role in
      // Given a pool that has told its numbers once
      try server.psql("GRANT CREATE ON DATABASE postgres TO \(role)")
      let hosts = try HostPools(at: server.address(), pools: server.address(user: role))
      let pool = try hosts.start("a")
      #expect(try pool.status().jobs != nil)
      // When its sessions hang
      let sessions = try server.psql("SELECT pid FROM pg_stat_activity WHERE usename = '\(role)'")
        .split(separator: "\n").compactMap { pid_t($0) }
      try #require(!sessions.isEmpty)
      for session in sessions { kill(session, SIGSTOP) }
      let answers = Result {
        try (
          text: pool.command("status").output, json: pool.command("status", "--json").output,
          metrics: pool.command("status", "--prometheus").output
        )
      }
      for session in sessions { kill(session, SIGCONT) }
      // Then a status says what is known
      let (output, json, metrics) = try answers.get()
      #expect(output.contains("the store did not answer in time: the numbers of jobs are those of "), "\(output)")
      #expect(output.contains("see that the database's server runs and answers"), "\(output)")
      #expect(json.contains(#""storeAge":"#) && json.contains(#""jobs":"#), "\(json)")
      #expect(metrics.contains("\nworkerpool_store_age_seconds "), "\(metrics)")
      #expect(metrics.contains("\nworkerpool_jobs{"), "\(metrics)")
      try pool.stop()
      try hosts.drop()
    }
  }

  /// A service manager ends a unit that gives no sign of life, and what it takes for stopping it does not restart.
  @Test func aServerThatIsAwayForLongIsWaitedForWithSignsOfLife() throws {
    try withNew("ROLE", "LOGIN") { role in
      // Given a pool under a service manager
      try server.psql("GRANT CREATE ON DATABASE postgres TO \(role)")
      let hosts = try HostPools(at: server.address(), pools: server.address(user: role))
      let manager = try NotifySocket(hosts.place)
      let pool = try hosts.start(
        "a", options: ["--store-wait", "1"], environment: ["NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "100000"])
      var said: [String] = []
      func listen(until isEnough: ([String]) -> Bool) throws {
        let start = said.count
        while !isEnough(Array(said[start...])) { said.append(try #require(manager.next(), "\(pool.lastLines)")) }
      }
      try listen { $0.contains("READY=1") }
      // When the server lets the pool in no more, and ends its sessions
      try server.psql("ALTER ROLE \(role) CONNECTION LIMIT 0")
      try server.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '\(role)'")
      try waitUntil("the pool waits for the server") { pool.lastLines.contains("is not open after") }
      // Then it gives signs of life for as long as that takes, longer than --store-wait
      try listen { $0.count { $0.contains("WATCHDOG=1") } >= 20 }
      #expect(pool.isRunning)
      // And goes on when the server is back
      try server.psql("ALTER ROLE \(role) CONNECTION LIMIT -1")
      try hosts.submit(0..<3, to: "a")
      try hosts.waitForEffects(3)
      try hosts.checkEffects(0..<3)
      try listen { $0.contains("WATCHDOG=1") }
      #expect(!said.contains { $0.contains("STOPPING=1") }, "it does not stop")
      pool.signal(SIGTERM)
      try listen { $0.contains { $0.contains("STOPPING=1") } }
      #expect(pool.waitForExit() == 0)
      try hosts.drop()
    }
  }

  /// A copy of a store has the same identifier. In the same database it has a leader of its own all the same.
  @Test func aCopyInTheSameDatabaseHasALeaderOfItsOwn() throws {
    let (hosts, copies) = (try HostPools(), try HostPools())
    try hosts.start("a").stop()
    let file = hosts.place.path("copy.sqlite")
    #expect(try workerpool("copy", "--store", hosts.store, "--model", hosts.model, "--to", file).code == 0)
    #expect(try workerpool("copy", "--store", file, "--model", hosts.model, "--to", copies.store).code == 0)
    let (one, other) = (try hosts.start("a"), try copies.start("b"))
    for hosts in [hosts, copies] {
      let host = hosts === copies ? "b" : "a"
      let soon = Date(timeIntervalSinceNow: 1).formatted(.iso8601)
      try hosts.submit(0..<1, to: host, more: #", "runAt": "\#(soon)""#)
    }
    for hosts in [hosts, copies] { try hosts.waitForEffects(1) }
    try one.stop()
    try other.stop()
  }

  /// The names of the store's tables are taken.
  @Test func aSchemaThatIsUsedForSomethingElseIsRefusedAndStaysAsItIs() throws {
    let hosts = try HostPools()
    try hosts.psql(#"CREATE SCHEMA \#(hosts.schema); CREATE TABLE \#(hosts.schema)."Item" (x int)"#)
    let finished = try workerpool(
      "run", "--store", hosts.store, "--model", hosts.model, "--queue", hosts.place.path("queue"))
    #expect(finished.code != 0 && finished.errors.contains("schema=NAME"), "\(finished)")
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname LIKE '\(hosts.schema)%'"
    #expect(try hosts.psql(tables) == "1")
  }

  @Test func aSchemaMayHaveANameOfAnyLanguage() throws {
    let hosts = try HostPools(schemaPrefix: "Größe_")
    let pool = try hosts.start("a")
    try hosts.submit(0..<3, to: "a")
    try hosts.waitForEffects(3)
    try hosts.checkEffects(0..<3)
    try pool.stop()
  }

  /// A worker of another host, or any other program, changes an object that a job has read.
  @Test func aJobCanMergeWhatOtherHostsSave() throws {
    let hosts = try HostPools()
    let pool = try hosts.start("a", counts: false)
    try hosts.psql(#"INSERT INTO \#(hosts.schema)."Item" (value) VALUES (1)"#)
    let (seen, until) = (hosts.place.path("seen"), hosts.place.path("until"))
    try hosts.drop(
      [#"{"kind": "follow", "parameters": {"seen": "\#(seen)", "until": "\#(until)"}}"#], as: "job.json", on: "a")
    try waitUntil("the job has read the object") { FileManager.default.fileExists(atPath: seen) }
    try hosts.psql(#"UPDATE \#(hosts.schema)."Item" SET value = 2, _version = _version + 1"#)
    try Data().write(to: URL(fileURLWithPath: until))
    try waitUntil("the job has ended") {
      try hosts.psql("SELECT output FROM \(hosts.table("PoolJob")) WHERE state = 3") == "1 2"
    }
    try pool.stop()
  }
}

import Foundation
import TestFiles
import Testing

/// A database of a test alone, so that it can end all sessions in it.
private struct OwnDatabase {
  private let server = PostgreSQLServer.shared
  private let name = "failover_\(UInt32.random(in: 0 ... .max))"
  var address: String { server.address(database: name) }

  init() throws { try server.psql("CREATE DATABASE \(name)") }

  func endSessions() throws {
    try server.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(name)'")
  }

  /// Ends all sessions, and lets none begin until `open()`.
  func close() throws {
    try server.psql("ALTER DATABASE \(name) ALLOW_CONNECTIONS false")
    try endSessions()
  }

  func open() throws { try server.psql("ALTER DATABASE \(name) ALLOW_CONNECTIONS true") }

  func drop() { _ = try? server.psql("DROP DATABASE \(name) WITH (FORCE)") }
}

/// All sessions with the server end at once, as when it starts again or a standby takes its place. No pool dies.
///
/// The default run has as many rounds as would make a job dead whose pools had died. `WORKERPOOL_FAILOVERS=20` makes it
/// that many.
@Suite(.enabled(if: PostgreSQLServer.isInstalled), .timeLimit(.minutes(20)))
struct FailoverTests {
  private static let rounds = ProcessInfo.processInfo.environment["WORKERPOOL_FAILOVERS"].flatMap(Int.init) ?? 4

  ///     pool a or b                test
  ///     begins the job
  ///                                ends all sessions
  ///     begins again, and then the job
  ///                                … four times, then lets the job end
  @Test func failoversDuringALongJobCostItNothing() throws {
    let database = try OwnDatabase()
    defer { database.drop() }
    let hosts = try HostPools(at: database.address)
    let pools = try ["a", "b"].map { try hosts.start($0, counts: false) }
    try hosts.psql(#"INSERT INTO \#(hosts.schema)."Item" (value) VALUES (1)"#)
    let (seen, until) = (hosts.place.path("seen"), hosts.place.path("until"))
    try hosts.drop(
      [#"{"kind": "follow", "parameters": {"seen": "\#(seen)", "until": "\#(until)"}}"#], as: "job.json", on: "a")
    for round in 1...Self.rounds {
      try waitUntil("the job has begun \(round) times") { FileManager.default.fileExists(atPath: seen) }
      try FileManager.default.removeItem(atPath: seen)
      try database.endSessions()
    }
    try waitUntil("the job has begun for the last time") { FileManager.default.fileExists(atPath: seen) }
    try Data().write(to: URL(fileURLWithPath: until))
    try waitUntil("the job has ended") {
      try hosts.psql("SELECT count(*) FROM \(hosts.table("PoolJob")) WHERE state > 2") == "1"
    }
    let job = try hosts.psql(
      #"SELECT state, attempt, crashes, coalesce("hostDeaths", 0), errors FROM \#(hosts.table("PoolJob"))"#)
    #expect(job == "3|1|0|0|", "\(job)")
    for pool in pools { try pool.stop() }
  }

  /// Sessions outlive a change of their user's password, but not a restart.
  @Test func aPoolWaitsForTheNewPassword() throws {
    let server = PostgreSQLServer(["fsync=off"])
    defer { server.stop() }
    try server.psql("CREATE ROLE app LOGIN PASSWORD 'one'; GRANT CREATE ON DATABASE postgres TO app")
    let rules = server.directory + "/data/pg_hba.conf"
    let others = try String(contentsOfFile: rules, encoding: .utf8)
    try ("local all app scram-sha-256\n" + others).write(toFile: rules, atomically: false, encoding: .utf8)
    try server.psql("SELECT pg_reload_conf()")
    let hosts = try HostPools(at: server.address(), pools: server.address(user: "app"))
    let passwords = hosts.place.path("passwords")
    func write(_ password: String) throws {
      try "*:*:*:app:\(password)\n".write(toFile: passwords, atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: passwords)
    }
    try write("one")
    let pool = try hosts.start("a", environment: ["PGPASSFILE": passwords])
    try hosts.submit(0..<1, to: "a")
    try hosts.waitForEffects(1)
    try server.psql("ALTER ROLE app PASSWORD 'two'")
    try server.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'")
    try waitUntil("the pool says what is wrong") { pool.lastLines.contains("check user and password") }
    try write("two")
    try hosts.submit(1..<2, to: "a")
    try hosts.waitForEffects(2)
    try hosts.checkEffects(0..<2)
    try pool.stop()
  }

  /// A backup is restored: for a while there is no store, and nobody else makes an empty one in its place.
  @Test func aPoolWaitsForItsStoreInsteadOfMakingANewOne() throws {
    let database = try OwnDatabase()
    defer { database.drop() }
    let hosts = try HostPools(at: database.address)
    let pool = try hosts.start("a")
    try hosts.submit(0..<1, to: "a")
    try hosts.waitForEffects(1)
    func rename(_ suffix: String, to other: String) throws {
      for end in ["", "_wp"] {
        try hosts.psql(
          #"ALTER SCHEMA "\#(hosts.schema)\#(suffix)\#(end)" RENAME TO "\#(hosts.schema)\#(other)\#(end)""#)
      }
    }
    try rename("", to: "_away")
    try database.endSessions()
    try waitUntil("the pool says what is missing") { pool.lastLines.contains("holds no store") }
    #expect(try hosts.psql("SELECT to_regnamespace('\(hosts.schema)') IS NULL") == "t")
    try rename("_away", to: "")
    try hosts.submit(1..<2, to: "a")
    try hosts.waitForEffects(2)
    try hosts.checkEffects(0..<2)
    try pool.stop()
  }

  /// A host that is shut down with its server, and started again: nobody has died.
  @Test func anOrderlyEndWhileTheServerIsAwayCostsAJobNothing() throws {
    let database = try OwnDatabase()
    defer { database.drop() }
    let hosts = try HostPools(at: database.address)
    let (seen, until) = (hosts.place.path("seen"), hosts.place.path("until"))
    var pool = try hosts.start("a", counts: false)
    try hosts.psql(#"INSERT INTO \#(hosts.schema)."Item" (value) VALUES (1)"#)
    try hosts.drop(
      [#"{"kind": "follow", "parameters": {"seen": "\#(seen)", "until": "\#(until)"}}"#], as: "job.json", on: "a")
    for round in 1...4 {
      try waitUntil("the job has begun \(round) times") { FileManager.default.fileExists(atPath: seen) }
      try FileManager.default.removeItem(atPath: seen)
      try database.close()
      try waitUntil("the pool waits for the server") { pool.lastLines.contains("not currently accepting connections") }
      try pool.stop()
      try database.open()
      pool = try hosts.start("a", counts: false)
    }
    try Data().write(to: URL(fileURLWithPath: until))
    try waitUntil("the job has ended") {
      try hosts.psql("SELECT count(*) FROM \(hosts.table("PoolJob")) WHERE state > 2") == "1"
    }
    let job = try hosts.psql(
      #"SELECT state, attempt, crashes, coalesce("hostDeaths", 0), errors FROM \#(hosts.table("PoolJob"))"#)
    #expect(job == "3|1|0|0|", "\(job)")
    try pool.stop()
  }
}

import Foundation
import TestFiles
import Testing

/// Pools that share a store at a server.
@Suite(.enabled(if: PostgreSQLServer.isInstalled), .timeLimit(.minutes(20)))
struct HostPoolsTests {
  @Test func aJobRunsInAStoreAtAServer() throws {
    let hosts = try HostPools()
    let pool = try hosts.start("a")
    let submitted = try pool.command(
      "submit", "counted", "--set", "number=0", "--set", "file=\(hosts.lines)", "--wait")
    #expect(submitted.code == 0, "\(submitted.errors)")
    try hosts.checkEffects(0..<1)
    #expect(try pool.status().store == hosts.store)
    let jobs = try pool.command("jobs")
    #expect(jobs.output.contains("counted") && jobs.output.contains("succeeded"), "\(jobs.output)\(jobs.errors)")
    try waitUntil("the file is removed and forgotten") {
      try hosts.psql("SELECT count(*) FROM \(hosts.table("PoolFile"))") == "0"
        || FileManager.default.contentsOfDirectory(atPath: pool.queue + "/taken") == [".identity"]
    }
    try pool.stop()
    #expect(try hosts.psql("SELECT count(*) FROM \(hosts.table("PoolMember")) WHERE \"goneAt\" IS NULL") == "0")
  }

  /// Each job is claimed by one pool. Both find work while all of it comes through one queue directory.
  @Test func twoPoolsShareTheJobsOfOneQueueDirectory() throws {
    let hosts = try HostPools()
    let (one, other) = (try hosts.start("a"), try hosts.start("b"))
    try hosts.submit(0..<200, to: "a", milliseconds: 5)
    try hosts.waitForEffects(200)
    try hosts.checkEffects(0..<200)
    let done = try hosts.done()
    #expect(try one.status().hosts?.map(\.pid).sorted() == [one.pid, other.pid].sorted())
    #expect(done["a", default: 0] >= 20 && done["b", default: 0] >= 20, "\(done)")
    // Nothing ran twice, not even in vain.
    #expect(try String(contentsOfFile: hosts.lines, encoding: .utf8).split(separator: "\n").count == 200)
    try one.stop()
    try other.stop()
  }

  /// The server releases the dead pool's lock, and the other pool runs its jobs.
  @Test func aDeadPoolsJobsRunElsewhereAtOnce() throws {
    let hosts = try HostPools()
    let (one, other) = (try hosts.start("a", workers: 2), try hosts.start("b", workers: 2))
    try hosts.submit(0..<100, to: "a", milliseconds: 20)
    try hosts.waitForEffects(10)
    try one.kill9()
    try hosts.waitForEffects(100)
    try hosts.checkEffects(0..<100)
    #expect(try hosts.psql("SELECT count(*) FROM \(hosts.table("PoolMember")) WHERE \"goneAt\" IS NULL") == "1")
    try other.stop()
  }

  /// Of pools that die together the server tells one death after the other. Those after the first are found as soon as
  /// the session of the pool that is left is old enough, and do not each take that time.
  @Test func poolsThatDieTogetherAreFoundTogether() throws {
    let hosts = try HostPools()
    let one = try hosts.start("a")
    let others = try ["b", "c", "d"].map { try hosts.start($0) }
    for other in others { try other.kill9() }
    let members = hosts.table("PoolMember")
    try waitUntil("the dead pools are found") {
      try hosts.psql("SELECT count(*) FROM \(members) WHERE \"goneAt\" IS NULL") == "1"
    }
    // A pool has ten seconds to come back after the end of all sessions. One after the other would take twenty.
    let seconds = try hosts.psql(#"SELECT extract(epoch FROM max("goneAt") - min("startedAt")) FROM \#(members)"#)
    #expect(Double(seconds).map { $0 < 18 } == true, "\(seconds) s")
    try one.stop()
  }

  /// A pool that a person or the network cuts off begins again as a new one; its workers' late commits fail.
  @Test func aPoolWhoseSessionEndsBeginsAgainAsANewOne() throws {
    let hosts = try HostPools()
    let (one, other) = (try hosts.start("a", workers: 2), try hosts.start("b", workers: 2))
    try hosts.submit(0..<100, to: "a", milliseconds: 20)
    try hosts.waitForEffects(10)
    let members = "SELECT count(*) FROM \(hosts.table("PoolMember"))"
    try hosts.endSession(of: "a")
    try hosts.waitForEffects(100)
    try hosts.checkEffects(0..<100)
    try waitUntil("the pool is there again") { try hosts.psql("\(members) WHERE queue LIKE '%/a'") == "2" }
    #expect(try hosts.psql("\(members) WHERE \"goneAt\" IS NULL") == "2")
    try one.stop()
    try other.stop()
  }

  /// An idle host hears of a job that another host takes while it is busy.
  @Test func aJobOfABusyHostStartsOnAnIdleOne() throws {
    let hosts = try HostPools()
    let one = try hosts.start("a", workers: 0)
    let other = try hosts.start("b")
    try hosts.submit(0..<1, to: "a")
    try hosts.waitForEffects(1)
    #expect(try hosts.done() == ["b": 1])
    try one.stop()
    try other.stop()
  }

  /// Retries and due jobs are the leader's work; the next pool takes over when it stops.
  @Test func dueJobsRunWhenTheLeaderIsGone() throws {
    let hosts = try HostPools()
    let (one, other) = (try hosts.start("a"), try hosts.start("b"))
    try one.kill9()
    let submitted = try other.command(
      "submit", "counted", "--set", "number=0", "--set", "file=\(hosts.lines)", "--run-at",
      Date(timeIntervalSinceNow: 1).formatted(.iso8601), "--wait")
    #expect(submitted.code == 0, "\(submitted.errors)")
    try hosts.checkEffects(0..<1)
    try other.stop()
  }

  /// A session with a temporary table waits for the standby when it ends. Where the standby is gone, a primary with
  /// such sessions cannot shut down, and its pools wait for it for ever.
  @Test func sessionsOfPoolsHaveNoTemporaryTables() throws {
    let server = PostgreSQLServer(["fsync=off"])
    defer { server.stop() }
    let hosts = try HostPools(at: server.address())
    let pool = try hosts.start("a", workers: 2)
    for number in 0..<4 { try hosts.submit(number * 10..<number * 10 + 10, to: "a") }
    try hosts.waitForEffects(40)
    try waitUntil("the pool has forgotten the files") {
      try hosts.psql("SELECT count(*) FROM \(hosts.table("PoolFile"))") == "0"
    }
    #expect(try hosts.psql("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'pg_temp%'") == "0")
    try pool.stop()
  }

  @Test func aPoolFindsTheSecondServerWhenTheFirstIsDown() throws {
    let directory = PostgreSQLServer.shared.directory.replacingOccurrences(of: "/", with: "%2F")
    let address = "postgresql://tests@%2Fnowhere:5432,\(directory):5432/postgres?target_session_attrs=read-write"
    let hosts = try HostPools(pools: address)
    let pool = try hosts.start("a")
    try hosts.submit(0..<20, to: "a")
    try hosts.waitForEffects(20)
    try hosts.checkEffects(0..<20)
    try pool.stop()
  }

  @Test func aURLWithAPasswordIsRefused() throws {
    let place = try TestPlace()
    let finished = try workerpool(
      "run", "--store", "postgresql://me:secret@localhost/app", "--model", "none", "--queue", place.path("queue"))
    #expect(finished.code != 0 && finished.errors.contains("PGPASSWORD") && !finished.errors.contains("secret"))
  }
}

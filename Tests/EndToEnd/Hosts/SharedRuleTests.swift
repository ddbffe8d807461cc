import Foundation
import TestFiles
import Testing

/// Limits, rates, pauses and unique keys hold over all hosts.
@Suite(.enabled(if: PostgreSQLServer.isInstalled), .timeLimit(.minutes(20)))
struct SharedRuleTests {
  /// How many jobs ran at a time at most, by their rows: a job frees its place when its end is committed.
  private func mostAtATime(_ hosts: HostPools) throws -> Int {
    let rows = try hosts.psql(
      """
      SELECT max(n) FROM (SELECT count(*) n FROM \(hosts.table("PoolJob")) a JOIN \(hosts.table("PoolJob")) b \
      ON b."startedAt" <= a."startedAt" AND a."startedAt" < b."finishedAt" GROUP BY a."startedAt") x
      """)
    return try #require(Int(rows))
  }

  @Test func aLimitOfAKindHoldsOverAllHosts() throws {
    let hosts = try HostPools()
    let pools = try ["a", "b"].map { try hosts.start($0, workers: 2, options: ["--limit", "counted=2"]) }
    try hosts.submit(0..<60, to: "a", milliseconds: 20)
    try hosts.waitForEffects(60)
    try hosts.checkEffects(0..<60)
    // With a limit for each host, b would run jobs beside a. That it gets one of the two places is not promised: the
    // host whose job ends claims the next one in the same turn.
    let most = try mostAtATime(hosts)
    #expect(most == 2)
    for pool in pools { try pool.stop() }
  }

  @Test func jobsOfOneKeyRunOneByOneOnAllHosts() throws {
    let hosts = try HostPools()
    let pools = try ["a", "b"].map { try hosts.start($0, workers: 2) }
    try hosts.submit(0..<30, to: "a", milliseconds: 10, more: #", "limitKey": "disk""#)
    try hosts.waitForEffects(30)
    try hosts.checkEffects(0..<30)
    let most = try mostAtATime(hosts)
    #expect(most == 1)
    for pool in pools { try pool.stop() }
  }

  @Test func aLimitOfAQueueHoldsOverAllHosts() throws {
    let hosts = try HostPools()
    let pools = try ["a", "b"].map { try hosts.start($0, workers: 2, options: ["--limit", "queue:mail*=1"]) }
    try hosts.submit(0..<30, to: "a", milliseconds: 10, more: #", "queue": "mail-out""#)
    try hosts.waitForEffects(30)
    try hosts.checkEffects(0..<30)
    let most = try mostAtATime(hosts)
    #expect(most == 1)
    for pool in pools { try pool.stop() }
  }

  @Test func aRateHoldsOverAllHosts() throws {
    let hosts = try HostPools()
    let pools = try ["a", "b"].map { try hosts.start($0, workers: 2, options: ["--rate", "counted=5/1"]) }
    let start = Date()
    try hosts.submit(0..<15, to: "a")
    try hosts.waitForEffects(15)
    #expect(-start.timeIntervalSinceNow > 2)
    try hosts.checkEffects(0..<15)
    for pool in pools { try pool.stop() }
  }

  /// A pause that one pool is asked for holds on all, and any of them takes it back.
  @Test func aPauseHoldsOnAllHosts() throws {
    let hosts = try HostPools()
    let (one, other) = (try hosts.start("a"), try hosts.start("b"))
    #expect(try one.command("pause").code == 0)
    #expect(try other.command("pause", "--kind", "counted").code == 0)
    try one.wait { $0.isPaused && $0.pausedKinds == ["counted"] }
    try other.wait { $0.isPaused && $0.pausedKinds == ["counted"] }
    try hosts.submit(0..<5, to: "b")
    try waitUntil("the jobs are in the store") {
      try hosts.psql("SELECT count(*) FROM \(hosts.table("PoolJob"))") == "5"
    }
    #expect(try one.command("resume", "--kind", "counted").code == 0)
    try other.wait { $0.pausedKinds.isEmpty }
    #expect(try hosts.effects().isEmpty)
    #expect(try other.command("resume", "--all").code == 0)
    try hosts.waitForEffects(5)
    try hosts.checkEffects(0..<5)
    try one.stop()
    try other.stop()
  }

  @Test func aUniqueKeyIsTakenOnceOnAllHosts() throws {
    let hosts = try HostPools()
    let pools = try ["a", "b"].map { try hosts.start($0, workers: 0) }
    for host in ["a", "b", "a", "b"] {
      try hosts.submit(0..<20, to: host, more: #", "unique": "NUMBER""#)
      try waitUntil("the file is taken") {
        try FileManager.default.contentsOfDirectory(atPath: hosts.place.path("\(host)/incoming")).isEmpty
      }
    }
    for pool in pools { #expect(try pool.command("scale", "2").code == 0) }
    try hosts.waitForEffects(20)
    try hosts.checkEffects(0..<20)
    for pool in pools { try pool.stop() }
  }
}

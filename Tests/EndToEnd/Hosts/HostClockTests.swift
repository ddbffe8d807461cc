import Foundation
import TestFiles
import Testing

/// The clocks of hosts differ, by minutes or by years. What counts is the server's.
@Suite(.enabled(if: PostgreSQLServer.isInstalled), .timeLimit(.minutes(20)))
struct HostClockTests {
  private static let hour = 3600
  private static let year = 366 * 24 * hour

  private func start(
    _ hosts: HostPools, _ host: String, secondsAhead: Int, options: [String] = []
  ) throws -> RunningPool {
    let library = try FaultyPool.library("ShiftedClock", in: hosts.place)
    return try hosts.start(
      host, options: options, environment: ["LD_PRELOAD": library, "CLOCK_SHIFT": String(secondsAhead)])
  }

  /// A pool that is hours ahead has used up the rate; it dies. The others need not wait until its times have come.
  @Test func aRateIsKeptByTheServersClock() throws {
    let hosts = try HostPools()
    let options = ["--rate", "counted=5/2"]
    let ahead = try start(hosts, "a", secondsAhead: Self.hour, options: options)
    try hosts.submit(0..<5, to: "a")
    try hosts.waitForEffects(5)
    try ahead.kill9()
    let behind = try start(hosts, "b", secondsAhead: -Self.hour, options: options)
    let other = try start(hosts, "c", secondsAhead: 0, options: options)
    let moment = Date()
    try hosts.submit(5..<20, to: "b")
    try hosts.waitForEffects(20)
    // Fifteen jobs need three periods, of which the first may have begun before.
    #expect(-moment.timeIntervalSinceNow > 3.5)
    try hosts.checkEffects(0..<20)
    for pool in [behind, other] { try pool.stop() }
  }

  @Test func aPoolThatIsAheadBeginsNoJobEarly() throws {
    let hosts = try HostPools()
    let pool = try start(hosts, "a", secondsAhead: 2 * Self.hour)
    let later = Date(timeIntervalSinceNow: Double(Self.hour)).formatted(.iso8601)
    try hosts.submit(0..<1, to: "a", more: #", "runAt": "\#(later)""#)
    try hosts.submit(1..<2, to: "a")
    try hosts.waitForEffects(1)
    #expect(try hosts.effects() == [1])
    let rows = try hosts.psql(
      """
      SELECT state, "createdAt" BETWEEN now() - interval '1 min' AND now(), "startedAt" < now(), "finishedAt" < now() \
      FROM \(hosts.table("PoolJob")) ORDER BY state
      """)
    #expect(rows == "1|t||\n3|t|t|t")
    try pool.stop()
  }

  @Test func aPoolThatIsYearsAheadDeletesNoNewJob() throws {
    let hosts = try HostPools()
    let pool = try hosts.start("a")
    try hosts.submit(0..<10, to: "a")
    try hosts.waitForEffects(10)
    try pool.stop()
    // It forgets an old pool before it deletes old jobs, and saves both before it stops.
    try hosts.psql("UPDATE \(hosts.table("PoolMember")) SET \"goneAt\" = now() - interval '2 h'")
    let ahead = try start(hosts, "b", secondsAhead: Self.year)
    try waitUntil("old pools are forgotten") {
      try hosts.psql("SELECT count(*) FROM \(hosts.table("PoolMember")) WHERE queue LIKE '%/a'") == "0"
    }
    try ahead.stop()
    #expect(try hosts.psql("SELECT count(*) FROM \(hosts.table("PoolJob"))") == "10")
  }
}

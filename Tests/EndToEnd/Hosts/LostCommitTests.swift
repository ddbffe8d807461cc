import Foundation
import TestFiles
import Testing

/// Commits whose end a program does not hear of: 0 jobs lost, 0 doubled, counted job by job.
@Suite(.enabled(if: PostgreSQLServer.isInstalled), .timeLimit(.minutes(20)))
struct LostCommitTests {
  private static let jobs = ProcessInfo.processInfo.environment["WORKERPOOL_HOST_JOBS"].flatMap(Int.init) ?? 120

  /// The rows tell whether a transaction took place, for workers as for the pools that take the jobs in.
  @Test func aConnectionLostDuringCommitLosesAndDoublesNoJob() throws {
    let cutter = try CommitCutter(before: .shared, every: 7)
    defer { cutter.stop() }
    let hosts = try HostPools(pools: cutter.address)
    let (one, other) = (try hosts.start("a", workers: 2), try hosts.start("b"))
    // Several files, so that taking jobs in is cut as well.
    let parts = 12
    for part in 0..<parts {
      try hosts.submit(Self.jobs * part / parts..<Self.jobs * (part + 1) / parts, to: part % 2 == 0 ? "a" : "b")
    }
    try hosts.waitForEffects(Self.jobs)
    try hosts.checkEffects(0..<Self.jobs)
    #expect(cutter.cuts.before > 0 && cutter.cuts.after > 0)
    try one.stop()
    try other.stop()
  }

  /// The server dies with all its sessions in the middle, and its standby takes its place.
  @Test func aPromotedStandbyLosesAndDoublesNoJob() throws {
    let pair = PostgreSQLPair()
    defer { pair.stop() }
    let hosts = try HostPools(at: pair.address)
    let (one, other) = (try hosts.start("a", workers: 2), try hosts.start("b", workers: 2))
    try hosts.submit(0..<Self.jobs / 2, to: "a", milliseconds: 20)
    try hosts.submit(Self.jobs / 2..<Self.jobs, to: "b", milliseconds: 20)
    try hosts.waitForEffects(Self.jobs / 4)
    try pair.failOver()
    try hosts.waitForEffects(Self.jobs)
    try hosts.checkEffects(0..<Self.jobs)
    try one.stop()
    try other.stop()
  }
}

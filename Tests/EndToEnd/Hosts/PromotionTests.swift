import Foundation
import Glibc
import TestFiles
import Testing

/// Two hosts with pools, a server and its standby, each in a network namespace of its own: the primary's host goes in
/// the middle of the work, and the standby takes its place. Every job is counted by itself.
///
/// The default run has each way to go once. `WORKERPOOL_PROMOTIONS=20` makes it that many rounds.
@Suite(.serialized, .enabled(if: PostgreSQLServer.isInstalled && NetworkHosts.tool != nil), .timeLimit(.minutes(60)))
struct PromotionTests {
  @Test func aPromotionLosesAndDoublesNoJob() throws {
    let rounds = ProcessInfo.processInfo.environment["WORKERPOOL_PROMOTIONS"].flatMap(Int.init)
    let run = try PromotionRun()
    let ends = NetworkPair.End.allCases
    for round in 0..<(rounds ?? ends.count) { try run.failOver(ends[round % ends.count]) }
    try run.finish()
  }
}

/// Jobs come all the time through the queues of both hosts.
private final class PromotionRun {
  // In this order: the schema is dropped before the servers end.
  private let hosts: HostPools
  private let network: NetworkPair
  private var pools: [RunningPool] = []
  private var jobs = 0
  private var lines: [String] = []
  private let start = Date()

  init() throws {
    network = try NetworkPair(hosts: ["a", "b"])
    hosts = try HostPools(at: network.database(on: network.primary), pools: network.poolAddress)
    for host in ["a", "b"] { pools.append(try hosts.start(host, workers: 2, behind: network.prefix(of: host))) }
  }

  /// Keeps a few dozen jobs waiting. What is submitted while no server answers waits in the queue directories.
  private func keepBusy() throws {
    guard try jobs - done() < 120 else { return }
    for host in ["a", "b"] {
      try hosts.submit(jobs..<jobs + 40, to: host, milliseconds: 15)
      jobs += 40
    }
  }

  func failOver(_ end: NetworkPair.End) throws {
    let before = try done()
    try waitUntil("both hosts run jobs") {
      try keepBusy()
      return try done() > before + 40
    }
    // The moment is the one thing here that is left to chance.
    poll(nil, 0, .random(in: 0...100))
    let moment = Date()
    try network.failOver(end)
    hosts.look(at: network.database(on: network.primary))
    let count = try done()
    try waitUntil("jobs run again") {
      try keepBusy()
      return try done() > count
    }
    lines.append("  \(end.rawValue): jobs run again after \(String(format: "%.1f", -moment.timeIntervalSinceNow)) s")
    try waitUntil("both hosts are back") {
      try keepBusy()
      return try hosts.psql("SELECT count(*) FROM \(hosts.table("PoolMember")) WHERE \"goneAt\" IS NULL") == "2"
    }
    try network.bringBack()
  }

  private func done() throws -> Int {
    Int(try hosts.psql("SELECT count(*) FROM \(hosts.table("PoolJob")) WHERE state = 3")) ?? 0
  }

  func finish() throws {
    try waitUntil("all jobs have ended") { try done() == jobs }
    let effects = try hosts.effects()
    let lost = Set(0..<jobs).subtracting(effects).count
    let doubled = effects.count - Set(effects).count
    let outside = try String(contentsOfFile: hosts.lines, encoding: .utf8).split(separator: "\n").count
    let summary =
      "promotions: \(jobs) jobs, \(lines.count) in \(Int(-start.timeIntervalSinceNow)) s; lost \(lost), doubled "
      + "\(doubled); outside the store \(outside - jobs) attempts were repeated"
    print(([summary] + lines).joined(separator: "\n"))
    #expect(lost == 0 && doubled == 0, "\(summary)")
    try hosts.checkEffects(0..<jobs)
    for pool in pools { try pool.stop() }
  }
}

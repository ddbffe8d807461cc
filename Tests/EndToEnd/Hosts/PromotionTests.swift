import Foundation
import Glibc
import TestFiles
import Testing

/// Two hosts with pools, a server and its standby, each in a network namespace of its own: the primary's host goes in
/// the middle of the work, and the standby takes its place. Every job is counted by itself.
///
/// The default run has the worse way to go: cut off, the primary still answers the pool beside it.
/// `WORKERPOOL_PROMOTIONS=20` makes it that many rounds, with either way in turn.
@Suite(.serialized, .enabled(if: PostgreSQLServer.isInstalled && NetworkHosts.tool != nil), .timeLimit(.minutes(60)))
struct PromotionTests {
  @Test func aPromotionLosesAndDoublesNoJob() throws {
    let rounds = ProcessInfo.processInfo.environment["WORKERPOOL_PROMOTIONS"].flatMap(Int.init)
    let run = try PromotionRun()
    let ends = rounds == nil ? [.cut] : NetworkPair.End.allCases
    for round in 0..<(rounds ?? 1) { try run.failOver(ends[round % ends.count]) }
    try run.finish()
  }
}

/// Jobs come all the time through the queues of both hosts.
private final class PromotionRun {
  // They end in this order, also when a test fails: pools that run keep the servers and the schema from ending.
  private var pools: [RunningPool] = []
  private let network: NetworkPair
  private let hosts: HostPools
  private var jobs = 0
  private var lines: [String] = []
  private let start = Date()

  init() throws {
    network = try NetworkPair(hosts: "a", "b")
    hosts = try HostPools(at: network.database(on: network.primary), pools: network.poolAddress)
    for host in ["a", "b"] { pools.append(try hosts.start(host, workers: 2, behind: network.prefix(of: host))) }
  }

  /// Keeps a few dozen jobs waiting. What is submitted while no server answers waits in the queue directories.
  private func keepBusy() throws {
    guard try jobs - hosts.succeeded() < 120 else { return }
    for host in ["a", "b"] {
      try hosts.submit(jobs..<jobs + 40, to: host, milliseconds: 15)
      jobs += 40
    }
  }

  func failOver(_ end: NetworkPair.End) throws {
    let before = try hosts.succeeded()
    try waitUntil("both hosts run jobs") {
      try keepBusy()
      return try hosts.succeeded() > before + 40
    }
    // The moment is the one thing here that is left to chance.
    poll(nil, 0, .random(in: 0...100))
    let moment = Date()
    try network.failOver(end)
    hosts.look(at: network.database(on: network.primary))
    let count = try hosts.succeeded()
    try waitUntil("jobs run again") {
      try keepBusy()
      return try hosts.succeeded() > count
    }
    lines.append("  \(end.rawValue): jobs run again after \(String(format: "%.1f", -moment.timeIntervalSinceNow)) s")
    try waitUntil("both hosts are back") {
      try keepBusy()
      return try hosts.psql("SELECT count(*) FROM \(hosts.table("PoolMember")) WHERE \"goneAt\" IS NULL") == "2"
    }
    try network.bringBack()
  }

  func finish() throws {
    try hosts.checkEnds(ofFirst: jobs, after: "\(lines.count) promotions", since: start, lines)
    for pool in pools { try pool.stop() }
  }
}

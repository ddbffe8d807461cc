import Foundation
import Glibc
import TestFiles
import Testing

/// Two hosts in network namespaces of their own share a server. Each time something dies or is cut off, and every job
/// is counted by itself.
///
/// The default run has each case once, with a cut of two seconds. `WORKERPOOL_HOST_KILLS=50` makes it that many cases
/// by chance, `WORKERPOOL_CUT=30` makes cuts that long.
@Suite(.serialized, .enabled(if: PostgreSQLServer.isInstalled && NetworkHosts.tool != nil), .timeLimit(.minutes(150)))
struct HostKillTests {
  @Test func everyJobTakesEffectOnceWhateverDies() throws {
    let environment = ProcessInfo.processInfo.environment
    let kills = environment["WORKERPOOL_HOST_KILLS"].flatMap(Int.init)
    let matrix = try HostKillMatrix(cut: environment["WORKERPOOL_CUT"].flatMap(Double.init) ?? 2)
    let victims = kills.map { (0..<$0).map { _ in HostKillMatrix.Victim.allCases.randomElement()! } }
    for victim in victims ?? HostKillMatrix.Victim.allCases { try matrix.kill(victim) }
    try matrix.finish()
  }
}

/// One run: jobs come all the time through both hosts' queues, while one host after the other is hit.
private final class HostKillMatrix {
  enum Victim: String, CaseIterable {
    case worker = "a worker"
    case pool = "a pool"
    case host = "all processes of a host"
    case server = "the server"
    case cut = "the network, for a while"
    case power = "a host's power"
  }

  // They end in this order, also when a test fails: pools that run keep the server and the schema from ending.
  private var pools: [String: RunningPool] = [:]
  private let network: NetworkHosts
  private let hosts: HostPools
  private var jobs = 0
  private var hit = 0
  private let cut: Double
  private var lines: [String] = []
  private let start = Date()

  init(cut: Double) throws {
    self.cut = cut
    network = try NetworkHosts(hosts: ["a", "b"])
    try network.waitForServer()
    hosts = try HostPools(at: "\(network.address)&port=5499")
    for host in ["a", "b"] { try begin(host) }
  }

  private func begin(_ host: String) throws {
    pools[host] = try hosts.start(
      host, workers: 2, at: network.address(of: host), behind: network.prefix(of: host))
  }

  /// Keeps a few dozen jobs waiting, through the queue of a host that is not hit.
  private func keepBusy(_ host: String) throws {
    let waiting = try hosts.psql("SELECT count(*) FROM \(hosts.table("PoolJob")) WHERE state < 3")
    guard Int(waiting) ?? 0 < 60 else { return }
    try hosts.submit(jobs..<jobs + 60, to: host, milliseconds: 15)
    jobs += 60
  }

  func kill(_ victim: Victim) throws {
    hit += 1
    let (host, other) = hit % 2 == 0 ? ("a", "b") : ("b", "a")
    try keepBusy(other)
    let pool = try #require(pools[host])
    try waitUntil("\(host) runs jobs") {
      try keepBusy(other)
      return try claims(of: host) > 0
    }
    // The moment of the kill is the one thing here that is left to chance.
    poll(nil, 0, .random(in: 0...100))
    let processes = try pool.leftovers()
    let moment = Date()
    switch victim {
    case .worker:
      if let worker = processes.randomElement() { Glibc.kill(worker, SIGKILL) }
      return note(victim, "")
    case .pool: pool.signal(SIGKILL)
    case .host: for process in [pool.pid] + processes { Glibc.kill(process, SIGKILL) }
    case .server:
      try network.killServer()
      let count = try hosts.succeeded()
      try waitUntil("jobs run again") {
        try keepBusy(other)
        return try hosts.succeeded() > count
      }
      return note(victim, "jobs run again after \(text(moment))")
    case .cut:
      try network.cut(host)
      while -moment.timeIntervalSinceNow < cut { try keepBusy(other) }
      try network.mend(host)
      let count = try done(by: host)
      try waitUntil("\(host) runs jobs again") {
        try keepBusy(other)
        return try done(by: host) > count
      }
      return note(victim, "\(host) runs jobs again \(text(moment + cut)) after the end of a cut of \(Int(cut)) s")
    case .power:
      // Nothing that dies can tell the server.
      try network.cut(host)
      for process in [pool.pid] + processes { Glibc.kill(process, SIGKILL) }
    }
    _ = pool.waitForExit()
    try waitUntil("the other host has all jobs") {
      try keepBusy(other)
      return try claims(of: host) == 0
    }
    note(victim, "its jobs are the other host's after \(text(moment))")
    if victim == .power { try network.mend(host) }
    try begin(host)
  }

  private func text(_ moment: Date) -> String { String(format: "%.2f s", -moment.timeIntervalSinceNow) }

  private func note(_ victim: Victim, _ text: String) {
    lines.append("  \(victim.rawValue)\(text.isEmpty ? "" : ": \(text)")")
  }

  /// How many jobs a host's pools have claimed and not finished.
  private func claims(of host: String) throws -> Int {
    let rows = try hosts.psql(
      """
      SELECT count(*) FROM \(hosts.table("PoolJob")) j JOIN \(hosts.table("PoolMember")) m \
      ON m.identity = j.claimant WHERE j.state = 0 AND m.queue LIKE '%/\(host)'
      """)
    return Int(rows) ?? 0
  }

  private func done(by host: String) throws -> Int { try hosts.done()[host, default: 0] }

  func finish() throws {
    try hosts.checkEnds(ofFirst: jobs, after: "\(hit) kills over two hosts", since: start, lines)
    for pool in pools.values { try pool.stop() }
  }
}

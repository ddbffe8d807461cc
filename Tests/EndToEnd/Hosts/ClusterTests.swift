import Foundation
import Glibc
import TestFiles
import Testing

/// Pools on two hosts work at a cluster that fails over, while its leader is hit in every way. One pool reaches it by
/// HAProxy, the other by the addresses of all servers. Every job is counted by itself.
///
/// Takes some minutes: `WORKERPOOL_CLUSTER=5000` runs it with that many jobs.
@Suite(
  .serialized, .enabled(if: ClusterRun.wantedJobs != nil, "WORKERPOOL_CLUSTER is not set"),
  .enabled(if: FailoverCluster.obstacle == nil, Comment(rawValue: FailoverCluster.obstacle ?? "")),
  .timeLimit(.minutes(60)))
struct ClusterTests {
  @Test func aFailingLeaderLosesAndDoublesNoJob() throws {
    let jobs = try #require(ClusterRun.wantedJobs)
    let run = try ClusterRun()
    let faults = FailoverCluster.Fault.allCases
    for (index, fault) in faults.enumerated() {
      let lost = try run.fail(fault, during: (jobs * (index + 1) / faults.count) - (jobs * index / faults.count))
      #expect(lost == 0, "\(fault.rawValue): \(lost) effects that were there are gone")
    }
    try run.finish()
  }

  /// What the page says of `synchronous_mode: false`: a leader that is cut off goes on with commits, and they are lost.
  @Test func withoutSynchronousReplicationALeaderThatIsCutOffLosesCommits() throws {
    let run = try ClusterRun(isSynchronous: false)
    let lost = try run.fail(.split, during: 400, submittingMeanwhile: 100)
    #expect(lost > 0)
    try run.countLostJobs(effects: lost)
  }
}

private final class ClusterRun {
  static let wantedJobs = ProcessInfo.processInfo.environment["WORKERPOOL_CLUSTER"].flatMap(Int.init)

  // They end in this order, also when a test fails: pools that run keep the schema from ending.
  private var pools: [RunningPool] = []
  private let hosts: HostPools
  private let cluster: FailoverCluster
  private var jobs = 0
  private var lines: [String] = []
  private let start = Date()

  init(isSynchronous: Bool = true) throws {
    cluster = try FailoverCluster(hosts: "a", "b", isSynchronous: isSynchronous)
    hosts = try HostPools(at: cluster.address, pools: cluster.address)
    pools.append(try hosts.start("a", workers: 2, at: cluster.proxyAddress, behind: cluster.prefix(of: "a")))
    pools.append(try hosts.start("b", workers: 2, behind: cluster.prefix(of: "b")))
  }

  private func submit(_ count: Int) throws {
    for host in ["a", "b"] {
      try hosts.submit(jobs..<jobs + count / 2, to: host, milliseconds: 50)
      jobs += count / 2
    }
  }

  /// The effects at a server; nil if it does not answer.
  private func effects(at node: String) -> [Int]? {
    let query = #"SELECT value FROM "\#(hosts.schema)"."Item""#
    // A server that was hit answers no more, or in the middle of its end.
    return (try? PostgreSQLServer.psql(query, at: cluster.address(of: node)))
      .map { $0.split(separator: "\n").compactMap { Int($0) } }
  }

  /// Submits jobs, hits the leader in the middle of them, and waits until both hosts work again.
  ///
  /// - Returns: how many effects which the old leader showed are not at the new one.
  func fail(_ fault: FailoverCluster.Fault, during count: Int, submittingMeanwhile more: Int = 0) throws -> Int {
    let before = try hosts.succeeded()
    for _ in 0..<5 { try submit(count / 10 * 2) }
    try waitUntil("jobs run") { try hosts.succeeded() >= before + 40 }
    let leader = try cluster.leader()
    // The moment is the one thing here that is left to chance.
    poll(nil, 0, .random(in: 0...100))
    let moment = Date()
    try cluster.fail(fault, leader)
    try submit(more)
    var shown: Set<Int> = []
    var end = moment
    try waitUntil("another server is the leader, or the same again") {
      shown.formUnion(effects(at: leader) ?? [])
      end = Date()
      return fault == .kill ? effects(at: leader) != nil : try cluster.hasLeader(otherThan: leader)
    }
    let elected = end.timeIntervalSince(moment)
    try waitUntil("both hosts work again") {
      // There must be jobs that can end now.
      let ended = try hosts.answer("SELECT count(*) FROM \(hosts.table("PoolJob")) WHERE state = 3")
      if ended == "\(jobs)" { try submit(20) }
      let rows = try hosts.answer(
        """
        SELECT count(DISTINCT m.queue) FROM \(hosts.table("ended")) e JOIN \(hosts.table("PoolMember")) m \
        ON m.identity = e.claimant WHERE e.at > to_timestamp(\(end.timeIntervalSince1970))
        """)
      return rows == "2"
    }
    let lost = try shown.subtracting(hosts.effects()).count
    let pauses = try ["a", "b"].map { String(format: "%.1f", try hosts.longestPause(of: $0, since: moment)) }
    lines.append(
      "  \(fault.rawValue): leader after \(String(format: "%.1f", elected)) s; without the end of a job: "
        + "\(pauses[0]) s by HAProxy, \(pauses[1]) s by addresses")
    try cluster.mend(fault, leader)
    return lost
  }

  func finish() throws {
    try hosts.checkEnds(ofFirst: jobs, after: "\(lines.count) faults of a cluster", since: start, lines)
    for pool in pools { try pool.stop() }
  }

  /// Prints how many jobs are gone when no more is to be done.
  func countLostJobs(effects: Int) throws {
    try waitUntil("no job is left to do") {
      try hosts.psql("SELECT count(*) FROM \(hosts.table("PoolJob")) WHERE state < 3") == "0"
        && pools.allSatisfy { try $0.intakeIsEmpty() }
    }
    let lost = try Set(0..<jobs).subtracting(hosts.effects()).count
    print(
      "asynchronous replication: \(jobs) jobs; \(effects) effects that were there are gone, and \(lost) jobs are "
        + "lost, although their files had been taken\n\(lines.joined(separator: "\n"))")
    for pool in pools { try pool.stop() }
  }
}

extension RunningPool {
  /// Whether every job file of the queue directory is in the store.
  fileprivate func intakeIsEmpty() throws -> Bool {
    try ["incoming", "taken"].allSatisfy {
      // Beside the files there is the directory's identity.
      try FileManager.default.contentsOfDirectory(atPath: "\(queue)/\($0)").allSatisfy { $0.hasPrefix(".") }
    }
  }
}

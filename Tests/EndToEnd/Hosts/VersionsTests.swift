import Foundation
import Glibc
import TestFiles
import Testing
import WorkerPool
import WorkerProtocol

/// Programs of a former version of workerpool beside those of this one: pools that share a store at a server, and
/// workers that share a pool. Every job is counted by itself.
///
/// `WORKERPOOL_FORMER` names the directory of the former `workerpool` and `test-worker`; `.ci/nightly upgrade` builds
/// them.
@Suite(
  .serialized, .enabled(if: Version.former != nil, "WORKERPOOL_FORMER is not set"),
  .enabled(if: PostgreSQLServer.isInstalled && NetworkHosts.tool != nil), .timeLimit(.minutes(20)))
struct VersionsTests {
  @Test func poolsOfTwoVersionsShareAServer() throws {
    let run = try VersionsRun()
    let former = try #require(Version.former)
    // Given: two hosts, each with kinds of its own; their jobs come through the queue directory of the other one.
    try run.start("a", former)
    try run.start("b", .current, counts: false)
    try run.submit(counted: 100, to: "b")
    try run.submit(nothing: 100, to: "a")
    try run.waitForAll()
    // The hosts' versions are shown, as far as they tell them.
    let versions = try #require(try run.pools["b"]?.status().hosts)
    #expect(versions.count == 2 && versions.contains { $0.queue.hasSuffix("/b") && $0.version == Release.text })
    // When: both run the same kind, pools are killed, and another version takes their places.
    for (host, version) in [("b", former), ("a", .current), ("b", .current), ("a", former), ("b", former)] {
      for host in ["a", "b"] { try run.submit(counted: 60, to: host) }
      try run.waitForSome()
      try run.kill(host)
      try run.start(host, version)
    }
    // Then: every job takes effect once.
    try run.finish()
  }

  /// Worker programs are replaced while their jobs run.
  @Test(arguments: [false, true])
  func workersOfTwoVersionsShareAPoolAfterAReload(poolIsFormer: Bool) throws {
    let former = try #require(Version.former)
    let versions = poolIsFormer ? [Version.current, former] : [former, .current]
    let hosts = try HostPools()
    let plugins = try versions[0].plugins(in: hosts.place, "plugins-a")
    let program = (poolIsFormer ? former : .current).path("workerpool")
    let pool = try hosts.start("a", workers: 3, program: program, plugins: plugins)
    try hosts.submit(0..<90, to: "a", milliseconds: 100)
    try hosts.waitForEffects(6)
    let workers = Set(try pool.status().workers.compactMap(\.pid))
    try versions[1].link(in: plugins)
    #expect(try pool.command("reload").code == 0)
    // Former workers finish what they have begun.
    try pool.wait { $0.workers.filter { $0.phase == "up" && !workers.contains($0.pid ?? 0) }.count == 3 }
    try hosts.waitForEffects(90)
    try hosts.checkEffects(0..<90)
    #expect(try String(contentsOfFile: hosts.lines, encoding: .utf8).split(separator: "\n").count == 90)
    try pool.stop()
  }
}

/// A version of the programs.
private struct Version {
  let directory: String

  static let former = ProcessInfo.processInfo.environment["WORKERPOOL_FORMER"].map(Version.init)
  static let current = Version(directory: Built.directory)

  func path(_ program: String) -> String { "\(directory)/\(program)" }

  /// Makes a directory of plugins with the tests' plugin.
  func plugins(in place: TestPlace, _ name: String) throws -> String {
    let directory = place.path(name)
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    try link(in: directory)
    return directory
  }

  /// Puts the plugin into the place of that of another version, in one step.
  func link(in plugins: String) throws {
    let new = "\(plugins)/new"
    try FileManager.default.createSymbolicLink(atPath: new, withDestinationPath: path("test-worker"))
    try #require(rename(new, "\(plugins)/worker-test") == 0)
  }
}

private final class VersionsRun {
  // They end in this order, also when a test fails: pools that run keep the server and the schema from ending.
  private(set) var pools: [String: RunningPool] = [:]
  private let network: NetworkHosts
  private let hosts: HostPools
  private var counted = 0
  private var nothing = 0

  init() throws {
    network = try NetworkHosts(hosts: ["a", "b"])
    try network.waitForServer()
    hosts = try HostPools(at: "\(network.address)&port=5499")
  }

  func start(_ host: String, _ version: Version, counts: Bool = true) throws {
    pools[host] = try hosts.start(
      host, workers: 2, counts: counts, at: network.address(of: host), behind: network.prefix(of: host),
      program: version.path("workerpool"), plugins: version.plugins(in: hosts.place, "plugins-\(UUID().uuidString)"))
  }

  func kill(_ host: String) throws { try pools[host]?.kill9() }

  func submit(counted count: Int, to host: String) throws {
    try hosts.submit(counted..<counted + count, to: host, milliseconds: 15)
    counted += count
  }

  func submit(nothing count: Int, to host: String) throws {
    nothing += count
    try hosts.drop(Array(repeating: #"{"kind": "nothing"}"#, count: count), as: "nothing.json", on: host)
  }

  func waitForSome() throws {
    let start = try hosts.succeeded()
    try waitUntil("jobs run") { try hosts.succeeded() >= start + 20 }
  }

  func waitForAll() throws {
    try waitUntil("all jobs have ended") { try hosts.succeeded() == counted + nothing }
  }

  func finish() throws {
    try waitForAll()
    #expect(try hosts.effects() == Array(0..<counted))
    #expect(try hosts.psql("SELECT count(*) FROM \(hosts.table("PoolJob"))") == "\(counted + nothing)")
    for pool in pools.values { try pool.stop() }
  }
}

import Foundation
import Glibc
import TestFiles
import Testing

/// The cluster of the page FailoverCluster: three hosts with etcd, Patroni and PostgreSQL, and two hosts for pools,
/// with HAProxy, at one ``NetworkSwitch``. The files of its configuration are those of the page.
final class FailoverCluster {
  static let page = "Sources/WorkerPool/WorkerPool.docc/FailoverCluster.md"
  static let nodes = ["db1", "db2", "db3"]
  private static let programs = ["/usr/bin/etcd", "/usr/bin/patroni", "/usr/sbin/haproxy", "/usr/bin/curl"]

  /// Why there can be no cluster here; nil if there can be one.
  static let obstacle: String? = {
    if !PostgreSQLServer.isInstalled { return "PostgreSQL is not installed" }
    if let missing = programs.first(where: { !FileManager.default.isExecutableFile(atPath: $0) }) {
      return "\(missing) is missing: apt-get install curl etcd-server haproxy patroni python3-etcd"
    }
    return NetworkHosts.tool == nil ? "no network namespaces: root and iproute2 are needed" : nil
  }()

  private let network: NetworkSwitch
  private let directory: String
  private var processes: [Process] = []
  private let isSynchronous: Bool

  /// Starts everything and waits until the cluster has a leader and two standbys.
  ///
  /// - Parameters:
  ///   - hosts: those of pools.
  ///   - isSynchronous: whether replication is, as on the page.
  init(hosts one: String, _ other: String, isSynchronous: Bool = true) throws {
    self.isSynchronous = isSynchronous
    network = try NetworkSwitch(
      kind: "wpc", net: "10.\(100 + Int(getpid()) % 100).77",
      numbers: ["db1": 11, "db2": 12, "db3": 13, one: 21, other: 22])
    var template = Array("\(FileManager.default.temporaryDirectory.path)/pc-XXXXXX".utf8CString)
    try #require(mkdtemp(&template) != nil)
    directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    chmod(directory, 0o755)
    let user = try #require(getpwnam("postgres"))
    for node in Self.nodes {
      mkdir("\(directory)/\(node)", 0o700)
      chown("\(directory)/\(node)", user.pointee.pw_uid, user.pointee.pw_gid)
      for file in ["etcd", "config.yml"] {
        try configuration(file, of: node).write(
          toFile: "\(directory)/\(node).\(file)", atomically: false, encoding: .utf8)
      }
      try start(node)
    }
    let proxy = "\(directory)/haproxy.cfg"
    try configuration("haproxy.cfg", of: one).write(toFile: proxy, atomically: false, encoding: .utf8)
    for host in [one, other] {
      try start(network.prefix(of: host) + ["/usr/sbin/haproxy", "-db", "-f", proxy], "\(host)-proxy")
    }
    try waitUntilHealthy()
  }

  deinit {
    for name in network.names { try? network.killAll(on: name) }
    for process in processes { process.waitUntilExit() }
    try? FileManager.default.removeItem(atPath: directory)
  }

  /// A file of the page, with the addresses and directories of this cluster. Who reaches its hosts needs no password.
  private func configuration(_ file: String, of host: String) throws -> String {
    let block = try #require(DocumentationPage(path: Self.page).blocks.first { $0.file == file })
    return [
      ("THIS-HOST", host), ("ADDRESS", network.address(host)), ("10.0.0.", "\(network.net)."),
      ("/var/lib/postgresql/15", "\(directory)/\(host)"), ("/var/lib/etcd", "\(directory)/\(host)/etcd"),
      ("/var/run/postgresql", "\(directory)/\(host)"), ("scram-sha-256", "trust"),
      ("/usr/lib/postgresql/15/bin", PostgreSQLServer.programs ?? ""),
      ("synchronous_mode: true", "synchronous_mode: \(isSynchronous)"),
    ].reduce(block.text) { $0.replacingOccurrences(of: $1.0, with: $1.1) }
  }

  private func start(_ words: [String], _ log: String, environment: [String: String] = [:]) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: words[0])
    process.arguments = Array(words.dropFirst())
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.currentDirectoryURL = URL(fileURLWithPath: directory)
    process.standardInput = FileHandle.nullDevice
    try Data().write(to: URL(fileURLWithPath: "\(directory)/\(log).log"))
    let output = try FileHandle(forWritingTo: URL(fileURLWithPath: "\(directory)/\(log).log"))
    process.standardOutput = output
    process.standardError = output
    try process.run()
    processes.append(process)
  }

  /// Starts etcd and Patroni on a host.
  private func start(_ node: String) throws {
    let lines = try String(contentsOfFile: "\(directory)/\(node).etcd", encoding: .utf8).split(separator: "\n")
    let variables = lines.compactMap { line -> (String, String)? in
      let parts = line.split(separator: "=", maxSplits: 1).map(String.init)
      return parts.count == 2 ? (parts[0], parts[1].trimmingCharacters(in: ["\""])) : nil
    }
    let prefix = network.postgresPrefix(of: node)
    try start(prefix + ["/usr/bin/etcd"], "\(node)-etcd", environment: Dictionary(uniqueKeysWithValues: variables))
    try start(prefix + ["/usr/bin/patroni", "\(directory)/\(node).config.yml"], "\(node)-patroni")
  }

  // MARK: Places

  /// What stands before a program that runs on the host.
  func prefix(of host: String) -> [String] { network.prefix(of: host) }

  private static let parameters = "application_name=pool&target_session_attrs=read-write"

  /// The cluster by the addresses of all its hosts.
  var address: String {
    let hosts = Self.nodes.map(network.address).joined(separator: ",")
    return "postgresql://postgres@\(hosts)/postgres?\(Self.parameters)"
  }

  /// The cluster by the HAProxy on a pool's own host.
  let proxyAddress = "postgresql://postgres@127.0.0.1:5432/postgres?\(parameters)"

  /// One server, whether it takes writes or not.
  func address(of node: String) -> String {
    "postgresql://postgres@\(network.address(node))/postgres?connect_timeout=1"
  }

  // MARK: State

  /// What Patroni's REST interface on one of these hosts answers; nil if none does.
  private func ask(_ nodes: [String], _ path: String, post: String? = nil) throws -> Data? {
    for node in nodes {
      let body = post.map { ["--data", $0, "--max-time", "60"] } ?? ["--max-time", "2"]
      let answer = try run(
        "/usr/bin/env", ["curl", "-sS"] + body + ["http://\(network.address(node)):8008/\(path)"])
      if answer.code == 0 { return Data(answer.output.utf8) }
    }
    return nil
  }

  private struct State: Decodable {
    struct Member: Decodable {
      let name: String
      let role: String
      let state: String
      let timeline: Int?
    }
    let members: [Member]
    var leader: String? { members.first { $0.role == "leader" && $0.state == "running" }?.name }
  }

  private func state(but absent: String? = nil) throws -> State? {
    // An answer that is not whole is none.
    try ask(Self.nodes.filter { $0 != absent }, "cluster").flatMap { try? JSONDecoder().decode(State.self, from: $0) }
  }

  func leader() throws -> String { try #require(try state()?.leader) }

  /// Whether the others than this host agree on a leader that is not it.
  func hasLeader(otherThan host: String) throws -> Bool {
    let leader = try state(but: host)?.leader
    return leader != nil && leader != host
  }

  /// Waits until there are a leader and two standbys which follow it, one of them synchronously.
  func waitUntilHealthy() throws {
    try waitUntil("the cluster is healthy") {
      guard let members = try state()?.members, members.count == 3 else { return false }
      return Set(members.map(\.timeline)).count == 1 && members.filter { $0.role == "leader" }.count == 1
        && members.allSatisfy { ["running", "streaming"].contains($0.state) }
        && (!isSynchronous || members.contains { $0.role == "sync_standby" })
        && standbys() == 2
    }
  }

  /// How many standbys get what the leader writes.
  private func standbys() -> Int? {
    let query = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"
    // There may be no server yet that takes writes.
    return (try? PostgreSQLServer.psql(query, at: address)).flatMap { Int($0) }
  }

  // MARK: Faults

  enum Fault: String, CaseIterable {
    case switchOver = "planned switch-over"
    case kill = "kill -9 of the leader's PostgreSQL"
    case power = "the leader's host loses its power"
    case split = "the leader is cut off from etcd and the other servers, not from the pools"
  }

  /// - Parameter leader: the present one.
  func fail(_ fault: Fault, _ leader: String) throws {
    let others = Self.nodes.filter { $0 != leader }
    switch fault {
    case .switchOver:
      // Patroni gives the lead to no other standby.
      let role = isSynchronous ? "sync_standby" : "replica"
      let standby = try #require(try state()?.members.first { $0.role == role }?.name)
      let order = #"{"leader": "\#(leader)", "candidate": "\#(standby)"}"#
      let answer = String(decoding: try #require(try ask([leader], "switchover", post: order)), as: UTF8.self)
      try #require(answer.contains("Successfully"), "\(answer)")
    case .kill:
      let file = try String(contentsOfFile: "\(directory)/\(leader)/app/postmaster.pid", encoding: .utf8)
      kill(try #require(file.split(separator: "\n").first.flatMap { pid_t($0) }), SIGKILL)
    case .power:
      try network.cut(leader)
      try network.killAll(on: leader)
    case .split: try network.split(leader, from: others)
    }
  }

  /// Mends what `fail` has done, and waits until the cluster is healthy.
  func mend(_ fault: Fault, _ leader: String) throws {
    switch fault {
    case .switchOver, .kill: break
    case .power:
      try network.mend(leader)
      try start(leader)
    case .split: try network.unite(leader, with: Self.nodes.filter { $0 != leader })
    }
    try waitUntilHealthy()
  }
}

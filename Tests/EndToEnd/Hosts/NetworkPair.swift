import Foundation
import Glibc
import TestFiles
import Testing

/// Two hosts with pools, and two hosts with a server and its standby, at one ``NetworkSwitch``. Replication is
/// synchronous.
final class NetworkPair {
  /// The directory of the servers' data and sockets.
  private let directory: String
  private let programs: String
  private let network: NetworkSwitch
  private var servers: [String: Process] = [:]
  /// The host of the server that takes writes.
  private(set) var primary = "one"
  private(set) var standby = "two"

  /// The sockets of both servers are in one directory, so they differ by the port.
  private func port(of host: String) -> Int { host == "one" ? 5498 : 5497 }

  /// - Parameters:
  ///   - one: the host of a pool.
  ///   - other: the host of another pool.
  init(hosts one: String, _ other: String) throws {
    network = try NetworkSwitch(
      kind: "wps", net: "10.\(200 + Int(getpid()) % 55).0", numbers: [one: 10, other: 11, "one": 12, "two": 13])
    programs = try #require(PostgreSQLServer.programs)
    var template = Array("\(FileManager.default.temporaryDirectory.path)/pg-XXXXXX".utf8CString)
    try #require(mkdtemp(&template) != nil)
    directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    if let user = getpwnam("postgres") { chown(directory, user.pointee.pw_uid, user.pointee.pw_gid) }
    try asUser(on: primary, "\(programs)/initdb -D one -U tests -A trust --no-sync -E UTF8 --locale=C >log 2>&1")
    try asUser(on: primary, "echo host all,replication all \(network.net).0/24 trust >>one/pg_hba.conf")
    try startServer(on: primary)
    try addStandby()
  }

  deinit {
    for host in servers.keys { try? killServer(on: host) }
    try? FileManager.default.removeItem(atPath: directory)
  }

  private func address(_ name: String) -> String { network.address(name) }

  private func command(on host: String, _ script: String) -> [String] {
    network.postgresPrefix(of: host) + ["sh", "-c", "cd \(directory) && \(script)"]
  }

  private func asUser(on host: String, _ script: String) throws {
    let words = command(on: host, script)
    let finished = try run(words[0], Array(words.dropFirst()))
    let log = (try? String(contentsOfFile: "\(directory)/log", encoding: .utf8)) ?? ""
    let end = log.split(separator: "\n").suffix(8).joined(separator: "\n")
    try #require(finished.code == 0, "\(script): \(finished.errors)\(end)")
  }

  // MARK: Places

  /// Where pools find whichever server takes writes.
  var poolAddress: String {
    "postgresql://tests@/postgres?host=\(address("one")),\(address("two"))&port=\(port(of: "one")),\(port(of: "two"))"
      + "&target_session_attrs=read-write"
  }

  /// The database of a server, by its socket, as libpq takes it.
  func database(on host: String) -> String {
    "postgresql://tests@/postgres?host=\(directory.replacingOccurrences(of: "/", with: "%2F"))"
      + "&port=\(port(of: host))"
  }

  /// What stands before a program that runs on the host.
  func prefix(of host: String) -> [String] { network.prefix(of: host) }

  @discardableResult
  private func psql(_ query: String, on host: String) throws -> String {
    try PostgreSQLServer.psql(query, at: database(on: host))
  }

  // MARK: Servers

  private func startServer(on host: String) throws {
    let process = Process()
    let words = command(
      on: host,
      "exec \(programs)/postgres -D \(host) -c fsync=off -c full_page_writes=off -c max_connections=200 "
        + "-c port=\(port(of: host)) -c listen_addresses=\(address(host)) "
        + "-c unix_socket_directories=\(directory) >>log 2>&1")
    process.executableURL = URL(fileURLWithPath: words[0])
    process.arguments = Array(words.dropFirst())
    process.standardInput = FileHandle.nullDevice
    try process.run()
    servers[host] = process
    try waitUntil("the server on \(host) answers") { (try? psql("SELECT 1", on: host)) == "1" }
  }

  /// Makes the other host a standby of the primary, from a copy of its data. From then on each commit is on both.
  private func addStandby() throws {
    try? FileManager.default.removeItem(atPath: "\(directory)/\(standby)")
    let reach = command(on: standby, "\(programs)/pg_isready -q -h \(address(primary)) -p \(port(of: primary))")
    try waitUntil("the standby's host reaches the primary") {
      try run(reach[0], Array(reach.dropFirst())).code == 0
    }
    try asUser(
      on: standby,
      "\(programs)/pg_basebackup -D \(standby) -U tests -h \(address(primary)) -p \(port(of: primary)) -R -X stream "
        + "--checkpoint=fast --no-sync >>log 2>&1")
    try startServer(on: standby)
    // Only now: the standby's copy of the settings must not make it wait for another one after its promotion.
    try psql("ALTER SYSTEM SET synchronous_standby_names = '*'", on: primary)
    try psql("SELECT pg_reload_conf()", on: primary)
    try waitUntil("replication is synchronous") {
      try psql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'", on: primary) == "1"
    }
  }

  /// How the host of the primary goes.
  enum End: String, CaseIterable {
    case power = "the primary's host loses its power"
    case cut = "the primary's host is cut off, and goes on with its connections"
  }

  /// Takes the primary's host from the others, and promotes the standby.
  func failOver(_ end: End) throws {
    try network.cut(primary)
    if end == .power { try killServer(on: primary) }
    try psql("SELECT pg_promote()", on: standby)
    (primary, standby) = (standby, primary)
  }

  /// The host that went comes back, without what it had alone, as the standby of the other.
  func bringBack() throws {
    if servers[standby] != nil { try killServer(on: standby) }
    try network.mend(standby)
    try addStandby()
  }

  /// Kills all processes of a server at once.
  private func killServer(on host: String) throws {
    guard let process = servers.removeValue(forKey: host) else { return }
    try network.killAll(on: host)
    process.waitUntilExit()
  }
}

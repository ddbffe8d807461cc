import Foundation
import Glibc
import Synchronization
import TestFiles
import Testing

/// Hosts that share nothing but a server which they reach by a network: network namespaces, each with a cable of its
/// own to the namespace of the tests.
///
/// Needs root, and `ip` of iproute2.
final class NetworkHosts {
  /// The tool that makes namespaces; nil where it is missing, or may not be used.
  static let tool: String? = {
    let path = ["/usr/sbin/ip", "/sbin/ip"].first { FileManager.default.isExecutableFile(atPath: $0) }
    let name = "wp-probe-\(getpid())"
    if let path, geteuid() == 0, (try? run(path, ["netns", "add", name]))?.code == 0 {
      _ = try? run(path, ["netns", "delete", name])
      return path
    }
    let line = "No network namespaces (root and iproute2 are needed): the kill matrix over two hosts is left out.\n"
    FileHandle.standardError.write(Data(line.utf8))
    return nil
  }()

  /// The directory of the server's socket, by which the tests look into the database.
  let directory: String
  private let names: [String]
  /// Which of the tests' networks it is.
  private let instance = NetworkHosts.count.add(1, ordering: .relaxed).newValue
  private static let count = Atomic<Int>(0)
  private var number: Int { (Int(getpid()) + 37 * instance) % 200 }
  private let programs: String
  private var server: Process?

  private let settings: [String]

  /// Makes the namespaces and starts the server.
  ///
  /// - Parameter settings: those of the server besides the usual ones.
  init(hosts: [String], settings: [String] = []) throws {
    names = hosts
    self.settings = settings
    programs = try #require(PostgreSQLServer.programs)
    var template = Array("\(FileManager.default.temporaryDirectory.path)/pg-XXXXXX".utf8CString)
    try #require(mkdtemp(&template) != nil)
    directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    if let user = getpwnam("postgres") { chown(directory, user.pointee.pw_uid, user.pointee.pw_gid) }
    for index in hosts.indices {
      try ip("netns", "add", space(index))
      try ip("link", "add", cable(index), "type", "veth", "peer", "name", "eth0", "netns", space(index))
      try ip("address", "add", "10.\(number).\(index).1/24", "dev", cable(index))
      try ip("link", "set", cable(index), "up")
      try ip("-n", space(index), "address", "add", "10.\(number).\(index).2/24", "dev", "eth0")
      try ip("-n", space(index), "link", "set", "eth0", "up")
      try ip("-n", space(index), "link", "set", "lo", "up")
    }
    try asUser("\(programs)/initdb -D data -U tests -A trust --no-sync -E UTF8 --locale=C >log 2>&1")
    try asUser("echo host all all 10.\(number).0.0/16 trust >>data/pg_hba.conf")
    try startServer()
  }

  deinit {
    if let server {
      // At once: a server that is asked to end waits for the sessions of pools that a failed test has left.
      server.send(SIGQUIT)
      server.waitUntilExit(within: 60)
    }
    for index in names.indices { _ = try? run(Self.tool ?? "ip", ["netns", "delete", space(index)]) }
    try? FileManager.default.removeItem(atPath: directory)
  }

  private func space(_ index: Int) -> String { "wp-\(getpid())-\(instance)-\(index)" }
  private func cable(_ index: Int) -> String { "wp\(getpid())-\(instance)-\(index)" }

  private func ip(_ arguments: String...) throws {
    let finished = try run(try #require(Self.tool), arguments)
    try #require(finished.code == 0, "ip \(arguments.joined(separator: " ")): \(finished.errors)")
  }

  private func command(_ script: String) -> [String] {
    ["--reuid=postgres", "--regid=postgres", "--clear-groups", "sh", "-c", "cd \(directory) && \(script)"]
  }

  private func asUser(_ script: String) throws {
    let finished = try run("/usr/bin/setpriv", command(script))
    try #require(finished.code == 0, "\(finished.errors)")
  }

  // MARK: The server

  /// Where the tests look into the database, as libpq takes it.
  var address: String { "postgresql://tests@/postgres?host=\(directory.replacingOccurrences(of: "/", with: "%2F"))" }

  /// Where the pools do so: each host knows the server by the address of its own cable.
  func address(of host: String) -> String {
    "postgresql://tests@10.\(number).\(names.firstIndex(of: host) ?? 0).1:\(Self.port)/postgres?application_name=pool"
  }

  private static let port = 5499

  private func startServer() throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
    let listen = names.indices.map { "10.\(number).\($0).1" }.joined(separator: ",")
    // A killed server loses what is in its memory only: commits need not reach the disk, but the kernel.
    process.arguments = command(
      "exec \(programs)/postgres -D data -c fsync=off -c full_page_writes=off -c max_connections=200 "
        + settings.map { "-c \($0) " }.joined()
        + "-c port=\(Self.port) -c listen_addresses=\(listen) -c unix_socket_directories=\(directory) >>log 2>&1")
    process.standardInput = FileHandle.nullDevice
    try process.run()
    server = process
  }

  func waitForServer() throws {
    try waitUntil("the server answers") {
      // What the killed one has left may still end: the new one says so, and gives up.
      if server?.isRunning == false { try startServer() }
      return try run("\(programs)/pg_isready", ["-q", "-h", directory, "-p", "\(Self.port)"]).code == 0
    }
  }

  /// Kills the postmaster; its sessions end by themselves. A new one is started at once.
  func killServer() throws {
    let process = try #require(server)
    process.send(SIGKILL)
    process.waitUntilExit()
    try waitForServer()
  }

  // MARK: Hosts

  /// What stands before a program that runs on the host.
  func prefix(of host: String) throws -> [String] {
    [try #require(Self.tool), "netns", "exec", space(names.firstIndex(of: host) ?? 0)]
  }

  /// Pulls the host's cable: no packet passes, and nobody is told.
  func cut(_ host: String) throws { try ip("link", "set", cable(names.firstIndex(of: host) ?? 0), "down") }

  func mend(_ host: String) throws { try ip("link", "set", cable(names.firstIndex(of: host) ?? 0), "up") }
}

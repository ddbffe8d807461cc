import Foundation
import Glibc
import TestFiles
import Testing

/// Hosts as network namespaces, each with a cable to one switch, through which the tests reach them, too.
///
/// Needs root, and `ip` of iproute2.
final class NetworkSwitch {
  let names: [String]
  /// The first three numbers of all addresses.
  let net: String
  private let kind: String
  /// Which host has which last number.
  private let numbers: [String: Int]

  /// - Parameters:
  ///   - kind: begins the names of namespaces and cables, so it is short.
  ///   - net: the first three numbers of all addresses.
  ///   - numbers: each host and the last number of its address; the tests have 1.
  init(kind: String, net: String, numbers: KeyValuePairs<String, Int>) throws {
    self.kind = kind
    self.net = net
    names = numbers.map(\.key)
    self.numbers = Dictionary(uniqueKeysWithValues: numbers.map { ($0.key, $0.value) })
    try ip("link", "add", bridge, "type", "bridge")
    try ip("address", "add", "\(net).1/24", "dev", bridge)
    try ip("link", "set", bridge, "up")
    for name in names {
      try ip("netns", "add", space(name))
      try ip("link", "add", cable(name), "type", "veth", "peer", "name", "eth0", "netns", space(name))
      try ip("link", "set", cable(name), "master", bridge)
      try ip("link", "set", cable(name), "up")
      try ip("-n", space(name), "address", "add", "\(address(name))/24", "dev", "eth0")
      try ip("-n", space(name), "link", "set", "eth0", "up")
      try ip("-n", space(name), "link", "set", "lo", "up")
    }
  }

  deinit {
    for name in names {
      // What a failed test has left on a host goes with it.
      _ = try? killAll(on: name)
      _ = try? run(NetworkHosts.tool ?? "ip", ["netns", "delete", space(name)])
    }
    _ = try? run(NetworkHosts.tool ?? "ip", ["link", "delete", bridge])
  }

  private var bridge: String { "\(kind)\(getpid())" }
  private func space(_ name: String) -> String { "\(kind)-\(getpid())-\(name)" }
  private func cable(_ name: String) -> String { "\(kind)\(getpid())-\(names.firstIndex(of: name) ?? 0)" }
  func address(_ name: String) -> String { "\(net).\(numbers[name] ?? 0)" }

  private func ip(_ arguments: String...) throws {
    let finished = try run(try #require(NetworkHosts.tool), arguments)
    try #require(finished.code == 0, "ip \(arguments.joined(separator: " ")): \(finished.errors)")
  }

  /// What stands before a program that runs on the host.
  func prefix(of host: String) -> [String] { [NetworkHosts.tool ?? "ip", "netns", "exec", space(host)] }

  /// The same for a program that runs as the user `postgres`.
  func postgresPrefix(of host: String) -> [String] {
    prefix(of: host) + ["/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
  }

  /// Kills all processes of a host at once.
  func killAll(on host: String) throws {
    let pids = try run(try #require(NetworkHosts.tool), ["netns", "pids", space(host)])
    for pid in pids.output.split(separator: "\n").compactMap({ pid_t($0) }) { kill(pid, SIGKILL) }
  }

  /// Pulls the host's cable: no packet passes, and nobody is told.
  func cut(_ host: String) throws { try ip("link", "set", cable(host), "down") }

  func mend(_ host: String) throws { try ip("link", "set", cable(host), "up") }

  /// Lets packets between the host and these others disappear. The rest of the network reaches all of them.
  func split(_ host: String, from others: [String]) throws {
    for other in others {
      for (one, two) in [(host, other), (other, host)] {
        // A permanent entry with an address of nobody: the switch delivers such packets to nobody.
        try ip(
          "-n", space(one), "neighbour", "replace", address(two), "lladdr", "02:00:00:00:00:01", "dev", "eth0", "nud",
          "permanent")
      }
    }
  }

  func unite(_ host: String, with others: [String]) throws {
    for other in others {
      try ip("-n", space(host), "neighbour", "delete", address(other), "dev", "eth0")
      try ip("-n", space(other), "neighbour", "delete", address(host), "dev", "eth0")
    }
  }
}

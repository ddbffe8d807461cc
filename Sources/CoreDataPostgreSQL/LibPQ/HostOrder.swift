internal import CPostgreSQL
internal import CoreData
internal import Foundation
internal import Synchronization

/// The order in which the hosts of a URL are tried: the one that took the last connection of this process comes first.
///
/// A host without power does not refuse connections: each connection would wait for its timeout before it tries the
/// next host.
enum HostOrder {
  /// What overrides the parameters of the URLs.
  private static let overrides = Mutex<[String: [String: String]]>([:])

  /// Seconds to wait for one host. With several, a worker must reach the last one before the pool takes it for silent.
  static func timeout(_ connectionString: String) -> String {
    ["host=", "@"].contains { connectionString.contains($0) } && connectionString.contains(",") ? "3" : "10"
  }

  /// What to add to the parameters of the URL.
  static func parameters(_ connectionString: String) -> [(String, String)] {
    overrides.withLock { $0[connectionString] ?? [:] }.map { ($0.key, $0.value) }
  }

  /// Notes which host has taken a connection.
  static func note(_ connection: OpaquePointer, _ library: LibPQ, _ connectionString: String) {
    guard connectionString.contains(",") else { return }
    let pq = library.functions
    guard let options = pq.PQconninfo(connection) else { return }
    defer { pq.PQconninfoFree(options) }
    var lists: [String: [String]] = [:]
    var option = options
    while let keyword = option.pointee.keyword {
      let name = String(cString: keyword)
      if ["host", "hostaddr", "port"].contains(name), let value = option.pointee.val {
        lists[name] = String(cString: value).split(separator: ",", omittingEmptySubsequences: false).map(String.init)
      }
      option += 1
    }
    let host = pq.PQhost(connection).map { String(cString: $0) }
    let port = pq.PQport(connection).map { String(cString: $0) }
    if let orders = orders(lists, host: host, port: port) { overrides.withLock { $0[connectionString] = orders } }
  }

  /// The lists, turned so that the host and port come first; nil if they do. A list of one value holds for all hosts.
  static func orders(_ lists: [String: [String]], host: String?, port: String?) -> [String: String]? {
    let hosts = lists["host"] ?? lists["hostaddr"] ?? []
    let ports = lists["port"] ?? []
    let place = hosts.indices.first { index in
      let address = lists["hostaddr"].flatMap { $0.indices.contains(index) ? $0[index] : nil }
      guard hosts[index] == host || address == host else { return false }
      return ports.count != hosts.count || ports[index] == port
    }
    guard let place, place > 0 else { return nil }
    return lists.filter { $0.value.count == hosts.count }.mapValues { list in
      (list[place...] + list[..<place]).joined(separator: ",")
    }
  }
}

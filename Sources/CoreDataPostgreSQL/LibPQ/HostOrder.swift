internal import CPostgreSQL
internal import CoreData
internal import Foundation
internal import Synchronization

/// The order in which the hosts of a URL are tried: the one that took the last connection of this process comes first.
///
/// A host without power does not refuse connections: each connection would wait for its timeout before it tries the
/// next host. A standby refuses `target_session_attrs=read-write` only after the whole handshake.
///
/// ```text
/// postgresql://app@/shop?host=one,two,three&port=5432,5433,5434&target_session_attrs=read-write
///
/// first connection    one (3 s, no answer), two (a standby), three        takes it; noted
/// later connections   three, one, two                                     by parameters that come after the URL's own
/// three fails         three, one (promoted meanwhile)                     takes it; noted
/// ```
///
/// With one host, or hosts behind one name in the DNS, there is nothing to note. Source: the page "Database Connection
/// Control Functions", "Specifying Multiple Hosts".
enum HostOrder {
  /// What overrides the parameters of the URLs, by the URL's text: one process may have stores at several clusters.
  private static let overrides = Mutex<[String: [String: String]]>([:])

  /// Seconds to wait for one host. With several, a worker must reach the last one before the pool takes it for silent.
  /// libpq counts `connect_timeout` for each host anew.
  static func timeout(_ connectionString: String) -> String {
    ["host=", "@"].contains { connectionString.contains($0) } && connectionString.contains(",") ? "3" : "10"
  }

  /// What to add to the parameters of the URL.
  static func parameters(_ connectionString: String) -> [(String, String)] {
    overrides.withLock { $0[connectionString] ?? [:] }.map { ($0.key, $0.value) }
  }

  /// Notes which host has taken a connection. `PQhost` and `PQport` tell which one of the lists is in use; `PQconninfo`
  /// tells the lists, wherever they come from: the URL, a service file or environment variables.
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
  ///
  /// ```text
  /// host=one,two  port=5432,5433, connected to two     host=two,one  port=5433,5432
  /// host=one,two  port=5432, connected to two          host=two,one                      the port holds for both
  /// ```
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

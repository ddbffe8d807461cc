import Foundation

/// A server and its standby with synchronous replication: each commit is on both when a program hears of it.
public final class PostgreSQLPair: Sendable {
  /// The server that takes writes at first.
  public let primary: PostgreSQLServer
  /// The server that follows it.
  public let standby: PostgreSQLServer

  /// - Parameter settings: those of the primary besides the replication's.
  public init(_ settings: [String] = []) {
    // Not even a power failure matters here; but what the standby confirms, it must have written.
    let fast = ["fsync=off", "full_page_writes=off"]
    primary = PostgreSQLServer(fast + ["synchronous_standby_names=*"] + settings)
    standby = PostgreSQLServer(fast, standbyOf: primary)
  }

  /// The URL of whichever of the two takes writes, as libpq takes it.
  public var address: String {
    let hosts = [primary, standby].map { $0.directory.replacingOccurrences(of: "/", with: "%2F") }
    return "postgresql://tests@/postgres?host=\(hosts.joined(separator: ","))&target_session_attrs=read-write"
  }

  /// Kills the primary and promotes the standby.
  public func failOver() throws {
    primary.kill9()
    try standby.psql("SELECT pg_promote()")
  }

  /// Stops both servers and removes their directories.
  public func stop() {
    standby.stop()
    primary.stop()
  }
}

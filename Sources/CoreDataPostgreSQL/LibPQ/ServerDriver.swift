internal import Synchronization

/// The way to open connections: libpq, unless a test puts itself between.
///
/// A registered closure counts for all connections that the process opens afterwards, also those of pools' sessions.
/// `ServerDatabase.init(connect:)` is the way for one database only.
package enum ServerDriver {
  package typealias Connect = @Sendable (_ connectionString: String) throws -> any ServerConnection

  private static let connect = Mutex<Connect>({ try ConnectionPooler.open($0) })

  /// Sets how connections are opened.
  package static func register(_ connect: @escaping Connect) { self.connect.withLock { $0 = connect } }

  package static func open(_ connectionString: String) throws -> any ServerConnection {
    try connect.withLock(\.self)(connectionString)
  }
}

/// A connection of a pool with one owner, such as the state in which contexts are pinned: used by one thread at a time,
/// interrupted with the others, and closed with its owner.
///
/// `@unchecked Sendable`: the connection is used under `lock`, also by the body that prepares it, before another
/// thread has the owner.
///
/// It is interrupted with the pool's other connections, and does not count among its readers: a pinned context takes no
/// reader away from fetches.
package final class OwnedConnection<Connection: PooledConnection>: @unchecked Sendable {
  private let pool: ConnectionPool<Connection>
  private let connection: Connection
  /// Recursive: a row that is read may make the program read others.
  private let lock = NSRecursiveLock()

  /// - Parameter prepare: makes the connection ready; if it fails, the connection is closed.
  /// - Throws: what `prepare` throws; 134070 once the pool is closed.
  package init(
    _ connection: Connection, of pool: ConnectionPool<Connection>, _ prepare: (Connection) throws -> Void = { _ in }
  ) throws {
    try pool.adopt(connection)
    self.pool = pool
    self.connection = connection
    try prepare(connection)
  }

  deinit { pool.release(connection) }

  /// Runs the body with the connection. Waits for its current user.
  ///
  /// - Throws: what the body throws; 134070 once the pool is closed.
  package func use<T>(_ body: (Connection) throws -> T) throws -> T {
    try lock.withLock {
      try pool.checkOpen()
      return try body(connection)
    }
  }
}

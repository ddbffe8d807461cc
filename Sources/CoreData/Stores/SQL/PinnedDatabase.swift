/// A store's rows in the state of its database at one moment. The stores of one database share the connection that sees
/// this state.
///
/// A context pins its coordinator's stores one after the other. Two stores in one file would see two states with two
/// connections; with one connection, and its one transaction, they see the same.
package final class PinnedDatabase<Database: AnyObject & Sendable, Connection: PooledConnection>: PinnedStore {
  private let database: Database
  package let connection: OwnedConnection<Connection>
  package let rowCache = RowCache()

  /// Pins the database in the state in which another of its stores is pinned, or in its current one.
  ///
  /// - Parameters:
  ///   - others: the stores that are pinned already.
  ///   - connect: opens a connection that sees the current state; nil if the database cannot be pinned.
  package init?(
    _ database: Database, beside others: [any PinnedStore], connect: () throws -> OwnedConnection<Connection>?
  ) rethrows {
    let sibling = others.lazy.compactMap { $0 as? PinnedDatabase }.first { $0.database === database }
    guard let connection = try sibling?.connection ?? connect() else { return nil }
    self.database = database
    self.connection = connection
  }
}

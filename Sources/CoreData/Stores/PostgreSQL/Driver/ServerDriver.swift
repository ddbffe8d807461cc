internal import Synchronization

/// The way to open connections, which the module `CoreDataPostgreSQL` registers.
package enum ServerDriver {
  package typealias Connect = @Sendable (_ connectionString: String) throws -> any ServerConnection

  private static let connect = Mutex<Connect?>(nil)

  /// Sets how connections are opened, and lets coordinators open stores of the type.
  package static func register(_ storeType: String, _ connect: @escaping Connect) {
    self.connect.withLock { $0 = connect }
    StoreTypes.shared.set(ServerStore.self, storeType)
  }

  static func open(_ connectionString: String) throws -> any ServerConnection {
    guard let connect = connect.withLock({ $0 }) else {
      throw ServerError(message: "No driver for PostgreSQL is registered: the program has to import CoreDataPostgreSQL")
    }
    return try connect(connectionString)
  }
}

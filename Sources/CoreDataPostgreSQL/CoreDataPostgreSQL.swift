@_exported public import CoreData

/// The type of stores in a PostgreSQL database. A coordinator can open such stores once the program has read this name.
///
///     import CoreDataPostgreSQL
///
///     let url = URL(string: "postgresql://user@host/database?schema=app")!
///     try coordinator.addPersistentStore(ofType: NSPostgreSQLStoreType, configurationName: nil, at: url)
///
/// The URL is that of libpq with its parameters (https://www.postgresql.org/docs/15/libpq-connect.html), and one of
/// our own: `schema`, the schema of the store's tables, which is `app` by default.
public let NSPostgreSQLStoreType: String = {
  StoreTypes.shared.set(ServerStore.self, StoreTypes.serverType)
  return StoreTypes.serverType
}()

extension NSPersistentStore.StoreType {
  /// A schema of a PostgreSQL database. It takes batch requests, keeps history and can be used by many machines.
  public static var postgreSQL: NSPersistentStore.StoreType {
    NSPersistentStore.StoreType(rawValue: NSPostgreSQLStoreType)
  }
}

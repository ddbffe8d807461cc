/// The type of stores in a PostgreSQL database. Programs that import `CoreDataPostgreSQL` can open them.
///
/// ```swift
/// import CoreDataPostgreSQL
///
/// let url = URL(string: "postgresql://user@host/database?schema=app")!
/// try coordinator.addPersistentStore(ofType: NSPostgreSQLStoreType, configurationName: nil, at: url)
/// ```
///
/// The URL is that of libpq with its parameters (https://www.postgresql.org/docs/15/libpq-connect.html), and one of
/// our own: `schema`, the schema of the store's tables, which is `app` by default.
///
/// A program that does not import that module gets 134000 with a sentence that says so. The page DEVIATIONS tells how
/// such a store differs from a SQLite file.
///
/// Opening it needs the library libpq, and throws 134080 if the server cannot be reached. Fetches and saves wait for
/// the network; each save is one transaction at the server; several machines may use the store at the same time, with
/// the conflicts and merge policies of a file.
public let NSPostgreSQLStoreType = "PostgreSQL"

extension NSPersistentStore.StoreType {
  /// A schema of a PostgreSQL database. It takes batch requests, keeps history and can be used by many machines.
  ///
  /// ```swift
  /// import CoreDataPostgreSQL
  ///
  /// let server = URL(string: "postgresql://user@host/database?schema=app")!
  /// try coordinator.addPersistentStore(type: .postgreSQL, at: server)
  /// ```
  ///
  /// The same type as `NSPostgreSQLStoreType`, which says what its URL may contain.
  public static var postgreSQL: NSPersistentStore.StoreType {
    NSPersistentStore.StoreType(rawValue: NSPostgreSQLStoreType)
  }
}

/// A module of the package with a class of stores. `CoreData` finds the class of `CoreDataPostgreSQL` by it, although
/// only that module depends on this one.
package protocol StoreModule {
  static var storeClass: any PlacedStore.Type { get }
}

/// The class of stores at a server, if the module `CoreDataPostgreSQL` is part of the program. That module's type is
/// found by its mangled name, so that no code of it must have run before.
///
/// A call that registers the class would have to be made by each program, before its first coordinator. The mangled
/// name consists of the lengths and names of module and type, and `O` for an enumeration: renaming either of them needs
/// the same change here, which the tests of the server's store notice.
var serverStoreClass: (any PlacedStore.Type)? {
  (_typeByName("18CoreDataPostgreSQL12ServerModuleO") as? any StoreModule.Type)?.storeClass
}

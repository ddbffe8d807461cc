internal import Synchronization

/// The classes of stores that coordinators can open, by type name.
///
/// The classes of this framework are in `builtInStores`. Programs add their own with
/// `registerStoreClass(_:forStoreType:)`.
///
/// The process has one registry, as on Apple's platforms: a program registers a class once, and containers that
/// libraries make find it too. Classes are only looked up when a store is opened or a file is asked about, so a lock
/// around a dictionary is fast enough.
final class StoreTypes: Sendable {
  static let shared = StoreTypes()

  private let classes: Mutex<[String: any PlacedStore.Type]>

  private init() {
    var classes: [String: any PlacedStore.Type] = [:]
    for kind in builtInStores {
      for type in kind.storeTypes { classes[type] = kind }
    }
    classes[NSPostgreSQLStoreType] = serverStoreClass
    self.classes = Mutex(classes)
  }

  var all: [String: any PlacedStore.Type] { classes.withLock { $0 } }

  /// Replaces the class of a type; nil removes the type. Stores that are open keep their class.
  func set(_ kind: (any PlacedStore.Type)?, _ type: String) { classes.withLock { $0[type] = kind } }

  /// The class for stores of a type at a place. Throws 134000 for an unknown type, and for a place at a server with the
  /// type of a store in a file.
  ///
  /// The second case is a program that takes a URL from its user and leaves the type at SQLite: without the test it
  /// would create, or empty, a file at the URL's path. The sentence names the import that is missing. Each operation on
  /// a place passes its URL; nil is for a store in memory without one.
  func find(_ type: String, at url: URL?) throws -> any PlacedStore.Type {
    let all = all
    if let kind = all[type], Self.mayHave(url, kind) { return kind }
    if url?.isAtServer == true || type == NSPostgreSQLStoreType {
      throw CoreDataErrors.error(
        .persistentStoreInvalidType,
        "A store of the type \(type) cannot be opened at a PostgreSQL server: let the target depend on the product "
          + "CoreDataPostgreSQL of this package, import CoreDataPostgreSQL, and open the store with the type "
          + "NSPostgreSQLStoreType.")
    }
    throw CoreDataErrors.error(
      .persistentStoreInvalidType,
      "No class is registered for stores of the type \(type); known types: "
        + "\(all.keys.sorted().joined(separator: ", "))."
    )
  }

  /// Whether a store of the class can be at the place: the classes of this module know no servers.
  private static func mayHave(_ url: URL?, _ kind: any PlacedStore.Type) -> Bool {
    url?.isAtServer != true || !builtInStores.contains { $0 == kind }
  }

  /// The first class, by type name, that can read the file. Throws 134080 if none can.
  ///
  /// Built-in classes come first, then all registered ones. `NSPersistentStore`'s own class methods call it, which are
  /// given no type.
  func find(reading url: URL) throws -> any PlacedStore.Type {
    let kinds = builtInStores + all.sorted(on: { $0.key }).map(\.value)
    if let kind = kinds.first(where: { Self.mayHave(url, $0) && (try? $0.metadata(at: url, nil)) != nil }) {
      return kind
    }
    throw CoreDataErrors.error(
      .persistentStoreOpen, "\(url.path) is a store of none of the types \(all.keys.sorted().joined(separator: ", ")).")
  }
}

extension NSPersistentStoreCoordinator {
  /// The class of a type: see `StoreTypes.find(_:at:)`.
  static func storeClass(_ storeType: String, at url: URL?) throws -> any PlacedStore.Type {
    try StoreTypes.shared.find(storeType, at: url)
  }

  /// The classes of stores by type name. Any thread.
  ///
  /// ```swift
  /// print(NSPersistentStoreCoordinator.registeredStoreTypes.keys.sorted())  // Binary, InMemory, SQLite, XML
  /// ```
  ///
  /// "PostgreSQL" is among them if the program contains the module `CoreDataPostgreSQL`. The classes of the framework
  /// have no public names; only their type names are of use.
  ///
  /// Source: Apple's documentation of `registeredStoreTypes`.
  public class var registeredStoreTypes: [String: NSPersistentStore.Type] {
    StoreTypes.shared.all.mapValues { $0 as NSPersistentStore.Type }
  }

  /// Registers a class of stores under a type name, for all coordinators of the process. Any thread.
  ///
  /// ```swift
  /// final class LedgerStore: NSAtomicStore, @unchecked Sendable {
  ///   override func load() throws {}
  /// }
  /// NSPersistentStoreCoordinator.registerStoreClass(LedgerStore.self, forStoreType: "Ledger")
  /// ```
  ///
  /// The page about custom stores shows a complete class. Register it before the first coordinator opens such a store;
  /// a class that is registered under the name of a built-in type takes its place.
  ///
  /// What happens otherwise: opening a store of a type that is not registered throws 134000. Registering a second class
  /// under the same name replaces the first one for stores that are opened afterwards.
  ///
  /// - Parameters:
  ///   - storeClass: a subclass of `NSAtomicStore` or `NSIncrementalStore`; nil removes the type. Traps for any other
  ///     class.
  ///   - storeType: the type name for `addPersistentStore(ofType:configurationName:at:options:)` and
  ///     `NSPersistentStoreDescription.type`.
  ///
  /// Source: Apple's documentation of `registerStoreClass(_:forStoreType:)`.
  public class func registerStoreClass(_ storeClass: AnyClass?, forStoreType storeType: String) {
    guard let storeClass else { return StoreTypes.shared.set(nil, storeType) }
    guard let kind = storeClass as? any PlacedStore.Type else {
      fatalError(
        "registerStoreClass(_:forStoreType:): \(storeClass) is not a subclass of NSAtomicStore or NSIncrementalStore, "
          + "so it cannot be the class of stores of the type \(storeType).")
    }
    StoreTypes.shared.set(kind, storeType)
  }

  /// Registers a class of stores, in the spelling of newer code: see `registerStoreClass(_:forStoreType:)`.
  ///
  /// - Parameters:
  ///   - storeClass: a subclass of `NSAtomicStore` or `NSIncrementalStore`; nil removes the type.
  ///   - type: a type of the program's own, such as `NSPersistentStore.StoreType(rawValue: "Ledger")`.
  public class func registerStoreClass(_ storeClass: AnyClass?, type: NSPersistentStore.StoreType) {
    registerStoreClass(storeClass, forStoreType: type.rawValue)
  }
}

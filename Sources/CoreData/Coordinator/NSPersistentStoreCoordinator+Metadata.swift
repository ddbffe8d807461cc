/// What stores say of themselves.
extension NSPersistentStoreCoordinator {
  public final func metadata(for store: NSPersistentStore) -> [String: Any] { store.metadata ?? [:] }

  /// Replaces what a store says of itself, apart from what it needs itself: version hashes, type and UUID stay. Written with the
  /// next save to the store.
  public final func setMetadata(_ metadata: [String: Any]?, for store: NSPersistentStore) {
    lock.withLock { store.metadata = StoreMetadata.merging(metadata ?? [:], into: store.metadata ?? [:]) }
  }

  /// What a store's file says of itself; needs no model.
  public class func metadataForPersistentStore(
    ofType storeType: String, at url: URL, options: [AnyHashable: Any]? = nil
  ) throws -> [String: Any] {
    try checkType(storeType)
    return try CoreDataErrors.translating("Reading the metadata of \(url.path)") {
      let connection = try SQLiteConnection(path: url.path, access: .readWrite)
      defer { connection.close() }
      return try SQLiteStore.readMetadata(StoreMetadata.prefix(options), connection).1
    }
  }

  public class func metadataForPersistentStore(
    type: NSPersistentStore.StoreType, at url: URL, options: [AnyHashable: Any]? = nil
  ) throws -> [String: Any] {
    try metadataForPersistentStore(ofType: type.rawValue, at: url, options: options)
  }

  /// Replaces what a store's file says of itself, at once, apart from what the store itself needs; needs no model.
  public class func setMetadata(
    _ metadata: [String: Any]?, forPersistentStoreOfType storeType: String, at url: URL,
    options: [AnyHashable: Any]? = nil
  ) throws {
    try checkType(storeType)
    try CoreDataErrors.translating("Writing the metadata of \(url.path)") {
      let connection = try SQLiteConnection(path: url.path, access: .readWrite)
      defer { connection.close() }
      let prefix = StoreMetadata.prefix(options)
      try connection.immediateTransaction {
        let current = try SQLiteStore.readMetadata(prefix, connection).1
        try SQLiteStore.writeMetadata(
          StoreMetadata.merging(metadata ?? [:], into: current), prefix: prefix, connection)
      }
    }
  }

  public class func setMetadata(
    _ metadata: [String: Any]?, type: NSPersistentStore.StoreType, at url: URL, options: [AnyHashable: Any]? = nil
  ) throws {
    try setMetadata(metadata, forPersistentStoreOfType: type.rawValue, at: url, options: options)
  }

  class func checkType(_ storeType: String) throws {
    guard storeType == NSSQLiteStoreType || storeType == NSInMemoryStoreType else {
      throw CoreDataErrors.error(
        .persistentStoreInvalidType,
        "Stores of the type \(storeType) cannot be opened here; use \(NSSQLiteStoreType) or \(NSInMemoryStoreType).")
    }
  }
}

extension StoreMetadata {
  /// New metadata with what the store itself depends on left as it is.
  static func merging(_ metadata: [String: Any], into current: [String: Any]) -> [String: Any] {
    let own = current.filter {
      $0.key.hasPrefix("NSStore") || $0.key.hasPrefix("NSPersistence") || $0.key.hasPrefix("_NS")
    }
    return metadata.merging(own) { $1 }
  }

  static func prefix(_ options: [AnyHashable: Any]?) -> String {
    options?[NSPersistentStoreTablePrefixOption] as? String ?? "Z"
  }
}

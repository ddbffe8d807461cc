/// What stores say of themselves.
extension NSPersistentStoreCoordinator {
  /// What a store says of itself, its UUID and its model's version hashes among it. Empty before the store is open.
  public final func metadata(for store: NSPersistentStore) -> [String: Any] { store.metadata ?? [:] }

  /// Replaces what a store says of itself, apart from what it needs itself: version hashes, type and UUID stay. Written with the
  /// next save to the store.
  public final func setMetadata(_ metadata: [String: Any]?, for store: NSPersistentStore) {
    lock.withLock { store.metadata = NSPersistentStore.merging(metadata ?? [:], into: store.metadata ?? [:]) }
  }

  /// What a store's file says of itself; needs no model.
  public class func metadataForPersistentStore(
    ofType storeType: String, at url: URL, options: [AnyHashable: Any]? = nil
  ) throws -> [String: Any] {
    try storeClass(storeType).metadata(at: url, options)
  }

  /// What a store's file says of itself, in the spelling of newer code.
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
    try storeClass(storeType).setMetadata(metadata ?? [:], at: url, options)
  }

  /// Replaces what a store's file says of itself, in the spelling of newer code.
  public class func setMetadata(
    _ metadata: [String: Any]?, type: NSPersistentStore.StoreType, at url: URL, options: [AnyHashable: Any]? = nil
  ) throws {
    try setMetadata(metadata, forPersistentStoreOfType: type.rawValue, at: url, options: options)
  }
}

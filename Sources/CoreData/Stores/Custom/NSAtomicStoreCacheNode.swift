/// The values of one object of an atomic store.
///
/// Attributes are values as key-value coding gives them. A to-one relationship is the other object's node, a to-many relationship a set of
/// nodes, or an array or ordered set where it is ordered.
///
/// Source: Apple's documentation of `NSAtomicStoreCacheNode`.
///
/// `@unchecked Sendable`: used by the thread that has the store's turn to load or save.
open class NSAtomicStoreCacheNode: NSObject, @unchecked Sendable {
  /// The object that the values are of.
  open private(set) var objectID: NSManagedObjectID
  /// The values by name; nil before the first is set.
  open var propertyCache: NSMutableDictionary?

  /// Makes a node without values.
  public init(objectID moid: NSManagedObjectID) {
    objectID = moid
    super.init()
  }

  /// The value of a property; nil where there is none.
  open func value(forKey key: String) -> Any? { propertyCache?[key].flatMap { $0 is NSNull ? nil : $0 } }

  /// Sets the value of a property; nil removes it.
  open func setValue(_ value: Any?, forKey key: String) {
    let cache = propertyCache ?? NSMutableDictionary()
    propertyCache = cache
    if let value { cache[key] = value } else { cache.removeObject(forKey: key) }
  }
}

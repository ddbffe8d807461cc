/// The values of one object of an atomic store.
///
/// Attributes have the values that key-value coding gives. A to-one relationship is the other object's node, a to-many
/// relationship a set of nodes, or an array or ordered set if it is ordered.
///
/// Source: Apple's documentation of `NSAtomicStoreCacheNode`.
///
/// `@unchecked Sendable`: only the thread that has the store's turn to load or save uses it.
///
/// ```swift
/// let node = NSAtomicStoreCacheNode(objectID: author.objectID)
/// node.setValue("Le Guin", forKey: "name")
/// print(node.value(forKey: "name") ?? "")
/// ```
open class NSAtomicStoreCacheNode: NSObject, @unchecked Sendable {
  /// The ID of the object, made with the store's `objectID(for:withReferenceObject:)`.
  open private(set) var objectID: NSManagedObjectID
  /// The values by name, `NSNull` for nil; nil before the first is set. The store copies it to take a failed save back.
  ///
  /// A subclass that keeps its values elsewhere has to take them back by itself when `save()` throws.
  open var propertyCache: NSMutableDictionary?

  /// Makes a node without values.
  public init(objectID moid: NSManagedObjectID) {
    objectID = moid
    super.init()
  }

  /// The value of a property by its name: that of `propertyCache`, with `NSNull` as nil. A subclass may compute it.
  open func value(forKey key: String) -> Any? { propertyCache?[key].flatMap { $0 is NSNull ? nil : $0 } }

  /// Sets the value of a property; nil removes it.
  open func setValue(_ value: Any?, forKey key: String) {
    let cache = propertyCache ?? NSMutableDictionary()
    propertyCache = cache
    if let value { cache[key] = value } else { cache.removeObject(forKey: key) }
  }
}

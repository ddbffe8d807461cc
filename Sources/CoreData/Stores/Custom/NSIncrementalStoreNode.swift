/// The values that an incremental store has for one object.
///
/// Source: Apple's documentation of `NSIncrementalStoreNode`.
///
/// `@unchecked Sendable`: made and changed by the store; Core Data only reads it, while the store's method that gave it has returned.
open class NSIncrementalStoreNode: NSObject, @unchecked Sendable {
  /// The object that the values are of.
  public let objectID: NSManagedObjectID
  /// What tells these values from earlier and later ones of the object: a save conflicts where the store has another version than the one
  /// that was read. A store that always gives the same version has no conflicts.
  open private(set) var version: UInt64
  private var values: [String: Any]

  /// - Parameters:
  ///   - values: attributes and to-one relationships by name. A related object is its `NSManagedObjectID`; nil is `NSNull`, or left out. Of a
  ///     to-one relationship that is left out the store is asked with `newValue(forRelationship:forObjectWith:with:)`.
  ///   - version: see `version`.
  public init(objectID: NSManagedObjectID, withValues values: [String: Any], version: UInt64) {
    self.objectID = objectID
    self.values = values
    self.version = version
    super.init()
  }

  /// Replaces the values that are named, and the version.
  open func update(withValues values: [String: Any], version: UInt64) {
    self.values.merge(values) { $1 }
    self.version = version
  }

  /// The value of an attribute, or the ID or `NSNull` of a to-one relationship; nil where the node has none.
  open func value(for property: NSPropertyDescription) -> Any? { values[property.name] }
}

/// The values that an incremental store has for one object.
///
/// Source: Apple's documentation of `NSIncrementalStoreNode`.
///
/// `@unchecked Sendable`: the store makes and changes it; Core Data only reads it, after the store's method that
/// returned it.
///
/// ```swift
/// let values: [String: Any] = ["title": "The Dispossessed", "pages": 341, "author": author.objectID]
/// let node = NSIncrementalStoreNode(objectID: book.objectID, withValues: values, version: 3)
/// ```
open class NSIncrementalStoreNode: NSObject, @unchecked Sendable {
  /// The ID of the object, made with the store's `newObjectID(for:referenceObject:)`.
  public let objectID: NSManagedObjectID
  /// Distinguishes these values from earlier and later ones of the object: a save conflicts if the store has another
  /// version than the one that was read. A store that always gives the same version has no conflicts.
  open private(set) var version: UInt64
  private var values: [String: Any]

  /// - Parameters:
  ///   - values: attributes and to-one relationships by name. A related object is its `NSManagedObjectID`; nil is
  ///     `NSNull`, or left out. For a to-one relationship that is left out, Core Data calls
  ///     `newValue(forRelationship:forObjectWith:with:)`.
  ///   - version: see `version`.
  public init(objectID: NSManagedObjectID, withValues values: [String: Any], version: UInt64) {
    self.objectID = objectID
    self.values = values
    self.version = version
    super.init()
  }

  /// Replaces the given values and the version.
  open func update(withValues values: [String: Any], version: UInt64) {
    self.values.merge(values) { $1 }
    self.version = version
  }

  /// The value of an attribute, or the ID or `NSNull` of a to-one relationship; nil if the node has none.
  open func value(for property: NSPropertyDescription) -> Any? { values[property.name] }
}

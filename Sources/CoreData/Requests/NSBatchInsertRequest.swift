/// Many new rows of one entity, written straight into the store: no objects, no validation but for missing mandatory values,
/// no notifications to contexts.
///
/// Attributes that are not named get the model's default values. Relationships cannot be set. Where rows with the same unique
/// values exist, the merge policy of the executing context decides: `error` fails the whole request, the store-trump policy and
/// `rollback` leave the new row out, the object-trump policy and `overwrite` write what the new row names into the old one.
///
/// Source: Apple's documentation of `NSBatchInsertRequest`.
open class NSBatchInsertRequest: NSPersistentStoreRequest {
  open private(set) var entity: NSEntityDescription?
  open private(set) var entityName: String

  /// The rows, by attribute name; `NSNull` for nil.
  open var objectsToInsert: [[String: Any]]?

  /// Fills an empty dictionary for one row and returns false; returns true when there are no more rows, without filling it.
  open var dictionaryHandler: ((NSMutableDictionary) -> Bool)?

  /// Fills an object without a context for one row and returns false; returns true when there are no more rows. The same object
  /// is used for every row, and has the default values at each call.
  open var managedObjectHandler: ((NSManagedObject) -> Bool)?

  /// Default: `.statusOnly`.
  open var resultType: NSBatchInsertRequestResultType = .statusOnly

  private init(entity: NSEntityDescription?, name: String) {
    self.entity = entity
    entityName = name
    super.init()
  }

  public convenience init(entityName: String, objects dictionaries: [[String: Any]]) {
    self.init(entity: nil, name: entityName)
    objectsToInsert = dictionaries
  }

  public convenience init(entity: NSEntityDescription, objects dictionaries: [[String: Any]]) {
    self.init(entity: entity, name: entity.name ?? "")
    objectsToInsert = dictionaries
  }

  public convenience init(entityName: String, dictionaryHandler handler: @escaping (NSMutableDictionary) -> Bool) {
    self.init(entity: nil, name: entityName)
    dictionaryHandler = handler
  }

  public convenience init(
    entity: NSEntityDescription, dictionaryHandler handler: @escaping (NSMutableDictionary) -> Bool
  ) {
    self.init(entity: entity, name: entity.name ?? "")
    dictionaryHandler = handler
  }

  public convenience init(entityName: String, managedObjectHandler handler: @escaping (NSManagedObject) -> Bool) {
    self.init(entity: nil, name: entityName)
    managedObjectHandler = handler
  }

  public convenience init(
    entity: NSEntityDescription, managedObjectHandler handler: @escaping (NSManagedObject) -> Bool
  ) {
    self.init(entity: entity, name: entity.name ?? "")
    managedObjectHandler = handler
  }

  open override var requestType: NSPersistentStoreRequestType { .batchInsertRequestType }

  open override func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSBatchInsertRequest(entity: entity, name: entityName)
    copy.objectsToInsert = objectsToInsert
    copy.dictionaryHandler = dictionaryHandler
    copy.managedObjectHandler = managedObjectHandler
    copy.resultType = resultType
    copy.affectedStores = affectedStores
    return copy
  }
}

/// Raw values are Apple's.
public enum NSBatchInsertRequestResultType: UInt, Sendable {
  /// `true`.
  case statusOnly = 0
  /// The IDs of the rows that were inserted or, by the object-trump policy, written: `[NSManagedObjectID]`.
  case objectIDs = 1
  /// How many they are: `Int`.
  case count = 2
}

/// What a batch insertion did.
open class NSBatchInsertResult: NSPersistentStoreResult {
  /// A Bool, an array of object IDs or an Int, as `resultType` says.
  public let result: Any?
  public let resultType: NSBatchInsertRequestResultType

  init(_ rows: BatchResult, _ type: NSBatchInsertRequestResultType) {
    resultType = type
    result =
      switch type {
      case .statusOnly: true
      case .objectIDs: rows.ids
      case .count: rows.count
      }
    super.init()
  }
}

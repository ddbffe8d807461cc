/// New values for all rows of an entity that match a predicate, written straight into the store: no objects, no validation but
/// for missing mandatory values, no notifications to contexts.
///
/// Contexts see the new values in objects that they refresh or read anew; pass the IDs of the result to
/// `NSManagedObjectContext.mergeChanges(fromRemoteContextSave:into:)`.
///
/// Source: Apple's documentation of `NSBatchUpdateRequest`.
open class NSBatchUpdateRequest: NSPersistentStoreRequest {
  open private(set) var entityName: String
  /// nil where only the name was given.
  let givenEntity: NSEntityDescription?

  /// The entity whose rows are updated; where only its name was given, that of the newest model in use. Traps where none has it.
  open var entity: NSEntityDescription {
    if let givenEntity { return givenEntity }
    if let entity = LoadedModels.newest({ $0.entitiesByName[entityName] }) { return entity }
    fatalError("No model in use has an entity named \"\(entityName)\".")
  }

  /// Which rows; nil for all.
  open var predicate: NSPredicate?

  /// Whether rows of sub-entities count. Default: true.
  open var includesSubentities = true

  /// The new values by property name or property description: constants, `NSNull` for nil, or an `NSExpression` over the
  /// row's own values. Attributes, and to-one relationships by object ID.
  open var propertiesToUpdate: [AnyHashable: Any]?

  /// Default: `.statusOnlyResultType`.
  open var resultType: NSBatchUpdateRequestResultType = .statusOnlyResultType

  init(entity: NSEntityDescription?, name: String) {
    givenEntity = entity
    entityName = name
    super.init()
  }

  public convenience init(entityName: String) { self.init(entity: nil, name: entityName) }

  public convenience init(entity: NSEntityDescription) { self.init(entity: entity, name: entity.name ?? "") }

  open override var requestType: NSPersistentStoreRequestType { .batchUpdateRequestType }

  open override func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSBatchUpdateRequest(entity: givenEntity, name: entityName)
    copy.predicate = predicate
    copy.includesSubentities = includesSubentities
    copy.propertiesToUpdate = propertiesToUpdate
    copy.resultType = resultType
    copy.affectedStores = affectedStores
    return copy
  }
}

/// Raw values are Apple's.
public enum NSBatchUpdateRequestResultType: UInt, Sendable {
  /// `true`.
  case statusOnlyResultType = 0
  /// The IDs of the rows that were written: `[NSManagedObjectID]`.
  case updatedObjectIDsResultType = 1
  /// How many they are: `Int`.
  case updatedObjectsCountResultType = 2
}

/// What a batch update did.
open class NSBatchUpdateResult: NSPersistentStoreResult {
  /// A Bool, an array of object IDs or an Int, as `resultType` says.
  public let result: Any?
  public let resultType: NSBatchUpdateRequestResultType

  init(_ rows: BatchResult, _ type: NSBatchUpdateRequestResultType) {
    resultType = type
    result =
      switch type {
      case .statusOnlyResultType: true
      case .updatedObjectIDsResultType: rows.ids
      case .updatedObjectsCountResultType: rows.count
      }
    super.init()
  }
}

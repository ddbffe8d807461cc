/// The deletion of all rows that a fetch finds, straight in the store: no objects, no validation, no notifications to contexts.
///
/// Delete rules are applied in the store: what cascades goes too, what nullifies is cleared, and a Deny rule with something left
/// at the other end fails the request. Pass the IDs of the result to
/// `NSManagedObjectContext.mergeChanges(fromRemoteContextSave:into:)` under `NSDeletedObjectsKey`.
///
/// Source: Apple's documentation of `NSBatchDeleteRequest`.
open class NSBatchDeleteRequest: NSPersistentStoreRequest {
  final let settings: FetchSettings

  /// Which rows: entity, predicate, sort descriptors, limit, offset and sub-entities of the request count.
  open var fetchRequest: NSFetchRequest<any NSFetchRequestResult> {
    let request = NSFetchRequest<any NSFetchRequestResult>()
    request.settings = settings
    return request
  }

  /// Default: `.resultTypeStatusOnly`.
  open var resultType: NSBatchDeleteRequestResultType = .resultTypeStatusOnly

  private init(settings: FetchSettings) {
    self.settings = settings
    super.init()
  }

  /// Generic, since on Linux a request of one result type is none of another.
  public convenience init<ResultType>(fetchRequest fetch: NSFetchRequest<ResultType>) {
    self.init(settings: fetch.settings)
  }

  /// Traps where the IDs are not of one entity or of entities with a common parent.
  public convenience init(objectIDs objects: [NSManagedObjectID]) {
    var settings = FetchSettings()
    settings.entity = NSBatchDeleteRequest.commonEntity(of: objects)
    settings.entityName = settings.entity?.name
    settings.predicate = NSPredicate(format: "SELF IN %@", objects)
    self.init(settings: settings)
  }

  private static func commonEntity(of ids: [NSManagedObjectID]) -> NSEntityDescription? {
    var common = ids.first?.entity
    for id in ids {
      while let entity = common, !id.entity.isKindOf(entity: entity) { common = entity.superentity }
      require(common != nil, "NSBatchDeleteRequest(objectIDs:): the IDs are of entities that have no common parent.")
    }
    return common
  }

  open override var requestType: NSPersistentStoreRequestType { .batchDeleteRequestType }

  open override func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSBatchDeleteRequest(settings: settings)
    copy.resultType = resultType
    copy.affectedStores = affectedStores
    return copy
  }
}

/// Raw values are Apple's.
public enum NSBatchDeleteRequestResultType: UInt, Sendable {
  /// `true`.
  case resultTypeStatusOnly = 0
  /// The IDs of all rows that were deleted, by delete rules too: `[NSManagedObjectID]`.
  case resultTypeObjectIDs = 1
  /// How many they are: `Int`.
  case resultTypeCount = 2
}

/// What a batch deletion did.
open class NSBatchDeleteResult: NSPersistentStoreResult {
  /// A Bool, an array of object IDs or an Int, as `resultType` says.
  public let result: Any?
  public let resultType: NSBatchDeleteRequestResultType

  init(_ rows: BatchResult, _ type: NSBatchDeleteRequestResultType) {
    resultType = type
    result =
      switch type {
      case .resultTypeStatusOnly: true
      case .resultTypeObjectIDs: rows.ids
      case .resultTypeCount: rows.count
      }
    super.init()
  }
}

/// Writes new values into all rows of an entity that match a predicate, directly in the store: no objects are made,
/// `propertiesToUpdate` says what is validated, and no context is told.
///
/// ```swift
/// let request = NSBatchUpdateRequest(entityName: "Book")
/// request.predicate = NSPredicate(format: "pages < %d", 1)
/// request.propertiesToUpdate = ["pages": 1]
/// request.resultType = .updatedObjectIDsResultType
/// let result = try context.execute(request) as? NSBatchUpdateResult
/// let changed: [AnyHashable: Any] = [NSUpdatedObjectsKey: result?.result ?? []]
/// NSManagedObjectContext.mergeChanges(fromRemoteContextSave: changed, into: [container.viewContext])
/// ```
///
/// A fault that is filled afterwards has the new values; objects whose values were read keep the old ones until a
/// refresh. Pass the resulting IDs to `NSManagedObjectContext.mergeChanges(fromRemoteContextSave:into:)` under
/// `NSUpdatedObjectsKey`.
///
/// It is one transaction in each store that holds the entity, whatever the number of rows, and other writers wait for
/// it. A store in which it fails keeps its rows as they were; an error in the second store leaves the changes in the
/// first. Each row gets a new version, so a context that changed one of them before is in conflict at its next save.
/// Stores in memory, binary and XML stores throw 134091. Read-only stores are passed over; if there are no others, it
/// throws 134030.
///
/// Take it to set the same value, or a value computed from the row, in many rows. Take objects and saves where
/// `willSave()`, validation or observers count: a batch update calls none of them. Execute it on the context's queue.
///
/// Source: Apple's documentation of `NSBatchUpdateRequest`.
open class NSBatchUpdateRequest: NSPersistentStoreRequest {
  /// The name of the entity, looked up in the model of the executing context's coordinator.
  ///
  /// Of a request that was made with an entity: that one's name.
  ///
  /// Source: Apple's documentation of `entityName`.
  open private(set) var entityName: String
  /// Nil if the request was made with a name.
  let givenEntity: NSEntityDescription?

  /// The entity whose rows are updated. If the request was made with a name, the newest model in use is asked; traps if
  /// none has such an entity.
  ///
  /// Executing the request does not ask it: that takes the entity of the context's own model.
  ///
  /// Source: Apple's documentation of `entity`.
  open var entity: NSEntityDescription {
    if let givenEntity { return givenEntity }
    if let entity = LoadedModels.newest({ $0.entitiesByName[entityName] }) { return entity }
    fatalError("No model in use has an entity named \"\(entityName)\".")
  }

  /// Selects the rows; nil selects all. Default: nil.
  ///
  /// ```swift
  /// let request = NSBatchUpdateRequest(entityName: "Book")
  /// request.predicate = NSPredicate(format: "author.name == %@", "Jane Austen")
  /// request.propertiesToUpdate = ["isRead": true]
  /// ```
  ///
  /// The store evaluates it: what `NSFetchRequest.predicate` says of SQL stores holds. Unsaved changes of the context
  /// do not count.
  ///
  /// Source: Apple's documentation of `predicate`.
  open var predicate: NSPredicate?

  /// Whether rows of subentities are updated too. Default: true.
  ///
  /// With true the new values must be of properties that the entity itself has; those of subentities need a request
  /// each.
  ///
  /// Source: Apple's documentation of `includesSubentities`.
  open var includesSubentities = true

  /// The new values by property name, key path of a composite's element, or property description. Default: nil.
  ///
  /// ```swift
  /// let request = NSBatchUpdateRequest(entityName: "Book")
  /// request.predicate = NSPredicate(format: "title BEGINSWITH %@", "Draft")
  /// request.propertiesToUpdate = ["pages": NSExpression(format: "pages + 1"), "author": author.objectID]
  /// try context.execute(request)
  /// ```
  ///
  /// A value is a constant, `NSNull` for nil, or an `NSExpression` over the row's own values. A to-one relationship
  /// takes an object ID; one-to-one and to-many relationships cannot be set. Executing a request without properties,
  /// with an unknown one, or with a value of another type throws 134070; nil for a mandatory attribute throws 1570, a
  /// number that is too large or too small for its attribute 1610 or 1620.
  ///
  /// The database computes `pages + 1` in one UPDATE, so no increment is lost when two processes do it at once.
  ///
  /// Source: Apple's documentation of `propertiesToUpdate`.
  open var propertiesToUpdate: [AnyHashable: Any]?

  /// The form of the result. Default: `.statusOnlyResultType`.
  ///
  /// ```swift
  /// let request = NSBatchUpdateRequest(entityName: "Book")
  /// request.propertiesToUpdate = ["isRead": false]
  /// request.resultType = .updatedObjectsCountResultType
  /// let count = (try context.execute(request) as? NSBatchUpdateResult)?.result as? Int ?? 0
  /// ```
  ///
  /// Source: Apple's documentation of `resultType`.
  open var resultType: NSBatchUpdateRequestResultType = .statusOnlyResultType

  /// The number of rows to update, the first ones by `order`; 0 for all.
  ///
  /// With `order` and `skipsLockedRows`, for the pool's job sources: take the next jobs with one statement that passes
  /// over those of other processes.
  package final var limit = 0

  /// Empty leaves open which rows are the first.
  package final var order: [NSSortDescriptor] = []

  /// Whether rows that other transactions have locked are passed over, instead of waiting for them; only with a limit,
  /// which counts the rows that are taken. A SQLite file has one writer at a time and no locked rows.
  package final var skipsLockedRows = false

  init(entity: NSEntityDescription?, name: String) {
    givenEntity = entity
    entityName = name
    super.init()
  }

  /// Updates rows of the entity of a name. Set `propertiesToUpdate` before executing it.
  ///
  /// Source: Apple's documentation of `init(entityName:)`.
  public convenience init(entityName: String) { self.init(entity: nil, name: entityName) }

  /// Updates rows of an entity. Set `propertiesToUpdate` before executing it.
  public convenience init(entity: NSEntityDescription) { self.init(entity: entity, name: entity.name ?? "") }

  open override var requestType: NSPersistentStoreRequestType { .batchUpdateRequestType }

  open override func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSBatchUpdateRequest(entity: givenEntity, name: entityName)
    copy.predicate = predicate
    copy.includesSubentities = includesSubentities
    copy.propertiesToUpdate = propertiesToUpdate
    copy.resultType = resultType
    copy.affectedStores = affectedStores
    copy.limit = limit
    copy.order = order
    copy.skipsLockedRows = skipsLockedRows
    return copy
  }
}

/// The form of a batch update's result. Raw values are Apple's.
///
/// Source: Apple's documentation of `NSBatchUpdateRequestResultType`.
public enum NSBatchUpdateRequestResultType: UInt, Sendable {
  /// `true`.
  ///
  /// An error is thrown, never returned as `false`.
  case statusOnlyResultType = 0
  /// The IDs of the updated rows: `[NSManagedObjectID]`.
  ///
  /// What `mergeChanges(fromRemoteContextSave:into:)` wants under `NSUpdatedObjectsKey`.
  case updatedObjectIDsResultType = 1
  /// The number of these rows: `Int`.
  ///
  /// 0 if no row matched.
  case updatedObjectsCountResultType = 2
}

/// What executing an `NSBatchUpdateRequest` gives: cast `result` to the type that `resultType` says.
///
/// ```swift
/// let request = NSBatchUpdateRequest(entityName: "Book")
/// request.propertiesToUpdate = ["isRead": true]
/// request.resultType = .updatedObjectsCountResultType
/// let count = (try context.execute(request) as? NSBatchUpdateResult)?.result as? Int ?? 0
/// print(count, "updated")
/// ```
///
/// Source: Apple's documentation of `NSBatchUpdateResult`.
open class NSBatchUpdateResult: NSPersistentStoreResult {
  /// A `Bool`, an array of object IDs or an `Int`, by `resultType`.
  public let result: Any?
  /// The form that the request asked for.
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

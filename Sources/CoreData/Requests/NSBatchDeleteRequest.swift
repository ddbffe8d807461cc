/// Deletes all rows that a fetch finds, directly in the store: no objects are made, nothing is validated and no context
/// is told.
///
/// ```swift
/// let unread = NSFetchRequest<Book>(entityName: "Book")
/// unread.predicate = NSPredicate(format: "isRead == NO")
/// let request = NSBatchDeleteRequest(fetchRequest: unread)
/// request.resultType = .resultTypeObjectIDs
/// let result = try context.execute(request) as? NSBatchDeleteResult
/// let deleted: [AnyHashable: Any] = [NSDeletedObjectsKey: result?.result ?? []]
/// NSManagedObjectContext.mergeChanges(fromRemoteContextSave: deleted, into: [container.viewContext])
/// ```
///
/// The store applies the delete rules: Cascade deletes the related rows too, Nullify clears their references, and a
/// Deny rule that has a related row left fails the request with 1600. Clearing a mandatory relationship fails it with
/// 1570. Pass the resulting IDs to `NSManagedObjectContext.mergeChanges(fromRemoteContextSave:into:)` under
/// `NSDeletedObjectsKey`.
///
/// It is one transaction in each store that holds the entity, whatever the number of rows, and other writers wait for
/// it. An error in the second store leaves the deletions in the first. It writes at once: a rollback of the context
/// does not bring the rows back. Unsaved changes of the context do not count. An object with unsaved changes whose row
/// is deleted is a conflict at its next save.
///
/// SQLite and PostgreSQL stores execute it, a SQLite store at `/dev/null` too. Stores in memory, binary, XML and atomic
/// stores throw 134091. Read-only stores are passed over; if there are no others, it throws 134030.
///
/// Take it to delete more rows than a program wants to load. Take `NSManagedObjectContext.delete(_:)` where
/// `prepareForDeletion()` or validation counts, or where the deletion has to be undone. Execute it on the context's
/// queue. To let other writers in between, delete in portions: give the fetch request a limit and execute it again
/// until the count is 0.
///
/// How it treats related rows, in one transaction: the rows of the fetch are collected in a temporary table;
/// Cascade rules add theirs, round by round, until a round finds none; Deny rules are checked; references from the rows
/// that stay are cleared; the rows go. Entities without relationships need none of that.
///
/// Source: Apple's documentation of `NSBatchDeleteRequest`.
open class NSBatchDeleteRequest: NSPersistentStoreRequest {
  final let settings: FetchSettings

  /// The fetch that finds the rows, as a copy. Its entity, predicate, sort descriptors, limit, offset,
  /// `includesSubentities` and `affectedStores` count.
  ///
  /// Changing the copy has no effect on the deletion.
  ///
  /// Source: Apple's documentation of `fetchRequest`.
  open var fetchRequest: NSFetchRequest<any NSFetchRequestResult> {
    NSFetchRequest<any NSFetchRequestResult>(settings)
  }

  /// The form of the result. Default: `.resultTypeStatusOnly`. Ask for IDs if contexts have to be told:
  /// `.resultTypeObjectIDs` keeps the ID of each deleted row in memory.
  ///
  /// ```swift
  /// let read = NSFetchRequest<Book>(entityName: "Book")
  /// read.predicate = NSPredicate(format: "isRead == YES")
  /// let request = NSBatchDeleteRequest(fetchRequest: read)
  /// request.resultType = .resultTypeCount
  /// let count = (try context.execute(request) as? NSBatchDeleteResult)?.result as? Int ?? 0
  /// ```
  ///
  /// Source: Apple's documentation of `resultType`.
  open var resultType: NSBatchDeleteRequestResultType = .resultTypeStatusOnly

  private init(settings: FetchSettings) {
    self.settings = settings
    super.init()
  }

  /// Deletes what a fetch request finds. It is generic because without Objective-C a request of one result type cannot
  /// be cast to another.
  ///
  /// Its settings are copied at once. `resultType`, batches and prefetching of the fetch have no effect. Rows are
  /// deleted in the stores that both the fetch's `affectedStores` and those of this request name; nil names all. The
  /// limit holds for each store.
  ///
  /// - Parameter fetch: which rows to delete. Without a predicate all rows of the entity and its subentities.
  ///
  /// Source: Apple's documentation of `init(fetchRequest:)`.
  public convenience init<ResultType>(fetchRequest fetch: NSFetchRequest<ResultType>) {
    self.init(settings: fetch.settings)
  }

  /// Deletes the rows of some objects. IDs without a row are passed over; no IDs delete nothing. Traps if the IDs
  /// belong to entities without a common superentity.
  ///
  /// ```swift
  /// try context.execute(NSBatchDeleteRequest(objectIDs: [book.objectID]))
  /// ```
  ///
  /// For IDs that a program has, such as those of another request. Objects of the context do not learn of it: merge the
  /// result, or take `NSManagedObjectContext.delete(_:)`. Temporary IDs have no row.
  ///
  /// Source: Apple's documentation of `init(objectIDs:)`.
  public convenience init(objectIDs objects: [NSManagedObjectID]) {
    var settings = FetchSettings()
    settings.entity = NSBatchDeleteRequest.commonEntity(of: objects)
    settings.entityName = settings.entity?.name
    settings.predicate = NSPredicate(format: "SELF IN %@", objects)
    self.init(settings: settings)
  }

  /// The nearest entity of which all IDs are: one fetch finds the rows in one table.
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

/// The form of a batch deletion's result. Raw values are Apple's.
///
/// Source: Apple's documentation of `NSBatchDeleteRequestResultType`.
public enum NSBatchDeleteRequestResultType: UInt, Sendable {
  /// `true`.
  ///
  /// An error is thrown, never returned as `false`.
  case resultTypeStatusOnly = 0
  /// The IDs of all deleted rows, those that Cascade rules deleted included: `[NSManagedObjectID]`.
  ///
  /// What `mergeChanges(fromRemoteContextSave:into:)` wants under `NSDeletedObjectsKey`.
  case resultTypeObjectIDs = 1
  /// The number of these rows: `Int`.
  ///
  /// 0 shows that a deletion in portions is complete.
  case resultTypeCount = 2
}

/// What executing an `NSBatchDeleteRequest` gives: cast `result` to the type that `resultType` says.
///
/// ```swift
/// let request = NSBatchDeleteRequest(fetchRequest: NSFetchRequest<Book>(entityName: "Book"))
/// request.resultType = .resultTypeCount
/// let count = (try context.execute(request) as? NSBatchDeleteResult)?.result as? Int ?? 0
/// print(count, "deleted")
/// ```
///
/// Source: Apple's documentation of `NSBatchDeleteResult`.
open class NSBatchDeleteResult: NSPersistentStoreResult {
  /// A `Bool`, an array of object IDs or an `Int`, by `resultType`.
  public let result: Any?
  /// The form that the request asked for.
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

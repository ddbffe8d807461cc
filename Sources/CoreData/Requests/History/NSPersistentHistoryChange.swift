/// What a transaction did to an object. Raw values are Apple's.
///
/// Several changes of one object in one save are one change; an object that was inserted and changed before the save is
/// an insertion. A batch request writes a change for each row.
///
/// ```swift
/// func log(_ change: NSPersistentHistoryChange) {
///   switch change.changeType {
///   case .insert: print("new", change.changedObjectID.uriRepresentation())
///   case .update: print("changed", change.updatedProperties?.map(\.name).sorted() ?? [])
///   case .delete: print("deleted", change.tombstone ?? [:])
///   }
/// }
/// ```
///
/// Source: Apple's documentation of `NSPersistentHistoryChangeType`.
public enum NSPersistentHistoryChangeType: Int, Sendable {
  /// The object was inserted.
  case insert = 0
  /// Properties of the object changed, or members of its relationships.
  ///
  /// `updatedProperties` of the change says which.
  case update = 1
  /// The object was deleted.
  ///
  /// By a save, a delete rule or a batch request. `tombstone` of the change keeps the values that the model preserves.
  case delete = 2
}

/// The change of one object in a transaction.
///
/// Its `changeID`, `changedObjectID`, `changedEntity`, `changeType`, `tombstone` and `updatedProperties` can be named
/// in the predicate of a history request.
///
/// ```swift
/// let request = NSPersistentHistoryChangeRequest.fetchHistory(after: lastToken)
/// request.resultType = .changesOnly
/// let result = try context.execute(request) as? NSPersistentHistoryResult
/// for change in result?.result as? [NSPersistentHistoryChange] ?? [] {
///   print(change.changedObjectID.entity.name ?? "", change.changeID, change.transaction?.author ?? "")
/// }
/// ```
///
/// It has no values except a tombstone's. The object itself has the present values, which a later transaction may have
/// written, or it is deleted by now. Changes of entities that the model lacks are left out.
///
/// Source: Apple's documentation of `NSPersistentHistoryChange`.
///
/// `@unchecked Sendable`: immutable once a request has returned it; the values of a tombstone do not change.
public final class NSPersistentHistoryChange: NSObject, NSCopying, @unchecked Sendable {
  /// The number of the change in its store, ascending in the order of writing, also over transactions. Numbers of
  /// deleted changes are not used again.
  public let changeID: Int64
  /// The object's ID. After a deletion no object has it any more.
  ///
  /// Permanent, of the store that the history is of: another process's ID of the same row is equal to it.
  public let changedObjectID: NSManagedObjectID
  /// What happened to the object.
  public let changeType: NSPersistentHistoryChangeType
  /// The values of a deleted object's attributes with `preservesValueInHistoryOnDeletion`, by name; nil for other
  /// changes and if no attribute has a value.
  ///
  /// ```swift
  /// func externalID(of change: NSPersistentHistoryChange) -> String? {
  ///   change.tombstone?["isbn"] as? String
  /// }
  /// ```
  ///
  /// Mark an attribute as preserved if a reader of the history has to find the deleted object's counterpart elsewhere:
  /// a file, a row of another system. An element of a composite attribute is inside of the composite's dictionary.
  public let tombstone: [AnyHashable: Any]?
  /// The properties that an update changed; nil for other changes.
  ///
  /// Properties of the present model: those that a migration has removed are left out. To-many relationships are among
  /// them where their members changed.
  public let updatedProperties: Set<NSPropertyDescription>?

  /// A transaction retains its changes; only a change that was fetched without its transaction retains it.
  private weak var containing: NSPersistentHistoryTransaction?
  private let held: NSPersistentHistoryTransaction?

  /// The transaction of this change; nil if the transaction held this change and was freed.
  ///
  /// Keep the transactions while their changes are used. With `.changesOnly` the changes keep their transactions
  /// instead.
  public var transaction: NSPersistentHistoryTransaction? { held ?? containing }

  package init(
    id: Int64, objectID: NSManagedObjectID, type: NSPersistentHistoryChangeType, tombstone: [AnyHashable: Any]?,
    updatedProperties: Set<NSPropertyDescription>?, transaction: NSPersistentHistoryTransaction, isAlone: Bool
  ) {
    changeID = id
    changedObjectID = objectID
    changeType = type
    self.tombstone = tombstone
    self.updatedProperties = updatedProperties
    held = isAlone ? transaction : nil
    containing = transaction
    super.init()
  }

  /// The change itself: it is immutable.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  // MARK: Fetching

  /// The entity for fetch requests about changes. Its attributes are the properties above. No store has rows of it.
  ///
  /// `NSPersistentHistoryChange.fetchRequest` has it already.
  ///
  /// Source: Apple's documentation of `entityDescription`.
  public class var entityDescription: NSEntityDescription? { HistoryEntities.change }

  /// A new request about changes, for `NSPersistentHistoryChangeRequest.fetchHistory(withFetch:)`.
  ///
  /// ```swift
  /// if let deletions = NSPersistentHistoryChange.fetchRequest {
  ///   deletions.predicate = NSPredicate(format: "changeType == %d", NSPersistentHistoryChangeType.delete.rawValue)
  ///   let request = NSPersistentHistoryChangeRequest.fetchHistory(withFetch: deletions)
  ///   let result = try context.execute(request) as? NSPersistentHistoryResult
  ///   print((result?.result as? [NSPersistentHistoryChange])?.count ?? 0)
  /// }
  /// ```
  ///
  /// Never nil here; optional as on Apple's platforms. Each access makes another request.
  public class var fetchRequest: NSFetchRequest<any NSFetchRequestResult>? {
    HistoryEntities.request(HistoryEntities.change)
  }
}

extension NSPersistentHistoryChange: NSFetchRequestResult, KeyValueReadable {
  /// The keys are those that Apple's framework knows in a history request's predicate. Unknown ones read as nil.
  func readableValue(forKey key: String) -> Any? {
    switch key {
    case "changeID": changeID
    case "changedObjectID": changedObjectID
    case "changedEntity": changedObjectID.entity
    case "changeType": changeType.rawValue
    case "updatedProperties": updatedProperties
    case "tombstone": tombstone
    case "transaction": transaction
    default: nil
    }
  }
}

/// The entities of fetch requests about history. No store has rows of them.
///
/// A history request compares its fetch request's entity with these by identity, to tell whether it is about
/// transactions or changes.
enum HistoryEntities {
  private static let model: NSManagedObjectModel = {
    let model = NSManagedObjectModel()
    model.entities = [
      entity(
        "Transaction",
        [
          ("author", .stringAttributeType), ("bundleID", .stringAttributeType), ("contextName", .stringAttributeType),
          ("processID", .stringAttributeType), ("storeID", .stringAttributeType), ("timestamp", .dateAttributeType),
          ("token", .transformableAttributeType), ("transactionNumber", .integer64AttributeType),
        ]),
      entity(
        "Change",
        [
          ("changeID", .integer64AttributeType), ("changeType", .integer64AttributeType),
          ("changedEntity", .transformableAttributeType), ("changedObjectID", .transformableAttributeType),
          ("tombstone", .transformableAttributeType), ("updatedProperties", .transformableAttributeType),
        ]),
    ]
    return model
  }()

  static var transaction: NSEntityDescription? { model.entitiesByName["Transaction"] }
  static var change: NSEntityDescription? { model.entitiesByName["Change"] }

  private static func entity(_ name: String, _ attributes: [(String, NSAttributeType)]) -> NSEntityDescription {
    let entity = NSEntityDescription()
    entity.name = name
    entity.properties = attributes.map { name, type in
      let attribute = NSAttributeDescription()
      attribute.name = name
      attribute.attributeType = type
      return attribute
    }
    return entity
  }

  static func request(_ entity: NSEntityDescription?) -> NSFetchRequest<any NSFetchRequestResult> {
    let request = NSFetchRequest<any NSFetchRequestResult>()
    request.entity = entity
    return request
  }
}

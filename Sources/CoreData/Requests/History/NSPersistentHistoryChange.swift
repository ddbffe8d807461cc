/// What a transaction did to an object. Raw values are Apple's.
public enum NSPersistentHistoryChangeType: Int, Sendable {
  /// The object was inserted.
  case insert = 0
  /// Properties of the object changed, or members of its relationships.
  case update = 1
  /// The object was deleted.
  case delete = 2
}

/// The change of one object in a transaction.
///
/// Its `changeID`, `changedObjectID`, `changedEntity`, `changeType`, `tombstone` and `updatedProperties` can be named
/// in the predicate of a history request.
///
/// Source: Apple's documentation of `NSPersistentHistoryChange`.
///
/// `@unchecked Sendable`: immutable once a request has returned it; the values of a tombstone do not change.
public final class NSPersistentHistoryChange: NSObject, NSCopying, @unchecked Sendable {
  /// The number of the change, ascending within its store.
  public let changeID: Int64
  /// The object's ID. After a deletion no object has it any more.
  public let changedObjectID: NSManagedObjectID
  /// What happened to the object.
  public let changeType: NSPersistentHistoryChangeType
  /// The values of a deleted object's attributes with `preservesValueInHistoryOnDeletion`, by name; nil for other
  /// changes and if no attribute has a value.
  public let tombstone: [AnyHashable: Any]?
  /// The properties that an update changed; nil for other changes.
  public let updatedProperties: Set<NSPropertyDescription>?

  /// A transaction holds its changes; only a change that was fetched without its transaction holds it.
  private weak var containing: NSPersistentHistoryTransaction?
  private let held: NSPersistentHistoryTransaction?

  /// The transaction of this change; nil if the transaction held this change and was freed.
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
  public class var entityDescription: NSEntityDescription? { HistoryEntities.change }

  /// A new request about changes, for `NSPersistentHistoryChangeRequest.fetchHistory(withFetch:)`.
  public class var fetchRequest: NSFetchRequest<any NSFetchRequestResult>? {
    HistoryEntities.request(HistoryEntities.change)
  }
}

extension NSPersistentHistoryChange: NSFetchRequestResult, KeyValueReadable {
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

/// What happened to an object. Raw values are Apple's.
public enum NSPersistentHistoryChangeType: Int, Sendable {
  case insert = 0
  case update = 1
  case delete = 2
}

/// One object that a transaction changed.
///
/// Source: Apple's documentation of `NSPersistentHistoryChange`.
///
/// `@unchecked Sendable`: immutable once a request has given it; what a tombstone holds is never written.
public final class NSPersistentHistoryChange: NSObject, NSCopying, @unchecked Sendable {
  public let changeID: Int64
  public let changedObjectID: NSManagedObjectID
  public let changeType: NSPersistentHistoryChangeType
  /// Of a deleted object, the values of attributes with `preservesValueInHistoryOnDeletion`, by name; nil where there are none.
  public let tombstone: [AnyHashable: Any]?
  /// Of an update, the properties that changed; nil for others.
  public let updatedProperties: Set<NSPropertyDescription>?

  /// A transaction holds its changes; a change that comes alone holds its transaction.
  private weak var containing: NSPersistentHistoryTransaction?
  private let held: NSPersistentHistoryTransaction?

  /// The transaction; nil where a transaction had this change and is gone.
  public var transaction: NSPersistentHistoryTransaction? { held ?? containing }

  init(
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

  public func copy(with zone: NSZone? = nil) -> Any { self }

  // MARK: Fetching

  /// The entity for fetch requests about changes.
  public class var entityDescription: NSEntityDescription? { HistoryEntities.change }

  /// A new request for `NSPersistentHistoryChangeRequest.fetchHistory(withFetch:)`.
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

/// The entities that fetch requests about history name. No store has rows of them.
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

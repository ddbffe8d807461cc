/// The kind of a request. Raw values are Apple's.
public enum NSPersistentStoreRequestType: UInt, Sendable {
  /// `NSFetchRequest`, and requests about history.
  case fetchRequestType = 1
  /// A save. Contexts save without making such a request.
  case saveRequestType = 2
  /// `NSBatchInsertRequest`.
  case batchInsertRequestType = 5
  /// `NSBatchUpdateRequest`.
  case batchUpdateRequestType = 6
  /// `NSBatchDeleteRequest`.
  case batchDeleteRequestType = 7
}

/// A request to stores, executed by a context or a coordinator. Use one of its subclasses: a context refuses this class
/// itself with 134091.
///
/// Source: Apple's documentation of `NSPersistentStoreRequest`.
open class NSPersistentStoreRequest: NSObject, NSCopying {
  /// The stores to ask; nil asks all that hold the entity. Default: nil. Stores that are not open in the executing
  /// context's coordinator are passed over.
  ///
  /// ```swift
  /// let request = NSFetchRequest<Book>(entityName: "Book")
  /// request.affectedStores = coordinator.persistentStore(for: url).map { [$0] }
  /// ```
  open var affectedStores: [NSPersistentStore]?

  /// The kind of the request, by which a store of a program's own tells what to do. `.fetchRequestType` unless a
  /// subclass says otherwise.
  open var requestType: NSPersistentStoreRequestType { .fetchRequestType }

  /// A request for all stores of the executing context.
  public override init() { super.init() }

  /// A copy that can be changed without changing this request.
  open func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSPersistentStoreRequest()
    copy.affectedStores = affectedStores
    return copy
  }
}

/// The types of fetch results: managed objects, object IDs, dictionaries and numbers. Programs use it as
/// `NSFetchRequest<any NSFetchRequestResult>`, where the type of the results is not known; no type of theirs has to
/// conform.
public protocol NSFetchRequestResult: AnyObject {}

extension NSDictionary: NSFetchRequestResult {}
extension NSNumber: NSFetchRequestResult {}

/// The form of a fetch's results. Raw values are Apple's.
///
/// ```swift
/// let request = NSFetchRequest<NSNumber>(entityName: "Book")
/// request.resultType = .countResultType
/// let count = try context.fetch(request).first?.intValue ?? 0
/// ```
public struct NSFetchRequestResultType: OptionSet, Sendable {
  /// Apple's number of the form.
  public let rawValue: UInt
  /// A form by Apple's number.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// `NSManagedObject`s.
  public static let managedObjectResultType: NSFetchRequestResultType = []
  /// `NSManagedObjectID`s: for objects that another queue or process will use. No values are read.
  public static let managedObjectIDResultType = NSFetchRequestResultType(rawValue: 1)
  /// Dictionaries by column name, without entries for nil values.
  public static let dictionaryResultType = NSFetchRequestResultType(rawValue: 2)
  /// One `NSNumber`: the number of matching objects. `NSManagedObjectContext.count(for:)` gives it as an `Int`.
  public static let countResultType = NSFetchRequestResultType(rawValue: 4)
}

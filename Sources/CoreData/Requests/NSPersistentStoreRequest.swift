/// The kind of a request. Raw values are Apple's.
///
/// ```swift
/// let request: NSPersistentStoreRequest = NSBatchDeleteRequest(objectIDs: [book.objectID])
/// print(request.requestType == .batchDeleteRequestType)  // true
/// ```
///
/// A program's own store switches over it in `execute(_:with:)`, and throws for kinds that it does not know.
///
/// Source: Apple's documentation of `NSPersistentStoreRequestType`.
public enum NSPersistentStoreRequestType: UInt, Sendable {
  /// `NSFetchRequest`, and requests about history.
  case fetchRequestType = 1
  /// `NSSaveChangesRequest`. Only a program's own `NSIncrementalStore` gets one, for each save; contexts save to other
  /// stores without a request.
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
/// A request is a description without a result: it can be kept and executed again, also in another context. It belongs
/// to one thread at a time.
///
/// | Request | Executed by | Gives |
/// | --- | --- | --- |
/// | `NSFetchRequest` | `fetch(_:)`, `count(for:)` | an array, a number |
/// | `NSAsynchronousFetchRequest` | `execute(_:)` | `NSAsynchronousFetchResult` |
/// | `NSBatchInsertRequest` | `execute(_:)` | `NSBatchInsertResult` |
/// | `NSBatchUpdateRequest` | `execute(_:)` | `NSBatchUpdateResult` |
/// | `NSBatchDeleteRequest` | `execute(_:)` | `NSBatchDeleteResult` |
/// | `NSPersistentHistoryChangeRequest` | `execute(_:)` | `NSPersistentHistoryResult` |
///
/// Source: Apple's documentation of `NSPersistentStoreRequest`.
open class NSPersistentStoreRequest: NSObject, NSCopying {
  /// The stores to ask, each once, in this order; nil asks all that hold the entity. Default: nil. Stores that are not
  /// open in the executing context's coordinator are passed over.
  ///
  /// ```swift
  /// let request = NSFetchRequest<Book>(entityName: "Book")
  /// request.affectedStores = coordinator.persistentStore(for: url).map { [$0] }
  /// ```
  ///
  /// Use it where one entity lives in several files, to read or write one of them; for a fixed division use
  /// configurations of the model. A request whose stores are all passed over finds and changes nothing; a batch
  /// insertion throws 134070 then, and a history request 134091.
  ///
  /// Source: Apple's documentation of `affectedStores`.
  open var affectedStores: [NSPersistentStore]?

  /// The kind of the request, which tells a program's own store what to do. `.fetchRequestType` unless a subclass says
  /// otherwise.
  ///
  /// Source: Apple's documentation of `requestType`.
  open var requestType: NSPersistentStoreRequestType { .fetchRequestType }

  /// A request for all stores of the executing context.
  public override init() { super.init() }

  /// A copy that can be changed without changing this request.
  ///
  /// Subclasses copy their settings too; predicates and descriptors are shared, as they are immutable. Blocks of a
  /// request are the same blocks in the copy.
  open func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSPersistentStoreRequest()
    copy.affectedStores = affectedStores
    return copy
  }
}

/// The types of fetch results: managed objects, object IDs, dictionaries and numbers. Programs use it as
/// `NSFetchRequest<any NSFetchRequestResult>`, where the type of the results is not known, and conform no type to it.
///
/// ```swift
/// func fetchAll(_ request: NSFetchRequest<any NSFetchRequestResult>, in context: NSManagedObjectContext) throws {
///   for result in try context.fetch(request) {
///     if let book = result as? Book { print(book.title ?? "") }
///   }
/// }
/// ```
///
/// `NSManagedObject`, `NSManagedObjectID`, `NSDictionary` and `NSNumber` conform. Prefer a concrete type where it is
/// known, which spares the casts.
///
/// Source: Apple's documentation of `NSFetchRequestResult`.
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
///
/// Take exactly one of the four: a combination fetches objects.
///
/// Source: Apple's documentation of `NSFetchRequestResultType`.
public struct NSFetchRequestResultType: OptionSet, Sendable {
  /// Apple's number of the form.
  public let rawValue: UInt
  /// A form by Apple's number.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// `NSManagedObject`s.
  ///
  /// They belong to the executing context and stay on its queue.
  public static let managedObjectResultType: NSFetchRequestResultType = []
  /// `NSManagedObjectID`s: for objects that another queue or process will use. No values are read.
  ///
  /// The cheapest result that can be used elsewhere: only keys and entities are read.
  public static let managedObjectIDResultType = NSFetchRequestResultType(rawValue: 1)
  /// Dictionaries by column name, without entries for nil values.
  ///
  /// The store computes and groups. `propertiesToFetch` names the columns.
  public static let dictionaryResultType = NSFetchRequestResultType(rawValue: 2)
  /// One `NSNumber`: the number of matching objects. `NSManagedObjectContext.count(for:)` gives it as an `Int`.
  public static let countResultType = NSFetchRequestResultType(rawValue: 4)
}

/// The result of executing a request. Executing gives one of its subclasses.
///
/// ```swift
/// let request = NSBatchUpdateRequest(entityName: "Book")
/// request.propertiesToUpdate = ["isRead": true]
/// request.resultType = .updatedObjectsCountResultType
/// if let result = try context.execute(request) as? NSBatchUpdateResult { print(result.result as? Int ?? 0) }
/// ```
///
/// `NSManagedObjectContext.execute(_:)` says which request gives which subclass. A program's own store returns one
/// from `execute(_:with:)`.
///
/// Source: Apple's documentation of `NSPersistentStoreResult`.
open class NSPersistentStoreResult: NSObject {
  /// A result without a value, as that of an `NSSaveChangesRequest`.
  public override init() { super.init() }
}

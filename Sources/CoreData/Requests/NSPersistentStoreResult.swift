/// The result of executing a request. Executing gives one of its subclasses.
///
/// Source: Apple's documentation of `NSPersistentStoreResult`.
open class NSPersistentStoreResult: NSObject {
  /// A result without a value, as that of an `NSSaveChangesRequest`.
  public override init() { super.init() }
}

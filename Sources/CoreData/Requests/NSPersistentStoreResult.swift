/// The result of executing a request. Executing gives one of its subclasses.
///
/// Source: Apple's documentation of `NSPersistentStoreResult`.
open class NSPersistentStoreResult: NSObject {
  public override init() { super.init() }
}

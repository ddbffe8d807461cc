/// What executing a request gives: see the subclasses.
///
/// Source: Apple's documentation of `NSPersistentStoreResult`.
open class NSPersistentStoreResult: NSObject {
  public override init() { super.init() }
}

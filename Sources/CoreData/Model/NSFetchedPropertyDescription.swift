/// A property whose value is the result of a fetch, made when it is read. It is never saved.
///
/// Source: Apple's documentation of `NSFetchedPropertyDescription`.
// `@unchecked Sendable`: as `NSPropertyDescription`, whose rule it follows.
open class NSFetchedPropertyDescription: NSPropertyDescription, @unchecked Sendable {
  public override init() {
    super.init()
    isTransient = true
  }

  override func makeEmpty() -> NSPropertyDescription {
    NSFetchedPropertyDescription()
  }
}

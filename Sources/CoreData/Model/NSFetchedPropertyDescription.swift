/// A property whose value is the result of a fetch, made when it is read. It is never saved.
///
/// Source: Apple's documentation of `NSFetchedPropertyDescription`.
// `@unchecked Sendable`: as `NSPropertyDescription`, whose rule it follows.
open class NSFetchedPropertyDescription: NSPropertyDescription, @unchecked Sendable {
  /// What to fetch. Its predicate may use `$FETCH_SOURCE`, the object, and `$FETCHED_PROPERTY`, this description.
  open var fetchRequest: NSFetchRequest<any NSFetchRequestResult>? {
    get { storedFetchRequest }
    set {
      checkEditable()
      storedFetchRequest = newValue
    }
  }

  /// Ends with the model: the request holds its entity, and an entity holds its properties.
  var storedFetchRequest: NSFetchRequest<any NSFetchRequestResult>?

  public override init() {
    super.init()
    isTransient = true
  }

  override func makeEmpty() -> NSPropertyDescription {
    NSFetchedPropertyDescription()
  }

  override func copyValues(into copy: NSPropertyDescription) {
    super.copyValues(into: copy)
    (copy as? NSFetchedPropertyDescription)?.fetchRequest = fetchRequest
  }

  override func hasSameValues(as other: NSPropertyDescription) -> Bool {
    guard let other = other as? NSFetchedPropertyDescription else { return false }
    return super.hasSameValues(as: other) && SameValues.of(fetchRequest, other.fetchRequest)
  }
}

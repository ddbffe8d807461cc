/// A property whose value is the result of a fetch: an array, which is not saved and cannot be set.
///
/// Unlike a relationship it has no inverse and no column, and may lead to objects of another store.
///
/// Use it where the values of objects decide which belong together: books of the same year, authors of the same name. A
/// relationship is faster, can be prefetched, and is validated by a save.
///
/// Each access is a fetch on the context's queue; Apple's framework keeps the first result until a refresh. A fetch
/// that fails ends the process, because the access cannot throw.
///
/// Source: Apple's documentation of `NSFetchedPropertyDescription`.
///
/// `@unchecked Sendable`: as `NSPropertyDescription`, whose rule it follows.
open class NSFetchedPropertyDescription: NSPropertyDescription, @unchecked Sendable {
  /// The request. Its predicate may use `$FETCH_SOURCE`, the object, and `$FETCHED_PROPERTY`, this description.
  ///
  /// Default: nil, with which the property is an empty array. Traps once a coordinator uses the model.
  open var fetchRequest: NSFetchRequest<any NSFetchRequestResult>? {
    get { storedFetchRequest }
    set {
      checkEditable()
      storedFetchRequest = newValue
    }
  }

  /// The model's `deinit` clears it: the request holds its entity and the entity its properties, a cycle otherwise.
  var storedFetchRequest: NSFetchRequest<any NSFetchRequestResult>?

  /// A fetched property without a request; it is transient.
  public override init() {
    super.init()
    isTransient = true
  }

  /// A property from an archive that `encode(with:)` made. It belongs to no entity.
  public required init?(coder: NSCoder) {
    super.init(coder: coder)
  }

  override func makeEmpty() -> NSPropertyDescription {
    NSFetchedPropertyDescription()
  }

  override func copyValues(into copy: NSPropertyDescription) {
    super.copyValues(into: copy)
    // A request of its own: requests can be changed, those of a model in use too.
    (copy as? NSFetchedPropertyDescription)?.fetchRequest =
      fetchRequest?.copy() as? NSFetchRequest<any NSFetchRequestResult>
  }

  override func hasSameValues(as other: NSPropertyDescription) -> Bool {
    guard let other = other as? NSFetchedPropertyDescription else { return false }
    return super.hasSameValues(as: other) && SameValues.of(fetchRequest, other.fetchRequest)
  }
}

extension NSFetchedPropertyDescription {
  /// A fetched property for a model in code: see `NSManagedObjectModel.init(file:line:_:)`.
  ///
  /// ```swift
  /// let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Author")
  /// request.predicate = NSPredicate(format: "name == $FETCH_SOURCE.name")
  /// let namesakes = NSFetchedPropertyDescription("namesakes", request)
  /// ```
  ///
  /// Not part of Apple's API.
  public convenience init(_ name: String, _ request: NSFetchRequest<any NSFetchRequestResult>) {
    self.init()
    self.name = name
    fetchRequest = request
  }
}
